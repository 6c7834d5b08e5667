// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include "kfd/module.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <sys/utsname.h>

namespace verify {

namespace kfd = xpreempt::kfd;
using Path = std::filesystem::path;

namespace {

std::string first_line_of(const Path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

Json known(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

// A line of amdgpu.ids: "74A2,\t00,\tAMD Instinct MI308X", device, revision, name.
std::string name_in(const Path& table, unsigned device, unsigned revision) {
    const std::string wanted = fmt::format("{:X},{:02X},", device, revision);
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string of_device, of_revision, name;
        words >> of_device >> of_revision >> std::ws;
        if (of_device + of_revision == wanted && std::getline(words, name))
            return name;
    }
    return {};
}

unsigned number_in(const Path& path) {
    return static_cast<unsigned>(std::strtoul(first_line_of(path).c_str(), nullptr, 16));
}

} // namespace

std::string name_of_gpu(const kfd::Roots& roots, const Path& device) {
    std::string name = first_line_of(device / "product_name");
    const unsigned id = number_in(device / "device"), revision = number_in(device / "revision");
    for (const char* table : {"opt/amdgpu/share/libdrm", "usr/share/libdrm"})
        if (name.empty())
            name = name_in(roots.system / table / "amdgpu.ids", id, revision);
    return name;
}

Json machine(const kfd::Roots& roots, const std::vector<GpuPlace>& gpus,
             std::chrono::system_clock::time_point now) {
    struct utsname kernel{};
    ::uname(&kernel);
    const kfd::LoadedModule module = kfd::loaded_module(roots);
    Json json{
        {"date", fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)))},
        {"kfd_preempt", KFD_PREEMPT_VERSION},
        {"kernel", kernel.release},
        {"driver", module.version.empty() ? "of the kernel" : module.version},
        {"rocm", known(first_line_of(roots.system / "opt/rocm/.info/version"))},
        {"gpus", Json::array()}};
    for (const GpuPlace& gpu : gpus) {
        const Path device =
            roots.sysfs / fmt::format("class/drm/renderD{}/device", gpu.render_minor);
        json["gpus"].push_back(
            {{"gpu_id", gpu.gpu_id},
             {"name", known(name_of_gpu(roots, device))},
             {"compute_partition", known(first_line_of(device / "current_compute_partition"))},
             {"memory_partition", known(first_line_of(device / "current_memory_partition"))}});
    }
    return json;
}

} // namespace verify
