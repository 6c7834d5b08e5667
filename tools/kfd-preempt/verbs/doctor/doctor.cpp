// SPDX-License-Identifier: MIT
// doctor: what works on this machine, and what to do about what doesn't.
#include "kfd/attribute.hpp"
#include "kfd/module.hpp"
#include "kfd/queue_slots.hpp"
#include "kfd/slot_use.hpp"
#include "kfd/sysfs.hpp"
#include "kfd/topology.hpp"
#include "output/names.hpp"
#include "output/output.hpp"
#include "processes/error_messages.hpp"
#include "processes/kfd_processes.hpp"
#include "processes/machine.hpp"
#include "processes/save_areas.hpp"
#include "processes/target_queues.hpp"
#include "processes/task.hpp"
#include "streams/hook_sight.hpp"
#include "streams/queue_level.hpp"
#include "verbs/doctor/daemon_finding.hpp"
#include "verbs/doctor/driver_findings.hpp"
#include "verbs/doctor/finding.hpp"
#include "verbs/verbs.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

namespace cli {

namespace {

constexpr const char* read_log = "dmesg | grep -i amdgpu";
constexpr const char* boot_again = "reboot";

// The initramfs has the driver that is loaded at the boot.
std::vector<std::string> install_and_boot(const Distribution& here, const std::string& packages) {
    return commands_of({here.install + " " + packages, here.initramfs, boot_again});
}

// How to get the driver for this kernel.
Fix fix_by_building(const Context& context) {
    const Distribution here = distribution(context.roots, context.kernel_release);
    const std::string source = driver_source(context.roots);
    if (source.empty())
        return {install_and_boot(here, here.driver),
                "if no archive has the package: README.md says how to build the driver"};
    if (amdgpu_dkms_installed(context.roots))
        return {
            {fmt::format("/usr/src/kfd-preempt-{}/kernel/kernel-hook --initramfs --rocm", source),
             boot_again}};
    return {commands_of(
        {fmt::format("dkms install kfd-preempt/{} -k {}", source, context.kernel_release),
         here.initramfs, boot_again})};
}

// "6.12" is the series of 6.12.9 and 6.12-rc1, not of 6.120.
bool is_of_series(std::string_view release, std::string_view series) {
    return release.size() > series.size() && release.starts_with(series) &&
           std::string_view(".-+").find(release[series.size()]) != std::string_view::npos;
}

bool has_series(const Context& context) {
    std::string_view rest = context.kernel_series;
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find(' '));
        if (is_of_series(context.kernel_release, one))
            return true;
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    }
    return false;
}

Finding check_kernel(const Context& context, const kfd::LoadedModule& module) {
    // A patched driver that runs is the proof; the table only says what can be built.
    if (!module.preempt_abi.empty() || has_series(context))
        return {"kernel", Verdict::ok, context.kernel_release};
    // ROCm's driver is built for many kernels from one source, which kernel/prepare-rocm edits.
    if (amdgpu_dkms_installed(context.roots))
        return {"kernel", Verdict::ok,
                fmt::format("{}, with ROCm's own driver", context.kernel_release)};
    const Distribution here = distribution(context.roots, context.kernel_release);
    return {"kernel",
            Verdict::fail,
            fmt::format("{}: there is no patch series for this kernel", context.kernel_release),
            {{here.kernel.empty() ? "ls /boot/vmlinuz-*" : here.install + " " + here.kernel,
              boot_again},
             fmt::format("boot a kernel of one of these series: {}", context.kernel_series)},
            Exit::unsupported};
}

