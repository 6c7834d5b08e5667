// SPDX-License-Identifier: MIT
// list: the queues of some processes, or of all, from the KFD sysfs tree.
#include "kfd/module.hpp"
#include "output/names.hpp"
#include "output/output.hpp"
#include "processes/container.hpp"
#include "processes/error_messages.hpp"
#include "processes/kfd_processes.hpp"
#include "processes/save_areas.hpp"
#include "processes/target_queues.hpp"
#include "streams/streams.hpp"
#include "verbs/verbs.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>

namespace cli {

namespace {

// state and holds of one queue, or why they aren't known.
struct QueueState {
    int errno_value = 0;
    bool gone = false; // destroyed since sysfs was read
    std::uint32_t state = 0;
    std::uint32_t holds = 0;
    std::uint64_t yielded_bytes = 0; // of its process on its GPU
};

// Asks the driver as long as it answers; a list without states is still a list.
class StateReader {
public:
    explicit StateReader(const Context& context) {
        Result<kfd::Device> device = context.open_device();
        if (!device) {
            reason_ = device.error().errno_value;
            return;
        }
        // The probe is QUERY; STATUS on a driver without preemption would be ENOTTY as well,
        // but other drivers may use its number.
        const auto query = kfd::query_driver(*device, kfd::loaded_module(context.roots));
        if (!query || query->abi_major != KFD_PREEMPT_ABI_MAJOR) {
            reason_ = query ? ENOTTY : query.error().errno_value;
            return;
        }
        device_ = std::move(*device);
    }

    QueueState read(pid_t pid, std::uint32_t queue_id) {
        if (!device_)
            return {.errno_value = reason_};
        if (pid == locked_) // each call would wait for it
            return {.errno_value = EBUSY};
        auto args = device_->status_of(pid, queue_id);
        if (args && (args->status & KFD_PREEMPT_STATUS_YIELDED) != 0)
            args = device_->status_of(pid, queue_id, KFD_PREEMPT_STATUS_COUNT_MEMORY);
        if (args)
            return {
                .state = args->state, .holds = args->holds, .yielded_bytes = args->yielded_bytes};
        const int error = args.error().errno_value;
        if (error == EBUSY)
            locked_ = pid;
        return {.errno_value = error, .gone = error == ENOENT || error == ESRCH};
    }

private:
    std::optional<kfd::Device> device_;
    int reason_ = 0;
    pid_t locked_ = 0; // the last process that was locked in the driver
};

std::string why_unknown(int errno_value) {
    switch (errno_value) {
    case ENOTTY: return "the loaded driver has no queue preemption (`kfd-preempt doctor`)";
    case EPERM: return "those processes are not yours; run kfd-preempt as root (sudo)";
    case EBUSY:
        return "the process is locked while it allocates memory, or while its memory moves; try "
               "again";
    case ENOENT: return "/dev/kfd is missing: a container needs `--device /dev/kfd`";
    case EACCES:
        return "not allowed to open /dev/kfd: run kfd-preempt as root (sudo), or join the group of "
               "/dev/kfd";
    default: return fmt::format("{} ({})", std::strerror(errno_value), errno_name(errno_value));
    }
}

// It has another pid in a pid namespace below this one.
bool is_renumbered(const Target& target) {
    return target.task && target.task->ns_pid != target.pid;
}

Json ns_pid_json(const Target& target) {
    return target.task ? Json(target.task->ns_pid) : Json(nullptr);
}

class Listing {
public:
    explicit Listing(const Context& context) : context_(context), save_areas_(context) {}

    void add(const TargetQueues& process, StateReader& states) {
        Json queues = Json::array();
        container_ = container_of(context_, process.target.pid);
        in_containers_ |= container_ || is_renumbered(process.target);
        for (const kfd::Queue& queue : process.queues) {
            const QueueState state = states.read(process.target.pid, queue.queue_id);
            if (state.gone)
                continue;
            add_queue(process.target, queue, state, queues);
        }
        processes_.push_back({{"pid", process.target.pid},
                              {"comm", process.target.comm_json()},
                              {"ns_pid", ns_pid_json(process.target)},
                              {"container", container_ ? json_of(*container_) : Json(nullptr)},
                              {"queues", std::move(queues)}});
    }

    // Adds the streams of the process at `index`. A missing socket isn't a failure.
    void add(std::size_t index, const SocketView& view) {
        processes_[index]["control"] = view.answer ? json_of(*view.answer) : Json(nullptr);
        if (view.answer)
            streams_.add(view.target, *view.answer);
        else if (view.failure && view.failure->errno_value != ENOENT &&
                 view.failure->errno_value != ESRCH)
            messages_.push_back(view.failure->message);
    }

