// SPDX-License-Identifier: MIT
// A Control that remembers what it was asked, in the place of the daemon's.
#pragma once

#include "protocol/control.hpp"

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace test {

class FakeControl : public xpreemptd::Control {
public:
    using Change = xpreemptd::AttributeChange;
    template <typename T> using Answer = xpreemptd::Answer<T>;

    [[nodiscard]] std::vector<xpreemptd::JobReport> jobs(std::uint64_t from,
                                                         std::size_t most) const override {
        std::vector<xpreemptd::JobReport> page;
        for (const xpreemptd::JobReport& report : listed)
            if (report.id >= from && page.size() < most)
                page.push_back(report);
        return page;
    }
    [[nodiscard]] xpreemptd::StatusReport status() const override { return reported; }
    [[nodiscard]] xpreemptd::TracePage trace(std::optional<std::uint64_t> from) const override {
        xpreemptd::TracePage page = traced;
        if (!from)
            page.records.clear();
        return page;
    }
    Answer<void> adopt(const xpreemptd::Caller& caller, const Change& change) override {
        callers.push_back(caller);
        changes.push_back(change);
        return answer();
    }
    Answer<void> change(const xpreemptd::Caller& caller, const xpreemptd::JobSelector& job,
                        const Change& change) override {
        callers.push_back(caller);
        selectors.push_back(job);
        changes.push_back(change);
        return answer();
    }
    Answer<void> set_policy(const xpreemptd::Caller& caller, std::string_view name) override {
        callers.push_back(caller);
        if (refusal.error == 0)
            reported.policy = name;
        return answer();
    }

    Answer<void> focus(const xpreemptd::Caller& caller, std::optional<pid_t> pid) override {
        callers.push_back(caller);
        focused.push_back(pid);
        return answer();
    }
    Answer<void> hint(const xpreemptd::Caller& caller, const xpreemptd::Hint& hint) override {
        callers.push_back(caller);
        hints.push_back(hint);
        return answer();
    }
    void forget(std::uint64_t connection) override { forgotten.push_back(connection); }

    std::vector<xpreemptd::JobReport> listed;
    xpreemptd::StatusReport reported;
    xpreemptd::TracePage traced;
    xpreemptd::Refusal refusal{0, {}}; // 0: nothing is refused
    std::vector<xpreemptd::Caller> callers;
    std::vector<xpreemptd::JobSelector> selectors;
    std::vector<Change> changes;
    std::vector<std::optional<pid_t>> focused;
    std::vector<xpreemptd::Hint> hints;
    std::vector<std::uint64_t> forgotten; // connections

private:
    [[nodiscard]] Answer<void> answer() const {
        if (refusal.error != 0)
            return tl::make_unexpected(refusal);
        return {};
    }
};

} // namespace test
