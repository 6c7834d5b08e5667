# SPDX-License-Identifier: MIT
"""Streams, top and completion of kfd-preempt against a program on the fake ROCm."""

import fcntl
import os
import pty
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest
from dataclasses import replace
from pathlib import Path

from fixture import KfdPreemptTest
from runner.paths import REPO
from runner.testing.commands import blocks_signals, cases, fails, prints, program

ROUNDS = int(os.environ.get("ROUNDS", "20"))
SEED = int(os.environ.get("SEED", random.randrange(1 << 15)))


class StreamsTest(KfdPreemptTest):
    """The driver knows no ioctl, as one without preemption. The app has streams and xqueues; names has its pid."""

    SETTINGS = {"XPREEMPT_CONTROL": "1"}

    def setUp(self):
        super().setUp()
        self.device.write_text("")
        (self.work / "run").mkdir(mode=0o700)
        self.environment["XDG_RUNTIME_DIR"] = str(self.work / "run")
        self.app = self.start_app(**self.SETTINGS)

    def start_app(self, **settings):
        own, self.environment = self.environment, {**self.environment, **settings}
        errors = self.enterContext(open(self.work / "app.err", "wb"))
        app = self.start(program("xpreempt_control_app"), stderr=errors)
        self.environment = own
        self.addCleanup(app.send_signal, signal.SIGCONT)
        self.names |= {"pid": app.pid, "handle": app.stdout.readline().split()[1], "uid": os.getuid()}
        self.add_queue(app.pid, 1, 77)
        return app

    def check(self, words, expected, **options):
        # Standard error names the features that the driver lacks.
        return super().check(words, replace(expected, alone=False), **options)

    def running(self):
        """Which queues run, as the app sees them."""
        self.app.stdin.write("\n")
        self.app.stdin.flush()
        _, low, _, high = self.app.stdout.readline().split()
        return int(low), int(high)

    def run_soon(self, *queues):
        self.soon(lambda: self.running() == queues, queues)

    def sockets(self):
        return list((self.work / "run").rglob("*.sock"))


class WithoutSocket(StreamsTest):
    SETTINGS = {"XPREEMPT_CONTROL": "0"}

    @cases(
        ("suspend of a stream without a socket says what to do", "suspend $pid stream low",
         fails(1, "has no control socket.*XPREEMPT_CONTROL=1.*xp_control_open")),
        ("status of streams without a socket as JSON", "-j status $pid stream", prints('"errno": "ENOENT"', 1)),
        ("list without a socket", "list $pid", prints("^$pid ")),
        ("doctor of a program without a socket calls the hook neither blind nor fine", "-j doctor",
         prints(r'"text": "pid $pid .*: 1 KFD queue; whether the hook sees its packets is not known', 3)),
    )
    def words(self, words, expected):
        self.check(words, expected)


