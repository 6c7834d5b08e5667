// SPDX-License-Identifier: MIT
// Containers: which processes are theirs, and a command that runs inside of one.
#include "fixture_tree.hpp"
#include "processes/container.hpp"
#include "processes/kfd_processes.hpp"
#include "processes/target_queues.hpp"
#include "scripted_driver.hpp"
#include "verbs/container_verbs.hpp"
#include "verbs/verbs.hpp"

#include <gtest/gtest.h>

namespace {

using Pids = std::vector<pid_t>;

const std::string web = "0123456789ab" + std::string(52, '1');
const std::string batch = "0123456789ab" + std::string(52, '2');

void expect_failure(const auto& outcome, const std::string& part) {
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.error().message.find(part), std::string::npos) << outcome.error().message;
}

TEST(Container, every_engine_names_its_cgroup_another_way) {
    const test::FixtureTree tree;
    const cli::Context context = tree.context();
    const auto engine_of = [&](const std::string& cgroup) {
        tree.write("proc/7/cgroup", cgroup);
        const auto container = cli::container_of(context, 7);
        return container ? container->engine + " " + container->id : std::string("none");
    };
    EXPECT_EQ(engine_of("0::/system.slice/docker-" + web + ".scope\n"), "docker " + web);
    EXPECT_EQ(engine_of("0::/docker/" + web + "\n"), " " + web);
    EXPECT_EQ(engine_of("0::/machine.slice/libpod-" + web + ".scope/container\n"), "podman " + web);
    EXPECT_EQ(engine_of("0::/kubepods.slice/x.slice/cri-containerd-" + web + ".scope\n"),
              "cri-containerd " + web);
    EXPECT_EQ(engine_of("0::/system.slice/containerd.service/a.slice:cri-containerd:" + web + "\n"),
              "cri-containerd " + web);
    EXPECT_EQ(engine_of("0::/lxc.payload.web/init.scope\n"), "lxc web");
    // Version 1, where systemd's line doesn't name it.
    EXPECT_EQ(engine_of("12:pids:/docker/" + web + "\n1:name=systemd:/\n0::/\n"), " " + web);
    EXPECT_EQ(engine_of("0::/machine.slice/libpod-conmon-" + web + ".scope\n"), "none");
    EXPECT_EQ(engine_of("0::/user.slice/session-1.scope\n"), "none");
    EXPECT_EQ(engine_of(""), "none");
}

TEST(Container, is_found_by_its_id_or_the_beginning_of_it) {
    const test::FixtureTree tree;
    const cli::Context context = tree.context();
    tree.write("proc/9/cgroup", "0::/system.slice/docker-" + web + ".scope/a\n");
    tree.write("proc/7/cgroup", "0::/system.slice/docker-" + web + ".scope\n");
    tree.write("proc/8/cgroup", "0::/lxc.payload.0123456789abc\n");
    tree.write("proc/5/cgroup", "0::/user.slice\n");
    for (const std::string& word : {web, web.substr(0, 13)}) {
        const auto found = cli::find_container(context, word);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(found->pids, (Pids{7, 9}));
        EXPECT_EQ(found->container.id, web);
        EXPECT_EQ(found->container.name(), "container 0123456789ab (docker)");
    }
    tree.write("proc/10/cgroup", "0::/system.slice/docker-" + batch + ".scope\n");
    expect_failure(cli::find_container(context, "0123456789ab"), "is the beginning of ");
    expect_failure(cli::find_container(context, std::string(12, 'f')), "is it running?");
    // The name of an LXC container is taken whole.
    tree.write("proc/11/cgroup", "0::/lxc.payload.web\n");
    EXPECT_EQ(cli::find_container(context, "web").value().pids, Pids{11});
}

TEST(Container, in_another_one_is_found_by_its_own_id) {
    const test::FixtureTree tree;
    tree.write("proc/7/cgroup", "0::/docker/" + web + "/docker/" + batch + "\n");
    const auto found = cli::find_container(tree.context(), batch);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->container.id, batch);
    EXPECT_EQ(cli::container_of(tree.context(), 7)->id, web);
}

