// SPDX-License-Identifier: MIT
// Splits cgroup paths at units, containers, Slurm steps and jobs of PBS and HTCondor.
#include "jobs/cgroup_path.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace xpreemptd {

namespace {

// Elements of a path one after the other.
class Elements {
public:
    explicit Elements(std::string_view path) : path_(path) {}

    // Empty at the end.
    std::string_view next() {
        const std::size_t begin = std::min(path_.find_first_not_of('/', end_), path_.size());
        end_ = std::min(path_.find('/', begin), path_.size());
        return path_.substr(begin, end_ - begin);
    }
    // Up to and with the last element.
    [[nodiscard]] std::string_view so_far() const { return path_.substr(0, end_); }
    [[nodiscard]] std::string_view rest() const { return path_.substr(end_); }

private:
    std::string_view path_;
    std::size_t end_ = 0;
};

bool within(std::string_view text, std::string_view begin, std::string_view end) {
    return text.size() >= begin.size() + end.size() && text.starts_with(begin) &&
           text.ends_with(end);
}

struct Unit {
    std::string_view name;
    std::string_view path; // up to and with the unit
    std::string_view rest; // delegated
    bool leaf = false;     // a service or a scope
};

Unit first_unit(std::string_view path) {
    Unit unit;
    Elements elements(path);
    for (auto element = elements.next(); !element.empty(); element = elements.next()) {
        const bool leaf = element.ends_with(".service") || element.ends_with(".scope");
        if (leaf || element.ends_with(".slice"))
            unit = {element, elements.so_far(), elements.rest(), leaf};
        // ".." leads to what is above the cgroup namespace of the daemon, in its container.
        else if (element != ".." || !unit.name.empty())
            break;
        if (leaf)
            break;
    }
    return unit;
}

bool is_user_manager(const Unit& unit) {
    return unit.leaf && within(unit.name, "user@", ".service");
}

// Processes in it don't belong together.
bool is_session(const Unit& unit, bool of_user) {
    if (!unit.leaf)
        return of_user;
    if (unit.name == "init.scope" || within(unit.name, "session-", ".scope"))
        return true;
    return of_user && unit.name.ends_with(".scope") &&
           (unit.name.starts_with("app-") || unit.name.find("-spawn-") != std::string_view::npos);
}

// The scope is that of all jobs of the machine.
bool may_hold_slurm(const Unit& unit) {
    return !unit.leaf || unit.name.ends_with("slurmstepd.scope");
}

// The job and the step of slurmd: the cgroups below [NODE_]slurmstepd.scope on version 2, and on
// version 1 those below /slurm[_NODE]/uid_UID. Newer versions name the job by its SLUID, older ones
// job_NUMBER, so the place counts and not the name.
std::optional<std::string_view> slurm_step_in(std::string_view path) {
    Elements elements(path);
    std::string_view element = elements.next();
    while (element == "..") // above the cgroup namespace of the daemon
        element = elements.next();
    const bool version_1 = element.starts_with("slurm") && !element.ends_with(".scope");
    std::string_view above;
    for (; !element.empty(); above = element, element = elements.next()) {
        const bool is_job = version_1 ? above.starts_with("uid_") || element.starts_with("job_")
                                      : above.ends_with("slurmstepd.scope") && element != "system";
        if (!is_job)
            continue;
        const std::string_view job = elements.so_far();
        return elements.next().starts_with("step_") ? elements.so_far() : job;
    }
    return std::nullopt;
}

// PBS has a cgroup for each job in its unit: pbs_jobs.service/jobid/JOB on version 1,
// pbs_jobs.service/jobs/JOB on version 2.
std::optional<std::string_view> pbs_job_in(const Unit& unit) {
    Elements elements(unit.rest);
    const std::string_view above = elements.next();
    if (!unit.name.starts_with("pbs") || (above != "jobid" && above != "jobs") ||
        elements.next().empty())
        return std::nullopt;
    return std::string_view(unit.path.data(), unit.path.size() + elements.so_far().size());
}

// HTCondor has one for each job beside its unit: htcondor/condor_EXECUTE_SLOT.
std::optional<std::string_view> condor_job_in(std::string_view path) {
    Elements elements(path);
    std::string_view above;
    for (auto element = elements.next(); !element.empty(); element = elements.next()) {
        if (above == "htcondor" && element.starts_with("condor_"))
            return elements.so_far();
        above = element;
    }
    return std::nullopt;
}

bool is_hexadecimal(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Engines name the cgroup ID, ENGINE-ID or ENGINE-ID.scope. SLICE:ENGINE:ID is what runc makes of a
// request to systemd that it does not pass on.
std::optional<ContainerCgroup> container_by_id(std::string_view element) {
    constexpr std::size_t digits = 64;
    constexpr std::string_view scope = ".scope";
    if (element.ends_with(scope))
        element.remove_suffix(scope.size());
    if (element.size() < digits)
        return std::nullopt;
    const std::string_view id = element.substr(element.size() - digits);
    element.remove_suffix(digits);
    const bool is_behind_engine = element.ends_with('-') || element.ends_with(':');
    if (!is_hexadecimal(id) || !(element.empty() || is_behind_engine))
        return std::nullopt;
    element.remove_suffix(element.empty() ? 0 : 1);
    if (element.ends_with("conmon"))
        return std::nullopt;
    return ContainerCgroup{{}, element.substr(element.rfind(':') + 1), id};
}

// LXC 4 and later names the cgroup lxc.payload.NAME, before that it was lxc/NAME.
std::optional<ContainerCgroup> container_of_lxc(std::string_view before, std::string_view element) {
    constexpr std::string_view payload = "lxc.payload.";
    if (element.starts_with(payload))
        return ContainerCgroup{{}, "lxc", element.substr(payload.size())};
    if (before == "lxc")
        return ContainerCgroup{{}, "lxc", element};
    return std::nullopt;
}

// A container names the cgroups below its own as it likes.
std::string_view without_inside_of_container(std::string_view path) {
    const auto container = container_of(path);
    return container ? container->path : path;
}

std::optional<std::string_view> slurm_step_above_containers(std::string_view path) {
    if (!may_hold_slurm(first_unit(path)))
        return std::nullopt;
    return slurm_step_in(without_inside_of_container(path));
}

// Root names the units of the system. Where an engine was told that systemd makes the cgroups and
// runc was not, they are below the unit of the engine, those of all its containers.
bool is_of_engine(const Unit& unit) {
    constexpr std::array<std::string_view, 6> engines{"containerd", "crio", "docker",
                                                      "k0s",        "k3s",  "rke2"};
    return std::ranges::any_of(engines, [&](std::string_view engine) {
        return unit.name.find(engine) != std::string_view::npos;
    });
}

bool is_letter_or_digit(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_root(std::string_view path) {
    Elements elements(path);
    std::string_view element = elements.next();
    while (element == "..")
        element = elements.next();
    return element.empty();
}

} // namespace

std::vector<CgroupLine> cgroup_lines(std::string_view text) {
    std::vector<CgroupLine> lines;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first != std::string_view::npos && second != std::string_view::npos)
            lines.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
    }
    return lines;
}

