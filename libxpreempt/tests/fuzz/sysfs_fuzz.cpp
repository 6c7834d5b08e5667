// SPDX-License-Identifier: MIT
// Any bytes as a KFD sysfs tree: names of queues and nodes, and the text of every attribute.
#include "kfd/attribute.hpp"
#include "kfd/sysfs.hpp"
#include "kfd/topology.hpp"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace kfd = xpreempt::kfd;

constexpr pid_t pid = 7;

void require(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "sysfs_fuzz: %s\n", what);
    std::abort();
}

// In memory, for a round makes a tree and removes it.
class Tree {
public:
    Tree() {
        std::string name = "/dev/shm/sysfs-fuzz-XXXXXX";
        require(::mkdtemp(name.data()) != nullptr, "cannot make a directory in /dev/shm");
        root_ = name;
        queues_ = root_ / "class/kfd/kfd/proc/7/queues";
        nodes_ = root_ / "class/kfd/kfd/topology/nodes";
        fs::create_directories(queues_);
        fs::create_directories(nodes_ / "0");
        write(nodes_ / "0", "gpu_id", "0");
    }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;
    Tree(Tree&&) = delete;
    Tree& operator=(Tree&&) = delete;
    ~Tree() { fs::remove_all(root_); }

    static void write(const fs::path& directory, const char* name, std::string_view text) {
        const int fd = ::open((directory / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        require(fd >= 0, "cannot make a file in /dev/shm");
        require(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
                "cannot write to /dev/shm");
        ::close(fd);
    }

    [[nodiscard]] kfd::Roots roots() const {
        kfd::Roots roots;
        roots.sysfs = root_;
        return roots;
    }
    [[nodiscard]] const fs::path& queues() const { return queues_; }
    [[nodiscard]] const fs::path& nodes() const { return nodes_; }

private:
    fs::path root_, queues_, nodes_;
};

// Fields end with 0xff, which is in no attribute of the kernel's.
std::vector<std::string_view> fields_of(std::string_view data) {
    std::vector<std::string_view> fields;
    while (!data.empty() && fields.size() < 64) {
        const std::size_t end = std::min(data.find('\xff'), data.size());
        fields.push_back(data.substr(0, end));
        data.remove_prefix(std::min(end + 1, data.size()));
    }
    return fields;
}

// A name that a directory can have; "" otherwise.
std::string file_name(std::string_view text) {
    std::string name(text.substr(0, 64));
    if (name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
        return {};
    return name;
}

class Reader {
public:
    explicit Reader(std::string_view data) : fields_(fields_of(data)) {}
    std::string_view next() { return at_ < fields_.size() ? fields_[at_++] : std::string_view{}; }
    [[nodiscard]] bool more() const { return at_ < fields_.size(); }

private:
    std::vector<std::string_view> fields_;
    std::size_t at_ = 0;
};

void make_node(const fs::path& node, Reader& in) {
    Tree::write(node, "gpu_id", in.next());
    Tree::write(node, "name", in.next());
    Tree::write(node, "properties", in.next());
    fs::create_directories(node / "mem_banks/0");
    Tree::write(node / "mem_banks/0", "properties", in.next());
    fs::create_directories(node / "io_links/0");
    Tree::write(node / "io_links/0", "properties", in.next());
}

void check_queues(const Tree& tree) {
    const auto process = kfd::process_queues(tree.roots(), pid);
    require(process.has_value(), "a process with a directory is not read");
    for (std::size_t i = 0; i < process->queues.size(); ++i) {
        const std::uint32_t id = process->queues[i].queue_id;
        require(i == 0 || process->queues[i - 1].queue_id < id, "ids do not ascend");
        require(fs::exists(tree.queues() / std::to_string(id)), "a queue that is not there");
        require(!kfd::name_of(process->queues[i].type).empty(), "a type without a name");
    }
}

void check_nodes(const Tree& tree) {
    const auto nodes = kfd::gpu_nodes(tree.roots());
    require(nodes.has_value(), "nodes are there and are not read");
    for (const kfd::Node& node : *nodes) {
        require(node.gpu_id != 0, "a CPU among the GPUs");
        require(node.pci_address.empty() || node.pci_address.size() >= 12, "half an address");
        const auto gpu = kfd::gpu_of(tree.roots(), node.gpu_id);
        require(gpu.has_value(), "a GPU of the list has no topology");
        require(gpu->gpu_id == node.gpu_id && gpu->xccs != 0, "another GPU");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const Tree tree;
    const std::string_view data(reinterpret_cast<const char*>(bytes), size);
    Reader in(data);
    std::vector<fs::path> made;
    const std::string node = file_name(in.next());
    if (!node.empty() && node != "0" && fs::create_directory(tree.nodes() / node)) {
        made.push_back(tree.nodes() / node);
        make_node(made.back(), in);
    }
    while (in.more() && made.size() < 4) {
        const std::string queue = file_name(in.next());
        if (queue.empty() || !fs::create_directory(tree.queues() / queue))
            continue;
        made.push_back(tree.queues() / queue);
        for (const char* attribute : {"gpuid", "type", "size"})
            Tree::write(made.back(), attribute, in.next());
    }
    check_queues(tree);
    check_nodes(tree);
    // The other files that the room reads as text.
    (void)kfd::field_of(data, "Uid");
    (void)kfd::parse_unsigned<std::int32_t>(data);
    for (const fs::path& path : made)
        fs::remove_all(path);
    return 0;
}