// Ids of containers can be read by everybody.
TEST(Container, is_not_the_cgroup_that_a_user_has_named_as_one) {
    const test::FixtureTree tree;
    const std::string manager = "/user.slice/user-1000.slice/user@1000.service/";
    for (const std::string& mine :
         {manager + "app.slice/" + web, manager + web, manager + "x/docker-" + web + ".scope",
          manager + "app.slice/docker-" + web + ".scope", "/system.slice/x.service/" + web,
          "/docker/" + batch + "/docker/" + web}) {
        tree.write("proc/7/cgroup", "0::/docker/" + web + "\n");
        tree.write("proc/8/cgroup", "0::" + mine + "\n");
        const auto found = cli::find_container(tree.context(), web);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(found->pids, Pids{7}) << mine;
        // A container of that user alone is one.
        tree.write("proc/7/cgroup", "0::/\n");
        EXPECT_EQ(cli::find_container(tree.context(), web).value().pids, Pids{8}) << mine;
    }
}

TEST(Container, below_the_unit_of_its_engine_is_named_by_no_user) {
    const test::FixtureTree tree;
    const std::string unit = "/system.slice/containerd.service/a.slice:cri-containerd:";
    tree.write("proc/7/cgroup", "0::" + unit + web + "\n");
    tree.write("proc/8/cgroup", "0::/system.slice/x.service/" + web + "\n");
    EXPECT_EQ(cli::find_container(tree.context(), web).value().pids, Pids{7});
}

TEST(Container, with_several_cgroups_is_refused_and_both_are_named) {
    const test::FixtureTree tree;
    tree.write("proc/7/cgroup", "0::/docker/" + web + "\n");
    tree.write("proc/8/cgroup", "0::/mine/" + web + "\n");
    const auto found = cli::find_container(tree.context(), web);
    expect_failure(found, "has several cgroups");
    expect_failure(found, "/docker/" + web + ", /mine/" + web);
    // One in each hierarchy is right.
    tree.write("proc/8/cgroup", "4:pids:/mine/" + web + "\n0::/docker/" + web + "\n");
    EXPECT_EQ(cli::find_container(tree.context(), web).value().pids, (Pids{7, 8}));
}

// Processes 7 and 8 of the container have queues, 9 none, 10 doesn't use KFD; 12 is outside.
class ContainerVerbs : public testing::Test {
protected:
    ContainerVerbs() : context(tree.context()), script(std::make_shared<test::Script>()) {
        for (const pid_t pid : {7, 8, 9, 10}) {
            tree.add_process(pid, "demo");
            tree.write("proc/" + std::to_string(pid) + "/cgroup", "0::/docker/" + web + "\n");
        }
        tree.add_process(12, "other");
        for (const pid_t pid : {7, 8, 9, 12})
            tree.add_kfd_process(pid);
        tree.add_queue(7, 0);
        tree.add_queue(8, 3);
        tree.add_queue(12, 0);
        test::attach(context, script);
    }
    void expect_stop(pid_t pid, std::uint32_t queue_id, int result) {
        script->expect_query(0);
        script->expect_switch(pid, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT, {queue_id},
                              {{result, KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_STICKY}});
    }

    test::FixtureTree tree;
    cli::Context context;
    std::shared_ptr<test::Script> script;
};

TEST_F(ContainerVerbs, suspend_takes_every_process_with_a_compute_queue) {
    expect_stop(7, 0, 0);
    expect_stop(8, 3, 0);
    const cli::Report report = cli::for_container(
        context, web, [&](pid_t pid) { return cli::suspend(context, {pid, {}}); });
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.text, "queue 0 of pid 7 (demo): suspended\n"
                           "queue 3 of pid 8 (demo): suspended\n");
    EXPECT_EQ(report.json["container"]["id"], web);
    ASSERT_EQ(report.json["processes"].size(), 2U);
    EXPECT_EQ(report.json["processes"][1]["queues"][0]["outcome"], "suspended");
}

TEST_F(ContainerVerbs, a_failure_of_one_is_that_of_all_and_the_others_are_still_stopped) {
    expect_stop(7, 0, -EBUSY);
    expect_stop(8, 3, 0);
    const cli::Report report = cli::for_container(
        context, web, [&](pid_t pid) { return cli::suspend(context, {pid, {}}); });
    EXPECT_EQ(report.exit, cli::Exit::failed);
    EXPECT_EQ(report.text, "queue 3 of pid 8 (demo): suspended\n");
    EXPECT_EQ(report.messages.size(), 1U);
}

TEST_F(ContainerVerbs, a_container_without_gpu_processes_is_named) {
    for (const pid_t pid : {7, 8, 9})
        std::filesystem::remove_all(tree.root() / "sys/class/kfd/kfd/proc" / std::to_string(pid));
    expect_failure(cli::gpu_processes_of_container(context, web),
                   "container 0123456789ab: none of its processes uses a GPU");
}

