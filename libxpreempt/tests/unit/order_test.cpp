// SPDX-License-Identifier: MIT
// Edges as rings tell them, and what follows from them: on packets made here, by tables.
#include "order/aql.hpp"
#include "order/find_waiters.hpp"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

using namespace xpreempt::order;

struct FakeSignal {
    std::int64_t kind = 1;
    std::int64_t value = 1;
    [[nodiscard]] Signal handle() const { return reinterpret_cast<Signal>(this); }
};

class AqlTest : public ::testing::Test {
protected:
    static constexpr std::uint32_t packets = 8;

    std::byte* put(std::uint8_t type) {
        std::byte* packet = &memory[(ring.write & (packets - 1)) * packet_bytes];
        ++ring.write;
        std::memset(packet, 0, packet_bytes);
        std::memcpy(packet, &type, 1);
        return packet;
    }
    template <typename T> static void set(std::byte* packet, std::size_t offset, T value) {
        std::memcpy(packet + offset, &value, sizeof value);
    }

    std::array<std::byte, packets * packet_bytes> memory{};
    Ring ring{memory.data(), packets, 0, 0};
    FakeSignal first, second;
};

TEST_F(AqlTest, a_barrier_waits_for_what_has_not_come) {
    std::byte* barrier = put(3);
    set(barrier, 8, first.handle());
    set(barrier, 40, second.handle());
    EXPECT_EQ((std::vector{first.handle(), second.handle()}), waits_in(ring));
    first.value = 0;
    EXPECT_EQ(std::vector{second.handle()}, waits_in(ring));
    ring.read = 1; // passed
    EXPECT_TRUE(waits_in(ring).empty());
}

TEST_F(AqlTest, one_signal_is_enough_for_a_barrier_or) {
    std::byte* barrier = put(5);
    set(barrier, 8, first.handle());
    set(barrier, 16, second.handle());
    EXPECT_EQ(2U, waits_in(ring).size());
    second.value = 0;
    EXPECT_TRUE(waits_in(ring).empty());
}

TEST_F(AqlTest, a_barrier_value_waits_for_its_condition) {
    const struct {
        std::uint32_t condition;
        std::int64_t value, reference, mask;
        bool waits;
    } rows[] = {
        {0, 5, 5, -1, false}, {0, 4, 5, -1, true},  {1, 1, 1, -1, true},
        {1, 0, 1, -1, false}, {2, 0, 1, -1, false}, {2, 1, 1, -1, true},
        {3, 1, 1, -1, false}, {3, 0, 1, -1, true},  {0, 0x15, 5, 0xf, false},
    };
    for (const auto& row : rows) {
        ring.read = ring.write;
        std::byte* barrier = put(0);
        set<std::uint8_t>(barrier, 2, 2);
        set(barrier, 8, first.handle());
        set(barrier, 16, row.reference);
        set(barrier, 24, row.mask);
        set(barrier, 32, row.condition);
        first.value = row.value;
        EXPECT_EQ(row.waits, !waits_in(ring).empty()) << row.condition << ' ' << row.value;
    }
}

TEST_F(AqlTest, other_packets_wait_for_nothing) {
    for (const std::uint8_t type : std::array<std::uint8_t, 3>{1, 2, 4}) {
        std::byte* packet = put(type);
        for (std::size_t offset = 8; offset < 56; offset += 8)
            set(packet, offset, first.handle());
    }
    std::byte* pm4 = put(0); // vendor specific, AMD's PM4
    set<std::uint8_t>(pm4, 2, 1);
    set(pm4, 8, first.handle());
    EXPECT_TRUE(waits_in(ring).empty());
}

TEST_F(AqlTest, a_packet_completes_its_signal_also_when_its_slot_is_free) {
    set(put(2), 56, first.handle());
    EXPECT_TRUE(completes(ring, first.handle()));
    EXPECT_FALSE(completes(ring, second.handle()));
    ring.read = 1;
    memory[0] = std::byte{1}; // the packet processor's mark: invalid
    EXPECT_TRUE(completes(ring, first.handle()));
    for (std::uint32_t i = 0; i < packets; ++i)
        put(2);
    EXPECT_FALSE(completes(ring, first.handle())); // overwritten
}

TEST_F(AqlTest, indices_that_cannot_be_are_not_followed) {
    put(3);
    ring.read = 100;
    EXPECT_TRUE(waits_in(ring).empty());
}

// Queues are letters: upper case is held. "b>A" means that b waits for a signal of A; "c2>A" that
// copy 2, in the ring's order, waits for it; "b>2" that b waits for copy 2.
class Scene {
public:
    Scene& queue(char name, std::int32_t priority = 0) {
        names_ += name;
        snapshot_.queues.push_back({name >= 'A' && name <= 'Z', priority, {}});
        snapshot_.owners.push_back({signal(name), snapshot_.queues.size() - 1});
        return *this;
    }
    Scene& waits(char waiter, char owner) {
        snapshot_.queues[index(waiter)].waits.push_back(signal(owner));
        return *this;
    }
    // A copy of the queue's stream; it waits for the owner's signal, 0 for none.
    Scene& copy(char of, char owner, std::uint32_t engine = 1) {
        const char digit = static_cast<char>('0' + snapshot_.copies.size());
        CopyState copy{index(of), snapshot_.queues[index(of)].priority, engine, {}, signal(digit)};
        if (owner != 0)
            copy.waits.push_back(signal(owner));
        snapshot_.copies.push_back(copy);
        return *this;
    }
    // Each queue's blocker by name, '-' for none; then the lifted ones.
    [[nodiscard]] std::string found() const {
        const Verdict verdict = find_waiters(snapshot_);
        std::string text, lifted;
        for (std::size_t i = 0; i < names_.size(); ++i) {
            text += verdict.blocker[i] == nobody ? '-' : names_[verdict.blocker[i]];
            if (verdict.lift[i])
                lifted += names_[i];
        }
        return text + " " + lifted;
    }

private:
    static Signal signal(char name) { return 0x1000U + static_cast<unsigned char>(name); }
    [[nodiscard]] std::size_t index(char name) const { return names_.find(name); }

