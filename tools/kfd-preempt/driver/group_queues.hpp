// SPDX-License-Identifier: MIT
// Shared by freeze and thaw: queues of many processes in one SWITCH, and how each one went.
#pragma once

#include "driver/queue_answer.hpp"
#include "driver/switch_calls.hpp"
#include "processes/error_messages.hpp"
#include "processes/frozen_record.hpp"
#include "processes/target.hpp"

#include <span>

namespace cli {

// One queue of a cgroup, and what became of it so far.
struct GroupQueue : QueueAnswer {
    Target target;
    FrozenQueue id{};      // uid 0: not asked for, as it can't be held
    bool held = false;     // by this call
    bool joined = false;   // found frozen with another cgroup by this call
    bool recorded = false; // by an earlier freeze of the cgroup
    bool sent = false;     // the last call has answered for it
    unsigned tries = 0;

    [[nodiscard]] bool is_process() const { return id.queue_id == KFD_PREEMPT_ALL_QUEUES; }
    [[nodiscard]] std::string name() const {
        return is_process() ? target.name() : queue_name(id.queue_id, target);
    }
};

// A process instead of a queue: all its compute queues and those to come.
GroupQueue whole_process(const Target& target);

struct GroupSwitch {
    SwitchCalls calls;
    std::optional<Failure> failure{}; // the driver rejected a whole call

    // Stops or starts these and fills in each entry. Returns false if the driver rejected a call:
    // failure has the reason, and the queues from that call on aren't `sent`.
    bool run(const Context& context, const Driver& driver, Verb verb,
             std::span<GroupQueue* const> queues);
};

// Failed for what goes away by itself, and wasn't tried often yet.
bool worth_another_try(const GroupQueue& queue);

// Not tried yet, or worth another try.
std::vector<GroupQueue*> waiting(std::vector<GroupQueue>& queues);

// Between two tries.
void pause_before_retry();

// Each queue as a line and as JSON; failed ones are messages. exit is ok, failed or permission.
Report group_report(const std::string& cgroup_path, const std::vector<GroupQueue>& queues,
                    const GroupSwitch& sent);

} // namespace cli
