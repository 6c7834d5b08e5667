// SPDX-License-Identifier: MIT
// The edges of a snapshot, followed from every queue and copy to the held queues they end at.
#include "order/find_waiters.hpp"

#include <algorithm>
#include <optional>

namespace xpreempt::order {

namespace {

// Nodes: queues first, then copies.
class Graph {
public:
    explicit Graph(const Snapshot& snapshot)
        : snapshot_(snapshot), num_queues_(snapshot.queues.size()),
          edges_(num_queues_ + snapshot.copies.size()) {
        for (std::size_t queue = 0; queue < num_queues_; ++queue)
            add_waits(queue, snapshot.queues[queue].waits);
        for (std::size_t copy = 0; copy < snapshot.copies.size(); ++copy)
            add_waits(num_queues_ + copy, snapshot.copies[copy].waits);
    }

    // Held queues that the node waits for; its own hold isn't among them.
    [[nodiscard]] std::vector<std::size_t> roots(std::size_t node) const {
        if (edges_[node].empty())
            return {};
        std::vector<bool> seen(edges_.size(), false);
        std::vector<std::size_t> todo = edges_[node];
        std::vector<std::size_t> found;
        while (!todo.empty()) {
            const std::size_t next = todo.back();
            todo.pop_back();
            if (seen[next])
                continue;
            seen[next] = true;
            if (next < num_queues_ && next != node && snapshot_.queues[next].held)
                found.push_back(next);
            todo.insert(todo.end(), edges_[next].begin(), edges_[next].end());
        }
        return found;
    }

private:
    void add_waits(std::size_t node, const std::vector<Signal>& waits) {
        for (const Signal signal : waits) {
            for (const Owner& owner : snapshot_.owners)
                if (owner.signal == signal && owner.queue != node)
                    edges_[node].push_back(owner.queue);
            for (std::size_t copy = 0; copy < snapshot_.copies.size(); ++copy)
                if (snapshot_.copies[copy].completion == signal && num_queues_ + copy != node)
                    edges_[node].push_back(num_queues_ + copy);
        }
    }

    const Snapshot& snapshot_;
    std::size_t num_queues_;
    std::vector<std::vector<std::size_t>> edges_;
};

// The highest priority of others' copies behind this one in an engine's ring.
std::optional<std::int32_t> highest_behind(const Snapshot& snapshot, std::size_t copy) {
    std::optional<std::int32_t> highest;
    for (std::size_t later = copy + 1; later < snapshot.copies.size(); ++later) {
        const CopyState& behind = snapshot.copies[later];
        const CopyState& before = snapshot.copies[copy];
        const bool same_ring =
            behind.engine == before.engine || behind.engine == 0 || before.engine == 0;
        if (behind.queue == before.queue || !same_ring)
            continue;
        highest = std::max(highest.value_or(behind.priority), behind.priority);
    }
    return highest;
}

} // namespace

Verdict find_waiters(const Snapshot& snapshot) {
    const std::size_t num_queues = snapshot.queues.size();
    const Graph graph(snapshot);
    Verdict verdict{std::vector<std::size_t>(num_queues, nobody),
                    std::vector<bool>(num_queues, false)};
    for (std::size_t queue = 0; queue < num_queues; ++queue)
        for (const std::size_t root : graph.roots(queue)) {
            verdict.blocker[queue] = root;
            if (snapshot.queues[queue].priority > snapshot.queues[root].priority)
                verdict.lift[root] = true;
        }
    for (std::size_t copy = 0; copy < snapshot.copies.size(); ++copy) {
        const std::optional<std::int32_t> highest = highest_behind(snapshot, copy);
        for (const std::size_t root : graph.roots(num_queues + copy)) {
            const std::int32_t held = snapshot.queues[root].priority;
            if (snapshot.copies[copy].priority > held || (highest && *highest >= held))
                verdict.lift[root] = true;
        }
    }
    return verdict;
}

} // namespace xpreempt::order