    std::string names_;
    Snapshot snapshot_;
};

TEST(JudgeTest, holding_a_queue_makes_those_wait_that_wait_for_it) {
    EXPECT_EQ("-- ", Scene().queue('A').queue('b').found());
    EXPECT_EQ("-A ", Scene().queue('A').queue('b').waits('b', 'A').found());
    // No queue is held.
    EXPECT_EQ("-- ", Scene().queue('a').queue('b').waits('b', 'a').found());
    // Over others, and not the other way round.
    EXPECT_EQ("-AA-", Scene()
                          .queue('A')
                          .queue('b')
                          .queue('c')
                          .queue('d')
                          .waits('c', 'b')
                          .waits('b', 'A')
                          .waits('A', 'd')
                          .found()
                          .substr(0, 4));
    // A circle of the program's own making ends here too.
    EXPECT_EQ("-- ", Scene().queue('a').queue('b').waits('a', 'b').waits('b', 'a').found());
    EXPECT_EQ("-A ", Scene().queue('A').queue('b').waits('A', 'b').waits('b', 'A').found());
}

TEST(JudgeTest, only_a_higher_priority_lifts) {
    const auto lifted = [](std::int32_t held, std::int32_t waiting) {
        return Scene().queue('A', held).queue('b', waiting).waits('b', 'A').found() == "-A A";
    };
    EXPECT_FALSE(lifted(0, 0));
    EXPECT_FALSE(lifted(1, 0));
    EXPECT_TRUE(lifted(0, 1));
    EXPECT_TRUE(lifted(-255, -254));
    EXPECT_FALSE(lifted(255, 255));
}

TEST(JudgeTest, inheritance_goes_through_the_chain) {
    // The one between has no priority of its own to lift with.
    EXPECT_EQ("-AA A", Scene()
                           .queue('A', -1)
                           .queue('b', -5)
                           .queue('c', 3)
                           .waits('c', 'b')
                           .waits('b', 'A')
                           .found());
    // A held queue that is waited for waits itself for another held one: both must run.
    EXPECT_EQ("-AB AB", Scene()
                            .queue('A', -1)
                            .queue('B', -2)
                            .queue('c', 3)
                            .waits('c', 'B')
                            .waits('B', 'A')
                            .found()
                            .replace(2, 1, "B")); // either of the two is named
    // Only as far as the priority goes.
    EXPECT_EQ("B", Scene()
                       .queue('A', 9)
                       .queue('B', -2)
                       .queue('c', 3)
                       .waits('c', 'B')
                       .waits('c', 'A')
                       .found()
                       .substr(4));
}

TEST(JudgeTest, a_parked_copy_is_in_the_way_of_others) {
    // Its own stream's later copies don't matter.
    EXPECT_EQ("-- ", Scene().queue('A').queue('b').copy('A', 'A').copy('A', 'A').found());
    // Another stream's does, unless it is less important.
    EXPECT_EQ("-- A", Scene().queue('A').queue('b').copy('A', 'A').copy('b', 0).found());
    EXPECT_EQ("-- ", Scene().queue('A', 1).queue('b').copy('A', 'A').copy('b', 0).found());
    // The most important of several counts, in either order.
    for (const char* order : {"bc", "cb"})
        EXPECT_EQ("--- A", Scene()
                               .queue('A', 1)
                               .queue('b', 2)
                               .queue('c', 0)
                               .copy('A', 'A')
                               .copy(order[0], 0)
                               .copy(order[1], 0)
                               .found());
    // On another engine it doesn't; where ROCr chose the engine it may.
    EXPECT_EQ("-- ", Scene().queue('A').queue('b').copy('A', 'A', 1).copy('b', 0, 2).found());
    EXPECT_EQ("-- A", Scene().queue('A').queue('b').copy('A', 'A', 1).copy('b', 0, 0).found());
    EXPECT_EQ("-- A", Scene().queue('A').queue('b').copy('A', 'A', 0).copy('b', 0, 2).found());
    // One that came before isn't behind it.
    EXPECT_EQ("-- ", Scene().queue('A').queue('b').copy('b', 0).copy('A', 'A').found());
    // A copy that waits for no held queue blocks no queue.
    EXPECT_EQ("-- ", Scene().queue('A').queue('b').copy('A', 0).copy('b', 0).found());
}

TEST(JudgeTest, edges_lead_through_copies) {
    EXPECT_EQ("-A ", Scene().queue('A').queue('b').copy('A', 'A').waits('b', '0').found());
    EXPECT_EQ("-A A", Scene().queue('A').queue('b', 1).copy('A', 'A').waits('b', '0').found());
    EXPECT_EQ("-- A", Scene().queue('A').queue('b', 1).copy('b', 'A').found());
}

} // namespace
