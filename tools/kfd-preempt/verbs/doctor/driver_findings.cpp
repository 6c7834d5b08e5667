// SPDX-License-Identifier: MIT
// Findings of doctor about parameters of the driver, its packages and the firmware.
#include "verbs/doctor/driver_findings.hpp"

#include "kfd/attribute.hpp"
#include "kfd/sysfs.hpp"
#include "output/names.hpp"
#include "output/output.hpp"
#include "processes/machine.hpp"
#include "processes/rocm_driver.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <set>
#include <system_error>

namespace cli {

namespace {

std::string parameter(const Context& context, const char* name) {
    const auto text =
        kfd::read_text(context.roots.amdgpu_module() / "parameters" / name, Op::read_sysfs, 64);
    return text ? std::string(kfd::trim(*text)) : std::string{};
}

// A variable of the environment that the process was started with, as far as this user may read it.
std::string variable_of(const Context& context, pid_t pid, std::string_view name) {
    const auto text = kfd::read_text(context.roots.proc / std::to_string(pid) / "environ",
                                     Op::read_proc, 1U << 20U);
    for (std::size_t at = 0; text && at < text->size();) {
        const std::string_view entry = text->c_str() + at;
        if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
            return std::string(entry.substr(name.size() + 1));
        at += entry.size() + 1;
    }
    return {};
}

std::optional<std::uint32_t> firmware_version(const Context& context, const kfd::Node& node,
                                              const std::string& unit) {
    const auto text = kfd::read_text(context.roots.sysfs / "bus/pci/devices" / node.pci_address /
                                         "fw_version" / (unit + "_fw_version"),
                                     Op::read_sysfs, 64);
    // "0x000000b1"; 0, or no file, where the GPU has no such unit.
    const std::string_view digits = text ? kfd::trim(*text) : std::string_view{};
    std::uint32_t version = 0;
    if (!digits.starts_with("0x") ||
        std::from_chars(digits.data() + 2, digits.data() + digits.size(), version, 16).ec !=
            std::errc{} ||
        version == 0)
        return std::nullopt;
    return version;
}

// Since ABI 1.5.
bool reads_rings_in_vram(const Context& context) {
    const std::string abi = parameter(context, "kfd_preempt_abi");
    return abi.starts_with("1.") && kfd::parse_unsigned<unsigned>(abi.substr(2)).value_or(0) >= 5;
}

} // namespace

std::vector<std::string> commands_of(std::initializer_list<std::string> commands) {
    std::vector<std::string> known;
    std::ranges::copy_if(commands, std::back_inserter(known),
                         [](const std::string& command) { return !command.empty(); });
    return known;
}

Fix fix_of_parameter(const Context& context, const char* parameter, const std::string& change) {
    const Distribution here = distribution(context.roots, context.kernel_release);
    return {commands_of({fmt::format("grep -r {} /proc/cmdline /etc/modprobe.d /etc/default/grub",
                                     parameter),
                         here.initramfs, "reboot"}),
            change + "; a change of /etc/default/grub needs update-grub or grub2-mkconfig"};
}

std::string known_of_rocm(const Context& context, const kfd::LoadedModule& module) {
    const std::vector<std::string> packages = rocm_packages(context.roots);
    std::string version = packages.empty() ? std::string{} : packages.back();
    if (module.rocm && !module.version.empty()) {
        const auto package = std::ranges::find_if(packages, [&](const std::string& one) {
            return one == module.version || one.starts_with(module.version + "-");
        });
        version = package == packages.end() ? module.version : *package;
    }
    if (version.empty())
        return {};
    const RocmDriver* driver = rocm_driver(version);
    if (driver == nullptr)
        return fmt::format("{}, a driver that this command does not know", printable(version));
    return fmt::format("{}, driver {} of ROCm {}: {}", printable(version), rocm_release(version),
                       driver->rocm, driver->known);
}

Finding check_dkms(const Context& context) {
    const std::vector<std::filesystem::path> broken = broken_dkms_entries(context.roots);
    if (broken.empty())
        return {"dkms", Verdict::ok, "no entry without its source"};
    std::vector<std::string> commands;
    for (const std::filesystem::path& entry : broken)
        commands.push_back("rm -r " + printable(entry.string()));
    return {"dkms",
            Verdict::warn,
            fmt::format("{} {} no source: DKMS builds no module for a new kernel until that is "
                        "gone",
                        broken.size() == 1 ? "an entry" : "entries",
                        broken.size() == 1 ? "has" : "have"),
            {std::move(commands), "or install its package again"}};
}

std::vector<Finding> check_next_boot(const Context& context, const kfd::LoadedModule& module) {
    const std::filesystem::path& system = context.roots.system;
    std::vector<std::string> kernels = kfd::entries_of(system / "lib/modules");
    std::erase_if(kernels, [&](const std::string& release) {
        std::error_code error;
        return !std::filesystem::exists(system / "boot" / ("vmlinuz-" + release), error);
    });
    const bool sees_running = std::ranges::find(kernels, context.kernel_release) != kernels.end();
    if (module.preempt_abi.empty() || !sees_running)
        return {};
    const std::string newest =
        *std::ranges::max_element(kernels, [](const std::string& a, const std::string& b) {
            return ::strverscmp(a.c_str(), b.c_str()) < 0;
        });
    std::vector<Finding> findings;
    for (const std::string& release : std::set<std::string>{context.kernel_release, newest}) {
        const InstalledModule installed = installed_module(context.roots, release);
        if (installed.preempt_version)
            continue;
        const std::string shown = printable(release);
        findings.push_back(
            {"next-boot", Verdict::warn,
             installed.readable
                 ? fmt::format("no amdgpu with preemption is installed for {}", shown)
                 : fmt::format("{} cannot be read, so a boot of {} has no preemption",
                               printable(installed.path.string()), shown),
             Fix{commands_of({"/etc/kernel/postinst.d/dkms-kfd-preempt " + shown,
                              distribution(context.roots, shown).initramfs}),
                 "the first command builds it, or prints why it cannot"}});
    }
    if (findings.empty())
        findings.push_back(
            {"next-boot", Verdict::ok,
             fmt::format("an amdgpu with preemption is installed for {}", printable(newest))});
    return findings;
}

std::vector<Finding> check_parameters(const Context& context, const kfd::LoadedModule& module) {
    std::vector<Finding> findings;
    if (module.cwsr_off)
        findings.push_back(
            {"cwsr", Verdict::fail,
             "amdgpu.cwsr_enable=0: no queue can be stopped in the middle of a kernel. This is "
             "advised where the MES does not answer REMOVE_QUEUE",
             fix_of_parameter(context, "cwsr_enable=",
                              "remove amdgpu.cwsr_enable=0 where the first command finds it"),
             Exit::unsupported});
    const std::optional<int> user_queues =
        kfd::parse_unsigned<int>(parameter(context, "user_queue"));
    if (user_queues && *user_queues > 0)
        findings.push_back(
            {"user-queues", Verdict::warn,
             fmt::format("amdgpu.user_queue={}: programs can create DRM user queues, which KFD "
                         "does not know and nothing here sees or stops",
                         *user_queues),
             fix_of_parameter(context, "user_queue=",
                              "remove amdgpu.user_queue where the first command finds it")});
    return findings;
}

std::vector<Finding> check_settings_of(const Context& context, pid_t pid) {
    std::vector<Finding> findings;
    if (variable_of(context, pid, "HSA_ENABLE_DRM_DEBUG") == "1")
        findings.push_back({"user-queues",
                            Verdict::warn,
                            "HSA_ENABLE_DRM_DEBUG=1: its queues are DRM user queues, which KFD "
                            "does not know and nothing here sees or stops",
                            {{"env -u HSA_ENABLE_DRM_DEBUG PROGRAM"}}});
    if (!reads_rings_in_vram(context) &&
        variable_of(context, pid, "DEBUG_CLR_AQL_DEV_QUEUE") == "1")
        findings.push_back({"rings",
                            Verdict::warn,
                            "DEBUG_CLR_AQL_DEV_QUEUE=1: its rings are in VRAM, where this driver "
                            "does not read whether the last kernel of a queue has ended",
                            {{"env -u DEBUG_CLR_AQL_DEV_QUEUE PROGRAM"},
                             "or install a driver with ABI 1.5 or newer"}});
    return findings;
}

void add_firmware(const Context& context, Report& report) {
    Json all = Json::array();
    if (const auto nodes = kfd::gpu_nodes(context.roots); nodes)
        for (const kfd::Node& node : *nodes) {
            Json item = {{"gpu_id", node.gpu_id}};
            std::vector<std::string> words;
            for (const char* unit : {"mec", "mec2", "mes", "mes_kiq", "sdma"}) {
                const auto version = firmware_version(context, node, unit);
                item[unit] = version ? Json(*version) : Json(nullptr);
                if (version)
                    words.push_back(fmt::format("{} {}", unit, *version));
            }
            if (!words.empty())
                report.text +=
                    finding_line("info", "firmware",
                                 fmt::format("gpu {}: {}", node.gpu_id, fmt::join(words, ", ")));
            all.push_back(std::move(item));
        }
    report.json["firmware"] = std::move(all);
}

} // namespace cli
