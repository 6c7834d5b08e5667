// SPDX-License-Identifier: MIT
// Launched commands that are taken back: by their guardians, and out of an AQL ring.
#include "backend/aql_ring.hpp"
#include "backend/guardians.hpp"
#include "backend/launched_commands.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

namespace {

using namespace xpreempt;
using backend::AqlRing;
using backend::Guardian;
using backend::GuardianRing;
using backend::LaunchedCommands;

constexpr std::uint32_t invalid = 1, dispatch = 2, barrier_and = 3, barrier_or = 5, vendor = 0;
constexpr std::uint32_t barrier_bit = 0x100, fences = 0x1400; // acquire and release, system scope

constexpr std::uint64_t hsa_queue = 0x7000; // what the log and the mapping call it

// A ring of 16 packets and the queue structure beside it, with the packet processor's part of it.
class Queue {
public:
    Queue() {
        for (auto& packet : ring_)
            packet[0] = invalid;
    }

    std::uint64_t put(std::uint32_t header, std::uint64_t signal = 0) {
        auto& packet = ring_[write() % ring_.size()];
        packet.fill(0xaaaa'aaaa);
        packet[14] = static_cast<std::uint32_t>(signal);
        packet[15] = static_cast<std::uint32_t>(signal >> 32);
        packet[0] = header | 0x3'0000; // three dimensions
        return write()++;
    }
    std::uint64_t put_kernel(std::uint64_t signal = 0) {
        return put(dispatch | barrier_bit | fences, signal);
    }
    // The oldest packet completes.
    std::uint32_t complete() {
        std::uint32_t& header = ring_[read() % ring_.size()][0];
        const std::uint32_t was = header;
        header = (header & ~0xffU) | invalid;
        ++read();
        return was;
    }
    // Completes all remaining packets, as the packet processor does. Returns the number of kernels.
    unsigned drain() {
        unsigned kernels = 0;
        while (read() != write())
            kernels += (complete() & 0xff) == dispatch ? 1U : 0U;
        return kernels;
    }

    std::uint64_t& write() { return structure_[7]; } // 0x38
    std::uint64_t& read() { return structure_[16]; } // 0x80
    const std::array<std::uint32_t, 16>& packet(std::uint64_t index) const {
        return ring_[index % ring_.size()];
    }
    hip::QueueRecord record() {
        hip::QueueRecord record{};
        record.ring_base = reinterpret_cast<std::uintptr_t>(ring_.data());
        record.ring_bytes = sizeof ring_;
        record.hsa_queue = reinterpret_cast<std::uintptr_t>(structure_.data());
        return record;
    }

private:
    alignas(64) std::array<std::array<std::uint32_t, 16>, 16> ring_{};
    std::array<std::uint64_t, 32> structure_{};
};

LaunchedCommands::Entry flushable(xqueue::Ticket ticket,
                                  const std::vector<std::uint64_t>& packets) {
    LaunchedCommands::Entry entry;
    entry.ticket = ticket;
    entry.log = std::make_unique<hook::PacketLog>();
    entry.log->hsa_queue = hsa_queue;
    for (const std::uint64_t packet : packets)
        entry.log->packets[entry.log->num_packets++] = packet;
    return entry;
}

TEST(AqlRing, what_may_run_is_left_and_what_is_behind_a_barrier_bit_is_untouched) {
    Queue queue;
    AqlRing ring(queue.record());
    EXPECT_EQ(0U, ring.first_untouched()); // empty
    queue.put_kernel();
    EXPECT_EQ(1U, ring.first_untouched());
    queue.put(dispatch); // starts beside the one before
    queue.put(dispatch);
    queue.put_kernel();
    queue.put(dispatch);
    EXPECT_EQ(3U, ring.first_untouched());
    queue.complete();
    EXPECT_EQ(3U, ring.first_untouched());
}

TEST(AqlRing, a_packet_that_is_not_published_yet_proves_nothing) {
    Queue queue;
    queue.put_kernel();
    queue.put(invalid | barrier_bit);
    queue.put_kernel();
    EXPECT_EQ(2U, AqlRing(queue.record()).first_untouched());
}

TEST(AqlRing, a_writer_beyond_a_full_ring_is_not_followed) {
    Queue queue;
    for (unsigned i = 0; i < 16; ++i)
        queue.put(dispatch);
    queue.write() += 3; // reserved, and waits for room
    EXPECT_EQ(19U, AqlRing(queue.record()).first_untouched());
}

TEST(AqlRing, a_no_op_keeps_order_fences_and_signal_and_waits_for_nothing) {
    Queue queue;
    const std::uint64_t packet = queue.put_kernel(0x1234'5678'9abc'def0);
    AqlRing(queue.record()).make_no_op(packet);
    EXPECT_EQ(barrier_and | barrier_bit | fences, queue.packet(packet)[0]);
    for (unsigned word = 1; word < 14; ++word)
        EXPECT_EQ(0U, queue.packet(packet)[word]) << word;
    EXPECT_EQ(0x9abc'def0U, queue.packet(packet)[14]);
    EXPECT_EQ(0x1234'5678U, queue.packet(packet)[15]);
}

TEST(Flush, what_did_not_begin_is_taken_back_in_order) {
    Queue queue;
    LaunchedCommands commands;
    for (xqueue::Ticket ticket = 1; ticket <= 4; ++ticket)
        commands.add(flushable(ticket, {queue.put_kernel()}));
    queue.complete();
    AqlRing ring(queue.record());
    EXPECT_EQ(3U, commands.take_back_packets(ring, hsa_queue)); // 2 may be running
    EXPECT_EQ(1U, queue.drain());
    EXPECT_EQ(std::nullopt, commands.take_back_packets(ring, hsa_queue));
}

TEST(Flush, packets_of_others_and_packets_that_are_no_kernels_stay) {
    Queue queue;
    queue.put_kernel(); // runs
    const std::uint64_t first = queue.put_kernel();
    const std::uint64_t neighbour = queue.put_kernel();
    const std::uint64_t wait = queue.put(barrier_and | barrier_bit, 8);
    const std::uint64_t any = queue.put(barrier_or | barrier_bit, 8);
    const std::uint64_t value = queue.put(vendor | barrier_bit);
    LaunchedCommands commands;
    commands.add(flushable(1, {first, wait, any, value}));
    AqlRing ring(queue.record());
    EXPECT_EQ(1U, commands.take_back_packets(ring, hsa_queue));
    for (const std::uint64_t packet : {neighbour, wait, any, value})
        EXPECT_EQ(0xaaaa'aaaaU, queue.packet(packet)[5]) << packet;
    EXPECT_EQ(2U, queue.drain()); // what ran, and the neighbour
}

TEST(Flush, a_command_half_done_is_taken_back_as_a_whole) {
    Queue queue;
    const std::uint64_t running = queue.put_kernel();
    const std::uint64_t rest = queue.put_kernel();
    LaunchedCommands commands;
    commands.add(flushable(7, {running, rest}));
    AqlRing ring(queue.record());
    EXPECT_EQ(7U, commands.take_back_packets(ring, hsa_queue));
    EXPECT_EQ(1U, queue.drain());
}

TEST(Flush, stops_at_a_command_that_cannot_be_taken_back) {
    Queue queue;
    queue.put_kernel(); // runs
    LaunchedCommands commands;
    commands.add(flushable(1, {queue.put_kernel()}));
    LaunchedCommands::Entry plain;
    plain.ticket = 2;
    queue.put_kernel();
    commands.add(std::move(plain));
    EXPECT_FALSE(commands.can_flush());
    AqlRing ring(queue.record());
    EXPECT_EQ(std::nullopt, commands.take_back_packets(ring, hsa_queue));
    commands.add(flushable(3, {queue.put_kernel()}));
    EXPECT_TRUE(commands.can_flush());
    EXPECT_EQ(3U, commands.take_back_packets(ring, hsa_queue));
    EXPECT_EQ(3U, queue.drain());
}

TEST(Flush, a_command_with_work_outside_of_packets_is_like_a_plain_one) {
    Queue queue;
    queue.put_kernel();
    LaunchedCommands commands;
    auto entry = flushable(1, {queue.put_kernel()});
    entry.log->incomplete = 1;
    commands.add(std::move(entry));
    EXPECT_FALSE(commands.can_flush());
    AqlRing ring(queue.record());
    EXPECT_EQ(std::nullopt, commands.take_back_packets(ring, hsa_queue));
    EXPECT_EQ(2U, queue.drain());
}

TEST(Flush, packets_of_a_queue_that_the_stream_has_left_stay) {
    Queue queue;
    queue.put_kernel();
    LaunchedCommands commands;
    auto entry = flushable(1, {queue.put_kernel()});
    entry.log->hsa_queue = hsa_queue + 1;
    commands.add(std::move(entry));
    commands.add(flushable(2, {queue.put_kernel()}));
    AqlRing ring(queue.record());
    EXPECT_EQ(2U, commands.take_back_packets(ring, hsa_queue));
    EXPECT_EQ(2U, queue.drain());
}

TEST(Flush, a_late_read_index_gives_nothing_back_that_has_completed) {
    Queue queue;
    LaunchedCommands commands;
    for (xqueue::Ticket ticket = 1; ticket <= 4; ++ticket)
        commands.add(flushable(ticket, {queue.put_kernel()}));
    queue.complete();
    queue.complete();
    queue.read() = 0; // the store of it comes later
    AqlRing ring(queue.record());
    EXPECT_EQ(3U, commands.take_back_packets(ring, hsa_queue));
}

TEST(Flush, launched_again_it_can_be_taken_back_again) {
    Queue queue;
    LaunchedCommands commands;
    queue.put_kernel();
    commands.add(flushable(1, {queue.put_kernel()}));
    AqlRing ring(queue.record());
    for (unsigned round = 0; round < 5; ++round) {
        ASSERT_EQ(1U, commands.take_back_packets(ring, hsa_queue));
        EXPECT_EQ(0U, commands.last());
        commands.add(flushable(1, {queue.put_kernel()}));
    }
    EXPECT_EQ(2U, queue.drain());
}

class Guarded : public ::testing::Test {
protected:
    void launch(xqueue::Ticket ticket) {
        LaunchedCommands::Entry entry;
        entry.ticket = ticket;
        ASSERT_TRUE(ring_.arm(entry.guardian.emplace()));
        guardians_.push_back(*entry.guardian);
        commands_.add(std::move(entry));
    }
    // Makes the decision as a kernel does. Returns true if the kernel runs.
    static bool kernel(const Guardian& guardian) {
        std::uint32_t found = backend::undecided;
        return std::atomic_ref(*guardian.decision).compare_exchange_strong(found, backend::run) ||
               found == backend::run;
    }

    std::vector<std::uint32_t> decisions_ = std::vector<std::uint32_t>(GuardianRing::num_slots);
    GuardianRing ring_{decisions_.data(), nullptr, -1};
    LaunchedCommands commands_;
    std::vector<Guardian> guardians_;
};

TEST_F(Guarded, what_began_runs_with_all_its_kernels_and_the_rest_does_not) {
    for (xqueue::Ticket ticket = 1; ticket <= 4; ++ticket)
        launch(ticket);
    EXPECT_TRUE(kernel(guardians_[0]));
    EXPECT_TRUE(kernel(guardians_[1]));
    EXPECT_EQ(3U, commands_.take_back_guarded());
    EXPECT_TRUE(kernel(guardians_[1])); // its second kernel
    EXPECT_FALSE(kernel(guardians_[2]));
    EXPECT_FALSE(kernel(guardians_[3]));
    EXPECT_EQ(std::nullopt, commands_.take_back_guarded());
}

TEST_F(Guarded, a_plain_command_runs_and_so_does_all_before_it) {
    launch(1);
    LaunchedCommands::Entry plain;
    plain.ticket = 2;
    commands_.add(std::move(plain));
    EXPECT_FALSE(commands_.can_guard());
    EXPECT_EQ(std::nullopt, commands_.take_back_guarded());
    launch(3);
    EXPECT_TRUE(commands_.can_guard());
    EXPECT_EQ(3U, commands_.take_back_guarded());
    EXPECT_TRUE(kernel(guardians_[0]));
}

TEST_F(Guarded, a_command_that_failed_runs_and_is_never_taken_back) {
    launch(1);
    LaunchedCommands::Entry entry;
    entry.ticket = 2;
    ASSERT_TRUE(ring_.arm(entry.guardian.emplace()));
    commands_.add(std::move(entry), false);
    EXPECT_FALSE(commands_.can_guard());
    EXPECT_EQ(std::nullopt, commands_.take_back_guarded());
}

TEST_F(Guarded, a_slot_is_not_used_again_before_its_last_kernel_has_come) {
    launch(1);
    launch(2);
    EXPECT_TRUE(kernel(guardians_[0]));
    EXPECT_EQ(2U, commands_.take_back_guarded());
    EXPECT_EQ(1U, commands_.forget(1));
    // 2 was taken back, but its kernel is still in the queue and will check.
    EXPECT_EQ(0U, commands_.forget(2));
    launch(2);
    EXPECT_NE(guardians_[1].decision, guardians_[2].decision);
    EXPECT_FALSE(kernel(guardians_[1]));
    EXPECT_TRUE(kernel(guardians_[2]));
    EXPECT_EQ(2U, commands_.forget(2));
}

TEST_F(Guarded, when_all_slots_are_in_use_there_is_none) {
    Guardian guardian;
    for (std::uint32_t i = 0; i < GuardianRing::num_slots; ++i)
        ASSERT_TRUE(ring_.arm(guardian));
    EXPECT_FALSE(ring_.arm(guardian));
    ring_.retire(1);
    EXPECT_TRUE(ring_.arm(guardian));
    EXPECT_EQ(decisions_.data(), guardian.decision);
    EXPECT_EQ(GuardianRing::num_slots + 1, guardian.launch);
}

} // namespace
