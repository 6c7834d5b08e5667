// SPDX-License-Identifier: MIT
// AQL packets beyond plain dispatches, as ROCr and HIP write them, and how a queue reports errors.
#include "user_queues.hpp"

#include "model/cp/amd_queue.hpp"

#include <array>

namespace vgpu {
namespace {

using pm4::Opcode;
using test::fence;
using test::mib;
using test::Process;
using test::signal_va;
using test::user_va;

constexpr std::uint64_t mqd = 0x10000;
constexpr std::uint32_t doorbell = 0x1006; // the process' doorbell number 3
constexpr std::uint64_t ring_packets = 64;
constexpr std::uint64_t done_signal = signal_va;         // completion signal of every packet
constexpr std::uint64_t other_signal = signal_va + 0x40; // what a packet waits for
constexpr std::uint64_t error_signal = signal_va + 0x80; // the queue's inactive signal
constexpr std::uint64_t data_va = user_va + 0x3000;
constexpr std::uint64_t ib_va = user_va + 0x4000;

constexpr std::uint32_t header3(Opcode opcode, std::uint32_t body) {
    return 3U << 30 | (body - 1) << 16 | static_cast<std::uint32_t>(opcode) << 8;
}

class Aql : public test::UserQueues {
protected:
    void SetUp() override {
        UserQueues::SetUp();
        // Interrupt ring at bus address 0, 2 KiB.
        gpu.device.write_register(reg::osssys::IH_RB_BASE, 0);
        gpu.device.write_register(reg::osssys::IH_RB_CNTL, 1 | 9 << 1);
        make_mqd(mqd, doorbell);
        gpu.put(process.page(1) + amd_queue::inactive_signal, error_signal);
        gpu.put(page_of(done_signal) + amd_signal::value, std::int64_t{10});
        map();
    }

