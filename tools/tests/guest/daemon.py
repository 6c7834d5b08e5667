# SPDX-License-Identifier: MIT
"""Fixtures of tests with xpreemptd: the daemon, its report of a job, and a program that works when it is asked to."""

import json
import signal
import subprocess
from pathlib import Path

from guest import GuestTest, Owner, Program
from runner.testing.commands import Ran

SOCKET = Path("/run/xpreempt/xpreemptd.sock")
HAS_HWS = Path("/sys/module/amdgpu/parameters/sched_policy").read_text().strip() != "2"


def rules(floor: str, *of_band: str) -> str:
    """A program called server is important; this rule is the last one.

    of_band are parameters of the policy. Turns of a floor are short, so that a test does not wait for one.
    """
    band = ["[policy.BAND]", f'floor = "{floor}"', 'floor_turn = "10ms"', *of_band]
    return "\n".join([*band, "[[rule]]", 'executable = "*/server"', 'band = "high"', ""])


class DaemonTest(GuestTest):
    def start_daemon(self, text: str | None = None, verbose: bool = True, **options) -> Program:
        """xpreemptd, once it answers, with these rules or those of the one before; options are Popen's.

        If it is verbose, it prints a line for each stop.
        """
        if text is not None:
            self.write("rules.toml", text)
        command = ["xpreemptd", *(["--verbose"] if verbose else []), "--config", self.work / "rules.toml"]
        daemon = self.start("xpreemptd", *command, **options)
        # Its file of /dev/kfd makes it a process of KFD.
        of_kfd = Path("/sys/class/kfd/kfd/proc") / str(daemon.pid)

        def has_begun() -> bool:
            return of_kfd.exists() and self.ran("kfd-preempt", "policy").status == 0

        self.soon(lambda: has_begun() or not daemon.is_alive(), "xpreemptd begins")
        self.assertTrue(daemon.is_alive(), "xpreemptd ended at once")
        return daemon

    def start_server(self) -> Program:
        """The important program of rules()."""
        return self.queue_owner("server", program=self.copied("queue_owner", "server"))

    def start_requests(self, idle: object, progress: int = 20) -> Program:
        """An important program whose kernels make that much progress; idle are milliseconds, or "signal"."""
        return self.start_queues("requests", self.copied("request_loop", "requests/server"), progress, idle)

    def reload(self, daemon: Program, text: str) -> None:
        self.write("rules.toml", text)
        daemon.process.send_signal(signal.SIGHUP)
        self.soon(lambda: daemon.says("reloaded: "), "xpreemptd has other rules")

    def asked(self, *words: object) -> Ran:
        """The reply of xpreemptd by kfd-preempt.

        The daemon gives its clients a tenth of a CPU: after a slow switch a reply takes longer than kfd-preempt waits.
        """
        replies = [self.ran("kfd-preempt", *words)]

        def is_answered() -> bool:
            replies.append(self.ran("kfd-preempt", *words))
            return replies[-1].status == 0

        if replies[0].status:
            self.soon(is_answered, f"xpreemptd answers {replies[0]}")
        return replies[-1]

    def jobs(self, *programs: Owner) -> list[dict]:
        """The daemon's report of the jobs of these processes; empty while it knows none."""
        jobs = json.loads(self.asked("-j", "jobs").stdout)["jobs"]
        return [next((job for job in jobs if program.pid in job["pids"]), {}) for program in programs]

    def job(self, program: Owner) -> dict:
        return self.jobs(program)[0]

    def is_noted(self, program: Owner, **values: object) -> bool:
        """Whether the daemon reports these values of a job."""
        job = self.job(program)
        return all(job.get(key) == value for key, value in values.items())

    def policy(self) -> dict:
        return json.loads(self.asked("-j", "policy").stdout)

    def states(self, program: Owner) -> set[str]:
        """States of its queues in the driver; a process without a queue yet has none."""
        listed = self.ran("kfd-preempt", "-j", "list", program.pid)
        processes = json.loads(listed.stdout)["processes"] if listed.status == 0 else []
        return {queue["state"] for process in processes for queue in process["queues"]}

    def assert_soon_held(self, *programs: Owner) -> None:
        for program in programs:
            self.soon(lambda: self.states(program) == {"HELD"}, f"{program.name} is held")

    def assert_soon_running(self, *programs: Owner) -> None:
        for program in programs:
            self.soon(lambda: self.states(program) == {"RUNNING"}, f"{program.name} runs")

    def assert_forgotten(self, program: Owner) -> None:
        """The daemon forgets the job of a program that has ended, with all of its processes."""
        name = f"process {program.pid}"

        def is_forgotten() -> bool:
            return all(job["name"] != name for job in json.loads(self.asked("-j", "jobs").stdout)["jobs"])

        self.soon(is_forgotten, f"{name} is forgotten")

    def start_jobs(self, *names: str) -> list[Program]:
        """Programs of these names that compute until they are told to end."""
        return [self.queue_owner(name, program=self.copied("queue_owner", name)) for name in names]

    def start_asked(self, name: str) -> Program:
        """A program of that name which does what ask() says."""
        answers = self.work / f"{name}.progress"
        program = self.start(name, self.copied("hinting", name), SOCKET, answers, stdin=subprocess.PIPE, text=True)
        self.soon(lambda: program.progress() or not program.is_alive(), f"{name} begins")
        self.assertTrue(program.progress(), f"{name} ended at once")
        return program

    def assert_done(self, program: Program, word: str) -> None:
        self.assertEqual(self.ask(program, word), word, f"{word} of {program.name} is done right")

    def assert_asked_end_right(self, program: Program) -> None:
        program.process.stdin.close()
        self.assertEqual(program.process.wait(600), 0, f"{program.name} ends right")

    def ask(self, program: Program, line: str) -> str:
        """The answer to a line: the word itself to work that was done right, xpreemptd's reply to a request."""
        answers = program.progress_file.read_text().count("\n")
        print(line, file=program.process.stdin, flush=True)
        self.soon(lambda: program.progress_file.read_text().count("\n") > answers, f"{program.name} answers {line}")
        return program.progress_file.read_text().splitlines()[-1]


class BatchJob(DaemonTest):
    """A job beside the daemon that any other program may stop."""

    FLOOR = "0%"

    def setUp(self):
        super().setUp()
        self.daemon = self.start_daemon(rules(self.FLOOR))
        self.batch = self.queue_owner("batch", queues=2)

    def assert_all_end_right(self, *jobs: Program) -> None:
        self.assert_end_right(*jobs, self.batch, self.daemon)
