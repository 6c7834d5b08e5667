// SPDX-License-Identifier: MIT
// Tests of the state that is saved with a queue, and of its checks when the queue is restored.
#include "model/sq/control_stack.hpp"
#include "model/sq/relaunch_words.hpp"
#include "tests/sq/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace vgpu::test {

namespace {

namespace relaunch = sq::relaunch;

using Bytes = std::vector<std::byte>;

// Offsets of fields in what the first events have, as control_stack.cpp says.
constexpr std::size_t header_bytes = 16;
constexpr std::size_t dispatch_bytes = 160;
constexpr std::size_t words_field = 8;
constexpr std::size_t checksum_field = 12;
constexpr std::size_t done_field = header_bytes + 116;
constexpr std::size_t pm4_words = 2;
// A workgroup of two waves that are both saved.
constexpr std::size_t workgroup_words = 3;

// A control stack in its parts: what the first events have, and the words behind them.
struct Parts {
    std::vector<std::uint32_t> pm4;
    Bytes front;
    std::vector<std::uint32_t> rest;

    explicit Parts(const Bytes& bytes) {
        std::vector<std::uint32_t> words(bytes.size() / 4);
        std::memcpy(words.data(), bytes.data(), bytes.size());
        pm4.assign(words.begin(), words.begin() + pm4_words);
        std::span<const std::uint32_t> behind = std::span(words).subspan(pm4_words);
        front = relaunch::take_events(behind).value();
        rest.assign(behind.begin(), behind.end());
    }

    void set(std::size_t at, std::uint32_t value) {
        std::memcpy(front.data() + at, &value, sizeof(value));
    }
    // Size and checksum are right again, as a forger would have them.
    Bytes sealed() {
        set(words_field, static_cast<std::uint32_t>(words().size()));
        set(checksum_field, 0);
        std::uint32_t hash = 2166136261U;
        for (const std::byte b : bytes()) {
            hash = (hash ^ std::to_integer<std::uint32_t>(b)) * 16777619U;
        }
        set(checksum_field, hash);
        return bytes();
    }
    Bytes bytes() const {
        const std::vector<std::uint32_t> all = words();
        const auto raw = std::as_bytes(std::span(all));
        return {raw.begin(), raw.end()};
    }
    std::vector<std::uint32_t> words() const {
        std::vector<std::uint32_t> all = pm4;
        relaunch::append_events(all, front);
        all.insert(all.end(), rest.begin(), rest.end());
        return all;
    }
};

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
    const Parts parts(saved.queue.control_stack);
    EXPECT_EQ(parts.front.size(), header_bytes + dispatch_bytes);
    EXPECT_EQ(parts.rest.size(), 2 + 3 * workgroup_words);
    EXPECT_TRUE(saved.restore(saved.queue.control_stack));
}

TEST(ControlStack, a_full_array_fits_where_the_driver_leaves_room) {
    // kfd_queue.c: 8 bytes for each of 40 waves per CU, + 8 + a 40-byte header, in whole pages.
    const std::size_t front = relaunch::event_words(
        header_bytes + sq::max_dispatches * (dispatch_bytes + 76) + 64 * sizeof(std::uint32_t));
    for (const unsigned units : {4U, 38U, 40U}) {
        const std::size_t room = (40 + units * 40 * 8 + 8 + 4095) / 4096 * 4096 - 40;
        const std::size_t waves = units * 32;
        const std::size_t states = sq::max_dispatches * 2;
        EXPECT_LE((pm4_words + front + states + waves * 2) * 4, room) << units;
    }
}

