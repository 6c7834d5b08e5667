// SPDX-License-Identifier: MIT
// The GPUs: which queues are mapped, how fast each job runs, what a stop costs.
#pragma once

#include "kfd-preempt-sim/scenario.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sim {

// Jobs that run on a node at the same time share it: each kernel runs at the same speed, which is 1
// while the sum of their demands is at most `capacity`, and falls in proportion beyond. A job on
// several nodes runs at the speed of the slowest one.
//
// With the firmware scheduler (HWS), a stop or a resume re-maps the runlist of its nodes, one after
// the other: on each, every mapped job saves its waves, nothing runs, and what is to run then
// restores its waves. Without it, only the queues of the job are saved or restored.
//
// Jobs whose queues or processes don't fit into the slots and VMIDs take turns of `quantum`. The
// firmware passes over jobs without work. A new runlist doesn't restart the turns.
class Gpu {
public:
    Gpu(const GpuModel& model, std::span<const JobSpec> jobs);

    // Times of the callers never fall.
    void submit(std::size_t job, std::uint32_t stream, double work, Time now);
    struct Change {
        std::size_t job = 0;
        bool stop = false;
    };
    // The call of the driver. One at a time.
    void begin_call(std::span<const Change> changes, Time now);

    // When on_time() is due.
    [[nodiscard]] Time next() const { return next_; }
    // Ends what ends now. At most one kernel a call: then done() is true, and next() may be now.
    void on_time(Time now);
    struct Done {
        std::size_t job = 0;
        std::uint32_t stream = 0;
    };
    [[nodiscard]] const Done* done() const { return has_done_ ? &done_ : nullptr; }
    // Whether the call hasn't returned yet.
    [[nodiscard]] bool in_call() const { return in_call_; }
    [[nodiscard]] Time call_took() const { return call_took_; } // the last one that has

    [[nodiscard]] bool is_busy(std::size_t job) const { return jobs_[job].busy(); }
    [[nodiscard]] bool is_held(std::size_t job) const { return jobs_[job].held != 0; }
    [[nodiscard]] bool is_running(std::size_t job) const { return jobs_[job].rate > 0; }

    struct Usage {
        double work = 0;       // ns of kernel time done, all streams
        Time longest_wait = 0; // with work, and without progress
        Time stopped = 0;      // all such time
    };
    void advance(Time now); // brings usage_of() up to date
    [[nodiscard]] Usage usage_of(std::size_t job) const { return jobs_[job].usage; }
    void reset_usage();

    // Those that calls of the driver replaced, one for each node.
    [[nodiscard]] std::uint64_t runlists() const { return runlists_; }
    // How often queues of the job with waves were saved.
    [[nodiscard]] std::uint64_t saves_of(std::size_t job) const { return jobs_[job].saves; }

    // Part of the full wave state, at most 1, as time.
    [[nodiscard]] Time save_time(double occupancy) const;

private:
    struct Job {
        const JobSpec* spec = nullptr;
        std::vector<double> left;           // ns of work of each stream at full speed
        std::vector<std::uint32_t> streams; // with work
        std::uint64_t held = 0;             // nodes on which it is stopped
        std::uint64_t mapped = 0;           // nodes
        std::uint64_t saved = 0;            // nodes on which its waves are in memory
        Time paused_until = 0;              // its own save or restore
        double rate = 0;
        Time waits_since = never;
        std::uint64_t saves = 0;
        Usage usage;

        [[nodiscard]] bool busy() const { return !streams.empty(); }
        [[nodiscard]] std::uint64_t busy_queues() const {
            return std::min<std::uint64_t>(streams.size(), spec->queues);
        }
    };
    struct Node {
        std::vector<std::size_t> jobs;    // on it, in the order of the runlist
        std::vector<std::uint64_t> turns; // parallel: number of its last turn
        std::uint64_t turn = 0;
        bool has_room = true; // for all of them
        Time paused_until = 0;
        Time rotation = never;
    };
    struct Room {
        std::uint32_t queues = 0, processes = 0;
        bool any = false;
        bool take(const JobSpec& job);
    };

    [[nodiscard]] static bool wants(const Job& job, std::uint64_t node) {
        return job.busy() && (job.held & node) == 0;
    }
    bool map_some(std::size_t n, Room room, Time paused_for);
    void fill(std::size_t n, Time paused_for, Time now);
    void fill_nodes(std::uint64_t nodes, Time now);
    void rotate(std::size_t n, Time now);
    double save_all(std::size_t n);
    double restore_mapped(std::size_t n);
    void switch_node(std::size_t n, Time now);
    Time switch_queues(Time now);
    void continue_call(Time now);
    void set_rates(Time now);
    void plan(Time now);

    GpuModel model_;
    std::vector<Job> jobs_;
    std::vector<Node> nodes_;
    std::uint32_t processes_;
    std::uint64_t full_nodes_ = 0; // without room for all jobs
    std::uint64_t to_fill_ = 0;    // a job on it became idle
    Time last_ = 0, next_ = never;
    Time kernel_end_ = never;
    std::size_t ending_job_ = 0, ending_at_ = 0; // of kernel_end_
    bool has_done_ = false;
    Done done_;
    bool in_call_ = false;
    Time call_next_ = never;
    Time call_began_ = 0, call_took_ = 0;
    std::vector<Change> call_;
    std::uint64_t call_nodes_ = 0; // still to come
    std::uint64_t runlists_ = 0;
};

} // namespace sim
