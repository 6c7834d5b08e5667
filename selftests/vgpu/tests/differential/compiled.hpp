// SPDX-License-Identifier: MIT
// A module of functions of the generator, compiled for both machines by the same compiler.
#pragma once

#include "tests/differential/generator.hpp"
#include "tests/sq/support/gpu.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace vgpu::differential {

// Memory of a wave of 64 lanes.
struct Inputs {
    std::array<std::array<std::uint64_t, input_slots>, 64> lane{};
    std::array<std::uint64_t, uniform_slots> uniform{};
};
using Outputs = std::array<std::array<std::uint64_t, result_slots>, 64>;

class HostCode {
public:
    // `text` is that for the GPU. One that the compiler doesn't take ends the process.
    explicit HostCode(const std::string& text);
    ~HostCode();
    HostCode(const HostCode&) = delete;
    HostCode& operator=(const HostCode&) = delete;

    Outputs run(const std::string& name, const Inputs& inputs) const;

private:
    void* library_;
};

class GpuCode {
public:
    explicit GpuCode(const std::string& text);

    // Sets `problem` when the wave doesn't reach its end.
    Outputs run(const std::string& name, const Inputs& inputs);
    std::string problem;
    std::uint64_t executed = 0; // wave instructions of all runs

private:
    static constexpr std::uint64_t inputs_va = test::FlatMemory::base;
    static constexpr std::uint64_t uniform_va = test::FlatMemory::base + 0x8000;
    static constexpr std::uint64_t outputs_va = test::FlatMemory::base + 0x1'0000;
    static constexpr std::uint64_t code_va = test::FlatMemory::base + 0x10'0000;

    std::uint64_t address_of(const std::string& name) const;

    std::vector<std::byte> object_;
    test::FlatMemory memory_{16U << 20};
};

} // namespace vgpu::differential