Finding check_other_driver(const Context& context, const kfd::LoadedModule& module) {
    if (!amdgpu_dkms_installed(context.roots))
        return {"amdgpu-dkms", Verdict::ok, "not installed"};
    const std::string known = known_of_rocm(context, module);
    const std::string which = known.empty() ? known : " (" + known + ")";
    if (module.rocm && !module.preempt_abi.empty())
        return {"amdgpu-dkms", Verdict::ok, "installed, and built with queue preemption" + which};
    const Distribution here = distribution(context.roots, context.kernel_release);
    const std::string remove = here.remove + " amdgpu-dkms";
    if (!module.preempt_abi.empty())
        return {"amdgpu-dkms",
                Verdict::warn,
                fmt::format("ROCm's own driver{} is installed and takes the place of ours at the "
                            "next boot",
                            which),
                {commands_of({remove,
                              fmt::format("dkms install kfd-preempt/{} -k {}", KFD_PREEMPT_VERSION,
                                          context.kernel_release),
                              here.initramfs, boot_again})}};
    return {"amdgpu-dkms",
            Verdict::fail,
            fmt::format("ROCm's own driver{} is installed, and it has no queue preemption", which),
            {fix_by_building(context).commands,
             fmt::format("build it with queue preemption; or, on a kernel with a patch series, "
                         "remove it: {}",
                         remove)},
            Exit::unsupported};
}

// Names the driver that is in the kernel now.
std::string loaded_driver(const kfd::LoadedModule& module) {
    if (!module.loaded)
        return "amdgpu is not loaded";
    if (module.rocm)
        return fmt::format("ROCm's own amdgpu{}{} is loaded", module.version.empty() ? "" : " ",
                           printable(module.version));
    return "the stock amdgpu is loaded";
}

Finding check_not_patched(const Context& context, const kfd::LoadedModule& module) {
    const InstalledModule installed = installed_module(context.roots, context.kernel_release);
    const Distribution here = distribution(context.roots, context.kernel_release);
    const std::string now = loaded_driver(module);
    if (installed.preempt_version)
        return {"module", Verdict::fail,
                fmt::format("{}, but {} has preemption ({})", now, installed.path.string(),
                            printable(*installed.preempt_version)),
                module.loaded ? Fix{commands_of({here.initramfs, boot_again}),
                                    "a driver in use cannot be replaced"}
                              : Fix{{"modprobe amdgpu", read_log}},
                Exit::unsupported};
    if (!installed.path.empty() && !installed.readable)
        return {"module",
                Verdict::fail,
                fmt::format("{}; whether {} has preemption cannot be read", now,
                            installed.path.string()),
                {{here.install + " kmod", "kfd-preempt doctor"}, "doctor needs modinfo"},
                Exit::unsupported};
    const Finding kernel = check_kernel(context, module);
    return {"module", Verdict::fail,
            fmt::format("{}, and no amdgpu with preemption is installed for {}", now,
                        context.kernel_release),
            kernel.verdict == Verdict::ok
                ? fix_by_building(context)
                : Fix{kernel.fix.commands, "another kernel first, see above; then doctor again"},
            Exit::unsupported};
}

Finding check_module(const Context& context, const kfd::LoadedModule& module) {
    if (module.preempt_abi.empty())
        return check_not_patched(context, module);
    const std::string abi = printable(module.preempt_abi);
    if (module.switched_off)
        return {"module", Verdict::fail,
                fmt::format("amdgpu has preemption (ABI {}), but it is switched off", abi),
                fix_of_parameter(context, "kfd_preempt=0",
                                 "remove amdgpu.kfd_preempt=0 where the first command finds it"),
                Exit::unsupported};
    return {"module", Verdict::ok, fmt::format("the loaded amdgpu has preemption, ABI {}", abi)};
}

template <typename Holds>
bool any_line(const Context& context, const std::filesystem::path& file, Holds holds) {
    const std::string text =
        kfd::read_text(context.roots.system / file, Op::read_proc, 1U << 16U).value_or("");
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
        end = std::min(text.find('\n', begin), text.size());
        if (holds(std::string_view(text).substr(begin, end - begin)))
            return true;
    }
    return false;
}

// The last file of DKMS with the setting; empty: none has it. DKMS executes them in this order, so
// only a shell knows a value.
std::filesystem::path dkms_file_with(const Context& context, std::string_view setting) {
    const std::filesystem::path directory = "etc/dkms/framework.conf.d";
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(context.roots.system / directory, error))
        if (entry.path().extension() == ".conf")
            files.push_back(directory / entry.path().filename());
    std::ranges::sort(files, std::ranges::greater{});
    files.emplace_back("etc/dkms/framework.conf");
    const auto found = std::ranges::find_if(files, [&](const std::filesystem::path& file) {
        return any_line(context, file, [&](std::string_view line) {
            return line.substr(0, line.find('#')).find(setting) != std::string_view::npos;
        });
    });
    return found == files.end() ? std::filesystem::path() : "/" / *found;
}

