// SPDX-License-Identifier: MIT
// A directory that looks like /sys, /proc and / do, made for one test and removed after it.
#include "unit/kfd_tree.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace test {

KfdTree::KfdTree() {
    std::string name = (std::filesystem::temp_directory_path() / "kfd-preempt-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw std::runtime_error("mkdtemp " + name);
    root_ = name;
    set_pid_namespace("pid:[4026531836]");
}

KfdTree::~KfdTree() {
    std::error_code error;
    std::filesystem::remove_all(root_, error);
}

xpreempt::kfd::Roots KfdTree::roots() const {
    return {root_ / "dev/kfd", root_ / "sys", root_ / "proc", root_};
}

void KfdTree::write(const std::filesystem::path& path, std::string_view text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream file(root_ / path, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.flush())
        throw std::runtime_error("write " + path.string());
}

void KfdTree::link(const std::filesystem::path& path, const std::string& target) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::filesystem::remove(root_ / path);
    std::filesystem::create_symlink(target, root_ / path);
}

void KfdTree::make_directory(const std::filesystem::path& path) const {
    std::filesystem::create_directories(root_ / path);
}

void KfdTree::add_process(pid_t pid, std::string_view comm, uid_t uid) const {
    write("proc/" + std::to_string(pid) + "/comm", std::string(comm) + "\n");
    const std::string id = std::to_string(pid);
    write("proc/" + id + "/status", "Name:\tx\nTgid:\t" + id + "\nPid:\t" + id + "\nUid:\t0\t" +
                                        std::to_string(uid) + "\t0\t0\n");
}

void KfdTree::add_kfd_process(pid_t pid) const {
    make_directory("sys/class/kfd/kfd/proc/" + std::to_string(pid) + "/queues");
}

void KfdTree::add_queue(pid_t pid, unsigned queue_id, unsigned type) const {
    // No newline: that is how kfd_procfs_queue_show() of 6.12 writes.
    const std::string queue =
        "sys/class/kfd/kfd/proc/" + std::to_string(pid) + "/queues/" + std::to_string(queue_id);
    write(queue + "/gpuid", "5230");
    write(queue + "/type", std::to_string(type));
    write(queue + "/size", "4096");
}

void KfdTree::add_node(unsigned node_id, unsigned gpu_id) const {
    const std::string node = "sys/class/kfd/kfd/topology/nodes/" + std::to_string(node_id);
    write(node + "/gpu_id", std::to_string(gpu_id) + "\n");
    write(node + "/name", "ip discovery\n");
    write(node + "/properties", "cpu_cores_count 0\nlocation_id 256\ndomain 0\n");
}

void KfdTree::set_pid_namespace(std::string_view link_text) const {
    link("proc/self/ns/pid", std::string(link_text));
}

} // namespace test
