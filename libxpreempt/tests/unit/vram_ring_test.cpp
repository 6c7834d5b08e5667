// SPDX-License-Identifier: MIT
// Rings in VRAM while a queue is held, on the fake ROCm: no call of the program reads one, and
// their edges are followed all the same.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>

extern "C" {
int hipEventCreateWithFlags(void** event, unsigned flags);
int hipEventDestroy(void* event);
int hipEventRecord(void* event, void* stream);
int hipGraphLaunch(void* graph, void* stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipStreamSynchronize(void* stream);
int hipStreamWaitEvent(void* stream, void* event, unsigned flags);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void* stream, void**, void**);
}

namespace {

constexpr std::size_t ring_bytes = 1024 * 64;

// A ring that threads other than the order thread must not read. The fake HIP writes it in the
// thread of the call; a write of a packet is no fault.
class GuardedRing {
public:
    explicit GuardedRing(void* ring) : ring_(ring) {
        faults_by_program = 0;
        address = ring;
        struct sigaction action{};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO;
        EXPECT_EQ(0, sigaction(SIGSEGV, &action, &before_));
        protect();
    }
    ~GuardedRing() {
        open();
        sigaction(SIGSEGV, &before_, nullptr);
    }
    GuardedRing(const GuardedRing&) = delete;
    GuardedRing& operator=(const GuardedRing&) = delete;
    GuardedRing(GuardedRing&&) = delete;
    GuardedRing& operator=(GuardedRing&&) = delete;

    void protect() const { EXPECT_EQ(0, mprotect(ring_, ring_bytes, PROT_NONE)); }
    void open() const { EXPECT_EQ(0, mprotect(ring_, ring_bytes, PROT_READ | PROT_WRITE)); }

    static std::atomic<unsigned> faults_by_program;

private:
    // Bit 1 of an x86 page fault's error code is a write.
    static void on_fault(int, siginfo_t* info, void* context) {
        auto* begin = static_cast<char*>(address.load());
        const auto* at = static_cast<const char*>(info->si_addr);
        if (at < begin || at >= begin + ring_bytes)
            _exit(99);
        char name[16]{};
        pthread_getname_np(pthread_self(), name, sizeof name);
        const bool is_write =
            (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
        if (!is_write && std::strcmp(name, "xpreempt-order") != 0)
            ++faults_by_program;
        mprotect(begin, ring_bytes, PROT_READ | PROT_WRITE);
    }
    static std::atomic<void*> address;

    void* ring_;
    struct sigaction before_{};
};
std::atomic<unsigned> GuardedRing::faults_by_program;
std::atomic<void*> GuardedRing::address;

// Two streams with a queue each; the first is held.
class VramRingTest : public ::testing::Test {
protected:
    void SetUp() override {
        fake_choose_driver();
        ASSERT_EQ(0, xp_start()); // sees the calls from here on
        fake_hip()->rings_in_vram = true;
        for (void** stream : {&held, &other}) {
            ASSERT_EQ(0, hipStreamCreate(stream));
            ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, *stream));
        }
        ASSERT_EQ(0, hipEventCreateWithFlags(&event, 0));
    }
    void TearDown() override { EXPECT_EQ(0, hipEventDestroy(event)); }
    static xp_stream_info query(void* stream) {
        xp_stream_info info{};
        info.sz = sizeof info;
        EXPECT_EQ(0, xp_stream_query(stream, &info)) << xp_last_detail();
        return info;
    }
    static char* ring_of(void* stream) {
        return reinterpret_cast<char*>(fake_driver()->queues[query(stream).kfd_queue_id].ring_base);
    }
    [[nodiscard]] int preempt() const {
        return xp_stream_hold(held, XP_HOLD_LEAST(XP_LEVEL_INTERRUPT), nullptr);
    }
    void hold() {
        ASSERT_EQ(0, preempt()) << xp_last_detail();
        fake_hip()->unfinished = true;
    }
    static bool soon(const std::function<bool()>& condition) {
        for (int i = 0; i < 5000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(1)))
            if (condition())
                return true;
        return false;
    }
    // The held queue's first packet completes the signal, which the barriers of calls wait for.
    void make_edges() {
        signal_[1] = 1;
        const auto handle = reinterpret_cast<std::uintptr_t>(signal_.data());
        std::memcpy(ring_of(held) + 56, &handle, sizeof handle);
        fake_hip()->waits_for = handle;
    }

    void* held = nullptr;
    void* other = nullptr;
    void* event = nullptr;
    std::array<std::atomic<std::int64_t>, 8> signal_{}; // amd_signal_t
};

