// SPDX-License-Identifier: MIT
// Finds the scenarios that come with the program.
#include "scenario_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <system_error>

namespace sim {

namespace fs = std::filesystem;

fs::path scenario_directory() {
    std::error_code error;
    if (const char* named = std::getenv("KFD_PREEMPT_SIM_SCENARIOS"); named != nullptr)
        return named;
    const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const fs::path& directory :
         {program / "scenarios", program.parent_path() / "share/kfd-preempt-sim/scenarios"})
        if (fs::is_directory(directory, error))
            return directory;
    return {};
}

fs::path scenario_path(const std::string& name) {
    if (name.find('/') != std::string::npos || name.ends_with(".toml"))
        return name;
    return scenario_directory() / (name + ".toml");
}

std::vector<std::string> built_in_scenarios() {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(scenario_directory(), error), end; !error && at != end;
         at.increment(error))
        if (at->path().extension() == ".toml")
            names.push_back(at->path().stem().string());
    std::ranges::sort(names);
    return names;
}

} // namespace sim
