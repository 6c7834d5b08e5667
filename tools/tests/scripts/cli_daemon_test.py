# SPDX-License-Identifier: MIT
"""The verbs that ask xpreemptd, without a daemon and with a test server in its place."""

import os
import shutil
import unittest

from fixture import KfdPreemptTest
from runner.testing.commands import cases, each, fails, prints, program


class WithoutDaemon(KfdPreemptTest):
    @cases(
        ("run without a command", "run", fails(125, "no command is given.*after --")),
        ("run without a command after --", "run --", fails(125, "no command is given")),
        ("run without --", "run true", fails(125, "'true': the command comes after --")),
        ("run of an unknown band", "run --band hihg -- true",
         fails(125, "'hihg' is not a band: give realtime, high, normal or idle")),
        *each(("run with weight {}", "run --weight {} -- true", fails(125, "'{}' is not a weight: give 1 to 10000")),
              "0", "10001", "010"),
        *each(("run with the deadline '{}'", "run '--deadline={}' -- true",
               fails(125, "is not a deadline: give a number with us, ms or s|--deadline")),
              "20", "ms", "0ms", "-1ms", "1.5ms", "020ms", "20min", "3601s", "99999999999999999999us", ""),
        *each(("run with the laxity '{}'", "run '--lax={}' -- true",
               fails(125, "is not a laxity: give a number with us, ms or s|--lax")), "20", "0ms", "3601s", ""),
        *each(("run with the utilization '{}'", "run '--utilization={}' -- true",
               fails(125, "is not a utilization: give 0 to 100|--utilization")), "-1", "101", "50%", "1.5", "x", ""),
        *each(("run with the priority '{}'", "run '--priority={}' -- true",
               fails(125, "is not a priority: give -255 to 255|--priority")), "-256", "256", "+1", "010", "-010", "1.5", "x", ""),
        *each(("focus of '{}'", "focus '{}'", fails(2, "is neither a pid nor none|required|not an option")),
              "0", "-1", "x", "99999999999", "", "011"),
        ("renice of nothing", "renice --band high", fails(2, "is required")),
        *each(("renice of pid {}", "renice {} --band high", fails(2, "'{}' is neither a pid nor the name of a job")),
              "0", "99999999999", "011"),
        ("renice without an attribute", "renice 11", fails(2, "nothing to change: give --band")),
        ("jobs of a word", "jobs all", fails(2, "'all' is not an option")),
        ("metrics into a file without a name", "metrics --output ''", fails(2, "name of the file is empty")),
        ("policy without a name", "policy ''", fails(2, "name of the policy is empty")),
        *each(("{} without a daemon", "{}", fails(1, "xpreemptd is not running .*systemctl start xpreemptd")),
              "jobs", "policy", "metrics", "focus none", "renice 11 --band idle"),
        ("jobs without a daemon, errors as JSON", "-j jobs", prints('"errno": "ENOENT"', 1)),
        ("run without a daemon", "run -- /nothing", fails(125, "is not running")),
        ("top without a daemon", "top --once", prints("^0 processes, 0 queues")),
        ("top without a daemon as JSON", "-j top -n 1", prints('"jobs":null')),
    )
    def words(self, words, expected):
        self.check(words, expected)

    def test_path_of_a_socket_that_is_too_long(self):
        self.check("jobs", fails(1, "ENAMETOOLONG"), env={"XPREEMPTD_SOCKET": self.work / ("0" * 120)})

    def test_run_if_possible_runs_without_a_daemon_and_reports_it(self):
        ran = self.succeeds(program("kfd-preempt"), *"run --if-possible -- echo ran".split())
        self.assertEqual(ran.stdout, "ran\n")
        self.assertRegex(ran.stderr, "is not running.*; runs without it")