class Streams(StreamsTest):
    @cases(
        ("list has streams with name, handle, queue and state", "list $pid",
         prints("^$pid +[a-z_]+ +low +0x[0-9a-f]+ +[0-9]+ +77 +1 +3 +RUNNING +0 +0")),
        ("list has the handle of a stream without a name", "list $pid", prints("^$pid .* - +$handle ")),
        ("list has xqueues", "list $pid", prints("^$pid .* front +0x[0-9a-f]+ +high +RUNNING ")),
        ("resume of a running stream", "resume $pid stream low", prints("was not suspended")),
        ("status of an unknown stream", "status $pid stream nobody", fails(1, "has no stream of that name")),
        ("top has queues and counters of the library", "top -b -n 1",
         prints(r"^$pid +[a-z_]+ +1 +77 +compute +(RUNNING|\?)")),
        ("top has streams", "top -b -n 1", prints(" low +0x")),
        ("top without a terminal", "top", fails(1, "no terminal: use top -b")),
        ("doctor reports that the hook sees all packets", "-j doctor",
         prints('"text": "pid $pid .*: 1 KFD queue, 3 with packets, the hook saw packets of 3"', 3)),
    )
    def words(self, words, expected):
        self.check(words, expected)

    def test_status_of_a_stream_has_no_other(self):
        self.assertNotIn(" low ", self.check("status $pid stream high", prints(" high ")).stdout)

    def test_suspend_and_resume_by_name_stop_one_queue(self):
        self.check("suspend $pid stream low",
                   prints("^stream low of pid $pid .*: suspended at level 3 in .*until it is resumed"))
        self.assertEqual(self.running(), (0, 1))
        self.check("suspend $pid stream low", prints("was suspended already"))
        self.check("status $pid stream",
                   prints("stream low of pid $pid .* is held by pid [0-9]+, uid $uid, until it is resumed"))
        self.check("resume $pid stream low", prints(""))
        self.assertEqual(self.running(), (1, 1))

    def test_suspend_and_resume_of_an_xqueue_stop_its_stream(self):
        self.check("suspend $pid xqueue front", prints(""))
        self.assertEqual(self.running(), (1, 0))
        self.check("-j resume $pid xqueue front", prints('"already": false'))
        self.assertEqual(self.running(), (1, 1))

    def test_suspend_and_resume_by_handle(self):
        self.check("suspend $pid stream $handle", prints(""))
        self.check("resume $pid stream $handle", prints(""))

    def test_suspend_of_several_names_the_unknown_one_and_stops_the_others(self):
        ran = self.ran(program("kfd-preempt"), "suspend", self.app.pid, "stream", "low", "nobody")
        self.assertEqual(ran.status, 1, ran)
        self.assertRegex(ran.stderr, self.filled(
            "stream nobody of pid $pid .*: there is no stream 'nobody': .kfd-preempt status $pid stream. shows"))
        self.assertEqual(self.running(), (0, 1))
        self.check("resume --force $pid stream low", prints(""))
        self.assertEqual(self.running(), (1, 1))

    def test_top_updates_its_output(self):
        ran = self.check("top -b -n 2 -d 0.1", prints(""))
        self.assertEqual(len(re.findall(r"(?m)^PID *COMM *QUEUE", ran.stdout)), 2, ran)

    def test_top_once_as_json_is_one_line_with_streams(self):
        self.assertEqual(self.check("-j top --once", prints('"name":"low"')).stdout.count("\n"), 1)

    def test_doctor_finds_a_queue_that_the_hook_did_not_see_created(self):
        self.add_queue(self.app.pid, 99, 77)
        ran = self.check("doctor $pid", prints("^warn +hook +hook is blind: pid $pid .*: 2 KFD queues", 3))
        self.assertRegex(ran.stdout, r"(?m)^ +[$] LD_PRELOAD=libxpreempt-hook.so PROGRAM$")
        self.assertNotIn("$ kfd-preempt suspend", ran.stdout, "this would stop a healthy program")


class Terminal(StreamsTest):
    """top on a terminal of 60 columns."""

    @cases(
        ("top on a terminal ends by q", b"q"),
        ("top on a terminal ends by the end of its input", b"\x04"),
        ("top on a terminal ends by SIGINT", signal.SIGINT),
        ("top on a terminal ends by SIGTERM", signal.SIGTERM),
        ("top on a terminal ends by SIGHUP", signal.SIGHUP),
    )
    def ends(self, how):
        """It keeps to the width, and leaves the terminal as it was."""
        leader, follower = pty.openpty()
        self.addCleanup(os.close, leader)
        self.addCleanup(os.close, follower)
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
        before = termios.tcgetattr(follower)
        top = self.start(program("kfd-preempt"), "top", "-d", "0.2", start_new_session=True,
                         **{stream: follower for stream in ("stdin", "stdout", "stderr")})
        data = self.read_until(leader, b"\x1b[J")
        self.assertIn(b"\x1b[?1049h", data)
        lines = re.sub(rb"\x1b\[[?0-9;]*[a-zA-Z]", b"", data).replace(b"\r", b"").split(b"\n")
        self.assertLessEqual(max(map(len, lines)), 60)
        self.assertLessEqual(len(lines), 21)
        self.assertTrue(any(b"low" in line for line in lines), lines)
        if isinstance(how, bytes):
            os.write(leader, how)
        else:
            top.send_signal(how)
        data += self.read_until(leader, b"\x1b[?1049l")
        self.assertIn(b"\x1b[?25h", data)
        self.assertEqual(top.wait(60), 0)
        self.assertEqual(termios.tcgetattr(follower), before)

    def read_until(self, terminal, text):
        data, end = b"", time.monotonic() + 60
        while text not in data:
            self.assertLess(time.monotonic(), end, data)
            if select.select([terminal], [], [], 0.2)[0]:
                data += os.read(terminal, 65536)
        return data


