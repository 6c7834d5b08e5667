// SPDX-License-Identifier: MIT
#include "programs.hpp"

#include "kfd/sysfs.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <sstream>

namespace verify {

namespace kfd = xpreempt::kfd;
using std::chrono::steady_clock;

tl::expected<Programs::Shapes, std::string> Programs::shapes_on(const Gpu& gpu) {
    const auto high = Load::high_shape(gpu), low = Load::low_shape(gpu);
    if (!high || !low)
        return tl::make_unexpected((low ? high : low).error());
    return Shapes{*high, *low};
}

std::uint64_t Programs::iterations_of_request() const {
    return spin::kernels_of_request * spin::iterations_of(shapes_.high);
}

std::uint64_t Programs::iterations_of_low_kernel() const {
    return spin::iterations_of(shapes_.low);
}

tl::expected<LowCounts, std::string> Programs::tell_low(const std::string& question) {
    const std::string answer = low().ask(question);
    std::istringstream words(answer);
    LowCounts counts;
    if (words >> counts.iterations >> counts.launched >> counts.done)
        return counts;
    return tl::make_unexpected(
        fmt::format("the low program answers \"{}\" to {}", answer, question));
}

std::vector<std::uint64_t> Programs::low_times() {
    std::vector<std::uint64_t> times;
    std::istringstream words(low().ask("times"));
    for (std::uint64_t ns = 0; words >> ns;)
        times.push_back(ns);
    return times;
}

tl::expected<std::uint64_t, std::string> Programs::stops() {
    const auto process = kfd::process_queues(kfd::Roots{}, low().pid());
    if (!process)
        return tl::make_unexpected("queues of the low program: " +
                                   text_of(-process.error().errno_value));
    std::uint64_t stops = 0;
    for (const std::uint32_t id : process->compute_queue_ids()) {
        kfd_ioctl_preempt_status_args status{};
        if (const int error = preempt_status(by_.fd(), low().pid(), id, &status))
            return tl::make_unexpected("STATUS of the low program: " + text_of(error));
        stops = std::max<std::uint64_t>(stops, status.preempts);
    }
    return stops;
}

tl::expected<std::unique_ptr<KfdPrograms>, std::string> KfdPrograms::create(Gpu& gpu,
                                                                            const Words& by) {
    const auto shapes = shapes_on(gpu);
    if (!shapes)
        return tl::make_unexpected(shapes.error());
    std::unique_ptr<KfdPrograms> made(new KfdPrograms(gpu, *shapes));
    if (const Done set = made->set_shape(shapes->high); !set)
        return tl::make_unexpected(set.error());
    auto low = Child::start(gpu.id(), Child::low_program, by);
    if (!low)
        return tl::make_unexpected(low.error());
    made->low_ = std::move(*low);
    return made;
}

Done KfdPrograms::set_shape(const spin::Shape& shape) {
    shapes_.high = shape;
    auto high = Load::create(gpu_, shapes_.high);
    if (!high)
        return tl::make_unexpected(high.error());
    high_ = std::move(*high);
    return {};
}

tl::expected<std::uint64_t, std::string> KfdPrograms::serve() {
    const auto submission = steady_clock::now();
    for (unsigned i = 0; i < spin::kernels_of_request; ++i)
        high_->launch();
    if (!high_->wait())
        return tl::make_unexpected(
            fmt::format("a request does not end within {} s", patience_ms / 1000));
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(steady_clock::now() - submission).count());
}

Done KfdPrograms::switch_low(Entries entries) {
    if (const auto switched = send(by_.fd(), low_->pid(), 0, entries); !switched)
        return tl::make_unexpected("SWITCH of the low program: " + switched.error());
    return {};
}

Done KfdPrograms::hold_back(Sharing sharing) {
    const std::array<std::uint32_t, 1> queue{low_->queue_id()};
    switch (sharing) {
    case Sharing::block: return tell_low("pause").map([](const LowCounts&) {});
    case Sharing::drain: return tell_low("drain").map([](const LowCounts&) {});
    case Sharing::interrupt: return switch_low(stops_of(queue));
    default: return {};
    }
}

Done KfdPrograms::release(Sharing sharing) {
    const std::array<std::uint32_t, 1> queue{low_->queue_id()};
    switch (sharing) {
    case Sharing::block:
    case Sharing::drain: return tell_low("launch").map([](const LowCounts&) {});
    case Sharing::interrupt: return switch_low(resumes_of(queue));
    default: return {};
    }
}

} // namespace verify
