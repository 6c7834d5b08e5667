# SPDX-License-Identifier: MIT
"""Every program and verb whose output cannot be written: a full disk, a closed stream."""

import os
import shlex
import subprocess

from fixture import KfdPreemptTest
from runner.testing.commands import program

LOST = "cannot write to standard output: No space left on device"
# Words with which a verb prints JSON, even if only an error.
WORDS = {
    "doctor": "", "list": "", "suspend": "1", "resume": "1", "freeze": "--cgroup absent", "thaw": "--cgroup absent",
    "status": "1", "wait": "--new -t 0.01", "top": "-n 1", "measure": "1", "jobs": "", "run": "-- /nothing",
    "renice": "11 --band idle", "focus": "none", "policy": "", "trace": "-o $work/trace --seconds 0.1", "metrics": "",
    "version": "", "verify": "--list",
}
# Verbs that print text without a GPU.
PRINT = "doctor", "list", "top", "jobs", "renice", "focus", "policy", "trace", "metrics", "version"


class Output(KfdPreemptTest):
    def setUp(self):
        super().setUp()
        self.start_server()
        self.add_queue(os.getpid())

    def into(self, path: str, *words: object, stream: str = "stdout") -> subprocess.CompletedProcess:
        """Runs a command with one stream in that file."""
        with open(path, "w", encoding="ascii") as file:
            streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: file}
            command = [self.filled(str(word)) for word in words]
            return subprocess.run(command, env=self.environment, text=True, timeout=60, check=False,
                                  stdin=subprocess.DEVNULL, **streams)

    def fails_when_full(self, *words: object) -> None:
        """Each word of the command line is right, so only the output is to blame."""
        with self.subTest(words):
            ended = self.into("/dev/full", *words)
            self.assertIn(LOST, ended.stderr)
            self.assertGreater(ended.returncode, 0)

    def verbs(self) -> list[str]:
        listed = self.succeeds(program("kfd-preempt"), "complete", "").stdout.split()
        return [word for word in listed if not word.startswith("-")]

    def test_words_are_of_all_verbs(self):
        self.assertEqual(sorted(self.verbs()), sorted(WORDS))

    def test_full_disk_fails_the_json_of_each_verb(self):
        for verb, words in WORDS.items():
            if verb != "verify":  # a program of its own, without JSON
                self.fails_when_full(program("kfd-preempt"), "-j", verb, *shlex.split(words))

    def test_full_disk_fails_the_text_of_each_verb(self):
        for verb in PRINT:
            once = ["-b"] if verb == "top" else []
            self.fails_when_full(program("kfd-preempt"), verb, *shlex.split(WORDS[verb]), *once)

    def test_full_disk_fails_the_help_of_each_verb(self):
        for verb in WORDS:
            if verb != "verify":
                self.fails_when_full(program("kfd-preempt"), verb, "--help")

    def test_full_disk_fails_the_help_and_version_of_each_program(self):
        for name in "kfd-preempt", "xpreemptd":
            self.fails_when_full(program(name), "--help")
            self.fails_when_full(program(name), "--version")
        self.fails_when_full(program("kfd-preempt-sim"), "--help")
        self.fails_when_full(program("kfd-preempt-sim"), "run", "--help")

    def test_full_disk_fails_the_answers_of_other_programs(self):
        self.fails_when_full(program("xpreemptd"), "--check", "--config", self.write("empty.toml"))
        self.fails_when_full(program("kfd-preempt-sim"), "list")

    def test_full_disk_fails_the_completion(self):
        self.fails_when_full(program("kfd-preempt"), "complete", "")
        self.fails_when_full(program("kfd-preempt-sim"), "complete", "")

    def test_messages_are_printed_where_the_output_is_lost(self):
        ended = self.into("/dev/full", program("kfd-preempt"), "-j", "list", "4194304")
        self.assertIn("pid 4194304: there is no such process", ended.stderr)

    def test_status_of_a_failure_is_kept_where_the_output_is_lost(self):
        ended = self.into("/dev/full", program("kfd-preempt"), "-j", "suspend", os.getpid())
        self.assertEqual(ended.returncode, 3, ended.stderr)

    def test_messages_that_cannot_be_written_change_no_status(self):
        wrong = self.write("wrong.toml", "floor = 3\n")
        for status, words in (
            (1, [program("kfd-preempt"), "list", "4194304"]),
            (2, [program("kfd-preempt"), "list", "demo"]),
            (1, [program("xpreemptd"), "--check", "--config", wrong]),
            (2, [program("xpreemptd"), "--frobnicate"]),
            (1, [program("kfd-preempt-sim"), "run", "absent"]),
        ):
            with self.subTest(words):
                self.assertEqual(self.into("/dev/full", *words, stream="stderr").returncode, status)

    def test_daemon_whose_log_nobody_reads_ends_by_no_signal(self):
        reads, writes = os.pipe()
        os.close(reads)
        with os.fdopen(writes, "w") as log:
            ended = subprocess.run([program("xpreemptd"), "--check", "--config", self.write("wrong.toml", "floor = 3\n")],
                                   stderr=log, env=self.environment, check=False)
        self.assertEqual(ended.returncode, 1)

    def test_closed_stream_is_no_other_file_of_the_program(self):
        """Without a stream at 1 the first file that is opened would be what it prints to."""
        for words in "top -j -n 1", "jobs", "--help":
            with self.subTest(words):
                ran = self.ran("sh", "-c", f'exec "$1" {words} >&-', "-", program("kfd-preempt"))
                self.assertEqual(ran.status, 1, ran)
                self.assertIn("cannot write to standard output: Bad file descriptor", ran.stderr)

    def test_command_of_run_finds_the_streams_as_they_were_given(self):
        ran = self.ran("sh", "-c", 'exec "$1" run -- sh -c "readlink /proc/self/fd/0 >&2; :" <&-', "-", program("kfd-preempt"))
        self.assertEqual((ran.status, ran.stderr), (0, ""), ran)
