// SPDX-License-Identifier: MIT
// Fields of a kernel descriptor that the model does not act on are reported.
#include "model/sq/program.hpp"

#include <gtest/gtest.h>

namespace vgpu::sq {
namespace {

Program a_program() {
    Program program;
    program.rsrc1 = 1 << 6; // SGPRs
    return program;
}

TEST(Program, is_reported_with_a_field_that_is_not_modelled) {
    ASSERT_EQ(a_program().problem(), nullptr);
    for (const unsigned bit : {20U, 22U, 24U, 25U}) {
        Program program = a_program();
        program.rsrc1 |= 1U << bit;
        EXPECT_NE(program.problem(), nullptr) << "COMPUTE_PGM_RSRC1, bit " << bit;
    }
    for (const unsigned bit : {14U, 24U, 30U, 31U}) {
        Program program = a_program();
        program.rsrc2 |= 1U << bit;
        EXPECT_NE(program.problem(), nullptr) << "COMPUTE_PGM_RSRC2, bit " << bit;
    }
    for (const unsigned bit : {10U, 11U}) {
        Program program = a_program();
        program.rsrc3 |= 1U << bit;
        EXPECT_NE(program.problem(), nullptr) << "COMPUTE_PGM_RSRC3, bit " << bit;
    }
}

TEST(Program, may_have_a_priority_and_waves_on_several_compute_units) {
    Program program = a_program();
    program.rsrc1 |= 3U << 10;
    program.rsrc2 |= 1U << 6;
    program.rsrc3 |= 1U << 16;
    EXPECT_EQ(program.problem(), nullptr);
}

} // namespace
} // namespace vgpu::sq
