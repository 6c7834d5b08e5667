// SPDX-License-Identifier: MIT
// The hints of all connections, and what they amount to for each job.
#pragma once

#include "jobs/job_table.hpp"
#include "protocol/control.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

namespace xpreemptd {

// Bounds, beside those of the policy:
// - An announcement lasts max_soon without work, however often it is renewed. If none comes, the
//   next ones are refused for nine times as long: a job wastes a tenth of the GPU at most.
// - A job may send a thousand hints a second, a hundred of them at once.
// In a job with processes of several users each user has these bounds for itself.
class Hints {
public:
    // Whether the hint of the caller is in force in the job.
    using Counts = bool (*)(const Caller&, const Job&, const Hint&);
    explicit Hints(Counts counts) : counts_(counts) {}

    // The job of the last hint of the connection; null: there is none, or it has ended.
    [[nodiscard]] Job* job_of(const Caller& caller, const JobTable& table) const;
    // Returns true if a decision is due. EAGAIN: one of the bounds above.
    Answer<bool> take(Job& job, const Caller& caller, const Hint& hint, Time now);
    // A lasting hint for the job with this key, to which the process will belong.
    void keep(const Caller& caller, const std::string& key, const Hint& hint);
    // Gives the lasting hints of clients without a job to the jobs that came meanwhile.
    void settle(const JobTable& table);
    // To be called when the attributes of the job, or those that its owner may choose, are others.
    void sum_up(Job& job) const;
    // The connection has ended. Returns true if a decision is due.
    bool forget(JobTable& table, std::uint64_t connection, Time now);

private:
    struct Client {
        std::uint64_t job = 0; // id; 0: the process has none
        std::string key = {};  // of that job
        Caller caller = {};
        bool in_request = false;
        Time deadline = sched::at_next_event;
        std::optional<std::uint64_t> finished_at = {}; // the job's ready edges then
        AttributeChange change = {};                   // by its lasting hints
    };

    [[nodiscard]] static Answer<bool> announce(Job& job, const Caller& caller, const SoonHint& soon,
                                               Time now);

    Counts counts_;
    std::map<std::uint64_t, Client> clients_; // by connection; those that have sent hints
    std::uint64_t settled_ = 0;               // changes of the table then
    bool kept_ = false;                       // a hint, since then
};

} // namespace xpreemptd
