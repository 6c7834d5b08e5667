// SPDX-License-Identifier: MIT
// A program with kernels of equal work: the high and the low one of stage priorities.
#pragma once

#include "low_program.hpp"
#include "queues.hpp"
#include "spin.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>

namespace verify {

// Those of a queue.
class Load : public Kernels {
public:
    // One kernel of the low program fills the GPU: 1,024 workgroups, on the software GPU as many
    // as fit. Those of the high program are short.
    static tl::expected<spin::Shape, std::string> low_shape(const Gpu& gpu);
    static tl::expected<spin::Shape, std::string> high_shape(const Gpu& gpu);

    static tl::expected<std::unique_ptr<Load>, std::string> create(Gpu& gpu,
                                                                   const spin::Shape& shape);
    ~Load() override;
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    // At most in_flight_max may be in flight.
    void launch() override;
    static constexpr std::uint64_t in_flight_max = 8;
    [[nodiscard]] std::uint64_t launched() const override { return launched_; }
    [[nodiscard]] std::uint64_t done() override;
    bool wait() override; // on a card without a pause between two looks: it is timed
    [[nodiscard]] std::uint64_t iterations() const override;
    [[nodiscard]] std::uint32_t queue_id() const { return queue_->id(); }

private:
    struct Shared;
    Load(Gpu& gpu, const spin::Shape& shape) : gpu_(gpu), shape_(shape) {}
    [[nodiscard]] Shared* shared() const { return static_cast<Shared*>(buffer_.addr); }

    Gpu& gpu_;
    spin::Shape shape_;
    std::unique_ptr<Queue> queue_;
    gpu_program program_{};
    kfd_buffer buffer_{};
    std::uint64_t launched_ = 0, done_ = 0;
};

// The low program as a child process. Returns its exit status.
int run_low_program(std::uint32_t gpu_id);

} // namespace verify
