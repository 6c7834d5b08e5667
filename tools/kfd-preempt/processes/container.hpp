// SPDX-License-Identifier: MIT
// From a container on the command line to its processes and its cgroup.
#pragma once

#include "output/context.hpp"
#include "output/outcome.hpp"
#include "processes/cgroup.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cli {

struct Container {
    std::string id;     // 64 hexadecimal digits, or the name of an LXC container
    std::string engine; // as its cgroup is named: docker, libpod, ...; may be empty

    [[nodiscard]] std::string short_id() const; // 12 digits, as engines print it
    [[nodiscard]] std::string name() const;     // "container 0123456789ab (docker)"
};

Json json_of(const Container& container);

// The outermost container of a process; none outside of containers, or if /proc hides it.
std::optional<Container> container_of(const Context& context, pid_t pid);

struct ContainerProcesses {
    Container container;
    std::vector<pid_t> pids; // ascending; never empty
};

// word: an id, at least its first 12 digits, of any engine; the name of an LXC container; or a name
// that docker, podman or nerdctl knows. Works with cgroup version 1 and 2, and needs no engine for
// an id.
Outcome<ContainerProcesses> find_container(const Context& context, const std::string& word);

// Its cgroup, for freeze and thaw: of version 2, or of the freezer of version 1. For thaw a
// container may be gone that `frozen`, paths of cgroups, still names.
Outcome<Cgroup> cgroup_of_container(const Context& context, const std::string& word,
                                    const std::vector<std::string>& frozen = {});

} // namespace cli
