// SPDX-License-Identifier: MIT
// The KFD sysfs tree: which processes have which queues, which GPUs there are.
#include "kfd/sysfs.hpp"

#include "kfd/attribute.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace xpreempt::kfd {

namespace {

bool directory_there(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_directory(path, error);
}

std::optional<Queue> read_queue(const std::filesystem::path& directory, std::uint32_t queue_id) {
    const auto gpu_id = read_unsigned<std::uint32_t>(directory / "gpuid", Op::read_sysfs);
    const auto type = read_unsigned<std::uint32_t>(directory / "type", Op::read_sysfs);
    const auto size = read_unsigned<std::uint64_t>(directory / "size", Op::read_sysfs);
    if (!gpu_id || !type || !size)
        return std::nullopt;
    return Queue{queue_id, *gpu_id, QueueType{*type}, *size};
}

std::string pci_address_of(const std::filesystem::path& node) {
    const Result<std::string> text = read_text(node / "properties", Op::read_sysfs, 16384);
    if (!text)
        return {};
    // location_id is bus << 8 | devfn.
    const auto location = property_of(*text, "location_id");
    const std::uint64_t domain = property_of(*text, "domain").value_or(0);
    if (!location || *location > 0xffff || domain > 0xffffffff)
        return {};
    std::array<char, 24> address{};
    std::snprintf(address.data(), address.size(), "%04x:%02x:%02x.%x",
                  static_cast<unsigned>(domain), static_cast<unsigned>(*location >> 8 & 0xff),
                  static_cast<unsigned>(*location >> 3 & 0x1f),
                  static_cast<unsigned>(*location & 0x7));
    return address.data();
}

} // namespace

std::string name_of(QueueType type) {
    switch (type) {
    case QueueType::compute: return "compute";
    case QueueType::sdma: return "sdma";
    case QueueType::hiq: return "hiq";
    case QueueType::diq: return "diq";
    case QueueType::sdma_xgmi: return "sdma-xgmi";
    case QueueType::sdma_by_engine: return "sdma-by-engine";
    }
    return "type-" + std::to_string(static_cast<std::uint32_t>(type));
}

Result<std::vector<pid_t>> kfd_pids(const Roots& roots) {
    const std::filesystem::path directory = roots.kfd_class() / "proc";
    if (!directory_there(directory))
        return fail(ENOENT, Op::read_sysfs);
    std::vector<pid_t> pids;
    for (const std::string& name : entries_of(directory)) {
        const auto pid = parse_unsigned<pid_t>(name);
        if (pid && *pid > 0)
            pids.push_back(*pid);
    }
    std::sort(pids.begin(), pids.end());
    pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
    return pids;
}

Result<std::vector<std::uint32_t>> queue_ids(const Roots& roots, pid_t pid) {
    const std::filesystem::path kfd_proc = roots.kfd_class() / "proc";
    if (!directory_there(kfd_proc))
        return fail(ENOENT, Op::read_sysfs);
    const std::filesystem::path directory = kfd_proc / std::to_string(pid);
    if (!directory_there(directory))
        return fail(ESRCH, Op::read_sysfs, static_cast<std::uint32_t>(pid));
    std::vector<std::uint32_t> ids;
    for (const std::string& name : entries_of(directory / "queues")) {
        const auto queue_id = parse_unsigned<std::uint32_t>(name);
        if (queue_id && name == std::to_string(*queue_id))
            ids.push_back(*queue_id);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

Result<Queue> queue_of(const Roots& roots, pid_t pid, std::uint32_t queue_id) {
    const auto queue = read_queue(roots.kfd_class() / "proc" / std::to_string(pid) / "queues" /
                                      std::to_string(queue_id),
                                  queue_id);
    if (!queue)
        return fail(ENOENT, Op::read_sysfs, queue_id);
    return *queue;
}

std::vector<std::uint32_t> Process::compute_queue_ids() const {
    std::vector<std::uint32_t> ids;
    for (const Queue& queue : queues)
        if (queue.type == QueueType::compute)
            ids.push_back(queue.queue_id);
    return ids;
}

Result<Process> process_queues(const Roots& roots, pid_t pid) {
    const auto ids = TRY(queue_ids(roots, pid));
    Process process{pid, {}};
    for (const std::uint32_t queue_id : ids)
        if (const auto queue = queue_of(roots, pid, queue_id))
            process.queues.push_back(*queue);
    return process;
}

Result<std::vector<Node>> gpu_nodes(const Roots& roots) {
    const std::filesystem::path directory = roots.kfd_class() / "topology/nodes";
    if (!directory_there(directory))
        return fail(ENOENT, Op::read_sysfs);
    std::vector<Node> nodes;
    for (const std::string& name : entries_of(directory)) {
        const auto node_id = parse_unsigned<std::uint32_t>(name);
        if (!node_id)
            continue;
        const auto gpu_id =
            read_unsigned<std::uint32_t>(directory / name / "gpu_id", Op::read_sysfs);
        if (!gpu_id || *gpu_id == 0) // 0 is a CPU
            continue;
        const Result<std::string> text = read_text(directory / name / "name", Op::read_sysfs, 128);
        nodes.push_back({*node_id, *gpu_id, text ? std::string(trim(*text)) : std::string{},
                         pci_address_of(directory / name)});
    }
    std::sort(nodes.begin(), nodes.end(),
              [](const Node& a, const Node& b) { return a.node_id < b.node_id; });
    return nodes;
}

} // namespace xpreempt::kfd
