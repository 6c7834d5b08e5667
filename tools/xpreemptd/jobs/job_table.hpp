// SPDX-License-Identifier: MIT
// All jobs, and which process belongs to which.
#pragma once

#include "jobs/job.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace xpreemptd {

// A new process' place: the job's key and name, and what a new job begins with.
struct Placement {
    std::string key;
    std::string name;
    std::string group = {}; // key of the job whose turns it shares; empty: its own
    Choices choices = {};
    std::optional<uid_t> focus_of = {};
};
using Place = std::function<Placement(const ProcessFacts&)>;

class JobTable {
public:
    // assign: called with each new job, and when its user or its oldest process is another one, to
    // give it its attributes.
    explicit JobTable(
        Place place, std::function<void(Job&)> assign = [](Job&) {})
        : place_(std::move(place)), assign_(std::move(assign)) {}

    struct Member {
        Job* job;
        Process* process;
    };
    // Into the job that it belongs to, which is made if there is none.
    Member add(ProcessFacts facts);
    // A job without processes is gone as well.
    void remove(std::uint64_t cookie);

    [[nodiscard]] Member find(std::uint64_t cookie) const; // nulls: unknown
    [[nodiscard]] Member find_pid(pid_t pid) const;
    [[nodiscard]] Job* find_id(std::uint64_t id) const; // null: unknown
    // The one with the next higher cookie, of 0 the first; nulls: there is none.
    [[nodiscard]] Member next_after(std::uint64_t cookie) const;
    // The same, and the first again after the last one, for rounds; sets the cookie to its own.
    [[nodiscard]] Member next_in_turn(std::uint64_t& cookie) const;
    // How often a process has come or gone.
    [[nodiscard]] std::uint64_t changes() const { return changes_; }
    [[nodiscard]] std::size_t size() const { return members_.size(); } // processes
    [[nodiscard]] Job* find_key(std::string_view key) const;
    [[nodiscard]] Job* find_name(const std::string& name) const;
    [[nodiscard]] std::span<const std::unique_ptr<Job>> jobs() const { return jobs_; }

    // Notes an edge of the job, if there is one. True: there was.
    static bool update_ready(Job& job, Time now);

    // Bits of the nodes that the job has queues on, as the last view had them.
    [[nodiscard]] std::uint64_t nodes_of(const Job& job) const;
    [[nodiscard]] std::vector<std::uint32_t> gpu_ids_of(std::uint64_t nodes) const;
    // One view a job, in the order of jobs().
    void view_into(std::vector<sched::JobView>& views);

private:
    Job& job_of(const ProcessFacts& facts);
    void note_members(Job& job);
    std::uint64_t node_of(std::uint32_t gpu_id);

    Place place_;
    std::function<void(Job&)> assign_;
    std::vector<std::unique_ptr<Job>> jobs_;  // by id
    std::map<std::uint64_t, Member> members_; // by cookie
    std::unordered_map<pid_t, Member> pids_;
    std::vector<std::uint32_t> nodes_; // gpu_id of each node's bit
    std::uint64_t last_id_ = 0, last_cookie_ = 0, changes_ = 0;
};

} // namespace xpreemptd
