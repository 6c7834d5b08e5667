// SPDX-License-Identifier: MIT
// Opens the GPUs and compares what QUERY says before and after a stage.
#include "bench.hpp"

#include "detections.hpp"

#include <fmt/format.h>

namespace verify {

namespace kfd = xpreempt::kfd;

tl::expected<void, std::string> Bench::open() {
    const std::vector<std::uint32_t> wanted =
        options_.gpus.empty() ? std::vector<std::uint32_t>{0} : options_.gpus;
    for (const std::uint32_t gpu_id : wanted) {
        auto gpu = Gpu::open(gpu_id);
        if (!gpu)
            return tl::make_unexpected(gpu.error());
        kfd_ioctl_preempt_query_args query{};
        if (const int error = preempt_query((*gpu)->fd(), (*gpu)->id(), &query); error != 0)
            return tl::make_unexpected(fmt::format("GPU {}: QUERY: {}; see `kfd-preempt doctor`",
                                                   (*gpu)->id(), text_of(error)));
        degraded_[(*gpu)->id()] = query.degraded;
        gpus_.push_back(std::move(*gpu));
    }
    return {};
}

tl::expected<kfd::Gpu, std::string> Bench::shape_of(std::uint32_t gpu_id) {
    const auto gpu = kfd::gpu_of(kfd::Roots{}, gpu_id);
    if (!gpu)
        return tl::make_unexpected(text_of(-gpu.error().errno_value));
    return *gpu;
}

void Bench::look_for_detections(Checks& checks) {
    for (const auto& gpu : gpus_) {
        kfd_ioctl_preempt_query_args query{};
        const int error = preempt_query(gpu->fd(), gpu->id(), &query);
        const std::uint32_t found = query.degraded & ~degraded_[gpu->id()];
        degraded_[gpu->id()] |= query.degraded;
        checks.check(error == 0 && found == 0,
                     fmt::format("GPU {}: the driver has detected no fault", gpu->id()),
                     error != 0 ? text_of(error) : detections_text(found));
    }
}

} // namespace verify
