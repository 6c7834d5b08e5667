// SPDX-License-Identifier: MIT
#include "stream.hpp"

#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <stdexcept>
#include <thread>

namespace verify {

SpinStream::SpinStream(const Hip& hip, const Library* library, void* function,
                       const spin::Shape& shape, std::chrono::milliseconds patience)
    : hip_(hip), library_(library), function_(function), shape_(shape), patience_(patience) {
    const std::size_t bytes = spin::waves_of(shape) * sizeof *words_;
    hip_.must(hip_.host_malloc(reinterpret_cast<void**>(&words_), bytes, 0), "hipHostMalloc");
    std::memset(words_, 0, bytes);
    hip_.must(hip_.stream_create(&stream_, Hip::non_blocking), "hipStreamCreateWithFlags");
}

void SpinStream::must_be_done(int error, const char* call) const {
    if (error != 0)
        throw std::runtime_error(
            fmt::format("{}: {}; {}", call, std::strerror(-error), library_->last_detail()));
}

int SpinStream::launch_now(void* stream, void* self) {
    SpinStream& kernels = *static_cast<SpinStream*>(self);
    spin::Arguments arguments{reinterpret_cast<std::uintptr_t>(kernels.words_),
                              kernels.shape_.iterations, kernels.shape_.rounds};
    void* parameters[] = {&arguments.words, &arguments.iterations, &arguments.rounds};
    const int error =
        kernels.hip_.module_launch(kernels.function_, kernels.shape_.workgroups, 1, 1,
                                   spin::group_size, 1, 1, 0, stream, parameters, nullptr);
    // By the thread of the xqueue, too.
    std::atomic_ref(kernels.launched_).fetch_add(error == 0 ? 1 : 0);
    return error;
}

void SpinStream::launch() {
    ++submitted_;
    if (scheduled_)
        must_be_done(library_->submit(xqueue_, launch_now, this, nullptr), "xp_xqueue_submit");
    else
        hip_.must(launch_now(stream_, this), "hipModuleLaunchKernel");
}

bool SpinStream::wait() {
    const auto deadline = std::chrono::steady_clock::now() + patience_;
    while (!complete() && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (!complete())
        return false;
    // The last wave has counted; its kernel ends.
    hip_.must(hip_.stream_synchronize(stream_), "hipStreamSynchronize");
    return true;
}

std::uint64_t SpinStream::iterations() const {
    return spin::sum_of({words_, spin::waves_of(shape_)});
}

void SpinStream::schedule(std::uint32_t max_level, std::int32_t priority) {
    xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
    options.max_level = max_level;
    must_be_done(library_->create(stream_, &options, &xqueue_), "xp_xqueue_create");
    scheduled_ = true;
    must_be_done(library_->set_priority(xqueue_, priority), "xp_xqueue_set_priority");
}

void SpinStream::unschedule() {
    if (scheduled_)
        must_be_done(library_->destroy(xqueue_), "xp_xqueue_destroy");
    scheduled_ = false;
}

void SpinStream::suspend(std::uint32_t flags) {
    must_be_done(library_->suspend(xqueue_, XP_SUSPEND_EXACT | flags, nullptr),
                 "xp_xqueue_suspend");
}

void SpinStream::resume() {
    must_be_done(library_->resume(xqueue_), "xp_xqueue_resume");
}

} // namespace verify
