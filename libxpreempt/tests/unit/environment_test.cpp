// SPDX-License-Identifier: MIT
// Variables of the environment that hook and library read when they are loaded: each test starts
// this program again with the variables set.
#include "fake/fake_rocm.hpp"
#include "unit/kfd_tree.hpp"

#include <xpreempt/xpreempt.h>

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

extern "C" int hipStreamCreate(void** stream);

namespace {

const char* or_unset(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "unset";
}

// The process that a test starts ends here, before GoogleTest begins: it makes the library report
// its transport, at level info, and prints what HIP would read.
void be_child_if_asked() {
    const char* value = std::getenv("ENVIRONMENT_TEST_CHILD");
    if (value == nullptr)
        return;
    const std::string child = value; // setenv() may move what `value` points to
    // A script with the hook: the value is XPREEMPT_HW_QUEUES of the program that it starts.
    if (child != "1") {
        setenv("ENVIRONMENT_TEST_CHILD", "1", 1);
        setenv("XPREEMPT_HW_QUEUES", child.c_str(), 1);
        execl("/proc/self/exe", "child", nullptr);
    }
    fake_driver()->patched = true;
    xp_probe_info info{};
    info.sz = sizeof info;
    int error = xp_probe(&info);
    void* stream = nullptr; // the first that is held
    if (std::getenv("KFD_PREEMPT_SYSFS_ROOT") != nullptr)
        error |= hipStreamCreate(&stream) | xp_stream_hold(stream, 0, nullptr) |
                 xp_stream_release(stream);
    std::printf("queues %s, dynamic %s\n", or_unset("GPU_MAX_HW_QUEUES"),
                or_unset("DEBUG_HIP_DYNAMIC_QUEUES"));
    std::fflush(stdout);
    _exit(error == 0 ? 0 : 1);
}
[[maybe_unused]] const bool is_no_child = (be_child_if_asked(), true);

// The output of that process with these variables, as in a shell.
std::string output_with(const std::string& variables) {
    const std::string command = "env -u GPU_MAX_HW_QUEUES -u DEBUG_HIP_DYNAMIC_QUEUES "
                                "-u XPREEMPT_LOG -u XPREEMPT_HW_QUEUES ENVIRONMENT_TEST_CHILD=1 " +
                                variables + " /proc/" + std::to_string(getpid()) + "/exe 2>&1";
    std::FILE* pipe = popen(command.c_str(), "r");
    std::string output;
    if (pipe == nullptr)
        return output;
    char part[4096];
    for (std::size_t bytes = 0; (bytes = std::fread(part, 1, sizeof part, pipe)) > 0;)
        output.append(part, bytes);
    EXPECT_EQ(0, pclose(pipe)) << output;
    return output;
}

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

TEST(EnvironmentTest, log_writes_messages_of_its_level_and_above) {
    constexpr const char* message = "libxpreempt: transport ";
    for (const char* level : {"info", "debug"}) {
        const std::string output = output_with(std::string("XPREEMPT_LOG=") + level);
        EXPECT_TRUE(contains(output, message)) << level << ": " << output;
    }
    for (const char* variables :
         {"", "XPREEMPT_LOG=", "XPREEMPT_LOG=none", "XPREEMPT_LOG=error", "XPREEMPT_LOG=warning"}) {
        const std::string output = output_with(variables);
        EXPECT_TRUE(contains(output, "queues")) << output;
        EXPECT_FALSE(contains(output, "libxpreempt:")) << variables << ": " << output;
    }
}

// Two programs with the hook, each with as many queues as it is let.
TEST(EnvironmentTest, more_queues_than_slots_are_reported_with_their_cost) {
    const test::KfdTree tree;
    tree.add_node(1, 5230);
    tree.write("sys/class/kfd/kfd/topology/nodes/1/properties", "num_cp_queues 24\n");
    for (const pid_t pid : {100, 200})
        for (unsigned id = 0; id < 12; ++id)
            tree.add_queue(pid, id);
    const std::string variables =
        "XPREEMPT_LOG=warning KFD_PREEMPT_SYSFS_ROOT=" + (tree.root() / "sys").string();
    EXPECT_FALSE(contains(output_with(variables), "slots"));
    tree.add_queue(200, 12);
    const std::string output = output_with(variables);
    EXPECT_TRUE(contains(output, "libxpreempt: GPU 5230: 25 compute queues of 2 processes share 24 "
                                 "slots"))
        << output;
}

TEST(EnvironmentTest, an_unknown_level_is_named_and_ignored) {
    const std::string output = output_with("XPREEMPT_LOG=loud");
    EXPECT_TRUE(contains(output, "libxpreempt: XPREEMPT_LOG=loud: use error, warning, info or "
                                 "debug; ignored\n"))
        << output;
    EXPECT_FALSE(contains(output, "transport")) << output;
}

TEST(EnvironmentTest, hw_queues_is_the_number_of_queues_for_hip) {
    EXPECT_TRUE(contains(output_with("XPREEMPT_HW_QUEUES=7"), "queues 7, dynamic 0\n"));
}

TEST(EnvironmentTest, hw_queues_0_leaves_the_environment_alone) {
    EXPECT_TRUE(contains(output_with("XPREEMPT_HW_QUEUES=0"), "queues unset, dynamic unset\n"));
    EXPECT_TRUE(contains(output_with("XPREEMPT_HW_QUEUES=0 GPU_MAX_HW_QUEUES=3"),
                         "queues 3, dynamic unset\n"));
}

TEST(EnvironmentTest, hw_queues_of_a_child_is_its_own) {
    const std::string script = "ENVIRONMENT_TEST_CHILD=";
    EXPECT_TRUE(contains(output_with(script + "3 XPREEMPT_HW_QUEUES=7"), "queues 3, dynamic 0\n"));
    EXPECT_TRUE(contains(output_with(script + "0 XPREEMPT_HW_QUEUES=7"), "queues unset,"));
    EXPECT_TRUE(contains(output_with(script + "3 XPREEMPT_HW_QUEUES=7 GPU_MAX_HW_QUEUES=5"),
                         "queues 5, dynamic 0\n"));
}

TEST(EnvironmentTest, hw_queues_overrides_no_variable_of_the_user) {
    EXPECT_TRUE(contains(output_with("XPREEMPT_HW_QUEUES=7 GPU_MAX_HW_QUEUES=3 "
                                     "DEBUG_HIP_DYNAMIC_QUEUES=1"),
                         "queues 3, dynamic 1\n"));
}

} // namespace
