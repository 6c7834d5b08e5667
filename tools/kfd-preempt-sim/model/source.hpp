// SPDX-License-Identifier: MIT
// A job: takes its requests as they come, and submits their kernels.
#pragma once

#include "arrivals.hpp"
#include "gpu.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace sim {

struct Record {
    std::vector<Time> latencies; // of requests that have ended
    std::vector<Time> first_tokens, token_times;
    std::uint64_t arrived = 0, ended = 0, replaced = 0;
};

class Source {
public:
    Source(const JobSpec& spec, std::size_t job, std::uint64_t seed, Gpu& gpu)
        : spec_(spec), arrivals_(spec, seed), job_(job), gpu_(gpu) {}
    virtual ~Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    virtual void start() {}
    [[nodiscard]] virtual Time next() const = 0; // when on_time() is due
    virtual void on_time(Time now) = 0;
    virtual void on_done(std::uint32_t stream, Time now) = 0; // its kernel has ended

    // When announced work comes, if the job has announced some since the last call.
    [[nodiscard]] std::optional<Time> take_announcement() {
        return std::exchange(announced_, std::nullopt);
    }
    [[nodiscard]] const Record& record() const { return record_; }
    // Ignores what has come before.
    void begin_measuring(Time now) {
        record_ = {};
        measured_from_ = now;
    }

protected:
    void submit(std::uint32_t stream, double work, Time now) {
        gpu_.submit(job_, stream, work, now);
    }

    const JobSpec& spec_;
    Arrivals arrivals_;
    Record record_;
    std::optional<Time> announced_;
    Time measured_from_ = 0;

private:
    std::size_t job_;
    Gpu& gpu_;
};

[[nodiscard]] std::unique_ptr<Source> make_source(const JobSpec& spec, std::size_t job,
                                                  std::uint64_t seed, Gpu& gpu);

} // namespace sim