CgroupUnits units_of(std::string_view path) {
    const Unit system = first_unit(path);
    return {system.name, is_user_manager(system) ? first_unit(system.rest).name : ""};
}

bool is_below_a_unit(std::string_view path) {
    const Unit unit = first_unit(path);
    return unit.leaf && !is_root(unit.rest) && !is_of_engine(unit);
}

std::optional<std::string_view> slurm_job_of(std::string_view path) {
    const auto step = slurm_step_above_containers(path);
    if (!step)
        return std::nullopt;
    std::string_view name = *step;
    std::string_view last = name.substr(name.rfind('/') + 1);
    if (last.starts_with("step_")) {
        name = name.substr(0, name.rfind('/'));
        last = name.substr(name.rfind('/') + 1);
    }
    constexpr std::string_view prefix = "job_";
    if (last.starts_with(prefix))
        last.remove_prefix(prefix.size());
    // It is the name of a file.
    if (last.empty() || !std::ranges::all_of(last, is_letter_or_digit))
        return std::nullopt;
    return last;
}

std::optional<ContainerCgroup> container_of(std::string_view path, std::string_view id) {
    Elements elements(path);
    std::string_view before;
    for (auto element = elements.next(); !element.empty(); element = elements.next()) {
        auto container = container_by_id(element);
        if (!container)
            container = container_of_lxc(before, element);
        if (container && container->id.starts_with(id)) {
            container->path = elements.so_far();
            return container;
        }
        before = element;
    }
    return std::nullopt;
}

std::optional<std::string_view> job_cgroup_of(std::string_view path) {
    if (is_root(path))
        return std::nullopt;
    const Unit system = first_unit(path);
    if (is_session(system, false))
        return std::nullopt;
    if (is_user_manager(system)) {
        const Unit user = first_unit(system.rest);
        if (is_session(user, true))
            return std::nullopt;
        return path.substr(0, path.size() - user.rest.size());
    }
    if (const auto step = slurm_step_above_containers(path))
        return step;
    if (const auto job = pbs_job_in(system))
        return job;
    if (system.leaf) {
        const auto container = is_of_engine(system) ? container_of(path) : std::nullopt;
        return container ? container->path : system.path;
    }
    const std::string_view outside = without_inside_of_container(path);
    return condor_job_in(outside).value_or(outside);
}

} // namespace xpreemptd
