# SPDX-License-Identifier: MIT
"""Runs of jobs on a terminal and in a log: jobs that fail, are killed, or are interrupted."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

PROLOGUE = """
import sys
sys.path.insert(0, {package!r})
from pathlib import Path
from runner.builds import BuildReader
from runner.engine import Engine
from runner.jobs import Job
from runner.main import follow
from runner.progress import Display
from runner.results import TapReader

class Lines(BuildReader):
    count = 0
    def line(self, text):
        self.count += 1
        self.text = f"{{self.count}} lines"

def job(name, script, *needs, **fields):
    fields.setdefault("is_build", True)
    return Job(name, ["/bin/sh", "-ec", "cd {directory}; " + script], fields.pop("reader", None) or Lines(), Path(name + ".log"), set(needs), **fields)

# Like a build: a shell with a child that would outlive it; endless for these tests.
ENDLESS = "echo $$ >>{pids}; sleep 60 & echo $! >>{pids}; wait"

def run(*jobs, slots=4):
    engine = Engine(list(jobs), slots, Display())
    status = follow(engine)
    print("failed:", engine.failed_build.name if engine.failed_build else None)
    sys.exit(status)
"""


class Runs(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.pids = self.directory / "pids"

    def script(self, text: str) -> list[str]:
        path = self.directory / "script.py"
        package = str(Path(__file__).resolve().parents[2])
        prologue = PROLOGUE.format(package=package, pids=self.pids, directory=self.directory)
        path.write_text(prologue + textwrap.dedent(text))
        return [sys.executable, str(path)]

    def start(self, text: str, **options) -> subprocess.Popen:
        environment = {**os.environ, "PROGRESS_INTERVAL": "60", **options.pop("env", {})}
        return subprocess.Popen(
            self.script(text), cwd=self.directory, env=environment, start_new_session=True, text=True, **options
        )

    def run_script(self, text: str, **environment: str) -> tuple[int, str]:
        process = self.start(text, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output

    def on_terminal(self, text: str, columns: int, typed: bytes = b"") -> tuple[int, str]:
        master, slave = pty.openpty()
        import fcntl, struct, termios

        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

        def own_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        environment = {"TERM": "xterm", "COLUMNS": "", "LINES": ""}
        process = self.start(
            text, env=environment, stdin=slave, stdout=slave, stderr=slave, preexec_fn=own_terminal
        )
        os.close(slave)
        if typed:
            self.wait_for_jobs()
            os.write(master, typed)
        output = b""
        while select.select([master], [], [], 60)[0]:
            try:
                output += os.read(master, 1 << 16)
            except OSError:  # nobody has the terminal open any more
                break
        os.close(master)
        return process.wait(60), output.decode()

    def wait_for_jobs(self):
        """Until the endless job and its child run."""
        deadline = time.monotonic() + 60
        while not self.pids.exists() or len(self.pids.read_text().split()) < 2:
            self.assertLess(time.monotonic(), deadline, "no job has begun")
            time.sleep(0.05)

    def assert_no_job_left(self):
        pids = self.pids.read_text().split()
        self.assertGreaterEqual(len(pids), 2)
        for pid in pids:
            status = Path(f"/proc/{pid}/status")
            state = re.search(r"^State:\s*(\S)", status.read_text(), re.MULTILINE) if status.exists() else None
            self.assertTrue(state is None or state[1] == "Z", f"{pid} runs")

    GOOD = """
    run(job("slow", "for line in a b c; do sleep 0.7; echo $line; done"), job("a job with a name that is not short", "echo done"))
    """

    def test_log_has_a_line_for_each_job_that_ended(self):
        status, output = self.run_script(self.GOOD)
        self.assertEqual(status, 0)
        self.assertRegex(output, r"(?m)^\[ 0:\d\d\] slow: 3 lines, \d+ s$")
        self.assertRegex(output, r"(?m)^\[ 0:\d\d\] a job with a name that is not short: 1 lines, \d+ s$")
        self.assertNotIn("...", output)
        self.assertNotIn("\r", output)

    def test_log_has_lines_in_between_as_often_as_asked_for(self):
        _, output = self.run_script(self.GOOD, PROGRESS_INTERVAL="0.5")
        self.assertRegex(output, r" slow \.\.\. ([0-3] lines, )?\d+ s")

    def test_terminal_has_one_line_that_is_rewritten_and_fits(self):
        _, output = self.on_terminal(self.GOOD, 40)
        self.assertRegex(output, r"\r\[[^\r]*slow \.\.\. [^\r]*\x1b\[K")
        for state in re.findall(r"\r([^\r\x1b]*\.\.\.[^\r\x1b]*)\x1b\[K", output):
            self.assertLess(len(state), 40)
        self.assertRegex(output, r"\r\x1b\[K\[ 0:\d\d\] slow: 3 lines, \d+ s\r\n")

    def test_shown_lines_are_whole(self):
        _, output = self.run_script(
            """
            run(job("talk", "printf 'one\\\\ntw'; sleep 0.5; printf 'o\\\\nthree'", shown=lambda line: line))
            """
        )
        self.assertEqual(output.splitlines()[:3], ["one", "two", "three"])

    def test_a_job_runs_after_what_it_needs(self):
        _, output = self.run_script(
            """
            run(job("last", "cat word", "first"), job("first", "sleep 0.5; echo said >word"), job("other", "true"))
            """
        )
        names = re.findall(r"\] (\w+): ", output)
        self.assertEqual(names, ["other", "first", "last"])

    def test_no_more_jobs_than_places(self):
        _, output = self.run_script(
            """
            alone = "mkdir busy; sleep 0.3; rmdir busy"
            run(job("a", alone), job("b", alone), job("c", alone), slots=1)
            """
        )
        self.assertIn("failed: None", output)

    def test_a_failed_build_ends_the_others(self):
        _, output = self.run_script(
            """
            run(job("endless", ENDLESS), job("bad", "until [ -s pids ]; do sleep 0.1; done; sleep 0.3; echo before; false; echo behind"))
            """
        )
        self.assertRegex(output, r"\] bad: 1 lines, \d+ s, failed with status 1\n")
        self.assertRegex(output, r"--- the end of bad.log\nbefore\n---\n")
        self.assertIn("failed: bad", output)
        self.assert_no_job_left()

    def test_a_failed_test_ends_no_other_job(self):
        _, output = self.run_script(
            """
            run(job("bad", "echo not ok 1 - it holds; exit 1", is_build=False, reader=TapReader()), job("good", "sleep 0.5"))
            """
        )
        self.assertIn("not ok - it holds", output)
        self.assertRegex(output, r"\] good: \d+ s\n")
        self.assertIn("failed: None", output)

    def test_last_lines_of_a_job_that_leaves_a_child(self):
        _, output = self.run_script(
            """
            run(job("parent", "sleep 60 & seq 2000; printf last", shown=lambda line: line))
            """
        )
        self.assertEqual(output.splitlines()[1999:2001], ["2000", "last"])

    def test_a_killed_job_leaves_no_child(self):
        _, output = self.run_script('run(job("endless", ENDLESS + " & sleep 0.5; kill -KILL $$"))')
        self.assertIn("failed with status 137", output)
        self.assert_no_job_left()

    def interrupted(self, number: int):
        process = self.start('run(job("endless", ENDLESS))', stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.wait_for_jobs()
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + number)
        self.assertIn(f"stopped by {signal.Signals(number).name}", output)
        self.assert_no_job_left()

    def test_SIGINT(self):
        self.interrupted(signal.SIGINT)

    def test_SIGTERM(self):
        self.interrupted(signal.SIGTERM)

    def test_SIGHUP(self):
        self.interrupted(signal.SIGHUP)

    def test_control_C_on_a_terminal(self):
        status, _ = self.on_terminal('run(job("endless", ENDLESS))', 80, b"\x03")
        self.assertEqual(status, 130)
        self.assert_no_job_left()

    def test_a_reader_that_goes_away(self):
        process = self.start(
            'run(job("endless", ENDLESS))', env={"PROGRESS_INTERVAL": "0.2"}, stdout=subprocess.PIPE
        )
        process.stdout.readline()
        self.wait_for_jobs()
        process.stdout.close()
        self.assertEqual(process.wait(60), 128 + signal.SIGPIPE)
        self.assert_no_job_left()
