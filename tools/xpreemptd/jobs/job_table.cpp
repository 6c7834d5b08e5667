// SPDX-License-Identifier: MIT
// Book-keeping: nothing here calls the driver or reads a clock.
#include "jobs/job_table.hpp"

#include <algorithm>

namespace xpreemptd {

Job& JobTable::job_of(const ProcessFacts& facts) {
    Placement placement = place_(facts);
    if (Job* job = find_key(placement.key))
        return *job;
    auto job = std::make_unique<Job>();
    job->id = ++last_id_;
    job->group_key = placement.group.empty() ? placement.key : std::move(placement.group);
    const auto first = std::ranges::find(jobs_, job->group_key, &Job::group_key);
    job->group = first == jobs_.end() ? job->id : (*first)->group;
    job->key = std::move(placement.key);
    job->name = std::move(placement.name);
    job->uid = facts.uid;
    job->matched = facts;
    job->choices = placement.choices;
    job->focus_of = placement.focus_of;
    assign_(*job);
    return *jobs_.emplace_back(std::move(job));
}

// A unit may have processes of several users: none of them may change the work of the others. The
// rules match the oldest process, and its successor after its end.
void JobTable::note_members(Job& job) {
    const ProcessFacts& oldest = job.processes.front()->facts;
    uid_t uid = oldest.uid;
    for (const auto& process : job.processes)
        if (process->facts.uid != uid)
            uid = Job::no_user;
    const bool is_matched =
        oldest.pid == job.matched.pid && oldest.start_ticks == job.matched.start_ticks;
    if (uid == job.uid && is_matched)
        return;
    if (!is_matched)
        job.matched = oldest;
    job.uid = job.matched.uid = uid;
    assign_(job);
}

JobTable::Member JobTable::add(ProcessFacts facts) {
    Job& job = job_of(facts);
    ++changes_;
    auto process = std::make_unique<Process>();
    process->facts = std::move(facts);
    process->cookie = ++last_cookie_;
    Process& added = *job.processes.emplace_back(std::move(process));
    note_members(job);
    return pids_[added.facts.pid] = members_[added.cookie] = {&job, &added};
}

void JobTable::remove(std::uint64_t cookie) {
    const auto found = members_.find(cookie);
    if (found == members_.end())
        return;
    Job& job = *found->second.job;
    ++changes_;
    pids_.erase(found->second.process->facts.pid);
    members_.erase(found);
    std::erase_if(job.processes, [&](const auto& process) { return process->cookie == cookie; });
    if (job.processes.empty())
        std::erase_if(jobs_, [&](const auto& of_table) { return of_table.get() == &job; });
    else
        note_members(job);
}

JobTable::Member JobTable::find(std::uint64_t cookie) const {
    const auto found = members_.find(cookie);
    return found == members_.end() ? Member{nullptr, nullptr} : found->second;
}

JobTable::Member JobTable::find_pid(pid_t pid) const {
    const auto found = pids_.find(pid);
    return found == pids_.end() ? Member{nullptr, nullptr} : found->second;
}

JobTable::Member JobTable::next_after(std::uint64_t cookie) const {
    const auto found = members_.upper_bound(cookie);
    return found == members_.end() ? Member{nullptr, nullptr} : found->second;
}

JobTable::Member JobTable::next_in_turn(std::uint64_t& cookie) const {
    Member member = next_after(cookie);
    if (member.process == nullptr)
        member = next_after(0);
    cookie = member.process != nullptr ? member.process->cookie : 0;
    return member;
}

Job* JobTable::find_id(std::uint64_t id) const {
    const auto found = std::ranges::lower_bound(jobs_, id, {}, &Job::id);
    return found == jobs_.end() || (*found)->id != id ? nullptr : found->get();
}

Job* JobTable::find_key(std::string_view key) const {
    const auto found = std::ranges::find(jobs_, key, &Job::key);
    return found == jobs_.end() ? nullptr : found->get();
}

Job* JobTable::find_name(const std::string& name) const {
    const auto found = std::ranges::find(jobs_, name, &Job::name);
    return found == jobs_.end() ? nullptr : found->get();
}

bool JobTable::update_ready(Job& job, Time now) {
    const bool ready = job.busy();
    if (ready == job.ready)
        return false;
    job.ready = ready;
    if (ready) {
        job.ready_since = now;
        ++job.ready_edges;
    } else {
        job.overruled = false;
    }
    return true;
}

std::uint64_t JobTable::node_of(std::uint32_t gpu_id) {
    const auto found = std::ranges::find(nodes_, gpu_id);
    const auto node = static_cast<std::size_t>(found - nodes_.begin());
    if (found == nodes_.end())
        nodes_.push_back(gpu_id);
    // Beyond 64 GPUs several are scheduled as if they were one.
    return std::uint64_t{1} << node % sched::max_nodes;
}

std::uint64_t JobTable::nodes_of(const Job& job) const {
    std::uint64_t nodes = 0;
    for (const auto& process : job.processes)
        for (const Queue& queue : process->queues)
            if (const auto found = std::ranges::find(nodes_, queue.gpu_id); found != nodes_.end())
                nodes |= std::uint64_t{1}
                         << static_cast<std::size_t>(found - nodes_.begin()) % sched::max_nodes;
    return nodes;
}

std::vector<std::uint32_t> JobTable::gpu_ids_of(std::uint64_t nodes) const {
    std::vector<std::uint32_t> gpu_ids;
    for (std::size_t node = 0; node < std::min<std::size_t>(nodes_.size(), sched::max_nodes);
         ++node)
        if ((nodes >> node & 1) != 0)
            gpu_ids.push_back(nodes_[node]);
    return gpu_ids;
}

namespace {

// Work that has come since is what was announced. The announcement of several that ends last
// counts.
void set_announced(sched::JobView& view, const Job& job) {
    for (const auto& [uid, by] : job.hints.by_user)
        if (by.announced_at == job.ready_edges && by.soon_until > view.soon_until) {
            view.soon_since = by.soon_since;
            view.soon_until = by.soon_until;
        }
}

} // namespace

void JobTable::view_into(std::vector<sched::JobView>& views) {
    views.clear();
    for (const auto& job : jobs_) {
        sched::JobView view{.id = job->id,
                            .cpu_priority = job->cpu_priority(),
                            .focused = job->focused(),
                            .ready = job->ready,
                            .held = job->held(),
                            .held_by_others =
                                job->overruled || job->held_by_others() || !job->refusal().empty(),
                            .ready_since = job->ready_since,
                            .ready_edges = job->ready_edges,
                            .finished = job->hints.finished_at == job->ready_edges,
                            .deadline = job->hints.deadline};
        for_each_attribute([&]<typename Kind>(const Attribute<Kind>& each) {
            typename Kind::Stored value = job->attributes.*each.stored;
            if (const auto& hinted = job->hints.change.*each.change)
                value = *hinted;
            view.*each.view = Kind::seen(value);
        });
        set_announced(view, *job);
        for (const auto& process : job->processes)
            for (const Queue& queue : process->queues)
                view.nodes |= node_of(queue.gpu_id);
        views.push_back(view);
    }
}

} // namespace xpreemptd
