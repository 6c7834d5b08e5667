// SPDX-License-Identifier: MIT
// Two HIP runtimes in one process, as a wheel with one of its own makes them: calls of a library
// reach the runtime that it is linked to, whichever was loaded first, and so do those of HIP to
// ROCr.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string>

namespace {

// In a process of its own, for nothing is ever unloaded.
void expect_in_child(void (*body)()) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            body();
            std::exit(::testing::Test::HasFailure() ? 1 : 0);
        },
        ::testing::ExitedWithCode(0), "");
}

void* load(const char* directory, const char* file) {
    const std::string path = std::string(RUNTIMES "/") + directory + "/" + file;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        ADD_FAILURE() << dlerror();
    return library;
}

// The number of the runtime, and of its ROCr.
int ask(void* user, const char* function = "ask_runtime") {
    return user != nullptr ? reinterpret_cast<int (*)()>(dlsym(user, function))() : 0;
}

TEST(Runtimes, each_library_calls_its_own) {
    expect_in_child([] {
        void* six = load("six", "libuser.so");
        EXPECT_EQ(6006, ask(six));
        void* seven = load("seven", "libuser.so");
        EXPECT_EQ(7007, ask(seven));
        EXPECT_EQ(6006, ask(six));
    });
}

TEST(Runtimes, the_order_does_not_matter) {
    expect_in_child([] {
        void* seven = load("seven", "libuser.so");
        void* six = load("six", "libuser.so");
        EXPECT_EQ(6006, ask(six));
        EXPECT_EQ(7007, ask(seven));
    });
}

// PyTorch's has the soname of the system's, and is needed by a bare name.
TEST(Runtimes, a_wheels_own_is_not_the_systems) {
    expect_in_child([] {
        void* six = load("six", "libuser.so");
        void* wheel = load("torch", "libuser.so");
        void* other = load("auditwheel", "libuser.so");
        EXPECT_EQ(8008, ask(wheel));
        EXPECT_EQ(9009, ask(other));
        EXPECT_EQ(6006, ask(six));
    });
}

TEST(Runtimes, a_caller_that_is_linked_to_none_is_taken_for_the_threads_last) {
    expect_in_child([] {
        void* six = load("six", "libuser.so");
        void* seven = load("seven", "libuser.so");
        EXPECT_EQ(7007, ask(seven));
        EXPECT_EQ(7007, ask(seven, "ask_runtime_last"));
        EXPECT_EQ(6006, ask(six));
        EXPECT_EQ(6006, ask(six, "ask_runtime_last"));
    });
}

TEST(Runtimes, what_was_looked_up_is_of_the_runtime_it_was_looked_up_in) {
    expect_in_child([] {
        load("six", "libuser.so");
        void* seven = load("seven", "libamdhip64.so.7");
        auto* query = reinterpret_cast<int (*)(void*)>(dlsym(seven, "hipStreamQuery"));
        const int answer = query(nullptr);
        EXPECT_EQ(7007, answer);
    });
}

} // namespace