// Without a setting DKMS signs with its own key. On Ubuntu and systems that name it first as the
// one that they are like it is that of shim-signed, unless a setting names a key, whatever
// certificate is set. Empty: a setting names it.
std::string dkms_certificate(const Context& context) {
    const bool is_ubuntu = any_line(context, "etc/os-release", [](std::string_view line) {
        const std::string_view value = line.substr(std::min(line.find('=') + 1, line.size()));
        return (line.starts_with("ID=") || line.starts_with("ID_LIKE=")) &&
               value.substr(value.starts_with('"') ? 1 : 0).starts_with("ubuntu");
    });
    if (is_ubuntu && dkms_file_with(context, "mok_signing_key=").empty())
        return "/var/lib/shim-signed/mok/MOK.der";
    return dkms_file_with(context, "mok_certificate=").empty() ? "/var/lib/dkms/mok.pub" : "";
}

Finding check_secure_boot(const Context& context, const kfd::LoadedModule& module) {
    if (!secure_boot(context.roots).value_or(false))
        return {"secure-boot", Verdict::ok, "off"};
    if (!module.preempt_abi.empty())
        return {"secure-boot", Verdict::ok, "on, and our module was accepted"};
    const std::string certificate = dkms_certificate(context);
    const std::string enrol = "enrol the key that DKMS signs with, and confirm that at the boot";
    if (certificate.empty()) {
        const std::string file = printable(dkms_file_with(context, "mok_certificate=").string());
        return {"secure-boot",
                Verdict::warn,
                "on: the kernel loads only modules with a known key",
                {{". " + file, "mokutil --import \"$mok_certificate\"", boot_again},
                 fmt::format("{}; its certificate is mok_certificate of {}, a shell script", enrol,
                             file)}};
    }
    return {"secure-boot",
            Verdict::warn,
            fmt::format("on: DKMS signs with {}", certificate),
            {{"mokutil --import " + certificate, boot_again}, enrol}};
}

Finding check_pids(const Context& context) {
    const Outcome<void> pids = require_kfd_pids(context);
    if (!pids) {
        Fix fix{{"mount -t proc proc /proc"}};
        if (pids.error().errno_value == 0)
            fix = {{container_command}};
        return {"pids", Verdict::fail, pids.error().message, std::move(fix), Exit::failed};
    }
    if (!in_initial_pid_namespace(context.roots).value_or(false))
        return {"pids", Verdict::ok,
                "in a container: its own pids, matched with KFD's by PASID; processes outside of "
                "it are not shown"};
    return {"pids", Verdict::ok, "this shell sees the pids that KFD uses"};
}

Finding check_rights(const Context& context, const kfd::LoadedModule& module) {
    if (module.operator_mode == 0)
        return {
            "rights", Verdict::warn,
            "no operator may suspend another process' queues (amdgpu.operator_mode=0)",
            fix_of_parameter(context, "operator_mode=",
                             "to allow it to CAP_SYS_PTRACE, set operator_mode=1 where the first "
                             "command finds another value")};
    if (has_cap_sys_ptrace(context.roots))
        return {"rights", Verdict::ok, "CAP_SYS_PTRACE: may suspend and resume any process"};
    if (module.operator_mode.value_or(1) > 1)
        return {"rights", Verdict::ok,
                fmt::format("may suspend and resume processes of this user "
                            "(amdgpu.operator_mode={})",
                            *module.operator_mode)};
    if (is_root(context.roots))
        return {"rights",
                Verdict::warn,
                "root without CAP_SYS_PTRACE: may not suspend other processes",
                {{container_command},
                 "a container gets it at its start (Kubernetes: capabilities.add), a unit by "
                 "CapabilityBoundingSet="}};
    return {"rights",
            Verdict::warn,
            "no CAP_SYS_PTRACE: may not suspend other processes",
            {{"sudo kfd-preempt doctor"}}};
}