TEST_F(ContainerVerbs, list_shows_the_container_and_the_pid_inside_where_there_is_one) {
    tree.write("proc/7/status", "Tgid:\t7\nUid:\t0\t0\t0\t0\nNSpid:\t7\t1\n");
    script->expect_query(0, -ENOTTY);
    const cli::Report report = cli::list(context, {7, 12});
    EXPECT_EQ(report.text,
              "PID  COMM   QUEUE  GPU   TYPE     RING   STATE  HOLDS  NSPID  CONTAINER\n"
              "7    demo   0      5230  compute  4 KiB  ?      ?      1      0123456789ab\n"
              "12   other  0      5230  compute  4 KiB  ?      ?      -      -\n");
    EXPECT_EQ(report.json["processes"][0]["ns_pid"], 1);
    EXPECT_EQ(report.json["processes"][0]["container"]["id"], web);
    EXPECT_EQ(report.json["processes"][1]["ns_pid"], 12);
    EXPECT_TRUE(report.json["processes"][1]["container"].is_null());
}

// The command is in a container: process 3 is 7000 to KFD, its forked child 4 shares the
// descriptor.
class InContainer : public testing::Test {
protected:
    InContainer() : context(tree.context()) {
        tree.set_pid_namespace("pid:[4026532177]");
        tree.add_kfd_process(7000);
        tree.write("sys/class/kfd/kfd/proc/7000/pasid", "32770\n");
        tree.add_queue(7000, 5);
        tree.add_kfd_process(7001);
        tree.write("sys/class/kfd/kfd/proc/7001/pasid", "32771\n");
        for (const char* pid : {"3", "4"}) {
            tree.link("proc/" + std::string(pid) + "/fd/9", "/dev/dri/renderD128");
            tree.write("proc/" + std::string(pid) + "/fdinfo/9",
                       "pos:\t0\ndrm-driver:\tamdgpu\npasid:\t32770\n");
        }
        tree.add_process(3, "demo");
        tree.add_process(4, "demo");
        tree.write("proc/3/maps", "7f0 rw-s 00000000 00:05 415 /dev/kfd\n");
        tree.write("proc/4/maps", "7f0 rw-s 00000000 00:05 415 /dev/dri/renderD128\n");
    }

    test::FixtureTree tree;
    cli::Context context;
};

TEST_F(InContainer, pids_are_its_own) {
    ASSERT_TRUE(cli::require_kfd_pids(context));
    EXPECT_EQ(cli::kfd_pids(context).value(), Pids{3});
    const auto queues = cli::queues_of(context, 3);
    ASSERT_TRUE(queues) << queues.error().message;
    EXPECT_EQ(queues->target.name(), "pid 3 (demo)");
    ASSERT_EQ(queues->queues.size(), 1U);
    EXPECT_EQ(queues->queues[0].queue_id, 5U);
}

TEST_F(InContainer, a_forked_child_is_no_gpu_process) {
    expect_failure(cli::queues_of(context, 4), "pid 4 (demo): does not use a GPU");
}

TEST_F(InContainer, a_pid_of_the_host_means_nothing_here) {
    expect_failure(cli::queues_of(context, 7000), "pid 7000: there is no such process");
}

TEST_F(InContainer, verbs_send_its_own_pid_to_the_driver) {
    const auto script = std::make_shared<test::Script>();
    test::attach(context, script);
    script->expect_query(0);
    script->expect_switch(3, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT, {5},
                          {{0, KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_STICKY}});
    EXPECT_EQ(cli::suspend(context, {3, {}}).exit, cli::Exit::ok);
}

TEST_F(InContainer, a_kernel_that_shows_no_pasids_is_refused_before_a_pid_is_looked_up) {
    for (const char* pid : {"7000", "7001"})
        std::filesystem::remove(tree.root() / "sys/class/kfd/kfd/proc" / pid / "pasid");
    expect_failure(cli::queues_of(context, 3), "--pid=host");
    EXPECT_EQ(cli::list(context, {}).exit, cli::Exit::failed);
    std::filesystem::remove_all(tree.root() / "sys/class/kfd/kfd/proc/7000");
    std::filesystem::remove_all(tree.root() / "sys/class/kfd/kfd/proc/7001");
    EXPECT_EQ(cli::list(context, {}).text, "no process has a queue\n");
}

} // namespace
