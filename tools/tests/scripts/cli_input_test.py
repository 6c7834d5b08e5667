# SPDX-License-Identifier: MIT
"""Bad input on the command line of kfd-preempt: message, exit code, and the stream that has them."""

import os
import shutil
import unittest

from fixture import KfdPreemptTest
from runner.testing.commands import cases, each, fails, prints, program

PODMAN = r"""
echo 'time="2026-01-01" level=warning msg="cgroups"' >&2
[ "$3" = web ] && printf '%s\n' '[' ' {' '  "Id": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",' \
	'  "Mounts": [],' '  "Config": {' '   "Id": "x"' '  }' ' }' ']' && exit
echo '[]'
echo "Error: no such container $3" >&2
exit 125"""
DOCKER = """
echo
echo 'permission denied while trying to connect to the Docker daemon socket' >&2
exit 1"""


class InputTest(KfdPreemptTest):
    """KFD knows one process, which lives, and its queue 3; /proc is the real one."""

    def setUp(self):
        super().setUp()
        sleeper = self.start("sleep", 600)
        self.names |= {"pid": sleeper.pid, "test": os.getpid()}
        self.add_queue(sleeper.pid)


class Words(InputTest):
    @cases(
        ("help is on stdout", "--help", prints("^Usage: kfd-preempt")),
        ("help of a verb", "resume --help", prints("resume .*PID")),
        ("no verb", "", fails(2, "a verb is missing")),
        ("unknown verb", "frobnicate", fails(2, "'frobnicate' is not a verb; the verbs are doctor, list")),
        ("unknown option", "--frobnicate", fails(2, "'--frobnicate' is not an option")),
        ("unknown option of a verb", "suspend --force 1", fails(2, "'--force' is not an option")),
        ("suspend without a pid", "suspend", fails(2, "no process is named: give a PID")),
        *each(("{} with pid and container", "{} 1 --container web", fails(2, "either a PID or --container")), "suspend", "list"),
        ("empty name of a container", "status --container ''", fails(2, "--container is empty")),
        ("id of no container", "list --container 0123456789ab", fails(1, "no process is in a container with the id 0123456789ab")),
        *each(("suspend of '{}'", "suspend '{}'", fails(2, "'{}' is not a pid")),
              "demo", "0", "-1", "99999999999", "010", " 10"),
        *each(("list of '{}'", "list '{}'", fails(2, "'{}' is not a pid")), "1.5", ""),
        *each(("queue id '{}'", "suspend $pid '{}'", fails(2, "'{}' is not a queue id")), "all", "4294967296", "queue stream", "03"),
        ("stream without a name", "suspend $pid stream", fails(2, "no stream is given.*status PID stream")),
        ("xqueue without a name", "resume $pid xqueue", fails(2, "no xqueue is given")),
        ("queue without an id", "suspend $pid queue", fails(2, "no queue is given after 'queue'")),
        *each(("stream '{}'", "status $pid stream '{}'", fails(2, "'{}' is neither the name nor the handle of a stream")),
              "0x", "0xnone", "0x12345678123456789", "", "x" * 64),
        ("xqueue '7'", "suspend $pid xqueue 7", fails(2, "'7' is neither the name nor the handle of an xqueue")),
        ("resume --attach", "resume --attach $pid", fails(2, "'--attach' is not an option")),
        ("wait for nothing", "wait", fails(2, "either a PID or --new")),
        ("wait for two things", "wait --new 1", fails(2, "either a PID or --new")),
        *each(("wait for '{}' seconds", "wait --new -t '{}'", fails(2, "'{}' is not a number of seconds from 0.001 to 31536000")),
              "-1", "nan", "inf", "0", "0x10", "5s", " 5", "", "010", "00.5"),
        ("wait for an unknown pid", "wait 4194000", fails(1, "pid 4194000: there is no such process")),
        ("wait for a process that has a queue", "wait $pid", prints("^$pid$")),
        ("wait without success", "wait --new -t 0.1", fails(1, "no new process with a compute queue within 0.1 s")),
        ("trace for 'nan' seconds", "trace -o $work/x --seconds nan", fails(2, "'nan' is not a number of seconds")),
        ("freeze of two things", "freeze --cgroup a --container b", fails(2, "give either --cgroup or --container, not both")),
        *each(("{} of nothing", "{}", fails(2, "no cgroup is named: give --cgroup with a path or --container")), "freeze", "thaw"),
        ("freeze of an empty name", "freeze --cgroup ''", fails(2, "--cgroup is empty")),
        ("thaw --partial", "thaw --partial --cgroup x", fails(2, "'--partial' is not an option")),
        ("top with the delay 'nan'", "top -d nan", fails(2, "'nan' is not a number of seconds")),
        *each(("top with the delay '{}'", "top -d '{}'", fails(2, "--delay")), "often", "0"),
        ("top with a negative count", "top -n -1", fails(2, "--count")),
        ("top of a word", "top demo", fails(2, "'demo' is not a pid")),
        ("top without a terminal", "top", fails(1, "no terminal: use top -b")),
        ("measure of nothing", "measure", fails(2, "PID is required")),
        ("measure of a word", "measure demo", fails(2, "'demo' is not a pid")),
        *each(("measure with the count '{}'", "measure -n {} $pid", fails(2, "'{}' is not a number from 1 to 1000000")),
              "0", "1000001", "010", "0x10", "1e3", "nan", "-1"),
        ("measure --count 0", "measure $pid --count 0", fails(2, "--count")),
        ("measure with the interval 'often'", "measure $pid -i often", fails(2, "--interval")),
        ("wrong words with -j give plain text", "-j suspend demo", fails(2, "'demo' is not a pid")),
        ("completion of a band", "complete run --band i", prints("^idle$")),
        ("completion of a value behind =", "complete run --band=i", prints("^--band=idle$")),
        ("completion of a kind of object", "complete suspend $pid st", prints("^stream$")),
    )
    def words(self, words, expected):
        self.check(words, expected)


