# SPDX-License-Identifier: MIT
"""follow-freezer in a tree that looks like cgroup v2; a stub stands for kfd-preempt."""

import os
import resource
import signal
import subprocess
import threading

from runner.paths import REPO
from runner.testing.commands import CommandTest, cases, fails


class Freezer(CommandTest):
    def setUp(self):
        super().setUp()
        self.calls = self.write("calls")
        self.fake_command("kfd-preempt", f'echo "$*" >>"{self.calls}"')
        self.environment["KFD_PREEMPT_SYSTEM_ROOT"] = str(self.work / "root")
        self.cgroups = self.work / "root/sys/fs/cgroup"
        for name in "a.slice", "a.slice/job", "a.slice/other", "b.slice", "b.slice/job", "b.slice/other":
            self.make_cgroup(name)

    def make_cgroup(self, name):
        self.write(self.cgroups / name / "cgroup.controllers", "memory\n")
        self.set_frozen(name, 0)

    def set_frozen(self, cgroup, frozen):
        """The state of the CPU's freezer."""
        self.write(self.cgroups / cgroup / "cgroup.events", f"populated 1\nfrozen {frozen}\n")
        self.write(self.cgroups / cgroup / "cgroup.freeze", f"{frozen}\n")

    def calls_of(self, verb, cgroup):
        calls = os.fsdecode(self.calls.read_bytes()).split("\n")
        return calls.count(f"{verb} --cgroup /{cgroup}")

    def calls_soon(self, verb, cgroup):
        self.soon(lambda: self.calls_of(verb, cgroup), f"{verb} of {cgroup}")

    def follow(self, cgroup, interval="0.05", **options):
        command = [REPO / "tools/freezer/follow-freezer", "--interval", interval, cgroup]
        errors = self.enterContext(open(self.work / "stderr", "ab"))
        process = self.enterContext(subprocess.Popen(command, env=self.environment, **{"stderr": errors, **options}))
        self.addCleanup(process.kill)
        return process

    def wait_for_a_pass(self, *others):
        """Each instance sees a change of another cgroup, so it has made a pass since."""
        for cgroup in others:
            self.set_frozen(cgroup, 1)
            self.calls_soon("freeze", cgroup)
            self.set_frozen(cgroup, 0)
            self.calls_soon("thaw", cgroup)

    def test_two_instances_follow_their_own_cgroups(self):
        first, second = self.follow("a.slice"), self.follow("b.slice")
        for cgroup in "a.slice/job", "b.slice/job":
            self.set_frozen(cgroup, 1)
        for cgroup in "a.slice/job", "b.slice/job":
            self.calls_soon("freeze", cgroup)
        self.wait_for_a_pass("a.slice/other", "b.slice/other")
        for cgroup in "a.slice/job", "b.slice/job":
            self.assertEqual((self.calls_of("freeze", cgroup), self.calls_of("thaw", cgroup)), (1, 0), cgroup)
        first.kill()
        first.wait()
        self.set_frozen("b.slice/job", 0)
        self.calls_soon("thaw", "b.slice/job")
        self.assertEqual(self.calls_of("thaw", "a.slice/job"), 0, "the second instance thawed a cgroup of the killed one")
        second.send_signal(signal.SIGTERM)
        self.assertEqual(second.wait(60), 0)
        self.set_frozen("a.slice/job", 0)
        self.follow("a.slice")
        self.calls_soon("thaw", "a.slice/job")
        self.assertEqual((self.work / "stderr").read_text(), "")

    def test_second_instance_for_a_cgroup_is_refused_and_the_first_one_goes_on(self):
        self.follow("a.slice")
        self.set_frozen("a.slice/job", 1)
        self.calls_soon("freeze", "a.slice/job")
        same = "a.slice", "/a.slice/", self.cgroups / "a.slice"
        for second in [self.follow(cgroup, stderr=subprocess.PIPE, text=True) for cgroup in same]:
            self.assertEqual(second.wait(60), 1)
            self.assertIn("another one follows the cgroup /a.slice", second.stderr.read())
        self.wait_for_a_pass("a.slice/other")
        self.assertEqual((self.calls_of("freeze", "a.slice/job"), self.calls_of("thaw", "a.slice/job")), (1, 0))

    def test_next_instance_waits_for_what_a_killed_one_has_begun(self):
        hold = self.write("hold")
        self.fake_command("kfd-preempt", f'echo "$*" >>"{self.calls}"; while [ -e "{hold}" ]; do sleep 0.05; done')
        first = self.follow("a.slice")
        self.set_frozen("a.slice/job", 1)
        self.calls_soon("freeze", "a.slice/job")
        first.kill()
        first.wait()
        second = self.follow("a.slice")
        with self.assertRaises(subprocess.TimeoutExpired, msg="it did not wait"):
            second.wait(0.5)
        self.set_frozen("a.slice/job", 0)
        self.assertEqual(self.calls_of("thaw", "a.slice/job"), 0, "thawed what is still being frozen")
        hold.unlink()
        self.calls_soon("thaw", "a.slice/job")
        self.assertEqual((self.work / "stderr").read_text(), "")

    def test_cgroup_that_stops_again_while_a_killed_one_thaws_it_is_frozen_again(self):
        hold = self.work / "hold"
        script = f'echo "$*" >>"{self.calls}"; while [ "$1" = thaw ] && [ -e "{hold}" ]; do sleep 0.05; done'
        self.fake_command("kfd-preempt", script)
        first = self.follow("a.slice")
        self.set_frozen("a.slice/job", 1)
        self.calls_soon("freeze", "a.slice/job")
        self.write("hold")
        self.set_frozen("a.slice/job", 0)
        self.calls_soon("thaw", "a.slice/job")
        first.kill()
        first.wait()
        self.set_frozen("a.slice/job", 1)
        second = self.follow("a.slice")
        with self.assertRaises(subprocess.TimeoutExpired, msg="it did not wait"):
            second.wait(0.5)
        self.assertEqual(self.calls_of("freeze", "a.slice/job"), 1, "frozen what is still being thawed")
        hold.unlink()
        self.soon(lambda: self.calls_of("freeze", "a.slice/job") == 2, "a second freeze")
        self.wait_for_a_pass("a.slice/other")
        self.assertEqual((self.calls_of("freeze", "a.slice/job"), self.calls_of("thaw", "a.slice/job")), (2, 1))
        self.assertEqual((self.work / "stderr").read_text(), "")

    def test_cgroup_whose_path_is_longer_than_the_name_of_a_file(self):
        deep = "/".join(["a.slice", "x" * 120, "y" * 120, "z" * 120])
        for name in deep, deep + "/job":
            self.make_cgroup(name)
        self.follow(deep)
        self.set_frozen(deep + "/job", 1)
        self.calls_soon("freeze", deep + "/job")
        self.set_frozen(deep + "/job", 0)
        self.calls_soon("thaw", deep + "/job")
        self.assertEqual((self.work / "stderr").read_text(), "")

    def test_cgroups_with_odd_names_are_refused_once_each_and_the_others_are_followed(self):
        # kfd-preempt refuses names that are not UTF-8.
        self.fake_command("kfd-preempt", f'echo "$*" >>"{self.calls}"; case $3 in *odd*) exit 1 ;; esac')
        self.environment["LC_ALL"] = "C.UTF-8"
        odd = [os.fsdecode(b"a.slice/odd" + end) for end in (b"\xff", b"\xfe", b"\\[a]* ", b"-e")]
        for name in odd:
            self.make_cgroup(name)
        self.follow("a.slice")
        for name in [*odd, "a.slice/job"]:
            self.set_frozen(name, 1)
            self.calls_soon("freeze", name)
        self.set_frozen(odd[0], 0)
        self.set_frozen("a.slice/job", 0)
        self.calls_soon("thaw", "a.slice/job")
        self.wait_for_a_pass("a.slice/other")
        self.assertEqual([self.calls_of("freeze", name) for name in odd], [1] * len(odd))

    def test_names_in_messages_do_not_drive_a_terminal(self):
        self.fake_command("kfd-preempt", f'echo "$*" >>"{self.calls}"; echo refused; exit 1')
        odd = os.fsdecode(b"a.slice/\x1b[2J\x07\x9b\\ \x7f")
        escaped = r"/a.slice/\x1b[2J\x07\x9b\\ \x7f"
        self.make_cgroup(odd)
        self.follow("a.slice")
        self.set_frozen(odd, 1)
        self.soon(lambda: self.stderr().endswith(b"\n"), "a message")
        self.assertEqual(self.stderr().decode(), f"follow-freezer: freeze of {escaped}: refused\n")
        self.follow(odd)
        self.soon(lambda: len(list(self.work.rglob("follow-freezer.*.frozen"))) == 2, "the lists of both, which have their locks")
        for expected, *arguments in (
            (f"another one follows the cgroup {escaped}", odd),
            (r"/none\x1b: there is no such cgroup", "none\x1b"),
            (r"'1\x1b' is not a number", "--interval", "1\x1b", "a.slice"),
        ):
            program = REPO / "tools/freezer/follow-freezer"
            ran = subprocess.run([program, *arguments], env=self.environment, capture_output=True, check=False, timeout=60)
            self.assertIn(expected, ran.stderr.decode())

    def tools_of_a_start(self, cgroup):
        """The tools that it has started when it sleeps for the first time."""
        tools = self.write("tools")
        for tool in "awk", "cat", "find", "grep", "od", "sed", "sleep":
            self.fake_command(tool, f'echo {tool} >>"{tools}"; PATH=${{PATH#*:}}; exec {tool} "$@"')
        process = self.follow(cgroup, "1000")
        self.soon(lambda: "sleep" in tools.read_text(), "the end of the first pass")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0)
        started = tools.read_text().split()
        return started[: started.index("sleep")]

    def test_cgroups_that_run_cost_no_process_each(self):
        for number in range(40):
            self.make_cgroup(f"b.slice/{number}")
        few, many = self.tools_of_a_start("a.slice"), self.tools_of_a_start("b.slice")
        self.assertEqual(few, many)

    @cases(*((f"interval {text} is refused", text) for text in ("0", "0.0", ".0", "000", "0.", "0.009", ".", "1e9", "-1", "")))
    def interval(self, text):
        expected = f"'{text}' is not a number of seconds from 0.01"
        self.meets(fails(64, expected), REPO / "tools/freezer/follow-freezer", "--interval", text, "a.slice", timeout=20)

    @cases(*((f"interval {text} is taken", text) for text in ("0.01", ".01", "1", "10", "1.", "0.5", "1.00")))
    def interval_that_is_taken(self, text):
        self.meets(fails(1, "/none: there is no such"), REPO / "tools/freezer/follow-freezer", "--interval", text, "none")

    def stderr(self):
        return (self.work / "stderr").read_bytes()

    def test_full_disk_keeps_nothing_frozen_and_ends_nothing(self):
        first = self.follow("a.slice")
        self.set_frozen("a.slice/job", 1)
        self.calls_soon("freeze", "a.slice/job")
        first.kill()
        first.wait()
        # Now no file can be written, so the stub's calls come through a pipe.
        pipe = self.work / "pipe"
        os.mkfifo(pipe)
        calls = []
        reader = threading.Thread(target=lambda: calls.extend(iter(lambda: pipe.read_text().strip(), "end")), daemon=True)
        reader.start()
        self.fake_command("kfd-preempt", f'echo "$*" >"{pipe}"')

        def no_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        again = self.follow("a.slice", preexec_fn=no_room, stderr=subprocess.PIPE, text=True)
        self.set_frozen("a.slice/job", 0)
        self.soon(lambda: "thaw --cgroup /a.slice/job" in calls, "thaw without room for the list")
        self.set_frozen("a.slice/other", 1)
        self.assertIn("cannot be written", self.line_of(again, "cannot be written"))
        self.assertIsNone(again.poll())
        again.send_signal(signal.SIGTERM)
        self.assertEqual(again.wait(60), 0)
        pipe.write_text("end")
        reader.join(60)
        self.assertNotIn("freeze --cgroup /a.slice/other", calls, "frozen without a note")
        self.assertEqual(again.stderr.read().count("the lists in"), 0, "reported more than once")

    def line_of(self, process, words):
        """The next line of its standard error with these words."""
        return next((line for line in process.stderr if words in line), "")
