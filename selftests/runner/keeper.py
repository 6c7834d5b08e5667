# SPDX-License-Identifier: MIT
"""Decides for a run which parts may be taken from kept results, and stores those that have passed."""

import json
import os
import shutil
import subprocess
import time
from dataclasses import replace

from .digests import write
from .jobs import Job, Process
from .passed import AGAIN, RECORDS, SPOT_CHECKS_S, STORE, Left, Store, spot_checks
from .paths import REPO
from .results import Result


class Keeper:
    def __init__(self, store: Store, again: bool = False, notes_costs: bool = True):
        """again: takes nothing; notes_costs: the parts are whole, so the next run will cost as much."""
        self.store, self.again, self.notes_costs = store, again, notes_costs
        self.commit = commit()
        # CPU seconds of the last run of each part.
        self.costs_file = store.path / "costs.json"
        self.costs: dict[str, float] = {}
        try:
            self.costs = json.loads(self.costs_file.read_text())
        except (OSError, ValueError):
            pass
        # CPU seconds that the taken parts cost when they ran.
        self.taken: dict[str, float] = {}
        # Parts that have passed in this run.
        self.passed: set[str] = set()

    def begin(self, job: Job) -> Job:
        """The job with its directory for records."""
        if not job.records:
            return job
        shutil.rmtree(job.records, ignore_errors=True)
        job.records.mkdir(parents=True)
        environment = {**(job.environment or os.environ), RECORDS: str(job.records), STORE: str(self.store.path)}
        if self.again or job.again or self.store.depends_on_chance(job.name):
            environment[AGAIN] = "1"
        return replace(job, environment=environment)

    def end(self, process: Process) -> bool:
        """Returns false if the part has to run because its kept output does not pass today."""
        job = process.job
        left = Left.in_directory(job.records) if job.records else Left([], {})
        if not left.taken:
            self.costs[job.name] = process.cpu_s
        if not job.records:
            return True
        results = job.reader.results
        failed = any(not result.passed for result in results)
        # A fresh run may be what failed; that result stays.
        stale = self.differs(left, len(results)) or failed and not left.fresh
        if left.taken and stale:
            for identity in left.identities:
                self.store.forget(identity)
            return False
        if failed:
            self.forget(process, left)
        elif left.taken:
            process.before = min(facts["date"] for facts in left.taken.values())
            self.taken[job.name] = sum(facts["cpu_s"] for facts in left.taken.values())
        if not failed:
            self.passed.add(job.name)
            for record in left.records:
                self.store.put(record, part=job.name, commit=self.commit, tests=[each.name for each in results])
        return True

    @staticmethod
    def differs(left: Left, tests: int) -> bool:
        """Whether a part that is one kept run has another number of tests than then."""
        kept = [len(facts["tests"]) for facts in left.taken.values()]
        return len(left.identities) == 1 and kept not in ([], [tests])

    def forget(self, process: Process, left: Left) -> None:
        for identity in left.identities:
            entry = self.store.find(identity)
            self.store.forget(identity)
            # In this very run, by the same judge.
            if entry and process.job.name in self.passed:
                self.store.note_chance(process.job.name, identity)
                text = f"passed before with the same inputs on {entry.date}, fails now: it depends on chance"
                process.job.reader.results.append(Result(f"{process.job.name}: {text}", False))

    def to_check(self) -> list[str]:
        """Parts that were taken and run again all the same: some of them each day, in CI."""
        in_ci = os.environ.get("CI", "") not in ("", "false", "0")
        return spot_checks(self.taken, time.strftime("%Y-%m-%d"), SPOT_CHECKS_S if in_ci else 0)

    def save(self) -> None:
        if self.notes_costs:
            write(self.costs_file, json.dumps(self.costs, indent=1))
        self.store.sweep()


def commit() -> str:
    """The commit of the tree, or nothing where there is none, or no git yet: ci/deps may install it later."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""
