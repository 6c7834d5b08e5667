// SPDX-License-Identifier: MIT
// A directory that looks like /sys, /proc and / do, made for one test and removed after it.
#pragma once

#include "kfd/roots.hpp"

#include <string>
#include <string_view>
#include <sys/types.h>

namespace test {

class KfdTree {
public:
    KfdTree(); // empty, in the initial pid namespace, no KFD
    KfdTree(const KfdTree&) = delete;
    KfdTree& operator=(const KfdTree&) = delete;
    KfdTree(KfdTree&&) = delete;
    KfdTree& operator=(KfdTree&&) = delete;
    ~KfdTree();

    [[nodiscard]] const std::filesystem::path& root() const { return root_; }
    [[nodiscard]] xpreempt::kfd::Roots roots() const;

    void write(const std::filesystem::path& path, std::string_view text) const;
    void link(const std::filesystem::path& path, const std::string& target) const;
    void make_directory(const std::filesystem::path& path) const;

    void add_process(pid_t pid, std::string_view comm, uid_t uid = 1000) const;
    void add_kfd_process(pid_t pid) const;
    void add_queue(pid_t pid, unsigned queue_id, unsigned type = 0) const;
    void add_node(unsigned node_id, unsigned gpu_id) const;
    void set_pid_namespace(std::string_view link_text) const;

private:
    std::filesystem::path root_;
};

} // namespace test
