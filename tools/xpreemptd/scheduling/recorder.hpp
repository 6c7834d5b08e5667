// SPDX-License-Identifier: MIT
// Notes what each decision did, for `kfd-preempt trace`.
#pragma once

#include "jobs/job_table.hpp"
#include "protocol/trace_record.hpp"
#include "scheduling/journal.hpp"
#include "scheduling/switching.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace xpreemptd {

// Allocates when jobs come and go, and nowhere else. Ignores decisions that change nothing.
class Recorder {
public:
    // Some 0.7 MiB; at 200 stops a second the last 5 seconds.
    static constexpr std::size_t default_capacity = 8192;
    explicit Recorder(std::size_t capacity = default_capacity) : journal_(capacity) {}

    struct Decided {
        Time at;
        Cause cause = Cause::poll;
        std::uint64_t rung = 0; // the job
    };
    // After the verdicts were carried out. switched: false if that needed no call of the driver.
    void note(const Decided& decided, const JobTable& table, const Switching& switching,
              bool switched);

    // Without `from` no records, but where they will begin.
    [[nodiscard]] TracePage page(std::optional<std::uint64_t> from, Time now, const JobTable& table,
                                 std::size_t most) const;

private:
    struct Known {
        std::uint64_t id = 0;
        Phase phase = Phase::idle;
        std::uint64_t nodes = 0;
    };
    bool find_changes(const JobTable& table);
    void append(TraceRecord record, Time at);

    Journal<TraceRecord> journal_;
    std::vector<Known> known_, now_, changed_; // by id
    std::chrono::nanoseconds last_{0};
};

} // namespace xpreemptd
