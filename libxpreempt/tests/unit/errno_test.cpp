// SPDX-License-Identifier: MIT
// No call of the library changes errno, though the fake HIP does in every call that puts packets or
// answers a question, as the real one may.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include "fake/fake_rocm.hpp"
#include "unit/every_call.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

extern "C" int hipStreamCreate(void** stream);

namespace {

TEST(ErrnoTest, no_call_changes_it) {
    fake_choose_driver();
    std::string directory = ::testing::TempDir() + "xpreempt-errno-XXXXXX";
    ASSERT_NE(nullptr, ::mkdtemp(directory.data()));
    ::setenv("XDG_RUNTIME_DIR", directory.c_str(), 1);
    ::setenv("XPREEMPTD_SOCKET", "/nonexistent/xpreemptd.sock", 1);
    test::Objects objects;
    ASSERT_EQ(0, hipStreamCreate(&objects.plain));
    for (const auto& [name, call, wanted] : test::every_call(objects)) {
        errno = EXFULL;
        const int answer = call();
        EXPECT_EQ(EXFULL, errno) << name;
        if (wanted != test::any_answer) {
            EXPECT_EQ(wanted, answer) << name << ": " << xp_last_detail();
        }
    }
    std::filesystem::remove_all(directory);
}

} // namespace
