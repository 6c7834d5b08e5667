// SPDX-License-Identifier: MIT
// Tests of the state that is saved with a queue, and of its checks when the queue is restored.
#include "model/sq/control_stack.hpp"
#include "model/sq/save_area.hpp"
#include "tests/sq/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace vgpu::test {

namespace {

// Offsets of fields in the format that control_stack.hpp describes.
constexpr std::size_t header_bytes = 24;
constexpr std::size_t dispatch_bytes = 160;
constexpr std::size_t workgroup_count_field = header_bytes + 120;
constexpr std::size_t done_field = header_bytes + 116;

using Bytes = std::vector<std::byte>;

std::uint32_t word(const Bytes& bytes, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return value;
}
void set_word(Bytes& bytes, std::size_t at, std::uint32_t value) {
    std::memcpy(bytes.data() + at, &value, sizeof(value));
}

// Makes size and checksum of changed bytes right again, as a forger would.
void seal(Bytes& bytes) {
    constexpr std::size_t checksum_field = 16;
    set_word(bytes, 20, static_cast<std::uint32_t>(bytes.size()));
    set_word(bytes, checksum_field, 0);
    std::uint32_t hash = 2166136261U;
    for (const std::byte b : bytes) {
        hash = (hash ^ std::to_integer<std::uint32_t>(b)) * 16777619U;
    }
    set_word(bytes, checksum_field, hash);
}

struct Saved {
    Exchange run{20};
    SavedQueue queue;
    Saved() {
        run.gpu.array().run(500);
        queue = run.gpu.save();
        run.gpu.replace_array();
        run.gpu.array().bind(run.gpu.queue());
    }
    bool restore(const Bytes& bytes) { return run.gpu.array().restore(0, bytes); }
};

void erase(Bytes& bytes, std::size_t at, std::size_t count) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    bytes.erase(first, first + static_cast<std::ptrdiff_t>(count));
}

} // namespace

TEST(ControlStack, is_empty_when_nothing_is_in_flight) {
    Gpu gpu;
    gpu.array().bind(gpu.queue());
    gpu.array().request_stop(0, StopMode::save);
    EXPECT_TRUE(gpu.array().stopped(0));
    const SavedQueue saved = gpu.array().take_saved(0);
    EXPECT_TRUE(saved.control_stack.empty());
    EXPECT_EQ(saved.wave_state_bytes, 0U);
    gpu.array().unbind(0);
    gpu.array().bind(gpu.queue());
    EXPECT_TRUE(gpu.array().restore(0, {}));
}

TEST(ControlStack, has_the_documented_size) {
    Saved saved;
    // One dispatch, three workgroups of two waves.
    ASSERT_EQ(saved.queue.control_stack.size(), header_bytes + dispatch_bytes + 3 * (8 + 2 * 4));
    EXPECT_EQ(word(saved.queue.control_stack, workgroup_count_field), 3U);
    EXPECT_TRUE(saved.restore(saved.queue.control_stack));
}

TEST(ControlStack, a_full_array_fits_where_the_driver_leaves_room) {
    // kfd_queue.c: 8 bytes for each of 40 waves per CU, + 8 + a 40-byte header, in whole pages.
    for (const unsigned units : {4U, 40U}) {
        const std::size_t room = (40 + units * 40 * 8 + 8 + 4095) / 4096 * 4096 - 40;
        const std::size_t waves = units * 32;
        EXPECT_LE(header_bytes + sq::max_dispatches * dispatch_bytes + waves * (8 + 4), room);
    }
}

TEST(ControlStack, any_flipped_bit_is_refused) {
    Saved saved;
    for (std::size_t bit = 0; bit < saved.queue.control_stack.size() * 8; ++bit) {
        Bytes bytes = saved.queue.control_stack;
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        ASSERT_FALSE(saved.restore(bytes)) << "bit " << bit;
    }
    EXPECT_EQ(saved.run.gpu.array().dispatches_in_flight(0), 0U);
    EXPECT_TRUE(saved.restore(saved.queue.control_stack));
}

TEST(ControlStack, truncated_and_random_bytes_are_refused) {
    Saved saved;
    for (std::size_t size = 1; size < saved.queue.control_stack.size(); ++size) {
        ASSERT_FALSE(
            saved.restore({saved.queue.control_stack.begin(),
                           saved.queue.control_stack.begin() + static_cast<std::ptrdiff_t>(size)}));
    }
    std::mt19937 random(3);
    for (unsigned round = 0; round < 2000; ++round) {
        Bytes bytes(random() % 600 + 1);
        for (std::byte& b : bytes) {
            b = static_cast<std::byte>(random());
        }
        ASSERT_FALSE(saved.restore(bytes));
    }
}

