// SPDX-License-Identifier: MIT
// Two HIP runtimes in one process, as a wheel with one of its own makes them: calls of a library
// reach the runtime that it is linked to, whichever was loaded first, and so do those of HIP to
// ROCr.
#include "hook/table.hpp"
#include "unit/beside.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <link.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

// In front of the C library's, for the hook as well. ThreadSanitizer calls it before its own start,
// and dlsym() is the hook's.
static int searches = 0;
__attribute__((no_sanitize("thread"))) int
dl_iterate_phdr(int (*callback)(dl_phdr_info*, std::size_t, void*), void* data) {
    static decltype(&dl_iterate_phdr) next = nullptr;
    ++searches;
    if (next == nullptr)
        next = reinterpret_cast<decltype(&dl_iterate_phdr)>(
            dlvsym(RTLD_NEXT, "dl_iterate_phdr", "GLIBC_2.2.5"));
    return next(callback, data);
}

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
    const auto path = test::beside_program(RUNTIMES) / directory / file;
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

#ifdef __x86_64__
// int call(function, argument), as a compiler at run time makes it, in memory of its own.
auto make_caller() {
    constexpr unsigned char code[] = {
        0x48, 0x83, 0xec, 0x08, // sub rsp, 8
        0x48, 0x89, 0xf8,       // mov rax, rdi
        0x48, 0x89, 0xf7,       // mov rdi, rsi
        0xff, 0xd0,             // call rax
        0x48, 0x83, 0xc4, 0x08, // add rsp, 8
        0xc3,                   // ret
    };
    void* page =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(page, code, sizeof code);
    return reinterpret_cast<int (*)(int (*)(void*), void*)>(page);
}

TEST(Runtimes, a_caller_in_no_object_is_looked_up_once) {
    expect_in_child([] {
        load("six", "libuser.so");
        void* six = load("six", "libamdhip64.so.6");
        auto* query = reinterpret_cast<int (*)(void*)>(dlsym(six, "hipStreamQuery"));
        auto* const call = make_caller();
        auto* const stream = reinterpret_cast<void*>(std::uintptr_t{0x1000});
        EXPECT_EQ(6006, call(query, stream));
        const int before = searches;
        EXPECT_GT(before, 0);
        EXPECT_EQ(6006, call(query, stream));
        EXPECT_EQ(before, searches);
    });
}
#endif

TEST(Runtimes, what_was_looked_up_is_of_the_runtime_it_was_looked_up_in) {
    expect_in_child([] {
        load("six", "libuser.so");
        void* seven = load("seven", "libamdhip64.so.7");
        auto* query = reinterpret_cast<int (*)(void*)>(dlsym(seven, "hipStreamQuery"));
        const int answer = query(nullptr);
        EXPECT_EQ(7007, answer);
    });
}

// The calls that the gate was shown.
struct Shown {
    int calls = 0;
    const void* stream = nullptr;
};
Shown shown;

void show(const xpreempt::hook::Call* call) {
    ++shown.calls;
    shown.stream = call->stream;
}

// This program has the gate, as the library has.
const xpreempt::hook::Table& show_queries() {
    using namespace xpreempt::hook;
    static constexpr auto queries = std::uint64_t{1}
                                    << static_cast<unsigned>(CallClass::stream_query);
    static constexpr Gate gate{sizeof(Gate), 0, queries, show, nullptr};
    const Table& table = *xpreempt_hook_table();
    table.set_gate(&gate);
    return table;
}

TEST(Runtimes, the_current_device_is_that_of_the_runtime_which_is_called) {
    expect_in_child([] {
        load("six", "libuser.so");
        void* seven = load("seven", "libuser.so");
        void* runtime = load("seven", "libamdhip64.so.7");
        reinterpret_cast<void (*)(int)>(dlsym(runtime, "use_device"))(1);
        const auto& table = show_queries();
        EXPECT_EQ(7007, ask(seven, "ask_about_null_stream"));
        EXPECT_EQ(1, shown.calls);
        EXPECT_EQ(1, table.device_of_null(shown.stream));
    });
}

// Its null stream would be taken for that of the first, and its handles for streams of the first.
TEST(Runtimes, calls_of_a_second_one_are_passed_on_unseen) {
    expect_in_child([] {
        void* six = load("six", "libuser.so");
        void* seven = load("seven", "libuser.so");
        show_queries();
        EXPECT_EQ(6006, ask(six, "ask_about_null_stream"));
        EXPECT_EQ(1, shown.calls);
        EXPECT_EQ(7007, ask(seven, "ask_about_null_stream"));
        EXPECT_EQ(7007, ask(seven));
        EXPECT_EQ(1, shown.calls);
        EXPECT_EQ(6006, ask(six));
        EXPECT_EQ(2, shown.calls);
    });
}

// In a thread of the program that has just called another runtime.
TEST(Runtimes, the_library_calls_the_one_that_is_called_first) {
    expect_in_child([] {
        void* six = load("six", "libuser.so");
        void* seven = load("seven", "libuser.so");
        EXPECT_EQ(7007, ask(seven));
        EXPECT_EQ(6006, ask(six));
        show_queries();
        auto* query = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_DEFAULT, "hipStreamQuery"));
        auto* const stream = reinterpret_cast<void*>(std::uintptr_t{0x1000});
        EXPECT_EQ(7007, query(stream));
    });
}

// A sanitizer's runtime must be the first that is loaded.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A wheel may bring the hook that the system has as well.
TEST(Runtimes, a_second_copy_of_the_hook_changes_nothing) {
    Dl_info hook{};
    ASSERT_NE(0, dladdr(xpreempt_hook_table(), &hook));
    const std::string copy = ::testing::TempDir() + "second-" + std::to_string(getpid()) + ".so";
    std::filesystem::copy_file(hook.dli_fname, copy);
    const std::string command = "LD_PRELOAD=" + std::string(hook.dli_fname) + ":" + copy +
                                " /proc/" + std::to_string(getpid()) +
                                "/exe --gtest_filter=-*second_copy* 2>&1";
    std::FILE* pipe = popen(command.c_str(), "r");
    ASSERT_NE(nullptr, pipe);
    std::string output;
    for (int letter = 0; (letter = std::fgetc(pipe)) != EOF;)
        output += static_cast<char>(letter);
    EXPECT_EQ(0, pclose(pipe)) << output;
    std::filesystem::remove(copy);
}
#endif

} // namespace
