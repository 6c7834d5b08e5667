// SPDX-License-Identifier: MIT
// list, top, suspend, resume and status with --container: the verbs for one process, for several.
#pragma once

#include "output/report.hpp"
#include "processes/container.hpp"

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cli {

// Processes of the container that use a GPU; a failure if there are none.
Outcome<ContainerProcesses> gpu_processes_of_container(const Context& context,
                                                       const std::string& word);

// Runs verb for each of those that have a compute queue. The report has all of theirs, and the exit
// of the first that failed. Takes the processes there are now: freeze looks again until no new
// ones appear.
Report for_container(const Context& context, const std::string& word,
                     const std::function<Report(pid_t)>& verb);

} // namespace cli
