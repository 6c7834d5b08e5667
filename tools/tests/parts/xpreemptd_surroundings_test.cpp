// SPDX-License-Identifier: MIT
// Reports of the daemon about the container or service that it runs in.
#include "system/surroundings.hpp"

#include "unit/kfd_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using xpreemptd::check_surroundings;

class Surroundings : public testing::Test {
protected:
    Surroundings() { // a plain host
        tree_.link("proc/self/ns/cgroup", "cgroup:[4026531835]");
        tree_.link("proc/self/ns/user", "user:[4026531837]");
        set_capabilities("000001ffffffffff");
        set_mode("1");
    }
    void set_capabilities(const std::string& mask) const {
        tree_.write("proc/self/status", "Name:\txpreemptd\nCapEff:\t" + mask + "\n");
    }
    void set_mode(const std::string& mode) const {
        tree_.write("sys/module/amdgpu/parameters/operator_mode", mode + "\n");
    }
    [[nodiscard]] std::string error() const {
        const auto checked = check_surroundings(tree_.roots());
        return checked ? "" : checked.error();
    }
    [[nodiscard]] std::vector<std::string> warnings() const {
        const auto checked = check_surroundings(tree_.roots());
        EXPECT_TRUE(checked) << checked.error();
        return checked.value_or(std::vector<std::string>());
    }

    test::KfdTree tree_;
};

TEST_F(Surroundings, a_host_has_all) {
    EXPECT_THAT(warnings(), ElementsAre());
}

TEST_F(Surroundings, a_pid_namespace_is_an_error) {
    tree_.set_pid_namespace("pid:[4026532177]");
    EXPECT_THAT(error(), HasSubstr("--pid=host"));
}

TEST_F(Surroundings, a_user_namespace_is_an_error) {
    tree_.link("proc/self/ns/user", "user:[4026532180]");
    EXPECT_THAT(error(), HasSubstr("user namespace"));
}

TEST_F(Surroundings, no_proc_is_an_error) {
    std::filesystem::remove(tree_.roots().proc / "self/ns/pid");
    EXPECT_THAT(error(), HasSubstr("mount /proc"));
}

TEST_F(Surroundings, the_right_to_trace_is_needed_unless_the_driver_allows_more) {
    set_capabilities("000001fffff7ffff"); // bit 19
    EXPECT_THAT(error(), HasSubstr("--cap-add=SYS_PTRACE"));
    set_mode("2"); // by a file of the process, which the daemon doesn't have
    EXPECT_THAT(error(), HasSubstr("--cap-add=SYS_PTRACE"));
    set_mode("3");
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("same user")));
    set_capabilities("0000000000080000");
    EXPECT_THAT(warnings(), ElementsAre());
}

TEST_F(Surroundings, a_cgroup_namespace_is_a_warning) {
    tree_.link("proc/self/ns/cgroup", "cgroup:[4026532300]");
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("--cgroupns=host")));
}

} // namespace
