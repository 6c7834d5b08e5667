// SPDX-License-Identifier: MIT
// Keeps what the model tells: the trace file, the counters, snapshots, and unmodelled things.
#pragma once

#include "model/base/observer.hpp"
#include "model/base/result.hpp"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vgpu {

class Journal final : public Observer {
public:
    Journal() = default;

    Result<Nothing> open_trace(const std::string& path);
    Result<Nothing> write_summary(const std::string& path) const;
    enum class Verdict {
        clean,
        harmless,        // things were unmodelled, but no result depends on them
        results_in_doubt // an unmodelled thing may have changed a result
    };
    // Waves that failed and queues that stopped with an error are the program's own fault as long
    // as everything was modelled. If not, an unmodelled register may be the reason.
    Verdict verdict() const;
    // Each thing once, the harmless ones included.
    const std::set<std::string>& unmodelled_things() const { return unmodelled_; }
    std::uint64_t counter(std::string_view name) const;
    // A state lasted from `begin` to `end` on the clock of the GPU. "group/key" is a list in a
    // group.
    void interval(std::string_view list, std::uint64_t begin, std::uint64_t end);

    // Observer
    bool tracing() const override { return trace_ != nullptr; }
    void event(std::string_view actor, std::string_view text) override;
    void unmodelled(std::string_view actor, std::string_view text) override;
    void unmodelled_harmless(std::string_view actor, std::string_view text) override;
    void count(std::string_view counter, std::uint64_t amount) override;
    void snapshot(std::uint32_t label) override;

    // Trace lines reach the file; called when the server has nothing else to do.
    void flush();

private:
    using Counters = std::map<std::string, std::uint64_t, std::less<>>;
    struct Snapshot {
        std::uint32_t label = 0;
        Counters counters;
    };

    std::unique_ptr<std::FILE, int (*)(std::FILE*)> trace_{nullptr, std::fclose};
    std::uint64_t lines_ = 0;
    Counters counters_;
    std::map<std::string, std::vector<std::pair<std::uint64_t, std::uint64_t>>, std::less<>>
        intervals_;
    std::vector<Snapshot> snapshots_;
    std::set<std::string> unmodelled_;
    std::set<std::string> harmless_; // those of unmodelled_
};

} // namespace vgpu
