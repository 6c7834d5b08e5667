// SPDX-License-Identifier: MIT
// Read-modify-write of LDS. Lanes take their turns in order; hardware promises none.
#pragma once

#include "model/isa/memory/ds.hpp"

namespace vgpu::isa {

// new = operation(old, DATA0)
template <typename T, auto operation, bool returns> void ds_update(Execution& e) {
    const DsInstruction i(e);
    const Words* address_lanes = vgpr_lanes(e, i.address);
    std::array<Words*, words_of<T>> from{};
    std::array<Words*, words_of<T>> to{};
    if (address_lanes == nullptr || !data_registers(e, i.data0, i.acc, from) ||
        (returns && !data_registers(e, i.vdst, i.acc, to))) {
        return;
    }
    const Words addresses = *address_lanes;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const std::uint64_t at = ds_address(addresses[lane], i.offset);
        const T old = lds_load<T>(e.wave, at);
        lds_store<T>(e.wave, at, operation(old, lane_value<T>(from, 0, lane)));
        if constexpr (returns) {
            set_lane_value(to, lane, old);
        }
    });
}

// new = operation(old, DATA0, DATA1)
template <typename T, auto operation, bool returns> void ds_update2(Execution& e) {
    const DsInstruction i(e);
    const Words* address_lanes = vgpr_lanes(e, i.address);
    std::array<Words*, words_of<T>> first{};
    std::array<Words*, words_of<T>> second{};
    std::array<Words*, words_of<T>> to{};
    if (address_lanes == nullptr || !data_registers(e, i.data0, i.acc, first) ||
        !data_registers(e, i.data1, i.acc, second) ||
        (returns && !data_registers(e, i.vdst, i.acc, to))) {
        return;
    }
    const Words addresses = *address_lanes;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const std::uint64_t at = ds_address(addresses[lane], i.offset);
        const T old = lds_load<T>(e.wave, at);
        lds_store<T>(e.wave, at,
                     operation(old, lane_value<T>(first, 0, lane), lane_value<T>(second, 0, lane)));
        if constexpr (returns) {
            set_lane_value(to, lane, old);
        }
    });
}

// Compare with DATA0, store DATA1.
inline constexpr auto compare_store = [](auto old, auto compare, auto value) {
    return old == compare ? value : old;
};

} // namespace vgpu::isa