class WithDaemon(KfdPreemptTest):
    def setUp(self):
        super().setUp()
        self.server = self.start_server()
        self.names |= {"program": program("kfd-preempt"), "uid": os.getuid()}

    @cases(
        ("jobs", "jobs", prints("^1 +idle +100 +0 +- +held +4 s +5 s +3 s +17 +2 +/batch.slice$")),
        ("jobs escapes the names of jobs", "jobs", prints(" 5000 +/tmp.x1b\\[2J.x0ax$")),
        ("jobs reports why one is not schedulable", "jobs", prints("job 2 is not schedulable: stock driver,.x1b no hook")),
        ("jobs as JSON", "-j jobs", prints('"added_wait_ns": 3000000000')),
        ("policy", "policy", prints("^policy: BAND$")),
        ("policy reports reaction times", "policy",
         prints(r"^ring to switch: p50 50 us, p99 180 us, max 210 us \(last 7 of 7\)$")),
        ("policy reports that it has no reaction times", "policy", prints("^ring to stopped: none yet$")),
        ("policy reports the cost of a switch", "policy", prints("^a stop and a resume: 250 us$")),
        ("policy reports reaction times as JSON", "-j policy", prints('"p99_ns": 180000')),
        ("policy as JSON", "-j policy", prints('"edges_found_late": 1')),
        ("top has the rates of jobs", "top --once",
         prints("^1 +idle +held +40.0 +50.0 +1.7 +300 ms +1.5 s +/batch.slice$")),
        ("top escapes the names of jobs", "top --once", prints(r" /tmp.x1b\[2J.x0ax$")),
        ("top as JSON", "-j top -n 1", prints('"name":"/batch.slice".*"gpu_percent":40.0,')),
        ("focus", "focus 11", prints("the job of pid 11 has the focus")),
        ("focus of none", "focus none", prints("^no job( of user [0-9]+)? has the focus$")),
        ("renice of no job", "renice /absent --band high", fails(1, "job /absent: not changed: xpreemptd: no such job")),
        ("renice names the attributes that the policy ignores", "renice 11 --utilization 25 --lax 5ms",
         prints("^policy BAND ignores utilization, lax$")),
        ("run with an attribute that the policy reads", "run --band high -- echo ran", prints("^ran$")),
        ("run leaves a pipe open for the program", "run -- readlink /proc/self/fd/512", prints("^pipe:")),
        ("run in a run leaves another pipe", "run -- $program run -- readlink /proc/self/fd/513", prints("^pipe:")),
        ("run gives all processes of the program the same pipe",
         "run -- sh -c 'for i in 1 2; do readlink /proc/self/fd/512; done | uniq | wc -l'", prints("^1$")),
        ("run returns the exit code of the command", "run -- sh -c 'echo out; exit 7'", prints("^out$", 7)),
        ("run of a missing file", "run -- /nothing", fails(127, "cannot execute /nothing: No such file")),
        ("run of a directory", "run -- /etc", fails(126, "cannot execute /etc: Permission denied")),
        ("run above the allowed band", "run --band realtime -- true", fails(125, "xpreemptd: band realtime needs a rule")),
        ("unknown policy", "policy FIFO", fails(1, "xpreemptd: the policies are BAND and RR")),
        ("completion of bands", "complete run --band re", prints("^realtime$")),
        ("completion of jobs", "complete renice /b", prints("^/batch.slice$")),
        ("completion of pids", "complete renice 1", prints("^11$")),
        ("completion of no focus", "complete focus n", prints("^none$")),
        ("completion of policies", "complete policy R", prints("^RR$")),
    )
    def words(self, words, expected):
        self.check(words, expected)

    def test_run_that_cannot_leave_a_pipe_reports_it(self):
        run = f"exec {program('kfd-preempt')} run -- echo ran"
        ran = self.succeeds("bash", "-c", f"exec 512</dev/null; {run}")
        self.assertEqual((ran.stdout, ran.stderr), ("ran\n", ""))
        for before in "ulimit -n 256", "exec 512</dev/null 513</dev/null 514</dev/null 515</dev/null":
            ran = self.succeeds("bash", "-c", f"{before}; {run}")
            self.assertEqual(ran.stdout, "ran\n")
            self.assertRegex(ran.stderr, r"\A.*no descriptor from 512 to 515 is free .*ulimit -n 516.*\n\Z")

    def test_top_of_a_process_has_its_job(self):
        self.add_queue(11, top="of-11")
        self.write("proc/11/comm", "demo\n")
        self.write("proc/11/status", "Name:\tdemo\nTgid:\t11\nPid:\t11\nUid:\t0\t0\t0\t0\n")
        (self.work / "proc/self/ns").mkdir(parents=True)
        (self.work / "proc/self/ns/pid").symlink_to("pid:[4026531836]")
        roots = {"KFD_PREEMPT_PROC_ROOT": self.work / "proc", "KFD_PREEMPT_SYSFS_ROOT": self.work / "of-11"}
        self.check("top --once 11", prints("^1 +idle "), env=roots)

    def test_renice_by_pid_and_name_changes_the_attributes(self):
        self.check("renice 11 --band high --deadline 20ms --priority -3", prints("the job of pid 11: changed"))
        self.check("renice /batch.slice --weight 300", prints("job /batch.slice: changed"))
        self.check("jobs", prints("^1 +high +300 +-3 +20 ms "))

    def test_renice_changes_the_attributes_of_up_and_lax(self):
        self.check("renice 11 --utilization 25 --lax 5ms", prints("changed"))
        self.check("-j jobs", prints('"utilization": 25'))
        self.check("-j jobs", prints('"lax_us": 5000'))

    def test_jobs_shows_the_save_areas_of_a_job(self):
        """Of the queues that the daemon counts: KFD shows none of them here."""
        self.check("jobs", prints("PROCESSES +NAME"))
        self.check("-j jobs", prints('"save_area_bytes": null'))
        node = "sys/class/kfd/kfd/topology/nodes/1"
        self.write(f"{node}/gpu_id", "7")
        self.write(f"{node}/properties", "simd_count 320\nsimd_per_cu 4\narray_count 16\nsimd_arrays_per_engine 1\n"
                                         "num_xcc 4\ngfx_target_version 90402\n")
        self.check("jobs", prints("PROCESSES +SAVE +NAME"))
        self.check("jobs", prints(" 2 +140 MiB +/batch.slice$"))
        self.check("-j jobs", prints('"save_area_bytes": 146878464'))

    def test_jobs_sorts_by_band(self):
        self.check("renice 11 --band high", prints("changed"))
        lines = self.check("jobs", prints("^1 +high ")).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines if line[:1].isdigit()], ["1", "2"])

    def test_jobs_and_top_report_that_all_jobs_are_in_one_band(self):
        self.check("renice 11 --band high", prints("changed"))
        self.check("renice 13 --band high", prints("changed"))
        for words in "jobs", "top --once":
            self.check(words, prints("^all jobs are in band high, so none is stopped"))
        self.check("renice 13 --band normal", prints("changed"))
        for words in "jobs", "top --once":
            self.assertNotRegex(self.check(words, prints("^1 ")).stdout, "all jobs (are|run)")

    def test_run_makes_a_job_and_names_the_attributes_that_the_policy_ignores(self):
        words = "run --band high --weight 7 --priority=255 --deadline 250us -- echo --json -x".split()
        ran = self.succeeds(program("kfd-preempt"), *words, " y")
        self.assertEqual(ran.stdout, "--json -x  y\n")
        self.assertEqual(ran.stderr, "kfd-preempt: policy BAND ignores weight, deadline, priority\n")
        self.check("jobs", prints("^3 +high +7 +255 +250 us .* 1 +run [0-9]+$"))

    @unittest.skipIf(os.getuid(), "needs root")
    def test_root_changes_the_policy(self):
        self.check("policy RR", prints("^policy: RR$"))
        self.succeeds(program("kfd-preempt"), "run", "--weight", "7", "--priority=255", "--", "true")
        self.check("policy RR", prints("^policy RR ignores band, weight, priority of jobs that have one$"))

    @unittest.skipIf(os.getuid(), "needs root")
    def test_jobs_and_top_report_that_no_policy_is_in_force(self):
        self.check("policy EJECTED", prints("^policy: none$"))
        for words in "jobs", "top --once":
            self.check(words, prints("^no policy is in force, all jobs run"))
        self.check("policy RR", prints("^policy: RR$"))

    @unittest.skipIf(os.getuid(), "needs root")
    def test_doctor_reports_how_the_daemon_schedules(self):
        self.check("renice 11 --band high", prints("changed"))
        self.assertRegex(self.doctor(), r"(?m)^ok +xpreemptd +runs with policy BAND; stop it before you partition a GPU$")
        self.check("renice 13 --band high", prints("changed"))
        self.assertRegex(self.doctor(), r"policy BAND; all jobs are in band high,")
        self.check("policy EJECTED", prints("^policy: none$"))
        self.assertRegex(self.doctor(), r"(?m)^warn +xpreemptd +no policy is in force, all jobs run:")

    def test_doctor_reports_a_daemon_that_has_ended(self):
        self.server.kill()
        self.server.wait()
        self.assertRegex(self.doctor(), r"(?m)^warn +xpreemptd +xpreemptd is not running")
        self.socket.unlink()
        self.assertRegex(self.doctor(), r"(?m)^ok +xpreemptd +does not run here")

    def doctor(self):
        return self.ran(program("kfd-preempt"), "doctor").stdout

    @unittest.skipIf(os.getuid(), "needs root to become another user")
    def test_another_user_may_not_change_the_policy(self):
        self.work.chmod(0o755)
        copy = shutil.copy(program("kfd-preempt"), self.work)
        self.meets(fails(4, "only root may change the policy"), "setpriv", "--reuid", 65534, "--clear-groups",
                   copy, "policy", "BAND")