class Containers(InputTest):
    """Engines that know one name each, and print what real ones print besides."""

    @cases(
        ("container that an engine knows", "list --container web",
         fails(1, r"container 'web' \(aaaaaaaaaaaa\): has no process")),
        ("container that no engine knows, with the error of each", "list --container db",
         fails(1, "docker says: permission denied.*; podman says: Error: no such container db")),
        ("name that no engine can have", "suspend --container=--all",
         fails(1, "no container '--all': give its id")),
    )
    def names_of_containers(self, words, expected):
        self.fake_command("podman", PODMAN)
        self.fake_command("docker", DOCKER)
        self.check(words, expected)


class Processes(InputTest):
    """Right words about processes, cgroups and queues that are not there; there is no device."""

    @cases(
        ("stream of no process", "suspend 4194304 stream low", fails(1, "pid 4194304: there is no such process")),
        ("process without a socket", "resume $pid stream low",
         fails(1, r"pid $pid \(.*\): has no control socket.*XPREEMPT_CONTROL=1")),
        ("suspend with --drain and --kill", "suspend 4194304 --drain --kill",
         fails(2, "give either --drain or --kill, not both")),
        ("suspend of a stream with --timeout", "suspend 4194304 --timeout 5 stream low",
         fails(2, "timeout are for queues, not for streams")),
        ("suspend of no process", "suspend 4194304", fails(1, "pid 4194304: there is no such process")),
        ("process without KFD", "status $test", fails(1, r"pid $test \(.*\): does not use a GPU")),
        ("unknown queue", "suspend $pid 7", fails(1, r"pid $pid \(.*\) has no queue 7: it has 3")),
        ("unknown queue, errors as JSON", "-j suspend $pid 7", prints('"errno": "ENOENT"', 1)),
        ("measure of no process", "measure 4194304", fails(1, "pid 4194304: there is no such process")),
        ("freeze without cgroups", "freeze --cgroup job", fails(1, "no cgroups at ")),
        ("suspend without a device", "suspend $pid", fails(3, "$work/kfd is missing")),
        ("suspend without a device, errors as JSON", "suspend $pid -j", prints('"exit": 3', 3)),
    )
    def absent(self, words, expected):
        self.check(words, expected)

    @cases(
        ("freeze of an unknown cgroup", "freeze --cgroup absent",
         fails(1, "cgroup /absent: there is no such cgroup")),
        ("freeze of an unknown cgroup, errors as JSON", "-j freeze --cgroup absent",
         prints('"errno": "ENOENT"', 1)),
        ("thaw of a path that leads out of the cgroups", "thaw --cgroup ../x", fails(1, "leads out of")),
        ("freeze without a device", "freeze --cgroup job", fails(3, "$work/kfd is missing")),
        ("thaw of a cgroup that is not frozen", "thaw --cgroup job", prints("is not frozen")),
    )
    def cgroups(self, words, expected):
        self.write("sys/fs/cgroup/cgroup.controllers")
        self.write("sys/fs/cgroup/job/cgroup.procs", f"{self.names['pid']}\n")
        (self.work / "run").mkdir()
        self.check(words, expected, env={"KFD_PREEMPT_SYSTEM_ROOT": self.work} if "thaw --cgroup job" == words else {})

    @cases(
        ("pid namespace of a container", "suspend $pid", fails(1, "pid namespace of its own")),
        ("list in the pid namespace of a container", "list", fails(1, "--pid=host")),
    )
    def foreign_namespace(self, words, expected):
        (self.work / "self/ns").mkdir(parents=True)
        (self.work / "self/fd").mkdir()
        (self.work / "self/ns/pid").symlink_to("pid:[4026532177]")
        self.check(words, expected, env={"KFD_PREEMPT_PROC_ROOT": self.work})