// sched_mode and caps of the driver; the nodes follow.
Finding check_query(const Context& context, const kfd::LoadedModule& module,
                    const kfd::Device& device) {
    const auto query = kfd::query_driver(device, module);
    if (!query) {
        // Without preemption the check of the module has said why, and what to do.
        const Diagnosis found = diagnose_device(context, query.error());
        const Finding of_module = check_module(context, module);
        if (query.error().errno_value == ENOTTY && of_module.verdict != Verdict::ok)
            return {"driver",
                    Verdict::fail,
                    found.text,
                    {of_module.fix.commands, "see module above"},
                    found.exit};
        return {"driver",
                Verdict::fail,
                found.text,
                {found.commands.empty() ? std::vector<std::string>{read_log} : found.commands,
                 found.fix},
                found.exit};
    }
    const Distribution here = distribution(context.roots, context.kernel_release);
    if (query->abi_major != KFD_PREEMPT_ABI_MAJOR)
        return {"driver",
                Verdict::fail,
                fmt::format("it speaks ABI {}.{}, this command {}.{}", query->abi_major,
                            query->abi_minor, KFD_PREEMPT_ABI_MAJOR, KFD_PREEMPT_ABI_MINOR),
                {install_and_boot(here, "kfd-preempt " + here.driver),
                 "install a command and a driver of the same version"},
                Exit::unsupported};
    const std::string text =
        fmt::format("ABI {}.{}, scheduler {}, {}", query->abi_major, query->abi_minor,
                    sched_mode_name(query->sched_mode), words_or_dash(cap_names(query->caps)));
    constexpr std::uint64_t needed = KFD_PREEMPT_CAP_BATCH | KFD_PREEMPT_CAP_OPERATOR;
    if ((query->caps & needed) != needed)
        return {"driver",
                Verdict::warn,
                text,
                {install_and_boot(here, here.driver),
                 "without BATCH and OPERATOR, suspend and resume cannot act on other processes"}};
    if ((query->caps & KFD_PREEMPT_CAP_SWITCH_ONLY) != 0)
        return {"driver", Verdict::ok,
                text + "; no PREEMPT_QUEUE and RESUME_QUEUE (0x87, 0x88): this amdkfd has other "
                       "ioctls there, programs use SWITCH"};
    return {"driver", Verdict::ok, text};
}

Finding check_node(const Context& context, const Result<kfd_ioctl_preempt_query_args>& query,
                   const kfd::Node& node) {
    const std::string name = fmt::format("gpu {}", node.gpu_id);
    const std::string place =
        printable(fmt::format("{}{}{}", node.name.empty() ? "no name" : node.name,
                              node.pci_address.empty() ? "" : ", ", node.pci_address));
    if (!query)
        return {"gpu", Verdict::fail,
                fmt::format("{} ({}): QUERY failed: {} ({})", name, place,
                            std::strerror(query.error().errno_value),
                            errno_name(query.error().errno_value)),
                query.error().errno_value == ENODEV
                    ? Fix{{container_command},
                          "a container, or a unit with DeviceAllow=, needs the GPU's render node"}
                    : Fix{{read_log, boot_again}, "look for errors of amdgpu"},
                Exit::failed};
    const std::string text =
        fmt::format("{}: stops by {}; {} XCC, {}", name,
                    words_or_dash(preempt_type_names(query->type_mask)), query->num_xcc, place);
    const bool can_save = (query->type_mask & (1U << KFD_PREEMPT_TYPE_SAVE)) != 0;
    if (query->degraded != 0)
        return {"gpu",
                can_save ? Verdict::warn : Verdict::fail,
                fmt::format("{}; degraded by the driver because {}", text,
                            fmt::join(degraded_names(query->degraded), ", ")),
                {{read_log, "echo 0 >/sys/module/amdgpu/parameters/preempt_degraded"},
                 "read the kernel log, then try again, as root"},
                can_save ? Exit::ok : Exit::unsupported};
    if (!can_save)
        return {"gpu", Verdict::fail, text,
                fix_of_parameter(context, "cwsr_enable=",
                                 "it cannot stop mid-kernel (no SAVE): remove "
                                 "amdgpu.cwsr_enable=0 where the first command finds it; if it "
                                 "finds none, this GPU cannot under this scheduler"),
                Exit::unsupported};
    return {"gpu", Verdict::ok, text};
}