class BlindHook(StreamsTest):
    SETTINGS = {"XPREEMPT_CONTROL": "1", "FAKE_BLIND": "1"}

    def test_doctor_finds_packets_that_the_hook_does_not_see(self):
        text = '"text": "hook is blind: pid $pid .*, 4 with packets, the hook saw packets of 3, and none of queue [0-9]+"'
        ran = self.check("-j doctor", prints(text, 3))
        self.assertRegex(ran.stdout, '"fix": ".*preloaded.*RTLD_DEEPBIND')


class AttachTest(StreamsTest):
    def attach(self, *words):
        """suspend --attach, which holds as long as it runs; its output is in $work/attached."""
        output = self.enterContext(open(self.work / "attached", "wb"))
        command = [program("kfd-preempt"), "suspend", "--attach", *words[:-2], str(self.app.pid), *words[-2:]]
        holder = self.enterContext(subprocess.Popen(command, env=self.environment, stdout=output, stderr=output))
        self.addCleanup(holder.kill)
        return holder

    def interrupt(self, holder):
        self.soon(lambda: blocks_signals(holder.pid))
        holder.send_signal(signal.SIGINT)
        self.assertEqual(holder.wait(60), 0)

    def reports(self, text):
        return text in (self.work / "attached").read_text()


class Attached(AttachTest):
    def test_attached_suspend_holds_until_it_is_interrupted(self):
        holder = self.attach("stream", "low")
        self.run_soon(0, 1)
        self.soon(lambda: self.reports("as long as this command runs"))
        self.check("resume $pid stream low", prints("it stays stopped: 1 of its 1 holds"))
        self.assertEqual(self.running(), (0, 1))
        self.interrupt(holder)
        self.run_soon(1, 1)

    def test_killed_command_leaves_the_stream_running(self):
        moments = random.Random(SEED)
        for number in range(ROUNDS):
            holder = self.attach("stream", "low")
            time.sleep(moments.randrange(30) / 1000)
            holder.kill()
            holder.wait()
            self.soon(lambda: self.running() == (1, 1), f"round {number}, SEED={SEED}")

    def test_attached_suspend_ends_with_the_program(self):
        holder = self.attach("xqueue", "front")
        self.run_soon(1, 0)
        self.app.kill()
        self.assertEqual(holder.wait(60), 1)
        self.assertTrue(self.reports("has ended, or has closed"))


class Shared(AttachTest):
    SETTINGS = {"XPREEMPT_CONTROL": "1", "FAKE_SHARED": "1"}

    @cases(
        ("suspend rejects a stream whose queue another stream uses, and names --shared", "suspend $pid stream low",
         fails(1, "^kfd-preempt: stream low of pid $pid .*: --shared stops its neighbours as well")),
        ("suspend --attach rejects a stream whose queue another stream uses", "suspend --attach $pid stream low",
         fails(1, "--shared")),
    )
    def rejected(self, words, expected):
        self.check(words, expected)
        self.assertEqual(self.running(), (1, 1))

    def test_suspend_shared_stops_the_queue_until_resume(self):
        self.check("suspend --shared $pid stream low", prints(""))
        self.assertEqual(self.running(), (0, 1))
        self.check("resume $pid stream low", prints(""))
        self.assertEqual(self.running(), (1, 1))

    def test_attached_suspend_shared_stops_the_queue_until_it_is_interrupted(self):
        holder = self.attach("--shared", "stream", "low")
        self.run_soon(0, 1)
        self.interrupt(holder)
        self.run_soon(1, 1)