    void map() {
        list_process(process);
        list_queue(mqd, doorbell);
        start_runlist();
    }
    std::uint64_t page_of(std::uint64_t va) const {
        return process.page(static_cast<unsigned>((va - user_va) >> 12)) + (va & 0xfff);
    }
    std::int64_t value_of(std::uint64_t signal) const {
        return gpu.get<std::int64_t>(page_of(signal) + amd_signal::value);
    }
    void set_value(std::uint64_t signal, std::int64_t value) {
        gpu.put(page_of(signal) + amd_signal::value, value);
    }
    // The header comes last, as in the real thing; the doorbell says which packet is new.
    void write_packet(std::array<std::uint32_t, 16> words) {
        words[14] = low_half(done_signal);
        words[15] = high_half(done_signal);
        for (std::size_t i = 16; i-- > 0;)
            gpu.put(process.page(0) + written % ring_packets * 64 + i * 4, words[i]);
        ++written;
        gpu.put(process.page(1), written);
        gpu.device.write_doorbell(doorbell, written - 1);
    }
    void write_pm4_packet(const std::vector<std::uint32_t>& dwords) {
        std::uint64_t at = page_of(ib_va);
        for (const std::uint32_t dword : dwords) {
            gpu.put(at, dword);
            at += 4;
        }
        const auto size = static_cast<std::uint32_t>(dwords.size());
        write_packet({1U << 16, header3(Opcode::indirect_buffer, 3), low_half(ib_va),
                      high_half(ib_va), size | 1U << 23, 10});
    }
    void write_barrier_value(std::uint32_t condition, std::uint64_t value, std::uint64_t mask) {
        write_packet({2U << 16, 0, low_half(other_signal), high_half(other_signal), low_half(value),
                      high_half(value), low_half(mask), high_half(mask), condition});
    }
    // A dispatch of one workgroup of 64 whose code isn't mapped.
    static std::array<std::uint32_t, 16> dispatch() {
        return {2U | 1U << 16, 64U | 1U << 16, 1, 64, 1, 1, 0, 0, 0x1000, 0x6000};
    }
    static std::array<std::uint32_t, 16> dispatch_with_scratch(std::uint32_t bytes,
                                                               std::uint32_t grid = 64) {
        auto packet = dispatch();
        packet[3] = grid;
        packet[6] = bytes;
        return packet;
    }
    // The fields of amd_queue_t count from here on.
    void remap() {
        unmap(++unmaps);
        ASSERT_EQ(gpu.get<std::uint64_t>(fence), unmaps);
        map();
    }
    template <typename T> void set_field(std::uint64_t field, T value) {
        gpu.put(process.page(1) + field, value);
    }
    template <typename T = std::uint64_t> T field(std::uint64_t field) const {
        return gpu.get<T>(process.page(1) + field);
    }
    // A process that takes scratch back, with scratch for lanes of 256 bytes.
    void give_reclaimable_scratch() {
        set_field(amd_queue::caps, 1U << amd_queue::cap_sw_async_reclaim);
        set_field(amd_queue::scratch_max_use_index, ~0ULL);
        set_field(amd_queue::alt_scratch_max_use_index, ~0ULL);
        set_field(amd_queue::scratch_wave64_lane_byte_size, 256U);
        remap();
    }
    std::uint32_t interrupt(unsigned index, unsigned dword) const {
        return gpu.host.get<std::uint32_t>(32ULL * index + 4ULL * dword);
    }
    void expect_error(const QueueError& error) {
        EXPECT_EQ(value_of(error_signal), error.signal_value);
        ASSERT_EQ(gpu.host.interrupts, 1U);
        EXPECT_EQ(interrupt(0, 0) & 0xffff, 183U << 8 | 0x14U);
        EXPECT_EQ(interrupt(0, 3), 0x1'8001U);
        EXPECT_EQ(interrupt(0, 4), error.exception_code << 10 | 3U);
        EXPECT_EQ(value_of(done_signal), 10); // the packet never completes
        write_packet({3});                    // nor does anything behind it
        EXPECT_EQ(value_of(done_signal), 10);
    }

    Process process = make_process(1 * mib, 0x8001);
    std::uint64_t written = 0;
    std::uint64_t unmaps = 0;
};

TEST_F(Aql, pm4_of_a_vendor_packet_runs_in_the_process) {
    write_pm4_packet({header3(Opcode::acquire_mem, 6), 0, 0, 0, 0, 0, 0,
                      header3(Opcode::write_data, 5), 5U << 8 | 1U << 20, low_half(data_va),
                      high_half(data_va), 0x1234'5678, 0x9abc'def0});
    EXPECT_EQ(gpu.get<std::uint64_t>(page_of(data_va)), 0x9abc'def0'1234'5678U);
    EXPECT_EQ(value_of(done_signal), 9);
    EXPECT_EQ(gpu.get<std::uint64_t>(process.page(1) + 0x80), 1U);
}

TEST_F(Aql, pm4_of_an_indirect_buffer_can_be_for_some_XCCs) {
    const auto write = [&](std::uint32_t value) {
        return std::vector<std::uint32_t>{header3(Opcode::write_data, 4), 5U << 8 | 1U << 20,
                                          low_half(data_va), high_half(data_va), value};
    };
    const auto for_xccs = [&](std::uint32_t mask, std::uint32_t value) {
        std::vector<std::uint32_t> pm4 = write(1);
        const std::vector<std::uint32_t> then = write(value);
        pm4.insert(pm4.end(), {header3(Opcode::pred_exec, 1),
                               mask << 24 | static_cast<std::uint32_t>(then.size())});
        pm4.insert(pm4.end(), then.begin(), then.end());
        write_pm4_packet(pm4);
        return gpu.get<std::uint32_t>(page_of(data_va));
    };
    EXPECT_EQ(for_xccs(1, 7), 7U);
    EXPECT_EQ(for_xccs(0xfe, 8), 1U);
    EXPECT_EQ(value_of(done_signal), 8); // both packets complete
}

TEST_F(Aql, waiting_pm4_starts_again_after_an_unmap) {
    const std::uint64_t counter = data_va + 8;
    write_pm4_packet({header3(Opcode::write_data, 4), 5U << 8 | 1U << 20, low_half(counter),
                      high_half(counter), 7, header3(Opcode::wait_reg_mem, 6), 3U | 1U << 4,
                      low_half(data_va), high_half(data_va), 1, ~0U, 0x20});
    EXPECT_EQ(gpu.get<std::uint32_t>(page_of(counter)), 7U);
    EXPECT_EQ(gpu.device.run(0), Device::Activity::waiting);
    unmap(1);
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 1U);
    gpu.put(page_of(counter), 0U);
    gpu.put(page_of(data_va), 1U);
    gpu.run();
    EXPECT_EQ(value_of(done_signal), 10);
    map();
    EXPECT_EQ(gpu.get<std::uint32_t>(page_of(counter)), 7U);
    EXPECT_EQ(value_of(done_signal), 9);
}

TEST_F(Aql, barrier_value_waits_for_the_masked_relation) {
    set_value(other_signal, 0x1'0003);
    write_barrier_value(0, 4, 0xffff); // equal
    EXPECT_EQ(value_of(done_signal), 10);
    EXPECT_EQ(gpu.device.run(0), Device::Activity::waiting);
    set_value(other_signal, 0x1'0004);
    gpu.run();
    EXPECT_EQ(value_of(done_signal), 9);
    write_barrier_value(1, 0x1'0004, ~0ULL); // not equal
    EXPECT_EQ(value_of(done_signal), 9);
    set_value(other_signal, 0);
    gpu.run();
    EXPECT_EQ(value_of(done_signal), 8);
    write_barrier_value(2, 0, ~0ULL); // less, signed
    EXPECT_EQ(value_of(done_signal), 8);
    set_value(other_signal, -1);
    gpu.run();
    EXPECT_EQ(value_of(done_signal), 7);
    write_barrier_value(3, 0, ~0ULL); // at least, signed
    EXPECT_EQ(value_of(done_signal), 7);
    set_value(other_signal, 0);
    gpu.run();
    EXPECT_EQ(value_of(done_signal), 6);
}

TEST_F(Aql, timestamps_are_written_when_profiling_is_on) {
    std::uint64_t now = 1000;
    gpu.device.follow_clock([&now] { return now += 10; });
    write_packet({3});
    EXPECT_EQ(gpu.get<std::uint64_t>(page_of(done_signal) + amd_signal::start_ts), 0U);
    EXPECT_EQ(gpu.get<std::uint64_t>(page_of(done_signal) + amd_signal::end_ts), 0U);
    gpu.put(process.page(1) + amd_queue::properties, 1U << amd_queue::property_enable_profiling);
    write_packet({3});
    const auto start = gpu.get<std::uint64_t>(page_of(done_signal) + amd_signal::start_ts);
    const auto end = gpu.get<std::uint64_t>(page_of(done_signal) + amd_signal::end_ts);
    EXPECT_GT(start, 1000U);
    EXPECT_GT(end, start);
    gpu.device.write_register(reg::gc::RLC_CAPTURE_GPU_CLOCK_COUNT, 1);
    EXPECT_GT(gpu.device.read_register(reg::gc::RLC_GPU_CLOCK_COUNT_LSB), end);
}

TEST_F(Aql, unknown_and_agent_packets_stop_the_queue) {
    write_packet({4});
    expect_error(bad_packet);
    EXPECT_EQ(gpu.observer.counters["queue_errors"], 1U);
}

TEST_F(Aql, unknown_vendor_format_stops_the_queue) {
    write_packet({9U << 16});
    expect_error(bad_vendor_packet);
}

TEST_F(Aql, dispatch_without_code_stops_the_queue) {
    auto packet = dispatch();
    packet[8] = packet[9] = 0;
    write_packet(packet);
    expect_error(bad_code);
}

TEST_F(Aql, dispatch_with_an_empty_grid_stops_the_queue) {
    auto packet = dispatch();
    packet[4] = 0;
    write_packet(packet);
    expect_error(bad_dimensions);
}

TEST_F(Aql, dispatch_with_too_large_a_workgroup_stops_the_queue) {
    auto packet = dispatch();
    packet[1] = 1025U | 1U << 16;
    write_packet(packet);
    expect_error(bad_workgroup);
}

TEST_F(Aql, dispatch_waits_until_the_process_gave_scratch) {
    auto packet = dispatch();
    packet[6] = 256;
    gpu.put(process.page(1) + amd_queue::scratch_wave64_lane_byte_size, 128U);
    write_packet(packet);
    EXPECT_EQ(value_of(error_signal), 1);
    EXPECT_EQ(gpu.host.interrupts, 0U); // no mailbox, and no error either
    EXPECT_EQ(gpu.observer.counters["queue_requests"], 1U);
    EXPECT_EQ(gpu.observer.counters["queue_errors"], 0U);
    EXPECT_EQ(gpu.device.run(0), Device::Activity::waiting);
    EXPECT_EQ(gpu.observer.counters["dispatches"], 0U);
    gpu.put(process.page(1) + amd_queue::scratch_wave64_lane_byte_size, 256U);
    gpu.run();
    EXPECT_EQ(gpu.observer.counters["dispatches"], 0U);
    set_value(error_signal, 0);
    gpu.run();
    EXPECT_EQ(gpu.observer.counters["dispatches"], 1U);
}

// The process frees what scratch there is when it is asked for more.
TEST_F(Aql, scratch_is_not_asked_for_while_a_dispatch_may_use_what_there_is) {
    write_packet(dispatch()); // never completes
    auto packet = dispatch();
    packet[6] = 256;
    write_packet(packet);
    gpu.run();
    EXPECT_EQ(gpu.observer.counters["dispatches"], 1U);
    EXPECT_EQ(value_of(error_signal), 0);
}

TEST_F(Aql, mapping_a_queue_says_that_scratch_can_be_taken_back) {
    EXPECT_EQ(field<std::uint32_t>(amd_queue::caps), 1U << amd_queue::cap_cp_async_reclaim);
    give_reclaimable_scratch();
    EXPECT_EQ(field<std::uint32_t>(amd_queue::caps),
              1U << amd_queue::cap_cp_async_reclaim | 1U << amd_queue::cap_sw_async_reclaim);
}

// AMD's kfdtest makes such queues: their read index is at the start of a page.
TEST_F(Aql, a_queue_with_nothing_around_its_read_index_causes_no_fault) {
    unmap(++unmaps);
    gpu.put(process.tables + 0x3000 + 4 * 8, 0ULL); // page 4 is not mapped
    gpu.put(mqd + 4 * (hqd::mqd_dword + hqd::rptr_report), user_va + 0x5000);
    map();
    write_packet({3});
    EXPECT_EQ(value_of(done_signal), 9);
    EXPECT_EQ(gpu.host.interrupts, 0U);
}

// ROCr sets its bit without an atomic operation while the CP sets its own.
TEST_F(Aql, a_lost_offer_to_take_scratch_back_is_made_again_with_a_request) {
    set_field(amd_queue::caps, 1U << amd_queue::cap_sw_async_reclaim);
    write_packet({3});
    write_packet(dispatch_with_scratch(256));
    ASSERT_EQ(value_of(error_signal), 1);
    EXPECT_EQ(field<std::uint32_t>(amd_queue::caps),
              1U << amd_queue::cap_cp_async_reclaim | 1U << amd_queue::cap_sw_async_reclaim);
}

TEST_F(Aql, firmware_before_177_neither_offers_nor_reports_anything_of_scratch) {
    gpu.load_mec(176);
    set_field(amd_queue::caps, 0U);
    give_reclaimable_scratch();
    write_packet({3});
    write_packet(dispatch_with_scratch(256));
    EXPECT_EQ(gpu.observer.counters["dispatches"], 1U);
    EXPECT_EQ(field(amd_queue::scratch_last_used_index), 0U);
    EXPECT_EQ(field<std::uint32_t>(amd_queue::caps), 1U << amd_queue::cap_sw_async_reclaim);
}

TEST_F(Aql, a_launch_says_which_packet_used_scratch_last) {
    give_reclaimable_scratch();
    write_packet({3});
    write_packet(dispatch_with_scratch(256));
    EXPECT_EQ(field(amd_queue::scratch_last_used_index), 1U);
    write_packet(dispatch_with_scratch(128));
    write_packet(dispatch());
    EXPECT_EQ(gpu.observer.counters["dispatches"], 3U);
    EXPECT_EQ(field(amd_queue::scratch_last_used_index), 2U);
    EXPECT_EQ(field(amd_queue::scratch_last_used_index + 8), 0U);
    remap(); // nothing has used it since
    EXPECT_EQ(field(amd_queue::scratch_last_used_index), 2U);
}

// The process gets it back when the first of them is complete.
TEST_F(Aql, dispatches_do_not_share_scratch_that_is_for_one_of_them) {
    give_reclaimable_scratch();
    set_field(amd_queue::properties, 1U << amd_queue::property_use_scratch_once);
    write_packet({3});
    write_packet(dispatch_with_scratch(256)); // never completes
    write_packet(dispatch_with_scratch(256));
    EXPECT_EQ(gpu.observer.counters["dispatches"], 1U);
    set_field(amd_queue::properties, 0U);
    gpu.run();
    write_packet(dispatch());
    EXPECT_EQ(gpu.observer.counters["dispatches"], 3U);
}

// The CP leaves the memory behind an amd_queue_t of version 1 alone.
TEST_F(Aql, only_a_process_that_takes_scratch_back_hears_of_its_use) {
    set_field(amd_queue::scratch_wave64_lane_byte_size, 256U);
    set_field(amd_queue::alt_scratch_wave64_lane_byte_size, 512U);
    for (std::uint64_t i = 0; i < 3; ++i)
        set_field(amd_queue::alt_scratch_dispatch_limit + 4 * i, 64U);
    remap();
    write_packet({3});
    write_packet(dispatch_with_scratch(256)); // although scratch_max_use_index is 0
    EXPECT_EQ(gpu.observer.counters["dispatches"], 1U);
    remap();
    EXPECT_EQ(field(amd_queue::scratch_last_used_index), 0U);
}

TEST_F(Aql, scratch_that_was_taken_back_is_asked_for_again) {
    give_reclaimable_scratch();
    write_packet({3});
    set_field(amd_queue::scratch_max_use_index, std::uint64_t{0});
    write_packet({3});
    remap();
    write_packet(dispatch_with_scratch(256));
    EXPECT_EQ(value_of(error_signal), 1);
    EXPECT_EQ(gpu.observer.counters["dispatches"], 0U);
    set_field(amd_queue::scratch_max_use_index, ~0ULL);
    set_value(error_signal, 0);
    gpu.run();
    EXPECT_EQ(gpu.observer.counters["dispatches"], 1U);
}

// ROCr frees what the queue has before it gives more.
TEST_F(Aql, a_queue_that_is_mapped_anew_waits_for_the_answer_to_its_request) {
    write_packet({3});
    write_packet(dispatch_with_scratch(256));
    ASSERT_EQ(value_of(error_signal), 1);
    set_field(amd_queue::scratch_wave64_lane_byte_size, 256U);
    remap();
    EXPECT_EQ(gpu.observer.counters["dispatches"], 0U);
    EXPECT_EQ(gpu.observer.counters["queue_requests"], 1U);
    set_value(error_signal, 0);
    gpu.run();
    EXPECT_EQ(gpu.observer.counters["dispatches"], 1U);
    EXPECT_EQ(gpu.observer.counters["queue_requests"], 1U);
}

TEST_F(Aql, changes_of_scratch_count_once_the_queue_is_mapped_anew) {
    give_reclaimable_scratch();
    set_field(amd_queue::scratch_wave64_lane_byte_size, 0U);
    write_packet(dispatch_with_scratch(256));
    EXPECT_EQ(gpu.observer.counters["dispatches"], 1U);
}

TEST_F(Aql, alternate_scratch_is_for_grids_up_to_its_limit) {
    set_field(amd_queue::alt_scratch_wave64_lane_byte_size, 512U);
    set_field(amd_queue::alt_scratch_dispatch_limit, 128U);
    set_field(amd_queue::alt_scratch_dispatch_limit + 4, 1U);
    set_field(amd_queue::alt_scratch_dispatch_limit + 8, 1U);
    give_reclaimable_scratch();
    write_packet({3});
    write_packet(dispatch_with_scratch(512, 128));
    write_packet(dispatch_with_scratch(256, 128));
    EXPECT_EQ(gpu.observer.counters["dispatches"], 2U);
    remap();
    EXPECT_EQ(field(amd_queue::scratch_last_used_index), 2U);
    EXPECT_EQ(field(amd_queue::scratch_last_used_index + 8), 1U);
    write_packet(dispatch_with_scratch(512, 192));
    EXPECT_EQ(gpu.observer.counters["dispatches"], 2U);
}

TEST_F(Aql, slots_reserved_behind_a_full_ring_are_not_read) {
    write_packet(dispatch()); // never completes, so its slot stays taken
    while (written < ring_packets)
        write_packet({3});
    EXPECT_EQ(value_of(done_signal), 11 - static_cast<std::int64_t>(ring_packets));
    written += 5; // five writers wait for room
    gpu.put(process.page(1), written);
    gpu.device.write_doorbell(doorbell, written - 1);
    gpu.run();
    EXPECT_EQ(gpu.observer.counters["dispatches"], 1U);
    EXPECT_EQ(gpu.get<std::uint64_t>(process.page(1) + 0x80), 0U);
}

} // namespace
} // namespace vgpu