class Drivers(InputTest):
    @cases(
        ("driver without preemption: suspend", "suspend $pid", fails(3, "no queue preemption")),
        ("driver without preemption: resume", "resume --force $pid 3", fails(3, "no queue preemption")),
        ("driver without preemption: measure", "measure $pid", fails(3, "no queue preemption")),
        ("driver without preemption: status", "status $pid", fails(3, "no queue preemption")),
        ("driver without preemption: doctor", "doctor", prints("^fail  driver", 3)),
        ("driver without preemption: list as JSON", "-j list $pid", prints('"errno": "ENOTTY"')),
    )
    def without_preemption(self, words, expected):
        self.device.write_text("")  # an ordinary file knows no ioctl either
        self.check(words, expected)

    @cases(
        ("no KFD", "list", fails(3, "this kernel shows no KFD")),
        ("no KFD, errors as JSON", "-j list", prints('"schema": 1', 3)),
        ("version without a driver", "version", prints("^kfd-preempt [0-9]")),
    )
    def without_kfd(self, words, expected):
        self.check(words, expected, env={"KFD_PREEMPT_SYSFS_ROOT": self.work / "nothing"})

    def test_device_that_is_a_directory(self):
        self.device.mkdir()
        self.check("suspend $pid", fails(1, "$work/kfd: cannot be opened: .*EISDIR"))

    @unittest.skipIf(os.getuid(), "needs root to become another user")
    def test_device_that_may_not_be_opened(self):
        self.device.write_text("")
        self.device.chmod(0o600)
        self.work.chmod(0o755)
        copy = shutil.copy(program("kfd-preempt"), self.work)
        ran = self.ran("setpriv", "--reuid", 65534, "--clear-groups", copy, "suspend", self.names["pid"])
        self.assertEqual(ran.status, 4, ran)
        self.assertIn("kfd: not allowed to open it", ran.stderr)
