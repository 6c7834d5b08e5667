// SPDX-License-Identifier: MIT
// A directory that looks like /sys, /proc and / do, made for one test and removed after it.
#include "fixture_tree.hpp"

#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>

namespace test {

FixtureTree::FixtureTree() {
    std::string name = (std::filesystem::temp_directory_path() / "kfd-preempt-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw std::runtime_error("mkdtemp " + name);
    root_ = name;
    set_pid_namespace("pid:[4026531836]");
}

FixtureTree::~FixtureTree() {
    std::error_code error;
    std::filesystem::remove_all(root_, error);
}

kfd::Roots FixtureTree::roots() const {
    return {root_ / "dev/kfd", root_ / "sys", root_ / "proc", root_};
}

cli::Context FixtureTree::context() const {
    const kfd::Roots trees = roots();
    return {trees, "6.12.117+deb12-amd64", "6.1 6.12",
            [trees] { return kfd::Device::open(trees); }};
}

void FixtureTree::write(const std::filesystem::path& path, std::string_view text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream file(root_ / path, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.flush())
        throw std::runtime_error("write " + path.string());
}

void FixtureTree::link(const std::filesystem::path& path, const std::string& target) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::filesystem::remove(root_ / path);
    std::filesystem::create_symlink(target, root_ / path);
}

void FixtureTree::make_directory(const std::filesystem::path& path) const {
    std::filesystem::create_directories(root_ / path);
}

void FixtureTree::add_process(pid_t pid, std::string_view comm, uid_t uid) const {
    write(fmt::format("proc/{}/comm", pid), std::string(comm) + "\n");
    write(fmt::format("proc/{}/status", pid),
          fmt::format("Name:\tx\nTgid:\t{0}\nPid:\t{0}\nUid:\t0\t{1}\t0\t0\n", pid, uid));
}

void FixtureTree::add_kfd_process(pid_t pid) const {
    make_directory(fmt::format("sys/class/kfd/kfd/proc/{}/queues", pid));
}

void FixtureTree::add_queue(pid_t pid, unsigned queue_id, unsigned type) const {
    // No newline: that is how kfd_procfs_queue_show() of 6.12 writes.
    const std::string queue = fmt::format("sys/class/kfd/kfd/proc/{}/queues/{}", pid, queue_id);
    write(queue + "/gpuid", "5230");
    write(queue + "/type", std::to_string(type));
    write(queue + "/size", "4096");
}

void FixtureTree::add_node(unsigned node_id, unsigned gpu_id) const {
    const std::string node = fmt::format("sys/class/kfd/kfd/topology/nodes/{}", node_id);
    write(node + "/gpu_id", fmt::format("{}\n", gpu_id));
    write(node + "/name", "ip discovery\n");
    write(node + "/properties", "cpu_cores_count 0\nlocation_id 256\ndomain 0\n");
}

void FixtureTree::set_pid_namespace(std::string_view link_text) const {
    link("proc/self/ns/pid", std::string(link_text));
}

} // namespace test
