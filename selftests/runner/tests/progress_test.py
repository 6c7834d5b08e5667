# SPDX-License-Identifier: MIT
"""How far a run is."""

import time
import unittest
from pathlib import Path
from types import SimpleNamespace

from runner.jobs import Job
from runner.progress import Plan
from runner.results import BootReader, TapReader


def part(name: str) -> Job:
    return Job(name, [], BootReader(name, []) if "/" in name else TapReader(), Path("log"))


class Plans(unittest.TestCase):
    COSTS = {"vm/a": 100, "vm/b": 200, "vm/c": 300, "lint": 60}

    def plan(self, waiting: list[str], running: dict[str, float], done: list[str], costs=None) -> str:
        now = time.monotonic()
        begun = [SimpleNamespace(job=part(name), began=now - seconds) for name, seconds in running.items()]
        ended = {name: SimpleNamespace(job=part(name)) for name in done}
        return str(Plan.of([part(name) for name in waiting], begun, ended, self.COSTS if costs is None else costs, 2))

    def test_line_has_the_boot_that_runs_and_the_time_of_the_rest(self):
        self.assertEqual(self.plan(["vm/c", "lint"], {"vm/b": 80}, ["vm/a"]), "boot 2 of 3, about 4 min")

    def test_a_part_that_takes_longer_than_before(self):
        self.assertEqual(self.plan(["vm/c"], {"vm/b": 900}, []), "boot 1 of 2, about 2 min")

    def test_a_part_that_never_ran(self):
        self.assertEqual(self.plan(["vm/new"], {"vm/b": 80}, []), "boot 1 of 2")

    def test_before_the_first_boot(self):
        self.assertEqual(self.plan(["vm/c", "vm/b"], {"lint": 0}, []), "about 5 min")

    def test_without_boots_and_costs(self):
        self.assertEqual(self.plan([], {"lint": 0}, [], {}), "")

    def test_the_last_seconds_are_not_named(self):
        self.assertEqual(self.plan([], {"lint": 50}, []), "")

    def test_a_part_that_runs_once_more(self):
        self.assertEqual(self.plan(["vm/a"], {}, ["vm/a", "vm/b"]), "boot 2 of 2")
