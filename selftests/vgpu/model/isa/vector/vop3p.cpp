// SPDX-License-Identifier: MIT
// VOP3P's opcodes: packed operations, mixed precision, dot products, and the matrix core's format.
#include "model/isa/vector/packed.hpp"

#include "model/isa/encodings.hpp"

namespace vgpu::isa {

namespace {

// The families; each has its own file.
auto families() {
    return std::array{accvgpr_ops(), packed_ops(), mixed_ops(), packed_dot_ops(), matrix_ops()};
}

constexpr unsigned opcode_count = 128;

} // namespace

void execute_vop3p(Execution& e) {
    static const auto tables = index_families<opcode_count>(families());
    e.fetch_word1();
    if (e.failed()) {
        return;
    }
    for (const unsigned shift : {0U, 9U, 18U}) {
        if ((e.word1 >> shift & 0x1ff) == source::literal) {
            e.illegal("VOP3P takes no literal");
            return;
        }
    }
    const unsigned opcode = e.word0 >> 16 & 0x7f;
    const ScalarHandler handler = tables[e.wave.isa][opcode];
    if (handler == nullptr) {
        e.illegal("opcode not modelled");
        return;
    }
    handler(e);
}

std::vector<OpName> vop3p_names() {
    return names_of_families(families());
}

} // namespace vgpu::isa