// Each call is made with the other stream's ring guarded: a write of a packet would open its own.
TEST_F(VramRingTest, no_call_of_the_program_reads_it) {
    const auto expect_no_read = [](void* ring_owner,
                                   std::initializer_list<std::function<int()>> calls) {
        const GuardedRing guarded(ring_of(ring_owner));
        int number = 0;
        for (const auto& call : calls) {
            guarded.protect();
            EXPECT_EQ(0, call()) << number;
            EXPECT_EQ(0U, GuardedRing::faults_by_program) << number;
            ++number;
        }
    };
    const auto launch = [this](fake::Seam seam, unsigned packets) {
        fake_hip()->seam = seam;
        fake_hip()->packets_a_launch = packets;
        return hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, other, nullptr, nullptr);
    };
    expect_no_read(other, {[this] { return preempt(); },
                           [this] { return hipMemsetAsync(nullptr, 0, 4, held); },
                           [this] { return hipEventRecord(event, held); },
                           [this] { return query(held).held == 1 ? 0 : 1; }});
    expect_no_read(held, {[this] { return hipMemsetAsync(nullptr, 0, 4, other); },
                          [this] { return hipEventRecord(event, other); },
                          [this] { return hipStreamWaitEvent(other, event, 0); },
                          [&] { return launch(fake::Seam::add, 3); },
                          [&] { return launch(fake::Seam::doorbell, 1); },
                          [&] { return launch(fake::Seam::add, 1); },
                          [this] { return hipStreamSynchronize(other); },
                          [this] { return hipGraphLaunch(nullptr, other); },
                          [this] { return query(other).level != 0 ? 0 : 1; },
                          [this] { return hipStreamDestroy(other); },
                          [this] { return xp_stream_release(held); }});
}

TEST_F(VramRingTest, an_edge_in_it_is_found) {
    make_edges();
    hold();
    EXPECT_EQ(0U, query(other).blocked);
    ASSERT_EQ(0, hipStreamWaitEvent(other, event, 0));
    EXPECT_TRUE(soon([this] { return query(other).blocked == 1; }));
    EXPECT_EQ(query(held).kfd_queue_id, query(other).blocker);
    signal_[1] = 0; // it came
    EXPECT_EQ(0U, query(other).blocked);
    EXPECT_EQ(0, xp_stream_release(held));
}

TEST_F(VramRingTest, an_edge_from_before_the_hold_is_found) {
    make_edges();
    ASSERT_EQ(0, hipStreamWaitEvent(other, event, 0));
    hold();
    EXPECT_TRUE(soon([this] { return query(other).blocked == 1; }));
    EXPECT_EQ(0, xp_stream_release(held));
}

// More than are copied in one batch.
TEST_F(VramRingTest, an_edge_behind_many_packets_is_found) {
    make_edges();
    for (int i = 0; i < 700; ++i)
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, other));
    ASSERT_EQ(0, hipStreamWaitEvent(other, event, 0));
    hold();
    EXPECT_TRUE(soon([this] { return query(other).blocked == 1; }));
    EXPECT_EQ(0, xp_stream_release(held));
}

// A held queue of lower priority runs for one that waits for it.
TEST_F(VramRingTest, a_higher_priority_that_waits_lifts_the_hold) {
    make_edges();
    xp_xqueue_t low{}, high{};
    ASSERT_EQ(0, xp_xqueue_create(held, nullptr, &low)) << xp_last_detail();
    ASSERT_EQ(0, xp_xqueue_create(other, nullptr, &high)) << xp_last_detail();
    ASSERT_EQ(0, xp_xqueue_set_priority(high, 5));
    ASSERT_EQ(0, xp_xqueue_suspend(low, XP_SUSPEND_EXACT, nullptr)) << xp_last_detail();
    const auto is_lifted = [low] {
        xp_xqueue_state state{};
        state.sz = sizeof state;
        EXPECT_EQ(0, xp_xqueue_query(low, &state)) << xp_last_detail();
        return state.lifted == 1;
    };
    EXPECT_FALSE(is_lifted());
    ASSERT_EQ(0, hipStreamWaitEvent(other, event, 0));
    EXPECT_TRUE(soon(is_lifted));
    signal_[1] = 0;
    EXPECT_TRUE(soon([&] { return !is_lifted(); }));
    EXPECT_EQ(0, xp_xqueue_resume(low));
    EXPECT_EQ(0, xp_xqueue_destroy(low));
    EXPECT_EQ(0, xp_xqueue_destroy(high));
}