// As ROCdbgapi walks it: from the end of the area down, the first wave of a workgroup before its
// others, and in the end the whole area.
TEST(ControlStack, words_describe_the_whole_area_from_its_end_down) {
    Saved saved;
    const std::vector<std::uint32_t> words = Parts(saved.queue.control_stack).words();
    std::uint32_t state = 0;
    std::uint32_t below = Gpu::ctl_stack_bytes + saved.queue.wave_state_bytes;
    std::vector<std::uint32_t> positions;
    for (const std::uint32_t word : std::span(words).subspan(pm4_words)) {
        if (relaunch::is_event(word)) {
            continue;
        }
        if (relaunch::is_state(word)) {
            state = word;
            continue;
        }
        const std::uint32_t lds = (word >> 17 & 1) != 0 ? (state >> 9 & 0xff) * 512 : 0;
        const std::uint32_t ttmps = below - 64 - lds - 64;
        std::uint32_t ttmp11 = 0;
        std::memcpy(&ttmp11, saved.run.gpu.memory.at(Gpu::cwsr_va + ttmps + 11 * 4), 4);
        EXPECT_EQ(ttmp11 >> 6 & 0x1ff'ffff, 5U); // the packet's number in its ring
        positions.push_back(ttmp11 & 0x3f);
        const std::uint32_t sgprs = ((state >> 6 & 7) + 1) * 16 - 16;
        const std::uint32_t vgprs = ((state & 0x3f) + 1) * 8;
        below = ttmps - 64 - sgprs * 4 - vgprs * 256;
    }
    EXPECT_EQ(below, Gpu::ctl_stack_bytes);
    EXPECT_EQ(positions, (std::vector<std::uint32_t>{0, 1, 0, 1, 0, 1}));
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
        Parts parts(saved.queue.control_stack);
        for (unsigned change = 0; change <= random() % 3; ++change) {
            const std::size_t at = random() % (parts.front.size() + parts.rest.size() * 4);
            const auto value = static_cast<std::byte>(random());
            if (at < parts.front.size()) {
                parts.front[at] = value;
            } else {
                std::memcpy(reinterpret_cast<std::byte*>(parts.rest.data()) + at -
                                parts.front.size(),
                            &value, 1);
            }
        }
        if (saved.restore(parts.sealed())) {
            ++accepted;
            saved.run.gpu.run_all(100'000);
        }
    }
    EXPECT_GT(accepted, 0U);
}

TEST(ControlStack, a_dropped_workgroup_is_refused_even_with_a_right_checksum) {
    Saved saved;
    Parts parts(saved.queue.control_stack);
    parts.rest.erase(parts.rest.end() - workgroup_words, parts.rest.end());
    EXPECT_FALSE(saved.restore(parts.bytes()));
    EXPECT_FALSE(saved.restore(parts.sealed())); // a launched workgroup neither ended nor is here
}

// The control of all save tests: a lost record shows in the result.
TEST(ControlStack, a_lost_workgroup_shows_in_the_result) {
    const Reference reference = undisturbed(20);
    Saved saved;
    Parts parts(saved.queue.control_stack);
    parts.rest.erase(parts.rest.end() - workgroup_words, parts.rest.end());
    parts.set(done_field, 1); // claims that it had ended
    ASSERT_TRUE(saved.restore(parts.sealed()));
    saved.run.gpu.run_all();
    EXPECT_NE(saved.run.output(), reference.output);
}

TEST(ControlStack, a_lost_wave_shows_in_the_result) {
    const Reference reference = undisturbed(20);
    Saved saved;
    Parts parts(saved.queue.control_stack);
    // The last workgroup of the stack without its second wave: the first is its last then.
    constexpr std::uint32_t waves_tag = 0x6000'0000;
    constexpr std::uint32_t last_wave = 1U << 16;
    parts.rest.pop_back();
    parts.rest.back() |= last_wave;
    parts.rest.insert(parts.rest.end() - 1, waves_tag | 1);
    ASSERT_TRUE(saved.restore(parts.sealed()));
    saved.run.gpu.run_all();
    EXPECT_NE(saved.run.output(), reference.output);
}

TEST(ControlStack, a_queue_without_a_trap_handler_cannot_restore_waves) {
    Saved saved;
    saved.run.gpu.array().unbind(0);
    QueueBinding queue = saved.run.gpu.queue();
    queue.tba = 0;
    saved.run.gpu.array().bind(queue);
    EXPECT_FALSE(saved.restore(saved.queue.control_stack));
}

} // namespace vgpu::test