// Answers of QUERY by gpu_id, for add_queues().
using Queries = std::map<std::uint32_t, kfd_ioctl_preempt_query_args>;

std::vector<Finding> check_device(const Context& context, const kfd::LoadedModule& module,
                                  Queries& queries) {
    Result<kfd::Device> device = context.open_device();
    if (!device) {
        const Diagnosis found = diagnose_device(context, device.error());
        return {{"device", Verdict::fail, found.text, {found.commands, found.fix}, found.exit}};
    }
    std::vector<Finding> checks;
    checks.push_back(
        {"device", Verdict::ok, fmt::format("{} can be opened", context.roots.device.string())});
    checks.push_back(check_query(context, module, *device));
    if (checks.back().verdict == Verdict::fail)
        return checks;
    const Result<std::vector<kfd::Node>> nodes = kfd::gpu_nodes(context.roots);
    if (!nodes || nodes->empty()) {
        checks.push_back({"gpu",
                          Verdict::fail,
                          "KFD knows no GPU that this user may use",
                          {{container_command},
                           "a container needs the render nodes of its GPUs; outside of one, look "
                           "for errors of amdgpu in dmesg"},
                          Exit::unsupported});
        return checks;
    }
    for (const kfd::Node& node : *nodes) {
        const auto query = device->query(node.gpu_id);
        if (query)
            queries.emplace(node.gpu_id, *query);
        checks.push_back(check_node(context, query, node));
    }
    return checks;
}

std::vector<Finding> check_hooks(const Context& context, std::optional<pid_t> pid) {
    std::vector<Finding> checks;
    for (HookSight& sight : sight_of_hooks(context, pid)) {
        if (sight.fix.empty()) {
            checks.push_back({"hook", Verdict::ok, std::move(sight.text)});
            continue;
        }
        Fix fix{{"LD_PRELOAD=libxpreempt-hook.so PROGRAM"}, std::move(sight.fix)};
        checks.push_back({"hook", Verdict::warn, std::move(sight.text), std::move(fix)});
    }
    return checks;
}

// Compute queues that each GPU holds at once, where the driver reports another number. The hook
// lets HIP make two less.
void add_queue_slots(const Context& context, Report& report) {
    Json slots = Json::array();
    if (const auto nodes = kfd::gpu_nodes(context.roots); nodes)
        for (const kfd::Node& node : *nodes) {
            const auto gpu = kfd::gpu_of(context.roots, node.gpu_id);
            if (!gpu || gpu->cp_queues == 0)
                continue;
            const std::uint32_t usable = kfd::usable_queue_slots(gpu->cp_queues, gpu->xccs);
            slots.push_back(
                {{"gpu_id", node.gpu_id}, {"reported", gpu->cp_queues}, {"usable", usable}});
            if (usable != gpu->cp_queues)
                report.text += finding_line(
                    "info", "queues",
                    fmt::format("gpu {}: the driver reports {} compute queues for {} XCC; {} fit "
                                "at once, and more are time-sliced",
                                node.gpu_id, gpu->cp_queues, gpu->xccs, usable));
        }
    report.json["queue_slots"] = std::move(slots);
}

// Adds how many compute queues the GPU has, and the size of their CWSR areas. Returns a sentence,
// or nothing if there are none.
std::string add_save_areas(const Context& context, std::uint32_t gpu_id, Json& cost) {
    const auto queues = compute_queues_on(context, gpu_id);
    if (!queues || cost["full_bytes"].is_null())
        return {};
    const std::uint64_t bytes = *queues * cost["full_bytes"].get<std::uint64_t>();
    cost["queues"] = *queues;
    cost["save_area_bytes"] = bytes;
    if (*queues == 0)
        return {};
    return fmt::format("gpu {}: {} compute {} of all processes, whose CWSR areas have {:.1f} MB "
                       "together, {:.1f} MB each, held or not",
                       gpu_id, *queues, *queues == 1 ? "queue" : "queues",
                       static_cast<double>(bytes) / 1e6,
                       static_cast<double>(bytes) / static_cast<double>(*queues) / 1e6);
}

