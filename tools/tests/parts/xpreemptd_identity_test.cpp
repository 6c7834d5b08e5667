// SPDX-License-Identifier: MIT
// Identities of jobs: cgroups of all kinds, sessions, runs.
#include "jobs/cgroup_path.hpp"
#include "jobs/job_identity.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

namespace {

using xpreemptd::job_cgroup_of;
using xpreemptd::JobIdentity;
using xpreemptd::ProcessFacts;
using xpreemptd::ProcessName;
using xpreemptd::ProcessOrigin;
using xpreemptd::slurm_job_of;
using xpreemptd::units_of;

const std::string id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string user = "/user.slice/user-1000.slice/user@1000.service";
const std::string session = "/user.slice/user-1000.slice/session-3.scope";

std::string job_of(const std::string& cgroup) {
    return std::string(job_cgroup_of(cgroup).value_or("none"));
}

TEST(JobCgroup, a_unit_with_what_is_delegated_to_it) {
    EXPECT_EQ(job_of("/system.slice/x.service"), "/system.slice/x.service");
    EXPECT_EQ(job_of("/system.slice/x.service/sub/y.service"), "/system.slice/x.service");
    EXPECT_EQ(job_of("/system.slice/system-x.slice/x@1.service"),
              "/system.slice/system-x.slice/x@1.service");
    EXPECT_EQ(job_of("/system.slice/run-r1.scope"), "/system.slice/run-r1.scope");
    EXPECT_EQ(job_of("/machine.slice/machine-a.scope/init.scope"),
              "/machine.slice/machine-a.scope");
    EXPECT_EQ(job_of("/x.service/session-1.scope"), "/x.service");
    EXPECT_EQ(job_of(user + "/app.slice/foo.service"), user + "/app.slice/foo.service");
    EXPECT_EQ(job_of(user + "/app.slice/foo.service/sub"), user + "/app.slice/foo.service");
    EXPECT_EQ(job_of(user + "/app.slice/run-r1.scope/sub"), user + "/app.slice/run-r1.scope");
    EXPECT_EQ(job_of(user + "/user.slice/libpod-" + id + ".scope/container"),
              user + "/user.slice/libpod-" + id + ".scope");
}

TEST(JobCgroup, none_in_a_session) {
    for (const std::string& cgroup :
         {std::string(), std::string("/"), std::string("/.."), std::string("/../.."),
          std::string("/init.scope"), session, session + "/sub",
          std::string("/user.slice/user-0.slice/session-c2.scope"), user, user + "/init.scope",
          user + "/app.slice", user + "/app.slice/app-gnome-firefox-12.scope",
          user + "/app.slice/app-org.gnome.Terminal.slice/vte-spawn-1-2.scope",
          user + "/tmux-spawn-1.scope/sub", std::string("/../init.scope")})
        EXPECT_EQ(job_of(cgroup), "none") << cgroup;
    // Services of a desktop are units as others.
    EXPECT_EQ(job_of(user + "/app.slice/app-x@1.service"), user + "/app.slice/app-x@1.service");
    EXPECT_EQ(job_of("/system.slice/app-x.scope"), "/system.slice/app-x.scope");
}

TEST(JobCgroup, a_container) {
    const std::string pod = "/kubepods/burstable/pod1234-5678";
    const std::vector<std::string> cgroups = {"/docker/" + id,
                                              "/docker/" + id + "/docker/" + id,
                                              "/docker/" + id + "/init.scope",
                                              pod + "/" + id,
                                              pod + "/crio-" + id,
                                              "/mine/" + id};
    for (const std::string& cgroup : cgroups)
        EXPECT_EQ(job_of(cgroup), cgroup.substr(0, cgroup.find(id) + id.size()));
    EXPECT_EQ(job_of("/docker/" + id + "/x.service"), "/docker/" + id);
    EXPECT_EQ(job_of("/system.slice/docker-" + id + ".scope/a"),
              "/system.slice/docker-" + id + ".scope");
    const std::string scope = "/kubepods.slice/kubepods-besteffort.slice/"
                              "kubepods-besteffort-pod1.slice/cri-containerd-" +
                              id + ".scope";
    EXPECT_EQ(job_of(scope), scope);
    EXPECT_EQ(job_of("/../../.." + scope + "/sub"), "/../../.." + scope);
    EXPECT_NE(job_of(pod + "/" + id), job_of(pod + "/" + std::string(64, 'a')));
    EXPECT_EQ(job_of("/lxc.payload.web/system.slice/x.service"), "/lxc.payload.web");
    EXPECT_EQ(job_of("/lxc/100/ns/system.slice/x.service"), "/lxc/100");
    // No container: too short, too long, not hexadecimal.
    for (const std::string& other : {id.substr(1), id + "0", std::string(64, 'g'), "a" + id})
        EXPECT_EQ(job_of("/docker/" + other + "/x"), "/docker/" + other + "/x");
}

// containerd with SystemdCgroup at the wrong place of its configuration: all pods of a node in its
// unit.
TEST(JobCgroup, a_container_below_the_unit_of_its_engine) {
    const std::string below = "/system.slice/containerd.service/kubepods-burstable-pod";
    const std::string one = below + "1.slice:cri-containerd:" + id;
    EXPECT_EQ(job_of(one), one);
    EXPECT_EQ(job_of(one + "/docker/" + id), one);
    EXPECT_NE(job_of(below + "2.slice:cri-containerd:" + std::string(64, 'a')), job_of(one));
    EXPECT_EQ(job_of("/kubepods-pod1.slice:cri-containerd:" + id + "/sub"),
              "/kubepods-pod1.slice:cri-containerd:" + id);
    EXPECT_EQ(job_of("/system.slice/k3s.service/kubepods/pod1/" + id + "/sub"),
              "/system.slice/k3s.service/kubepods/pod1/" + id);
    EXPECT_EQ(job_of("/system.slice/containerd.service"), "/system.slice/containerd.service");
    EXPECT_EQ(job_of("/system.slice/containerd.service/other"), "/system.slice/containerd.service");
    // Another unit names the cgroups below its own, and so does a unit of a user.
    EXPECT_EQ(job_of("/system.slice/x.service/a.slice:cri-containerd:" + id),
              "/system.slice/x.service");
    const std::string of_user = "/user.slice/user-7.slice/user@7.service/containerd.service";
    EXPECT_EQ(job_of(of_user + "/a.slice:cri-containerd:" + id), of_user);
    EXPECT_EQ(job_of("/x.slice:crio-conmon:" + id + "/a"), "/x.slice:crio-conmon:" + id + "/a");
}

TEST(JobCgroup, a_slurm_step) {
    const std::string v2 = "/system.slice/slurmstepd.scope/job_12";
    EXPECT_EQ(job_of(v2 + "/step_0/user/task_0"), v2 + "/step_0");
    EXPECT_EQ(job_of(v2 + "/step_0/slurm"), v2 + "/step_0");
    EXPECT_EQ(job_of(v2 + "/step_batch/user/task_0"), v2 + "/step_batch");
    EXPECT_EQ(job_of("/system.slice/node1_slurmstepd.scope/job_12/step_1/user"),
              "/system.slice/node1_slurmstepd.scope/job_12/step_1");
    EXPECT_EQ(job_of(v2 + "/slurm"), v2);
    EXPECT_EQ(job_of("/system.slice/slurmstepd.scope/system"), "/system.slice/slurmstepd.scope");
    EXPECT_EQ(job_of("/slurm/uid_1000/job_12/step_0/task_0"), "/slurm/uid_1000/job_12/step_0");
    EXPECT_EQ(job_of("/slurm_node1/uid_1000/job_12"), "/slurm_node1/uid_1000/job_12");
    EXPECT_EQ(job_of("/batch/job_12/a"), "/batch/job_12/a");
    EXPECT_EQ(job_of("/system.slice/x.service/slurm/job_1/step_1"), "/system.slice/x.service");
}

// Slurm 26.05 names a job by its SLUID.
TEST(JobCgroup, a_slurm_step_whatever_the_name_of_its_job) {
    const std::string scope = "/system.slice/slurmstepd.scope/";
    for (const std::string name : {"s4Q7ZV2M8K1T00", "s4Q7ZV2M8K1T01"}) {
        EXPECT_EQ(job_of(scope + name + "/step_0/user/task_0"), scope + name + "/step_0");
        EXPECT_EQ(job_of(scope + name + "/step_batch/user/task_0"), scope + name + "/step_batch");
        EXPECT_EQ(job_of(scope + name + "/slurm"), scope + name);
        EXPECT_EQ(slurm_job_of(scope + name + "/step_0/user/task_0"), name);
        EXPECT_EQ(job_of("/slurm/uid_1000/" + name + "/step_0/task_0"),
                  "/slurm/uid_1000/" + name + "/step_0");
    }
    EXPECT_EQ(slurm_job_of(scope + "system"), std::nullopt);
    EXPECT_EQ(slurm_job_of(scope + "../step_0"), std::nullopt);
}

// One whose runtime makes no scope, with a subtree that is delegated to it.
TEST(JobCgroup, a_container_is_no_slurm_job_whatever_it_calls_its_cgroups) {
    EXPECT_EQ(job_of("/lxc.payload.c1/slurm/job_77/step_0"), "/lxc.payload.c1");
    EXPECT_EQ(job_of("/docker/" + id + "/slurm/job_77/step_0"), "/docker/" + id);
    EXPECT_EQ(job_of("/docker/" + id + "/slurmstepd.scope/job_77/step_0"), "/docker/" + id);
    EXPECT_EQ(job_of("/a/slurm/job_77/step_0"), "/a/slurm/job_77/step_0");
    for (const std::string& cgroup :
         {std::string("/lxc.payload.c1/slurm/job_77/step_0"), "/docker/" + id + "/slurm/job_77",
          "/docker/" + id + "/slurmstepd.scope/job_77/step_0", std::string("/a/slurm/job_77")})
        EXPECT_EQ(slurm_job_of(cgroup), std::nullopt) << cgroup;
    // A step that runs a container.
    EXPECT_EQ(job_of("/slurm/uid_1/job_7/step_0/docker/" + id), "/slurm/uid_1/job_7/step_0");
}

TEST(JobCgroup, a_job_of_pbs) {
    EXPECT_EQ(job_of("/pbs_jobs.service/jobid/12.host/task"), "/pbs_jobs.service/jobid/12.host");
    EXPECT_NE(job_of("/pbs_jobs.service/jobid/12.host"), job_of("/pbs_jobs.service/jobid/13.host"));
    EXPECT_EQ(job_of("/pbs_jobs.service"), "/pbs_jobs.service");
    EXPECT_EQ(job_of("/pbs_jobs.service/jobid"), "/pbs_jobs.service");
    // Version 2 of cgroups; an array job.
    EXPECT_EQ(job_of("/pbs_jobs.service/jobs/12[3].host/task"),
              "/pbs_jobs.service/jobs/12[3].host");
    EXPECT_EQ(job_of("/../pbs_jobs.service/jobs/12.host"), "/../pbs_jobs.service/jobs/12.host");
    // Older hooks, and others that share the beginning of the name.
    EXPECT_EQ(job_of("/pbspro.service/jobid/12.host"), "/pbspro.service/jobid/12.host");
    EXPECT_EQ(job_of("/pbs.slice/pbs-12.host.slice"), "/pbs.slice/pbs-12.host.slice");
    EXPECT_EQ(job_of("/system.slice/pbs.service/mine/12.host"), "/system.slice/pbs.service");
}

TEST(JobCgroup, a_job_of_htcondor) {
    const std::string slot = "condor_var_lib_condor_execute_slot1_2@host";
    for (const char* above : {"/htcondor/", "/system.slice/htcondor/", "/../htcondor/"})
        for (const char* below : {"", "/control", "/a/b"})
            EXPECT_EQ(job_of(above + slot + below), above + slot);
    EXPECT_EQ(job_of("/system.slice/condor.service"), "/system.slice/condor.service");
    // Inside of a unit or a container it is that job, whatever names it chose.
    EXPECT_EQ(job_of("/system.slice/x.service/htcondor/" + slot), "/system.slice/x.service");
    EXPECT_EQ(job_of("/docker/" + id + "/htcondor/" + slot), "/docker/" + id);
}

TEST(SlurmJob, is_the_number_that_slurmd_chose) {
    const std::string v2 = "/system.slice/slurmstepd.scope/job_12";
    for (const std::string& cgroup :
         {v2, v2 + "/step_0/user/task_0", v2 + "/slurm",
          std::string("/system.slice/job_9_slurmstepd.scope/job_12/step_batch"),
          std::string("/slurm_job_9/uid_1000/job_12/step_0/task_0")})
        EXPECT_EQ(slurm_job_of(cgroup), "12") << cgroup;
    for (const char* cgroup :
         {"", "/", "/system.slice/slurmstepd.scope/system", "/slurm/uid_1000", "/slurm/job_/step_0",
          "/slurm/job_../step_0", "/batch/job_12/a", "/system.slice/x.service/slurm/job_1/step_1"})
        EXPECT_EQ(slurm_job_of(cgroup), std::nullopt) << cgroup;
    // Below his own systemd a user chooses the names.
    EXPECT_EQ(slurm_job_of(user + "/app.slice/a.service/slurm/job_1/step_1"), std::nullopt);
    EXPECT_EQ(slurm_job_of(user + "/slurmstepd.scope/job_1/step_1"), std::nullopt);
}

TEST(JobCgroup, else_the_whole_path) {
    for (const char* cgroup : {"/a", "/a/b", "/batch.slice", "/lsf/c/job.1.2"})
        EXPECT_EQ(job_of(cgroup), cgroup);
}

TEST(Units, of_the_system_and_of_a_user) {
    EXPECT_EQ(units_of("/system.slice/x.service/y.service").system, "x.service");
    EXPECT_EQ(units_of("/batch.slice/batch-a.slice").system, "batch-a.slice");
    EXPECT_EQ(units_of("/batch.slice/a/b.slice").system, "batch.slice");
    EXPECT_EQ(units_of("/../system.slice/x.service").system, "x.service");
    EXPECT_EQ(units_of("/x/../system.slice/x.service").system, "");
    EXPECT_EQ(units_of("/docker/" + id + "/x.service").system, "");
    EXPECT_EQ(units_of("").system, "");
    const std::string cgroup = user + "/app.slice/foo.service/bar.service"; // units point into it
    const auto units = units_of(cgroup);
    EXPECT_EQ(units.system, "user@1000.service");
    EXPECT_EQ(units.user, "foo.service");
    EXPECT_EQ(units_of("/system.slice/x.service/user@1.service/y.service").user, "");
}

class Identity : public testing::Test {
protected:
    // Starts a process; uses_gpu: known as one that does.
    ProcessFacts add(pid_t pid, pid_t parent, std::uint64_t start, bool uses_gpu = true,
                     const std::string& cgroup = session, uid_t uid = 1000) {
        const ProcessFacts facts{pid, start, parent, uid, "demo", "", cgroup};
        if (uses_gpu)
            gpu_users_.push_back(facts);
        origins_[pid] = {parent, start};
        return facts;
    }
    JobIdentity identity(const ProcessFacts& facts) {
        const auto gpu_user_of = [this](pid_t pid) -> const ProcessFacts* {
            const auto found = std::ranges::find(gpu_users_, pid, &ProcessFacts::pid);
            return found == gpu_users_.end() ? nullptr : &*found;
        };
        return xpreemptd::identity_of(facts, gpu_user_of, runs_,
                                      [this](pid_t pid) -> std::optional<ProcessOrigin> {
                                          ++walked_;
                                          const auto found = origins_.find(pid);
                                          if (found == origins_.end())
                                              return std::nullopt;
                                          return found->second;
                                      });
    }

