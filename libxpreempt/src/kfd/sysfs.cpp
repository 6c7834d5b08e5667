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

// The entries of a directory whose names are numbers, ascending. A number has one name.
template <typename Number> std::vector<Number> numbers_in(const std::filesystem::path& directory) {
    std::vector<Number> numbers;
    for (const std::string& name : entries_of(directory))
        if (const auto number = parse_unsigned<Number>(name);
            number && name == std::to_string(*number))
            numbers.push_back(*number);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
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
    auto pids = numbers_in<pid_t>(directory);
    std::erase(pids, 0);
    return pids;
}

Result<std::vector<std::uint32_t>> queue_ids(const Roots& roots, pid_t pid) {
    const std::filesystem::path kfd_proc = roots.kfd_class() / "proc";
    if (!directory_there(kfd_proc))
        return fail(ENOENT, Op::read_sysfs);
    const std::filesystem::path directory = kfd_proc / std::to_string(pid);
    if (!directory_there(directory))
        return fail(ESRCH, Op::read_sysfs, static_cast<std::uint32_t>(pid));
    return numbers_in<std::uint32_t>(directory / "queues");
}

Result<Queue> queue_of(const Roots& roots, pid_t pid, std::uint32_t queue_id) {
    const auto directory =
        roots.kfd_class() / "proc" / std::to_string(pid) / "queues" / std::to_string(queue_id);
    const auto gpu_id = read_unsigned<std::uint32_t>(directory / "gpuid", Op::read_sysfs);
    const auto type = read_unsigned<std::uint32_t>(directory / "type", Op::read_sysfs);
    const auto size = read_unsigned<std::uint64_t>(directory / "size", Op::read_sysfs);
    if (!gpu_id || !type || !size)
        return fail(ENOENT, Op::read_sysfs, queue_id);
    return Queue{queue_id, *gpu_id, QueueType{*type}, *size};
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
    for (const auto node_id : numbers_in<std::uint32_t>(directory)) {
        const std::filesystem::path node = directory / std::to_string(node_id);
        const auto gpu_id = read_unsigned<std::uint32_t>(node / "gpu_id", Op::read_sysfs);
        if (!gpu_id || *gpu_id == 0) // 0 is a CPU
            continue;
        const Result<std::string> text = read_text(node / "name", Op::read_sysfs, 128);
        nodes.push_back({node_id, *gpu_id, text ? std::string(trim(*text)) : std::string{},
                         pci_address_of(node)});
    }
    return nodes;
}

} // namespace xpreempt::kfd
