// SPDX-License-Identifier: MIT
// The operations as "Vega" and MI300 ISA have them: DS_GWS_*.
#include "model/sq/global_wave_sync.hpp"

#include <algorithm>

namespace vgpu::sq {

namespace {

// GDS_GWS_RESOURCE.
constexpr std::uint32_t flag_bit = 1U << 0;
constexpr unsigned counter_shift = 1;
constexpr std::uint32_t counter_mask = 0x1fff;
constexpr std::uint32_t barrier_bit = 1U << 14; // TYPE
constexpr std::uint32_t state_mask = 0x7fff;
constexpr unsigned number_shift = 16;

} // namespace

bool GlobalWaveSync::execute(const isa::GwsRequest& request, unsigned resource, Wave& wave,
                             std::vector<Wave*>& released) {
    using isa::GwsOperation;
    Resource& at = resources_.at(resource);
    switch (request.operation) {
    case GwsOperation::init:
        at.counter = request.value & counter_mask;
        at.flag = false;
        return true;
    case GwsOperation::barrier:
        at.barrier = true;
        return arrive(at, request.value & counter_mask, wave, released);
    case GwsOperation::wait: at.barrier = false; return take(at, wave);
    case GwsOperation::signal: signal(at, 1, released); return true;
    case GwsOperation::signal_many: signal(at, request.value, released); return true;
    case GwsOperation::release_all:
        at.counter = 0;
        signal(at, static_cast<std::uint32_t>(at.waiting.size()), released);
        return true;
    }
    return true;
}

// The wave that finds the counter at 0 is the last: it ends the barrier for those that wait, and
// its value is the counter of the next one. So each wave gives one less than the number of waves.
bool GlobalWaveSync::arrive(Resource& resource, std::uint32_t next_counter, Wave& wave,
                            std::vector<Wave*>& released) {
    if (resource.counter > 0) {
        --resource.counter;
        resource.waiting.push_back({&wave, true});
        return false;
    }
    std::erase_if(resource.waiting, [&](const Waiting& waiting) {
        if (waiting.at_barrier) {
            released.push_back(waiting.wave);
        }
        return waiting.at_barrier;
    });
    resource.flag = !resource.flag;
    resource.counter = next_counter;
    return true;
}

bool GlobalWaveSync::take(Resource& resource, Wave& wave) {
    if (resource.counter == 0) {
        resource.waiting.push_back({&wave, false});
        return false;
    }
    --resource.counter;
    return true;
}

void GlobalWaveSync::signal(Resource& resource, std::uint32_t count, std::vector<Wave*>& released) {
    resource.barrier = false;
    resource.counter = (resource.counter + count) & counter_mask;
    std::erase_if(resource.waiting, [&](const Waiting& waiting) {
        const bool passes = !waiting.at_barrier && resource.counter > 0;
        if (passes) {
            --resource.counter;
            released.push_back(waiting.wave);
        }
        return passes;
    });
}

bool GlobalWaveSync::withdraw(const Wave& wave) {
    for (Resource& resource : resources_) {
        const auto found =
            std::find_if(resource.waiting.begin(), resource.waiting.end(),
                         [&](const Waiting& waiting) { return waiting.wave == &wave; });
        if (found == resource.waiting.end()) {
            continue;
        }
        resource.counter += found->at_barrier ? 1 : 0;
        resource.waiting.erase(found);
        return true;
    }
    return false;
}

std::vector<std::uint32_t> GlobalWaveSync::state(GwsRange range) const {
    std::vector<std::uint32_t> words;
    for (unsigned number = 0; number < range.size; ++number) {
        const Resource& resource = resources_.at(range.base + number);
        const std::uint32_t word = (resource.flag ? flag_bit : 0) |
                                   resource.counter << counter_shift |
                                   (resource.barrier ? barrier_bit : 0);
        if (word != 0) {
            words.push_back(word | number << number_shift);
        }
    }
    return words;
}

bool GlobalWaveSync::plausible(std::span<const std::uint32_t> words) {
    unsigned next = 0;
    return std::all_of(words.begin(), words.end(), [&](std::uint32_t word) {
        const unsigned number = word >> number_shift;
        const bool fits = number >= next && number < gws_resources &&
                          (word & 0xffff & ~state_mask) == 0 && (word & state_mask) != 0;
        next = number + 1;
        return fits;
    });
}

void GlobalWaveSync::set_state(GwsRange range, std::span<const std::uint32_t> words) {
    for (unsigned number = 0; number < range.size; ++number) {
        resources_.at(range.base + number) = Resource{};
    }
    for (const std::uint32_t word : words) {
        const unsigned number = word >> number_shift;
        if (number < range.size) {
            Resource& resource = resources_.at(range.base + number);
            resource.flag = (word & flag_bit) != 0;
            resource.counter = word >> counter_shift & counter_mask;
            resource.barrier = (word & barrier_bit) != 0;
        }
    }
}

} // namespace vgpu::sq
