# SPDX-License-Identifier: MIT
"""Fixtures of tests that run as root in the guest: programs with queues, their progress, and cgroups."""

import json
import os
import random
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

from runner.testing.commands import CommandTest, Expected, Ran, matches

CGROUPS = Path("/sys/fs/cgroup")
SEED = int(os.environ.get("SEED") or time.time())
RANDOM = random.Random(SEED)


def cgroup(name: str) -> Path:
    """Makes a cgroup of version 2."""
    if not (CGROUPS / "cgroup.controllers").exists():
        CGROUPS.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "cgroup2", "cgroup2", CGROUPS], check=True)
    path = CGROUPS / name
    path.mkdir(parents=True, exist_ok=True)
    return path


class Owner:
    """A process with queues, which writes to a file how far each of them has come."""

    def __init__(self, name: str, pid: int, progress_file: Path):
        self.name, self.pid, self.progress_file = name, pid, progress_file

    def progress(self) -> list[str]:
        """One number for each queue."""
        return self.progress_file.read_text().split() if self.progress_file.exists() else []

    def __str__(self) -> str:
        return f"{self.name}, pid {self.pid}: progress {self.progress()}"


class Queue(Owner):
    """One queue of a process; the first one that it has made is number 0."""

    def __init__(self, owner: Owner, number: int):
        super().__init__(f"queue {number} of {owner.name}", owner.pid, owner.progress_file)
        self.number = number

    def progress(self) -> list[str]:
        return super().progress()[self.number :][:1]


