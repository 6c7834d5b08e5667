// SPDX-License-Identifier: MIT
// Finds the systemd units, the container and the job that a cgroup path names.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace xpreemptd {

// One line of /proc/PID/cgroup, "NUMBER:CONTROLLERS:PATH".
struct CgroupLine {
    std::string_view controllers; // empty: of version 2
    std::string_view path;
};

[[nodiscard]] std::vector<CgroupLine> cgroup_lines(std::string_view text);

// Names of units, empty where there is none.
struct CgroupUnits {
    std::string_view system; // of the system's systemd
    std::string_view user;   // of the systemd of a user, below user@UID.service
};

// A unit is the first service or scope with nothing but slices above it, or without such a one the
// last of these slices. Cgroups below a service or a scope are delegated: its processes choose the
// names, so a directory "ollama.service" in a container or below another service is no unit.
// Units of a user's systemd are named by that user.
[[nodiscard]] CgroupUnits units_of(std::string_view path);

// Whether the cgroup lies below a service or a scope, such as user@UID.service, so that the user of
// that unit may have made it and chosen its name. Engines name the cgroups below their own units.
[[nodiscard]] bool is_below_a_unit(std::string_view path);

// The number or the SLUID of the Slurm job that the processes in `path` belong to.
[[nodiscard]] std::optional<std::string_view> slurm_job_of(std::string_view path);

struct ContainerCgroup {
    std::string_view path; // up to and with the cgroup of the container
    std::string_view
        engine;          // docker, libpod, cri-containerd, ... as in that cgroup's name, or empty
    std::string_view id; // 64 hexadecimal digits, or the name of an LXC container
};

// The outermost container that the processes in `path` belong to, or the one whose id begins with
// `id`. The monitor of a container (conmon) is in none.
[[nodiscard]] std::optional<ContainerCgroup> container_of(std::string_view path,
                                                          std::string_view id = {});

// The cgroup that is the job of the processes in `path`, a prefix of it. Nothing in a login
// session, where each program is a job of its own:
// - no path, the root cgroup, init.scope, session-N.scope,
// - what a desktop or a terminal starts below user@UID.service: app-*.scope, *-spawn-*.scope,
//   and what lies in none of that user's units.
// The job is, first match counts:
// - a Slurm step, .../JOB/step_S, with its tasks; a Slurm job for a process in no step,
// - a job of PBS in the unit of PBS,
// - a container below the unit of its engine, containerd.service/SLICE:cri-containerd:ID,
// - a unit of the system or, below user@UID.service, of a user, with the cgroups delegated to it:
//   a service, a container under the systemd driver (docker-*.scope, cri-containerd-*.scope), a
//   scope of systemd-run,
// - a container of a runtime that makes its cgroups itself: an element of 64 hexadecimal digits,
//   also behind "NAME-" or "SLICE:NAME:", or an LXC container. A pod of Kubernetes is no job, its
//   containers are: they restart and are limited one by one. A container in a container belongs to
//   the outer one,
// - else the whole path.
[[nodiscard]] std::optional<std::string_view> job_cgroup_of(std::string_view path);

} // namespace xpreemptd
