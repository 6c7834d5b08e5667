// SPDX-License-Identifier: MIT
// Jobs that don't fit into VRAM together: reads what they have there, and has it moved.
#pragma once

#include "driver/provider.hpp"
#include "jobs/job_table.hpp"
#include "scheduling/decisions.hpp"
#include "scheduling/residency.hpp"
#include "scheduling/switching.hpp"
#include "system/log.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

namespace xpreemptd {

struct MovingCounts {
    std::uint64_t moves = 0; // calls of the driver
    std::uint64_t bytes_out = 0, bytes_back = 0;
};

// Memory of a job moves only if its attributes say so.
class MemoryTurns {
public:
    MemoryTurns(Provider& provider, JobTable& table, Switching& switching, Clock clock, Log log)
        : provider_(provider), table_(table), switching_(switching), clock_(std::move(clock)),
          log_(std::move(log)) {}

    void set_parameters(ResidencyParameters parameters) { residency_.set_parameters(parameters); }

    // Reads the VRAM of the process of such a job whose figures are the oldest, and old: the driver
    // walks its buffers.
    void scan(Time now);
    [[nodiscard]] Decisions::Unfit plan(const sched::Snapshot& snapshot);
    // Carries out the last plan; after the verdicts of that decision.
    void begin(Time now);
    // True: a move has ended, so a decision is due.
    [[nodiscard]] bool take_moved(Time now);

    // Bytes of VRAM that must come free on its GPUs before the job can run.
    [[nodiscard]] std::uint64_t missing(const Job& job) const;
    [[nodiscard]] const MovingCounts& counts() const { return counts_; }

private:
    // One exchange under way.
    struct UnderWay {
        Exchange exchange;
        Time began;
        std::vector<std::uint64_t> cookies; // of the process of each switch
    };

    [[nodiscard]] bool is_needed() const;
    [[nodiscard]] MemoryView view_of(const Job& job) const;
    // Leaves the figures of one that is locked as they are.
    void read(Process& process, Time now);
    bool take_over(Process& process);
    void add(Job& job, Change change, Move& move, UnderWay& under_way);
    void answer(Job& job, bool last);
    void report_stranded();
    [[nodiscard]] int note_results(const Move& move, const UnderWay& under_way);
    void end(const UnderWay& under_way, int error, Time now);
    void settle(Job& job, Change change, const UnderWay& under_way, int error, Time now);
    void report_move(const Job& job, Change change, const UnderWay& under_way, std::uint64_t bytes,
                     int error, Time now) const;

    Provider& provider_;
    JobTable& table_;
    Switching& switching_;
    Clock clock_;
    Log log_;
    Residency residency_;
    std::vector<MemoryView> views_;
    std::vector<Exchange> planned_;
    std::vector<std::uint64_t> hopeless_;         // jobs
    std::vector<std::uint64_t> stranded_;         // jobs
    std::map<std::uint64_t, UnderWay> under_way_; // by the id of the move
    std::uint64_t last_move_ = 0;
    MovingCounts counts_;
};

} // namespace xpreemptd