// With a right checksum only the checks of each field are left. Bytes that pass them must not harm
// the model, even if they break the GPU kernel.
TEST(ControlStack, forged_bytes_do_no_harm) {
    std::mt19937 random(5);
    unsigned accepted = 0;
    for (unsigned round = 0; round < 800; ++round) {
        Saved saved;
        Bytes bytes = saved.queue.control_stack;
        for (unsigned change = 0; change <= random() % 3; ++change) {
            const std::size_t at = random() % bytes.size();
            bytes[at] = static_cast<std::byte>(random());
        }
        seal(bytes);
        if (saved.restore(bytes)) {
            ++accepted;
            saved.run.gpu.run_all(100'000);
        }
    }
    EXPECT_GT(accepted, 0U);
}

TEST(ControlStack, a_dropped_workgroup_is_refused_even_with_a_right_checksum) {
    Saved saved;
    Bytes bytes = saved.queue.control_stack;
    erase(bytes, header_bytes + dispatch_bytes, 16);
    EXPECT_FALSE(saved.restore(bytes));
    seal(bytes);
    EXPECT_FALSE(saved.restore(bytes));
    set_word(bytes, 8, word(bytes, 8) - 1);   // workgroups
    set_word(bytes, 12, word(bytes, 12) - 2); // waves
    set_word(bytes, workgroup_count_field, 2);
    seal(bytes);
    EXPECT_FALSE(saved.restore(bytes)); // one launched workgroup neither ended nor is here
}

// The control of all save tests: a lost record shows in the result.
TEST(ControlStack, a_lost_workgroup_shows_in_the_result) {
    const Reference reference = undisturbed(20);
    Saved saved;
    Bytes bytes = saved.queue.control_stack;
    erase(bytes, header_bytes + dispatch_bytes, 16);
    set_word(bytes, 8, word(bytes, 8) - 1);
    set_word(bytes, 12, word(bytes, 12) - 2);
    set_word(bytes, workgroup_count_field, 2);
    set_word(bytes, done_field, 1); // claims that it had ended
    seal(bytes);
    ASSERT_TRUE(saved.restore(bytes));
    saved.run.gpu.run_all();
    EXPECT_NE(saved.run.output(), reference.output);
}

TEST(ControlStack, a_lost_wave_shows_in_the_result) {
    const Reference reference = undisturbed(20);
    Saved saved;
    Bytes bytes = saved.queue.control_stack;
    const std::size_t group = header_bytes + dispatch_bytes;
    ASSERT_EQ(std::to_integer<unsigned>(bytes[group + 4]), 3U); // both waves
    const auto first = std::to_integer<unsigned>(bytes[group + 6]);
    bytes[group + 4] = static_cast<std::byte>(1U << first);
    erase(bytes, group + 8 + (first == 0 ? 4 : 0), 4);
    set_word(bytes, 12, word(bytes, 12) - 1);
    seal(bytes);
    ASSERT_TRUE(saved.restore(bytes));
    saved.run.gpu.run_all();
    EXPECT_NE(saved.run.output(), reference.output);
}

TEST(ControlStack, two_waves_with_the_same_memory_are_refused) {
    Saved saved;
    Bytes bytes = saved.queue.control_stack;
    const std::size_t offsets = header_bytes + dispatch_bytes + 8;
    set_word(bytes, offsets + 4, word(bytes, offsets));
    seal(bytes);
    EXPECT_FALSE(saved.restore(bytes));
}

TEST(ControlStack, a_queue_without_a_trap_handler_cannot_restore_waves) {
    Saved saved;
    saved.run.gpu.array().unbind(0);
    QueueBinding queue = saved.run.gpu.queue();
    queue.tba = 0;
    saved.run.gpu.array().bind(queue);
    EXPECT_FALSE(saved.restore(saved.queue.control_stack));
}

TEST(SaveArea, best_fit_around_regions_in_use) {
    sq::SaveArea area(4096, 4096 + 1024);
    ASSERT_TRUE(area.reserve(4096 + 256, 256));
    EXPECT_FALSE(area.reserve(4096 + 320, 64));  // inside
    EXPECT_FALSE(area.reserve(4096 + 192, 128)); // runs into it
    EXPECT_FALSE(area.reserve(4096 + 10, 64));   // misaligned
    EXPECT_FALSE(area.reserve(0, 64));           // in the control stack
    EXPECT_FALSE(area.reserve(4096 + 960, 128)); // beyond the end
    EXPECT_EQ(area.allocate(128), 4096U);        // the smaller of two gaps
    EXPECT_EQ(area.allocate(512), 4096U + 512);
    EXPECT_EQ(area.allocate(128), 4096U + 128);
    EXPECT_EQ(area.allocate(64), std::nullopt);
    area.release(4096 + 256);
    EXPECT_EQ(area.allocate(64), 4096U + 256);
    EXPECT_EQ(area.high_water(), 4096U + 1024);
}

} // namespace vgpu::test
