// SPDX-License-Identifier: MIT
// Dispatches spin.s, in this process and in the low program.
#include "load.hpp"

#include "child.hpp"
#include "kfd/save_cost.hpp"

#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <thread>

extern "C" {
extern const unsigned char gpu_spin_gfx942_start[], gpu_spin_gfx942_end[];
extern const unsigned char gpu_spin_gfx90a_start[], gpu_spin_gfx90a_end[];
extern const unsigned char gpu_spin_gfx908_start[], gpu_spin_gfx908_end[];
}

namespace verify {

namespace kfd = xpreempt::kfd;
using std::chrono::steady_clock;

namespace {

// The software GPU needs the CPU that would look meanwhile.
constexpr std::chrono::microseconds poll_interval(200);

constexpr gpu_image spin_image = {{gpu_spin_gfx942_start, gpu_spin_gfx942_end},
                                  {gpu_spin_gfx90a_start, gpu_spin_gfx90a_end},
                                  {gpu_spin_gfx908_start, gpu_spin_gfx908_end}};

} // namespace

struct Load::Shared {
    spin::Arguments arguments;
    aql_signal signals[in_flight_max];
    std::uint32_t words[]; // one of each wave
};

tl::expected<spin::Shape, std::string> Load::low_shape(const Gpu& gpu) {
    // Milliseconds, by the clock rate of a MI300X: not measured on one.
    if (!gpu.is_software())
        return spin::Shape{1024, 16, 1024};
    const auto topology = kfd::gpu_of(kfd::Roots{}, gpu.id());
    if (!topology)
        return tl::make_unexpected(text_of(-topology.error().errno_value));
    // Two workgroups a CU, and about a million instructions in all, which it executes in 40 ms.
    const std::uint32_t cus = std::max(kfd::compute_units(*topology), 1U);
    return spin::Shape{2 * cus, 16, std::max(64 / cus, 1U)};
}

tl::expected<spin::Shape, std::string> Load::high_shape(const Gpu& gpu) {
    auto shape = low_shape(gpu);
    if (shape)
        *shape = {4, 1, shape->rounds};
    return shape;
}

tl::expected<std::unique_ptr<Load>, std::string> Load::create(Gpu& gpu, const spin::Shape& shape) {
    std::unique_ptr<Load> load(new Load(gpu, shape));
    const std::size_t bytes = sizeof(Shared) + spin::waves_of(shape) * sizeof(std::uint32_t);
    int error = gpu_program_load(gpu.device(), &spin_image, &load->program_);
    if (error == 0)
        error = kfd_buffer_alloc(gpu.device(), KFD_IN_SYSTEM, bytes, &load->buffer_);
    if (error != 0)
        return tl::make_unexpected("cannot load a kernel: " + text_of(error));
    auto queue = Queue::create(gpu);
    if (!queue)
        return tl::make_unexpected(queue.error());
    load->queue_ = std::move(*queue);
    Shared& shared = *load->shared();
    shared.arguments = {reinterpret_cast<std::uintptr_t>(shared.words), shape.iterations,
                        shape.rounds};
    return load;
}

Load::~Load() {
    // The queue goes first: kernels in flight use the memory.
    queue_.reset();
    gpu_program_free(gpu_.device(), &program_);
    kfd_buffer_free(gpu_.device(), &buffer_);
}

void Load::launch() {
    aql_signal& signal = shared()->signals[launched_ % in_flight_max];
    signal.kind = 1;
    signal.value = 1;
    aql_dispatch dispatch{};
    dispatch.kernel_object = program_.kernel_object;
    dispatch.kernarg = &shared()->arguments;
    dispatch.workgroup_size = spin::group_size;
    dispatch.num_workgroups = shape_.workgroups;
    dispatch.signal = &signal;
    aql_queue_dispatch(queue_->get(), &dispatch);
    ++launched_;
}

std::uint64_t Load::done() {
    while (done_ < launched_ &&
           std::atomic_ref(shared()->signals[done_ % in_flight_max].value).load() == 0)
        ++done_;
    return done_;
}

bool Load::wait() {
    const auto deadline = steady_clock::now() + std::chrono::milliseconds(patience_ms);
    while (done() < launched_ && steady_clock::now() < deadline)
        if (gpu_.is_software())
            std::this_thread::sleep_for(poll_interval);
    return done() == launched_;
}

std::uint64_t Load::iterations() const {
    return spin::sum_of({shared()->words, spin::waves_of(shape_)});
}

int run_low_program(std::uint32_t gpu_id) {
    ::setvbuf(stdout, nullptr, _IOLBF, 0);
    const auto gpu = Gpu::open(gpu_id);
    const auto shape = gpu ? Load::low_shape(**gpu) : tl::make_unexpected(gpu.error());
    const auto load = shape ? Load::create(**gpu, *shape) : tl::make_unexpected(shape.error());
    if (!load) {
        fmt::print("{}\n", load.error());
        return 1;
    }
    fmt::print("{}{}\n", Child::ready, (*load)->queue_id());
    LowProgram program(**load);
    while (const auto question = next_question(program))
        fmt::print("{}\n", program.answer(*question));
    return 0;
}

} // namespace verify