    Report report() {
        Report report;
        report.text = rows_.empty() ? "no process has a queue\n" : table_text();
        report.text += streams_.text();
        report.messages = std::move(messages_);
        if (unknown_ != 0)
            report.messages.push_back("states of queues are shown as \"?\": " +
                                      why_unknown(unknown_));
        report.json["processes"] = std::move(processes_);
        return report;
    }

private:
    void add_queue(const Target& target, const kfd::Queue& queue, const QueueState& state,
                   Json& queues) {
        const bool known = state.errno_value == 0;
        if (!known)
            unknown_ = state.errno_value;
        any_yielded_ |= state.yielded_bytes != 0;
        const auto save_area = save_areas_.bytes_of(queue);
        any_save_area_ |= save_area.value_or(0) != 0;
        rows_.push_back({std::to_string(target.pid), target.task ? target.comm() : "?",
                         std::to_string(queue.queue_id), std::to_string(queue.gpu_id),
                         name_of(queue.type), size_text(queue.ring_bytes),
                         save_area.value_or(0) == 0 ? "-" : rounded_size_text(*save_area),
                         known ? state_name(state.state) : "?",
                         known ? words_or_dash(hold_names(state.holds)) : "?",
                         state.yielded_bytes == 0 ? "-" : rounded_size_text(state.yielded_bytes),
                         // NOLINTNEXTLINE(bugprone-unchecked-optional-access): is_renumbered()
                         is_renumbered(target) ? std::to_string(target.task->ns_pid) : "-",
                         container_ ? container_->short_id() : "-"});
        queues.push_back({{"queue", queue.queue_id},
                          {"gpu_id", queue.gpu_id},
                          {"type", name_of(queue.type)},
                          {"ring_bytes", queue.ring_bytes},
                          {"save_area_bytes", save_area ? Json(*save_area) : Json(nullptr)},
                          {"state", known ? Json(state_name(state.state)) : Json(nullptr)},
                          {"holds", known ? Json(hold_names(state.holds)) : Json(nullptr)},
                          {"yielded_bytes", known ? Json(state.yielded_bytes) : Json(nullptr)},
                          {"errno", known ? Json(nullptr) : Json(errno_name(state.errno_value))}});
    }

    // SAVE only if the topology shows a size, YIELDED only if a process has, the last two columns
    // only if one is in a container.
    [[nodiscard]] std::string table_text() {
        constexpr std::ptrdiff_t save_area = 6, yielded = 9;
        std::vector<std::string> heading = {"PID",   "COMM",    "QUEUE", "GPU",
                                            "TYPE",  "RING",    "SAVE",  "STATE",
                                            "HOLDS", "YIELDED", "NSPID", "CONTAINER"};
        const auto shorten = [this](std::vector<std::string>& row) {
            if (!in_containers_)
                row.resize(row.size() - 2);
            if (!any_yielded_)
                row.erase(row.begin() + yielded);
            if (!any_save_area_)
                row.erase(row.begin() + save_area);
        };
        shorten(heading);
        Table table(std::move(heading));
        for (std::vector<std::string>& row : rows_) {
            shorten(row);
            table.add(std::move(row));
        }
        return table.text();
    }

    const Context& context_;
    SaveAreas save_areas_;
    std::vector<std::vector<std::string>> rows_;
    std::optional<Container> container_; // of the process that is being added
    bool in_containers_ = false;
    bool any_yielded_ = false;
    bool any_save_area_ = false;
    StreamTables streams_;
    std::vector<std::string> messages_;
    Json processes_ = Json::array();
    int unknown_ = 0;
};

// The processes to show, read before /dev/kfd is opened: opening it makes this command one too.
Outcome<std::vector<TargetQueues>> processes_to_show(const Context& context,
                                                     const std::vector<pid_t>& pids) {
    std::vector<TargetQueues> processes;
    if (!pids.empty()) {
        for (const pid_t pid : pids) {
            Outcome<TargetQueues> process = queues_of(context, pid);
            if (!process)
                return tl::make_unexpected(process.error());
            processes.push_back(std::move(*process));
        }
        return processes;
    }
    if (const Outcome<void> initial = require_kfd_pids(context); !initial)
        return tl::make_unexpected(initial.error());
    const Result<std::vector<pid_t>> all = kfd_pids(context);
    if (!all)
        return tl::make_unexpected(no_kfd(context));
    for (const pid_t pid : *all) {
        Result<kfd::Process> process = kfd_process(context, pid);
        if (process) // else it ended meanwhile
            processes.push_back({target_of(context, pid), std::move(process->queues)});
    }
    return processes;
}

} // namespace

Report list(const Context& context, const std::vector<pid_t>& pids) {
    const auto processes = processes_to_show(context, pids);
    if (!processes)
        return report_of(processes.error());
    StateReader states(context);
    Listing listing(context);
    std::vector<Target> targets;
    for (const TargetQueues& process : *processes) {
        listing.add(process, states);
        targets.push_back(process.target);
    }
    const std::vector<SocketView> views = ask_sockets(context, targets, socket_patience);
    for (std::size_t i = 0; i < views.size(); ++i)
        listing.add(i, views[i]);
    return listing.report();
}

} // namespace cli
