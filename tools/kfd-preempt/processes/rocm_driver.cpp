// SPDX-License-Identifier: MIT
// ROCm's own driver, package amdgpu-dkms: its releases, and what it leaves behind.
#include "processes/rocm_driver.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <system_error>

namespace cli {

namespace {

constexpr std::string_view simulated = "queue preemption ran with it on a software GPU only";
constexpr std::string_view compiled = "queue preemption compiles with it and has not run";
constexpr std::string_view untried = "nobody has tried queue preemption with it";

constexpr std::array drivers = {
    RocmDriver{"6.12.12", "6.4", "6.4", simulated},
    RocmDriver{"6.14.14", "30.10", "7.0", compiled},
    RocmDriver{"6.16.6", "30.20", "7.1", untried},
    RocmDriver{"6.16.13", "30.30", "7.2", untried},
    RocmDriver{"6.18.4", "31.10", "7.11 and 7.12 (previews)", untried},
    RocmDriver{"6.19.4", "31.30", "7.13 (preview)", untried},
    RocmDriver{"6.19.14", "31.40", "7.14", untried},
    RocmDriver{"7.1.3", "31.50", "10.0", untried},
    RocmDriver{"7.1.9", "31.60", "10.1", untried},
};

struct Build {
    std::string_view number; // in the version of the package, after the version of the driver
    std::string_view release;
};

// Those of which AMD's repositories or its users' reports tell the release.
constexpr std::array builds = {
    Build{"2204008", "30.10.0"}, Build{"2212064", "30.10.1"}, Build{"2238411", "30.20.0"},
    Build{"2255209", "30.20.1"}, Build{"2278356", "30.30.0"}, Build{"2303411", "30.30.1"},
    Build{"2327507", "30.30.3"}, Build{"2341068", "30.30.4"}, Build{"2286447", "31.10.0"},
    Build{"2337710", "31.30.0"}, Build{"2364437", "31.40.0"}, Build{"2377056", "31.40.1"},
    Build{"2407772", "31.60.0"},
};

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// "6.14.14" of "6.14.14-2212064.el8".
std::string_view upstream_version(std::string_view version) {
    return version.substr(0, version.find_first_of("-+ "));
}

std::string_view build_of(std::string_view package_version) {
    const std::size_t begin = package_version.find('-');
    if (begin == std::string_view::npos)
        return {};
    package_version.remove_prefix(begin + 1);
    const auto end = std::ranges::find_if_not(package_version, is_digit);
    return package_version.substr(0, static_cast<std::size_t>(end - package_version.begin()));
}

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& directory) {
    std::vector<std::filesystem::path> found;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
        std::error_code unreadable;
        if (!entry->is_symlink(unreadable) && entry->is_directory(unreadable))
            found.push_back(entry->path());
    }
    std::ranges::sort(found);
    return found;
}

} // namespace

const RocmDriver* rocm_driver(std::string_view version) {
    const auto found = std::ranges::find(drivers, upstream_version(version), &RocmDriver::version);
    return found == drivers.end() ? nullptr : &*found;
}

std::string rocm_release(std::string_view package_version) {
    const auto build = std::ranges::find(builds, build_of(package_version), &Build::number);
    if (build != builds.end())
        return std::string(build->release);
    const RocmDriver* driver = rocm_driver(package_version);
    return driver == nullptr ? std::string{} : std::string(driver->release);
}

std::vector<std::string> rocm_packages(const xpreempt::kfd::Roots& roots) {
    std::vector<std::string> versions;
    for (const auto& entry : entries_of(roots.system / "var/lib/dkms/amdgpu"))
        versions.push_back(entry.filename());
    return versions;
}

std::vector<std::filesystem::path> broken_dkms_entries(const xpreempt::kfd::Roots& roots) {
    std::vector<std::filesystem::path> broken;
    for (const auto& module : entries_of(roots.system / "var/lib/dkms"))
        for (const auto& version : entries_of(module)) {
            std::error_code error;
            // Follows the link, as dkms does.
            if (!std::filesystem::exists(version / "source/dkms.conf", error))
                broken.push_back(version);
        }
    return broken;
}

} // namespace cli