// Adds the predicted cost of a stop on each GPU, for a stock driver too.
void add_costs(const Context& context, Report& report) {
    Json costs = Json::array();
    if (const auto nodes = kfd::gpu_nodes(context.roots); nodes)
        for (const kfd::Node& node : *nodes) {
            CostReport cost = predicted_cost(context, node.gpu_id);
            report.text += finding_line("info", "cost", cost.text);
            if (const std::string kept = add_save_areas(context, node.gpu_id, cost.json);
                !kept.empty())
                report.text += finding_line("info", "memory", kept);
            costs.push_back(std::move(cost.json));
        }
    report.json["costs"] = std::move(costs);
}

void add_queues(const Context& context, const kfd::LoadedModule& module, const Queries& queries,
                pid_t pid, Report& report) {
    const auto selected = queues_of(context, pid);
    if (!selected) {
        const Report failed = report_of(selected.error());
        report.messages.push_back(selected.error().message);
        report.json["error"] = failed.json["error"];
        report.exit = report.exit == Exit::ok ? failed.exit : report.exit;
        return;
    }
    Table table({"QUEUE", "GPU", "TYPE", "LEVEL", "BY"});
    std::string reasons;
    Json queues = Json::array();
    for (const kfd::Queue& queue : selected->queues) {
        const auto query = queries.find(queue.gpu_id);
        const QueueLevel level =
            level_of(queue.type, module,
                     query == queries.end() ? std::nullopt : std::optional(query->second));
        table.add({std::to_string(queue.queue_id), std::to_string(queue.gpu_id),
                   name_of(queue.type), level_name(level.level), level.by});
        if (!level.reason.empty())
            reasons += finding_line("info", fmt::format("queue {}", queue.queue_id), level.reason);
        queues.push_back(
            {{"queue", queue.queue_id},
             {"gpu_id", queue.gpu_id},
             {"type", name_of(queue.type)},
             {"level", static_cast<int>(level.level)},
             {"level_name",
              level.level == Level::none ? Json(nullptr) : Json(level_name(level.level))},
             {"by", level.level == Level::none ? Json(nullptr) : Json(level.by)},
             {"reason", level.reason.empty() ? Json(nullptr) : Json(level.reason)}});
    }
    report.text += queues.empty()
                       ? fmt::format("{}: has no queues\n", selected->target.name())
                       : fmt::format("{}:\n{}", selected->target.name(), table.text() + reasons);
    report.json["pid"] = pid;
    report.json["comm"] = selected->target.comm_json();
    report.json["queues"] = std::move(queues);
}

} // namespace

Report doctor(const Context& context, std::optional<pid_t> pid) {
    const kfd::LoadedModule module = kfd::loaded_module(context.roots);
    std::vector<Finding> checks = {
        check_kernel(context, module), check_other_driver(context, module),
        check_module(context, module), check_secure_boot(context, module),
        check_dkms(context),
    };
    for (Finding& check : check_next_boot(context, module))
        checks.push_back(std::move(check));
    for (Finding& check : check_parameters(context, module))
        checks.push_back(std::move(check));
    Queries queries;
    for (Finding& check : check_device(context, module, queries))
        checks.push_back(std::move(check));
    checks.push_back(check_pids(context));
    checks.push_back(check_rights(context, module));
    checks.push_back(check_daemon(context));
    for (Finding& check : check_hooks(context, pid))
        checks.push_back(std::move(check));
    for (const kfd::SlotUse& use : kfd::slot_uses(context.roots))
        if (const std::string cost = cost_of(use); !cost.empty())
            checks.push_back({"queues",
                              Verdict::warn,
                              cost,
                              {{"kfd-preempt list", "XPREEMPT_HW_QUEUES=2 PROGRAM"}}});
    if (pid)
        for (Finding& check : check_settings_of(context, *pid))
            checks.push_back(std::move(check));
    Report report = report_of_findings(checks);
    add_firmware(context, report);
    add_queue_slots(context, report);
    add_costs(context, report);
    if (pid)
        add_queues(context, module, queries, *pid, report);
    return report;
}

} // namespace cli
