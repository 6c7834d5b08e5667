// SPDX-License-Identifier: MIT
// Any bytes as a rules file: rules that hold what the manual page promises, or an error message in
// which each line has a place and no control byte.
#include "jobs/cgroup_path.hpp"
#include "rules/rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace std::chrono_literals;
using xpreemptd::ProcessFacts;
using xpreemptd::Rule;
using xpreemptd::Rules;

void require(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "rules_fuzz: %s\n", what);
    std::abort();
}

template <typename T> bool between(T value, auto least, auto most) {
    return value >= least && value <= most;
}

// Takes "NUMBER:" off the text.
bool take_number(std::string_view& text) {
    unsigned number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const bool is_place = number > 0 && text.starts_with(':');
    text.remove_prefix(std::min<std::size_t>(text.size(), 1));
    return is_place;
}

void check_error(std::string_view error) {
    require(!error.empty(), "an error without a message");
    while (!error.empty()) {
        std::string_view line = error.substr(0, error.find('\n'));
        error.remove_prefix(std::min(error.size(), line.size() + 1));
        require(line.starts_with("f:"), "a line without the name of the file");
        line.remove_prefix(2);
        require(take_number(line) && take_number(line), "a line without a place");
        require(line.size() > 10, "a line that says nothing");
        require(std::ranges::none_of(line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }),
                "a control byte in an error message");
    }
}

void check_attributes(const xpreemptd::Attributes& attributes) {
    require(between(attributes.weight, 1U, xpreemptd::sched::max_weight), "weight");
    require(attributes.band <= xpreemptd::sched::Band::idle, "band");
    require(between(attributes.priority, -255, 255), "priority");
    require(!attributes.deadline || between(*attributes.deadline, 1us, 1h), "deadline");
    require(!attributes.lax || between(*attributes.lax, 1us, 1h), "lax");
    require(attributes.utilization <= xpreemptd::sched::max_utilization, "utilization");
}

void check_rules(Rules& rules) {
    require(between(rules.max_hold, 100ms, 1h), "max_hold");
    require(rules.socket.is_absolute() && rules.socket.native().size() < 108, "socket");
    const auto& [linger, bands, round_robin, fair, utilization, process_utilization, strict,
                 earliest_deadline, multilevel, parking, plugin] = rules.parameters;
    require(!plugin, "a plug-in");
    require(between(linger, 0s, 10s), "linger");
    for (const auto grace : bands.grace)
        require(between(grace, 0s, 10s), "grace");
    require(bands.floor_percent < 100 && bands.max_rate <= 10000, "floor or max_rate");
    require(between(bands.floor_turn, 100us, 10s) && between(bands.resume_grace, 0s, 10s), "turn");
    require(between(round_robin.quantum, 100us, 10s), "quantum");
    require(between(fair.slice, 100us, 10s) && between(fair.credit, 0s, 10s), "slice or credit");
    for (const auto slice : {utilization.slice, process_utilization.slice, strict.slice})
        require(between(slice, 100us, 10s), "slice of a partition");
    require(earliest_deadline.k >= 1 && between(earliest_deadline.least_period, 100us, 10s),
            "k or least_period");
    require(between(multilevel.slice, 100us, 10s) && multilevel.levels >= 1 &&
                multilevel.growth >= 1 && between(multilevel.promote_after, 1ms, 1h),
            "MLFQ");
    require(between(parking.park_after, 1ms, 24h), "park_after");
    check_attributes(rules.defaults);
    for (const Rule& rule : rules.rules) {
        require(rule.unit || rule.cgroup || rule.executable || rule.uid, "no condition");
        require(rule.owner_may_choose || rule.owner_may_choose_priority ||
                    rule.set != xpreemptd::AttributeChange{},
                "no effect");
    }
    for (const char* cgroup : {"", "/", "/system.slice/x.service/y",
                               "/user.slice/user-1.slice/user@1.service/app.slice/y.service"}) {
        const ProcessFacts facts{42, 1, 1, 7, "demo", "/usr/bin/demo", cgroup};
        const auto assignment = xpreemptd::assign(rules, facts);
        check_attributes(assignment.attributes);
        require(assignment.highest.band <= assignment.attributes.band, "a choice below");
        require(assignment.highest.priority >= assignment.attributes.priority,
                "a choice of priority below");
    }
    const xpreemptd::sched::JobView job{.id = 1, .nodes = 1, .ready = true};
    std::array<xpreemptd::sched::Verdict, 1> verdicts{};
    const auto now = xpreemptd::sched::Time{} + 1h;
    auto policy = rules.policy();
    require(xpreemptd::sched::name_of(policy) == rules.policy_name, "another policy");
    const auto next = xpreemptd::sched::decide(policy, {now, {&job, 1}}, verdicts);
    require(next > now, "a timer in the past");
    require(verdicts[0] == xpreemptd::sched::Verdict::run, "a job alone is held");
}

// The job of any path is a prefix of it that ends with an element.
void check_path(std::string_view path) {
    const auto job = xpreemptd::job_cgroup_of(path);
    if (!job)
        return;
    require(path.starts_with(*job) && !job->empty(), "a job that is no prefix");
    require(job->size() == path.size() || path[job->size()] == '/', "half an element");
    require(xpreemptd::job_cgroup_of(*job) == job, "the job of a job is another");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    const auto users = [](const std::string& name) -> std::optional<uid_t> {
        return name == "alice" ? std::optional<uid_t>(7) : std::nullopt;
    };
    // No file of this machine is loaded.
    const auto plugins = [](const std::filesystem::path& file) {
        return tl::expected<xpreemptd::sched::Plugin, std::string>(
            tl::make_unexpected(file.string() + ": none here"));
    };
    auto rules = xpreemptd::parse_rules(text, "f", {.user_lookup = users, .load_plugin = plugins});
    if (rules)
        check_rules(*rules);
    else
        check_error(rules.error());
    check_path(text);
    return 0;
}