class Program(Owner):
    """A process of the test."""

    def __init__(self, name: str, command: list[object], output: Path, group: Path | None = None, **options):
        self.output = output
        if group:
            options["preexec_fn"] = lambda: (group / "cgroup.procs").write_text("0")
        with output.open("w") as file:
            options = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file, **options}
            self.process = subprocess.Popen([str(word) for word in command], **options)
        super().__init__(name, self.process.pid, output.with_suffix(".progress"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(600)

    def says(self, pattern: str) -> bool:
        """Whether a line of its output matches."""
        return matches(pattern, self.output.read_text(errors="replace"))

    def end(self) -> int:
        """Returns its status, which is 0 if all results are right."""
        self.process.terminate()
        return self.process.wait(600)

    def __str__(self) -> str:
        ended = "" if self.is_alive() else f", ended with status {self.process.returncode}"
        return "\n".join([super().__str__() + ended, *self.output.read_text(errors="replace").splitlines()[-10:]])


class GuestTest(CommandTest):
    POLL_S, PATIENCE_S = 0.1, 240

    def setUp(self):
        super().setUp()
        self.work.chmod(0o755)  # for programs of other users
        self.programs: list[Program] = []

    def context(self) -> str:
        """What a failure is printed with."""
        return "\n".join([f"SEED={SEED}", *map(str, self.programs)])

    def check(self, command: str, expected: Expected | None = None) -> Ran:
        """Runs a command, which succeeds or ends as expected."""
        words = shlex.split(command)
        return self.meets(expected, *words) if expected else self.succeeds(*words)

    def report(self, command: str) -> dict:
        return json.loads(self.check(command).stdout)

    def start(self, name: str, *command: object, **options) -> Program:
        """A process that ends with the test; options are Program's and Popen's."""
        program = self.enterContext(Program(name, [*command], self.work / f"{name}.out", **options))
        self.programs.append(program)
        return program

    def start_queues(self, name: str, *command: object, **options) -> Program:
        """A program whose last argument is the file of its progress, once its queues have begun."""
        (self.work / f"{name}.progress").unlink(missing_ok=True)
        program = self.start(name, *command, self.work / f"{name}.progress", **options)
        self.soon(lambda: program.progress() or not program.is_alive(), f"{name} begins")
        self.assertTrue(program.progress(), f"{name} ended at once")
        return program

    def copied(self, program: str, path: str) -> Path:
        """A copy of a program in `work`, whose path a rule of xpreemptd names."""
        copy = self.write(path, mode=0o755)
        shutil.copyfile(str(shutil.which(program)), copy)
        return copy

    def queue_owner(self, name: str, queues: int = 1, program: object = "queue_owner", **options) -> Program:
        return self.start_queues(name, program, queues, **options)

    def start_vram_job(self, name: str, size: str, program: object = "vram_job", **options) -> Program:
        """A program that asks for VRAM, as much as vram_job takes it: "75" is percent, "+80" MiB."""
        job = self.start(name, program, size, **options)
        self.soon(lambda: job.says("^(ready|FAIL)") or not job.is_alive(), f"{name} begins")
        return job

    def vram_job(self, name: str, size: str, program: object = "vram_job", **options) -> Program:
        """A program that knows every word of its VRAM, once it has it."""
        job = self.start_vram_job(name, size, program, **options)
        self.assertTrue(job.says("^ready"), f"{name} gets {size} of VRAM")
        return job

    def assert_words_right(self, *jobs: Program) -> None:
        """Ends the jobs, which check what they have in VRAM and what their kernels have computed."""
        for job in jobs:
            self.assert_end_right(job)
            self.assertTrue(job.says("^PASS"), f"every word of {job.name} is right")

    def queues_of(self, program: Owner) -> list[dict]:
        """The queues that kfd-preempt lists, with their states."""
        listed = self.report(f"kfd-preempt -j list {program.pid}")["processes"]
        return [queue for process in listed for queue in process["queues"]]

    def queue_ids(self, program: Owner) -> list[int]:
        """In the order in which the program has made its queues."""
        return sorted(queue["queue"] for queue in self.queues_of(program))

    def as_user(self, command: str, expected: Expected | None = None) -> Ran:
        """As check(), by a user who may open /dev/kfd and no more."""
        return self.check(f"su user -c '{command}'", expected)

    def suspended(self, *programs: Owner) -> list[int]:
        """How many queues of each program have a hold that stays without its owner."""
        return [sum("STICKY" in (queue["holds"] or []) for queue in self.queues_of(program)) for program in programs]

    def assert_progress(self, *programs: Owner) -> None:
        """Fails unless each queue of each program gets further."""
        for program in programs:
            before = program.progress()
            self.soon(
                lambda: all(new != old for new, old in zip(program.progress(), before, strict=True)),
                f"{program.name} gets further than {before}",
            )

    def assert_stopped(self, *programs: Owner, beside: Owner) -> None:
        """Fails if a queue of the programs gets further while the one beside them does, three times."""
        # A stopped program may still write the progress that it read before the stop.
        for _ in range(2):
            self.assert_progress(beside)
        before = [program.progress() for program in programs]
        for _ in range(3):
            self.assert_progress(beside)
        self.assertEqual([program.progress() for program in programs], before, "progress while stopped")

    def assert_end_right(self, *programs: Program) -> None:
        for program in programs:
            self.assertEqual(program.end(), 0, f"{program.name} ends right")


def mqds(program: Owner) -> list[list[int]]:
    """The words of each MQD of a program, of debugfs."""
    found = []
    for process in re.split(r"^Process ", Path("/sys/kernel/debug/kfd/mqds").read_text(), flags=re.MULTILINE):
        if process.startswith(f"{program.pid} "):
            for queue in process.split("Compute queue")[1:]:
                lines = re.findall(r"^ *[0-9a-f]+: (.*)", queue, re.MULTILINE)
                found.append([int(word, 16) for word in " ".join(lines).split()])
    return found


def saved_queues(program: Owner) -> int:
    """How many queues of a program have waves on their control stack.

    The save moves cp_hqd_cntl_stack_offset (word 174) down from cp_hqd_cntl_stack_size (word 175).
    """
    return sum(words[174] != words[175] for words in mqds(program))


def doorbell(program: Owner) -> int:
    """That of a program with one queue: DOORBELL_OFFSET of cp_hqd_pq_doorbell_control (word 143)."""
    (words,) = mqds(program)
    return words[143] >> 2 & 0x3FFFFFF