// A packet that was reserved and isn't published: it may be an edge.
TEST_F(VramRingTest, a_packet_that_was_not_read_counts_as_an_edge) {
    auto* header = reinterpret_cast<std::atomic<std::uint32_t>*>(ring_of(other));
    header->store(1); // HSA_PACKET_TYPE_INVALID
    hold();
    std::atomic<bool> returned{false};
    std::thread thread([&] {
        EXPECT_EQ(0, hipStreamSynchronize(other));
        returned = true;
    });
    EXPECT_TRUE(soon([this] { return query(other).waiters == 1; }));
    EXPECT_FALSE(returned);
    header->store(0x102);
    EXPECT_TRUE(soon([&] { return returned.load(); })); // without a resume
    EXPECT_EQ(1U, query(held).held);
    thread.join();
    EXPECT_EQ(0, xp_stream_release(held));
}

// HIP waits for what it destroys, and that may wait for the held queue.
TEST_F(VramRingTest, a_stream_is_destroyed_with_the_held_queue_running) {
    auto* header = reinterpret_cast<std::atomic<std::uint32_t>*>(ring_of(other));
    header->store(1);
    hold();
    const fake::Queue& queue_held = fake_driver()->queues[query(held).kfd_queue_id];
    const std::uint32_t before = queue_held.preempts + queue_held.updates;
    EXPECT_EQ(0, hipStreamDestroy(other));
    EXPECT_LT(before, queue_held.preempts + queue_held.updates); // held again
    EXPECT_EQ(0, xp_stream_release(held));
}

// Unread packets count as edges: a wait for that stream waits outside of HIP until they were read.
TEST_F(VramRingTest, a_stream_without_an_edge_is_waited_for_inside_hip) {
    hold();
    ASSERT_EQ(0, hipEventRecord(event, other));
    std::atomic<bool> returned{false};
    std::thread thread([&] {
        EXPECT_EQ(0, hipStreamSynchronize(other)); // the fake one returns at once
        returned = true;
    });
    EXPECT_TRUE(soon([&] { return returned.load(); }));
    thread.join();
    EXPECT_EQ(0, xp_stream_release(held));
}

// The high-priority stream's own launches aren't bounded by packets that weren't read.
TEST_F(VramRingTest, kernels_behind_the_last_edge_are_not_waited_for) {
    hold();
    for (int i = 0; i < 500; ++i)
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, other));
    EXPECT_EQ(0U, query(held).waiters);
    EXPECT_EQ(0, xp_stream_release(held));
}

int put_packet(void* stream, void*) {
    return hipMemsetAsync(nullptr, 0, 4, stream);
}

TEST_F(VramRingTest, a_flush_is_refused) {
    xp_xqueue_options options{};
    options.sz = sizeof options;
    options.deactivate_method = XP_METHOD_FLUSH;
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(other, &options, &xqueue)) << xp_last_detail();
    ASSERT_EQ(0, xp_xqueue_set_max_level(xqueue, XP_LEVEL_DEACTIVATE));
    xp_command command{};
    command.sz = sizeof command;
    command.flags = XP_COMMAND_IDEMPOTENT;
    command.launch = put_packet;
    ASSERT_EQ(0, xp_xqueue_submit_command(xqueue, &command, nullptr));
    EXPECT_EQ(-EOPNOTSUPP, xp_xqueue_suspend(xqueue, XP_SUSPEND_EXACT, nullptr));
    xp_xqueue_state state{};
    state.sz = sizeof state;
    ASSERT_EQ(0, xp_xqueue_query(xqueue, &state));
    EXPECT_NE(std::string::npos, std::string(state.reason).find("is in VRAM")) << state.reason;
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

} // namespace
