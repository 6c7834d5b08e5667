// SPDX-License-Identifier: MIT
// State that all stages share: the options, the GPUs under test, the faults that the driver found.
#pragma once

#include "queues.hpp"
#include "stage.hpp"

#include "kfd/topology.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace verify {

struct Options {
    std::vector<std::uint32_t> gpus;  // empty: the first one
    std::vector<std::string> stages;  // empty: all
    unsigned rounds = 50;             // stops of each kind
    bool yes = false;                 // ask nothing
    bool beside_others = false;       // also while other processes have queues
    std::string output;               // directory, made
    std::vector<std::string> program; // of the stage of that name, and its arguments
};

class Bench {
public:
    explicit Bench(const Options& options) : options_(options) {}

    // Returns why the driver can't be tried.
    tl::expected<void, std::string> open();

    [[nodiscard]] const Options& options() const { return options_; }
    [[nodiscard]] const std::vector<std::unique_ptr<Gpu>>& gpus() const { return gpus_; }
    [[nodiscard]] Gpu& gpu() const { return *gpus_.front(); } // of the stages that need one only
    [[nodiscard]] static tl::expected<xpreempt::kfd::Gpu, std::string>
    shape_of(std::uint32_t gpu_id);

    // Checks whether the driver has given anything up since the last check, or lost a queue: what
    // it detects by itself. Called after each stage.
    void look_for_detections(Checks& checks);

private:
    const Options& options_;
    std::vector<std::unique_ptr<Gpu>> gpus_;
    std::map<std::uint32_t, std::uint32_t> degraded_; // of each GPU, at the last check
};

} // namespace verify