    std::vector<ProcessFacts> gpu_users_;
    std::vector<ProcessName> runs_;
    std::map<pid_t, ProcessOrigin> origins_;
    int walked_ = 0;
};

TEST_F(Identity, processes_of_a_cgroup_are_one_job) {
    const auto one = add(10, 1, 100, true, "/system.slice/x.service");
    const auto two = add(20, 1, 200, true, "/system.slice/x.service/sub");
    const auto other = add(30, 10, 300, true, "/system.slice/y.service");
    EXPECT_EQ(identity(one),
              (JobIdentity{"cgroup:/system.slice/x.service", "/system.slice/x.service"}));
    EXPECT_EQ(identity(two), identity(one));
    EXPECT_EQ(identity(other).name, "/system.slice/y.service");
}

TEST_F(Identity, in_a_session_a_process_is_a_job_with_its_descendants) {
    add(5, 1, 50, false); // the shell
    const auto root = add(10, 5, 100);
    add(11, 10, 110, false);
    const auto grandchild = add(12, 11, 120);
    const auto other = add(20, 5, 200);
    EXPECT_EQ(identity(root), (JobIdentity{"process:10:100", "process 10"}));
    EXPECT_EQ(identity(grandchild), identity(root));
    EXPECT_EQ(identity(other), (JobIdentity{"process:20:200", "process 20"}));
}

TEST_F(Identity, the_topmost_ancestor_is_the_root) {
    add(10, 1, 100);
    add(11, 10, 110);
    const auto last = add(12, 11, 120);
    EXPECT_EQ(identity(last).name, "process 10");
}

TEST_F(Identity, an_ancestor_in_another_cgroup_or_of_another_user_joins_nothing) {
    add(10, 1, 100, true, "/user.slice/user-1000.slice/session-4.scope");
    add(11, 10, 110, true, session, 0);
    const auto process = add(12, 11, 120);
    const auto child = add(13, 12, 130);
    EXPECT_EQ(identity(process).name, "process 12");
    EXPECT_EQ(identity(child).name, "process 12");
}

TEST_F(Identity, init_is_no_root) {
    add(1, 0, 1, true, "/");
    const auto process = add(10, 1, 100, true, "/");
    EXPECT_EQ(identity(process).name, "process 10");
    EXPECT_EQ(walked_, 0);
}

TEST_F(Identity, an_orphan_is_a_job_of_its_own) {
    add(10, 1, 100);
    add(11, 10, 110, false);
    auto orphan = add(12, 1, 120);
    EXPECT_EQ(identity(orphan).name, "process 12");
    // Its parent ended while we read, and isn't there any more.
    orphan.parent = 99;
    EXPECT_EQ(identity(orphan).name, "process 12");
}

TEST_F(Identity, a_reused_pid_is_another_process) {
    // The parent ended, and a younger process that uses the GPU has its pid.
    add(10, 1, 500);
    auto process = add(12, 10, 120);
    EXPECT_EQ(identity(process).name, "process 12");
    // The list of processes is older than the walk.
    origins_[10] = {1, 100};
    EXPECT_EQ(identity(process).name, "process 12");
    // Started within one tick.
    gpu_users_.front().start_ticks = origins_[10].start_ticks = 120;
    EXPECT_EQ(identity(process).name, "process 10");
}

TEST_F(Identity, of_a_later_process_with_the_same_pid_differs) {
    const auto first = identity(add(10, 1, 100));
    EXPECT_NE(identity(add(10, 1, 900)).key, first.key);
}

TEST_F(Identity, cycles_end) {
    add(10, 11, 100);
    add(11, 12, 100);
    const auto process = add(12, 10, 100);
    (void)identity(process);
    origins_[12] = {12, 100};
    (void)identity(process);
    EXPECT_LT(walked_, 2000);
}

// Each ancestor costs a file of /proc.
TEST_F(Identity, a_walk_is_bounded_however_deep_the_tree) {
    pid_t pid = 10;
    for (; pid < 2000; ++pid)
        add(pid, pid - 1, 100, false);
    const auto last = add(pid, pid - 1, 100);
    runs_ = {{10, 100}};
    EXPECT_EQ(identity(last).name, "process 2000");
    EXPECT_LE(walked_, 2 * 256);
    walked_ = 0;
    runs_.clear(); // nothing to look for
    (void)identity(last);
    EXPECT_LE(walked_, 256);
}

TEST_F(Identity, a_run_is_a_job_whatever_the_cgroup) {
    add(10, 1, 100, false);
    runs_ = {{10, 100}};
    const auto child = add(11, 10, 110, true, "/system.slice/x.service");
    const auto grandchild = add(12, 11, 120, true, "/docker/" + id, 0);
    EXPECT_EQ(identity(child), (JobIdentity{"run:10:100", "run 10"}));
    EXPECT_EQ(identity(grandchild), identity(child));
    const auto itself = add(10, 1, 100);
    EXPECT_EQ(identity(itself), identity(child));
}

TEST_F(Identity, the_nearest_run_counts) {
    add(10, 1, 100);
    add(11, 10, 110);
    const auto inner = add(12, 11, 120);
    runs_ = {{10, 100}, {11, 110}};
    EXPECT_EQ(identity(inner).name, "run 11");
}

TEST_F(Identity, a_run_that_ended_gives_its_pid_away) {
    runs_ = {{10, 100}};
    add(10, 1, 105, false);
    const auto process = add(11, 10, 110);
    EXPECT_EQ(identity(process).name, "process 11");
}

} // namespace
