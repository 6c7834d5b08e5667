// SPDX-License-Identifier: MIT
// Hook and library loaded when HIP already runs, and closed again: what they take over, what they
// say they can't know, what stays.
#include "fake/fake_rocm.hpp"
#include "hook/table.hpp"
#include "unit/beside.hpp"

#include <xpreempt/stream.h>
#include <xpreempt/xpreempt.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

extern "C" {
int hipStreamCreate(void** stream);
int hipMemset(void* to, int value, std::size_t bytes);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hsa_amd_memory_async_copy(void* to, std::uint64_t to_agent, const void* from,
                              std::uint64_t from_agent, std::size_t bytes, std::uint32_t num_waits,
                              const std::uint64_t* waits, std::uint64_t completion);
}

namespace {

using namespace xpreempt::hook;

void* new_stream() {
    void* stream = nullptr;
    EXPECT_EQ(0, hipStreamCreate(&stream));
    EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    return stream;
}

TEST(LateHook, maps_what_is_made_from_then_on_and_refuses_the_rest) {
    void* old_stream = new_stream();
    ASSERT_EQ(nullptr, dlsym(RTLD_DEFAULT, "xpreempt_hook_table"));
    setenv("XPREEMPT_HW_QUEUES", "7", 1);
    void* hook = dlopen(test::beside_program(HOOK_PATH).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(nullptr, hook) << dlerror();
    EXPECT_EQ(nullptr, std::getenv("GPU_MAX_HW_QUEUES")); // HIP has read it
    using GetTable = const Table*();
    auto* get_table = reinterpret_cast<GetTable*>(dlsym(hook, "xpreempt_hook_table"));
    ASSERT_NE(nullptr, get_table);
    const Table& table = *get_table();
    EXPECT_TRUE(table.attach());

    QueueRecord record{};
    EXPECT_EQ(-ENOENT, table.stream_queue(old_stream, &record));
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, old_stream));
    EXPECT_EQ(-EXDEV, table.stream_queue(old_stream, &record)); // a queue from before

    // The pool's second queue, and the null stream's, are made now.
    void* later = new_stream();
    EXPECT_EQ(0, table.stream_queue(later, &record));
    EXPECT_EQ(1U, record.num_streams);
    ASSERT_EQ(0, hipMemset(nullptr, 0, 4));
    QueueRecord null_record{};
    EXPECT_EQ(0, table.stream_queue(nullptr, &null_record));
    EXPECT_NE(record.kfd_queue_id, null_record.kfd_queue_id);

    // Lookups give the interposers as well, in this program too.
    void* runtime = dlopen("libamdhip64.so.6", RTLD_LAZY | RTLD_NOLOAD);
    Dl_info info{};
    ASSERT_NE(0, dladdr(dlsym(runtime, "hipMemset"), &info));
    EXPECT_NE(std::string::npos, std::string(info.dli_fname).find("xpreempt-hook"));
    dlclose(runtime);
    dlclose(hook); // others hold its functions: it stays
    EXPECT_EQ(0, hipMemset(nullptr, 0, 4));
}

TEST(LateHook, sees_copies) {
    void* hook = dlopen(test::beside_program(HOOK_PATH).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(nullptr, hook) << dlerror();
    using GetTable = const Table*();
    const Table& table = *reinterpret_cast<GetTable*>(dlsym(hook, "xpreempt_hook_table"))();
    using Signal = std::array<std::int64_t, 8>; // amd_signal_t: its kind, its value
    static Signal completion{0, 1};
    EXPECT_EQ(0, hsa_amd_memory_async_copy(nullptr, 0, nullptr, 0, 4, 0, nullptr,
                                           reinterpret_cast<std::uintptr_t>(&completion)));
    EXPECT_EQ(1U, table.copies(nullptr, 0));
}

// As XSched's users preload it: compat/ installs such a link in a directory of its own.
TEST(LateHook, works_by_the_name_of_xscheds_shim) {
    const auto directory =
        std::filesystem::temp_directory_path() / ("shim." + std::to_string(::getpid()));
    std::filesystem::create_directory(directory);
    const auto link = directory / "libshimhip.so";
    std::filesystem::create_symlink(test::beside_program(HOOK_PATH), link);
    setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    setenv("XSCHED_POLICY", "HPF", 1);
    ASSERT_NE(nullptr, dlopen(link.c_str(), RTLD_NOW | RTLD_LOCAL)) << dlerror();
    using Launch = int(void*, int, std::size_t, void*);
    auto* const launch =
        reinterpret_cast<Launch*>(dlsym(dlopen(link.c_str(), RTLD_NOW), "hipMemsetAsync"));
    EXPECT_EQ(0, launch(nullptr, 0, 4, new_stream()));
    void* library = dlopen("libxpreempt.so.0", RTLD_NOW | RTLD_NOLOAD); // found beside the file
    ASSERT_NE(nullptr, library);
    const auto probe = reinterpret_cast<decltype(&xp_probe)>(dlsym(library, "xp_probe"));
    xp_probe_info info{};
    info.sz = sizeof info;
    EXPECT_EQ(0, probe(&info));
    EXPECT_EQ(1U, info.hook_loaded);
    std::filesystem::remove_all(directory);
}

// The hook asks it before calls of HIP, it has threads, and who holds a queue must be able to
// resume it: as the hook it stays.
TEST(LateLibrary, stays_when_it_is_closed_while_it_holds_a_queue) {
    fake_driver()->patched = true;
    void* hook = dlopen(test::beside_program(HOOK_PATH).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(nullptr, hook) << dlerror();
    void* library = dlopen(test::beside_program(LIBRARY_PATH).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(nullptr, library) << dlerror();
    const auto touch =
        reinterpret_cast<decltype(&xp_stream_touch)>(dlsym(library, "xp_stream_touch"));
    const auto query =
        reinterpret_cast<decltype(&xp_stream_query)>(dlsym(library, "xp_stream_query"));
    const auto hold = reinterpret_cast<decltype(&xp_stream_hold)>(dlsym(library, "xp_stream_hold"));
    const auto release =
        reinterpret_cast<decltype(&xp_stream_release)>(dlsym(library, "xp_stream_release"));
    ASSERT_NE(nullptr, release);

    void* stream = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&stream));
    ASSERT_EQ(0, touch(stream));
    xp_stream_info info{};
    info.sz = sizeof info;
    ASSERT_EQ(0, query(stream, &info));
    ASSERT_EQ(0, hold(stream, XP_HOLD_LEAST(XP_LEVEL_INTERRUPT), nullptr));
    EXPECT_TRUE(fake_driver()->queues[info.kfd_queue_id].held);
    ASSERT_EQ(0, dlclose(library));
    ASSERT_NE(nullptr, dlopen(test::beside_program(LIBRARY_PATH).c_str(), RTLD_NOW | RTLD_NOLOAD));
    EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream)); // the gate is asked
    EXPECT_EQ(0, release(stream));
    EXPECT_FALSE(fake_driver()->queues[info.kfd_queue_id].held);
}

} // namespace