class Hostile(StreamsTest):
    def states(self):
        """Of all threads: a signal stops a thread only when it is scheduled."""
        return [file.read_text().rpartition(")")[2].split()[0] for file in Path(f"/proc/{self.app.pid}/task").glob("*/stat")]

    def test_stopped_program_delays_neither_list_nor_completion(self):
        self.app.send_signal(signal.SIGSTOP)
        self.soon(lambda: set(self.states()) == {"T"})
        ran = self.succeeds(program("kfd-preempt"), "list", timeout=60)
        self.assertRegex(ran.stderr, self.filled("pid $pid .*did not answer in time"))
        self.succeeds(program("kfd-preempt"), "complete", "status", self.app.pid, "stream", "", timeout=60)
        self.app.send_signal(signal.SIGCONT)
        self.check("status $pid stream", prints(" low "))

    @unittest.skipIf(os.getuid(), "needs root to become another user")
    def test_another_user_may_not_suspend(self):
        copy = shutil.copy(program("kfd-preempt"), self.work)
        self.work.chmod(0o711)
        self.meets(fails(4, "pid $pid .*: not allowed to use its control socket: run kfd-preempt as its user"),
                   *("setpriv", "--reuid", 4242, "--clear-groups", copy, "suspend", self.app.pid, "stream", "low"))
        self.assertEqual(self.running(), (1, 1))


class Sockets(StreamsTest):
    def test_socket_that_a_killed_program_leaves_is_removed_by_the_next_one(self):
        self.app.kill()
        self.app.wait()
        (left,) = self.sockets()
        app = self.start_app(XPREEMPT_CONTROL="1")
        (new,) = self.sockets()
        self.assertNotEqual(left, new)
        app.stdin.close()
        self.assertEqual(app.wait(60), 0)
        self.assertEqual(self.sockets(), [])

    def test_wrong_value_of_xpreempt_control_is_named(self):
        self.start_app(XPREEMPT_CONTROL="yes")
        self.assertIn("XPREEMPT_CONTROL=yes: use 1 or 0", (self.work / "app.err").read_text())


# COMPLETION PROGRAM WORD...: prints what the shell offers for the last word, one a line.
BASH = """
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$*
COMP_POINT=${#COMP_LINE}
_kfd_preempt
printf "%s\\n" "${COMPREPLY[@]}"
"""
ZSH = """
compadd() { shift; print -rl -- "$@" }
file=$1
shift
words=("$@") CURRENT=$#
. $file
"""


class Completion(StreamsTest):
    def offers(self, shell, script, file, *words):
        words = [self.filled(word) for word in words]
        completion = REPO / "tools/completions" / file
        return self.ran(shell, "-c", script, shell, completion, program("kfd-preempt"), *words).stdout.split()

    @cases(
        ("completion of verbs", "suspend", "su"),
        ("completion of options", "--force", "resume", "--f"),
        ("completion of pids", "$pid", "suspend", ""),
        ("completion of queues and kinds", "1 queue stream xqueue", "suspend", "$pid", ""),
        ("completion of streams by name or handle", "$handle high low", "suspend", "$pid", "stream", ""),
        ("completion of the next of several streams", "high", "resume", "$pid", "stream", "low", "h"),
        ("completion of xqueues", "front", "status", "$pid", "xqueue", "f"),
        ("completion has nothing for an unknown verb", "", "frobnicate", ""),
    )
    def bash(self, wanted, *words):
        self.assertEqual(self.offers("bash", BASH, "kfd-preempt.bash", *words), self.filled(wanted).split())

    def test_completion_of_a_part_of_a_pid(self):
        part = str(self.app.pid)[:-1]
        self.assertEqual(self.offers("bash", BASH, "kfd-preempt.bash", "top", part), [str(self.app.pid)])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_completion_of_zsh_for_an_empty_word(self):
        self.assertEqual(self.offers("zsh", ZSH, "_kfd-preempt", "suspend", ""), [str(self.app.pid)])
