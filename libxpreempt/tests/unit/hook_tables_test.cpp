// SPDX-License-Identifier: MIT
// The hook alone, as built, on the fake ROCm: its tables with many streams, and at the end of ROCm.
#include "fake/fake_rocm.hpp"
#include "hook/table.hpp"
#include "kfd/queue_ioctls.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

extern "C" {
int hipDevicePrimaryCtxReset(int device);
int hipDeviceReset();
int hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                       std::size_t bytes, void* stream);
int hipSetDevice(int device);
int hipExtStreamCreateWithCUMask(void** stream, unsigned words, const unsigned* mask);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void* stream, void**, void**);
int hsa_amd_memory_async_copy(void* to, std::uint64_t to_agent, const void* from,
                              std::uint64_t from_agent, std::size_t bytes, std::uint32_t num_waits,
                              const std::uint64_t* waits, std::uint64_t completion);
int hsa_shut_down();
}

namespace {

using namespace xpreempt::hook;

const Table& table() {
    return *xpreempt_hook_table();
}
void* new_stream() {
    void* stream = nullptr;
    EXPECT_EQ(0, hipStreamCreate(&stream));
    return stream;
}
int launch(void* stream) {
    return hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}
QueueRecord queue_of(const void* stream) {
    QueueRecord record{};
    EXPECT_EQ(0, table().stream_queue(stream, &record));
    return record;
}
QueueRecord newest_queue() {
    std::vector<QueueRecord> queues(table().queues(nullptr, 0));
    EXPECT_EQ(queues.size(),
              table().queues(queues.data(), static_cast<std::uint32_t>(queues.size())));
    return *std::ranges::max_element(queues, {}, &QueueRecord::generation);
}
void destroy(const QueueRecord& queue) {
    const xpreempt::kfd::DestroyQueueArgs args{queue.kfd_queue_id, 0};
    const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    EXPECT_EQ(0, ioctl(fd, _IOWR('K', xpreempt::kfd::nr_destroy_queue, args), &args));
    EXPECT_EQ(0, close(fd));
}
std::uint32_t sharing(const void* stream) {
    const QueueRecord queue = queue_of(stream);
    return table().streams_of(queue.kfd_queue_id, queue.generation, nullptr, 0);
}

// A sharing set is counted, and not searched: with many streams, and each of them can end.
TEST(Streams, many_share_a_queue_and_each_ends) {
    std::vector<void*> streams;
    const auto expect_counted = [&] {
        for (const void* stream : {streams.front(), streams.back()})
            EXPECT_EQ(sharing(stream), queue_of(stream).num_streams);
    };
    for (int i = 0; i < 60; ++i) {
        streams.push_back(new_stream());
        ASSERT_EQ(0, launch(streams.back()));
        expect_counted();
    }
    while (streams.size() > 2) {
        const auto middle = streams.begin() + static_cast<std::ptrdiff_t>(streams.size() / 2);
        QueueRecord record{};
        ASSERT_EQ(0, hipStreamDestroy(*middle));
        EXPECT_EQ(-ENOENT, table().stream_queue(*middle, &record));
        EXPECT_EQ(0U, table().birth_of(*middle));
        streams.erase(middle);
        expect_counted();
    }
    for (void* stream : streams)
        EXPECT_EQ(0, hipStreamDestroy(stream));
}

// HIP may keep its queues then. A queue must not count streams that are gone.
TEST(Streams, a_reset_of_the_device_ends_them_all) {
    std::vector<void*> streams;
    for (int i = 0; i < 4; ++i) {
        streams.push_back(new_stream());
        ASSERT_EQ(0, launch(streams.back()));
    }
    ASSERT_EQ(0, hipDeviceReset());
    streams.push_back(new_stream());
    ASSERT_EQ(0, launch(streams.back()));
    EXPECT_EQ(1U, queue_of(streams.back()).num_streams);
    for (void* stream : streams) // the fake's reset has kept them
        EXPECT_EQ(0, hipStreamDestroy(stream));
}

// HIP ignores it.
TEST(Streams, a_reset_of_the_primary_context_ends_none) {
    void* stream = new_stream();
    ASSERT_EQ(0, launch(stream));
    const std::uint64_t birth = table().birth_of(stream);
    ASSERT_NE(0U, birth);
    ASSERT_EQ(0, hipDevicePrimaryCtxReset(0));
    EXPECT_EQ(birth, table().birth_of(stream));
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

TEST(Streams, a_reset_ends_those_of_its_device_only) {
    void* kept = new_stream();
    ASSERT_EQ(0, launch(kept));
    ASSERT_EQ(0, hipSetDevice(1));
    void* first = new_stream();
    ASSERT_EQ(0, launch(first));
    ASSERT_EQ(0, launch(nullptr));
    const void* null_stream = table().stream_key(nullptr);
    const std::uint64_t birth = table().birth_of(kept);
    const std::uint64_t birth_of_null = table().birth_of(null_stream);
    ASSERT_NE(0U, birth);
    ASSERT_NE(0U, birth_of_null);
    // HIP destroys some of the queues before, and keeps the others.
    destroy(queue_of(first));
    ASSERT_EQ(0, hipDeviceReset());
    EXPECT_EQ(birth, table().birth_of(kept));
    EXPECT_EQ(0U, table().birth_of(first));
    EXPECT_EQ(birth_of_null, table().birth_of(null_stream)); // HIP keeps it
    EXPECT_EQ(0, hipStreamDestroy(first));                   // the fake's reset has kept it
    EXPECT_EQ(0, hipStreamDestroy(kept));
    ASSERT_EQ(0, hipSetDevice(0));
}

// Its queue is unknown to the hook, as a profiler's.
TEST(Streams, a_reset_ends_one_without_a_known_queue) {
    const unsigned mask[] = {~0U, 0x3f};
    void* stream = nullptr;
    ASSERT_EQ(0, hipExtStreamCreateWithCUMask(&stream, 2, mask));
    destroy(newest_queue());
    ASSERT_EQ(0, launch(stream));
    QueueRecord record{};
    ASSERT_EQ(-EXDEV, table().stream_queue(stream, &record));
    ASSERT_EQ(0, hipDeviceReset());
    EXPECT_EQ(0U, table().birth_of(stream));
    EXPECT_EQ(0, hipStreamDestroy(stream)); // the fake's reset has kept it
}

// Its queue is created outside of a call that the hook sees.
TEST(Streams, a_reset_ends_one_on_a_device_without_a_known_gpu) {
    void* stream = fake_stream(nullptr);
    ASSERT_EQ(0, launch(stream));
    ASSERT_NE(0U, table().birth_of(stream));
    ASSERT_EQ(0, hipDeviceReset());
    EXPECT_EQ(0U, table().birth_of(stream));
}

TEST(Streams, a_reset_of_an_unused_device_ends_none) {
    void* stream = new_stream();
    ASSERT_EQ(0, launch(stream));
    const std::uint64_t birth = table().birth_of(stream);
    ASSERT_NE(0U, birth);
    ASSERT_EQ(0, hipSetDevice(1));
    ASSERT_EQ(0, hipDeviceReset());
    EXPECT_EQ(birth, table().birth_of(stream));
    ASSERT_EQ(0, hipSetDevice(0));
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

// The last packet of such a copy is on a queue of the other GPU.
TEST(Streams, a_copy_to_another_device_leaves_a_stream_on_its_own) {
    void* stream = new_stream();
    ASSERT_EQ(0, launch(stream));
    const std::uint64_t birth = table().birth_of(stream);
    ASSERT_NE(0U, birth);
    ASSERT_EQ(0, hipMemcpyPeerAsync(nullptr, 1, nullptr, 0, 4, stream));
    ASSERT_EQ(0, hipMemcpyPeerAsync(nullptr, 1, nullptr, 0, 4, nullptr));
    ASSERT_EQ(0, hipSetDevice(1));
    void* there = new_stream();
    ASSERT_EQ(0, launch(there));
    ASSERT_EQ(0, hipDeviceReset());
    EXPECT_EQ(birth, table().birth_of(stream));
    EXPECT_EQ(0U, table().birth_of(there));
    ASSERT_EQ(0, hipSetDevice(0));
    ASSERT_EQ(0, hipDeviceReset());
    EXPECT_EQ(0U, table().birth_of(stream));
    for (void* kept : {stream, there}) // by the fake's reset
        EXPECT_EQ(0, hipStreamDestroy(kept));
}

// amd_signal_t in a page of its own.
class SignalPage {
public:
    SignalPage()
        : words_(static_cast<std::int64_t*>(
              mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        words_[1] = 1; // its value
    }
    // Its address is not used again: the next signal is another one.
    ~SignalPage() { mprotect(words_, bytes, PROT_NONE); }
    SignalPage(const SignalPage&) = delete;
    SignalPage& operator=(const SignalPage&) = delete;
    SignalPage(SignalPage&&) = delete;
    SignalPage& operator=(SignalPage&&) = delete;

    void copy() const {
        EXPECT_EQ(0, hsa_amd_memory_async_copy(nullptr, 0, nullptr, 0, 4, 0, nullptr,
                                               reinterpret_cast<std::uintptr_t>(words_)));
    }
    void complete() { words_[1] = 0; }

private:
    static constexpr std::size_t bytes = 4096;
    std::int64_t* words_;
};

TEST(Copies, end_with_the_rocr_that_makes_them) {
    {
        const SignalPage of_first;
        of_first.copy();
        EXPECT_EQ(0, hsa_shut_down());
    }
    SignalPage of_second;
    of_second.copy();
    CopyRecord record{};
    EXPECT_EQ(1U, table().copies(&record, 1));
    of_second.complete();
    EXPECT_EQ(0U, table().copies(&record, 1));
}

} // namespace
