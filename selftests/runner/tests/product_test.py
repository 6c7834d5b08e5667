# SPDX-License-Identifier: MIT
"""No test of the guest is lost between the boots of ci/test and those that only ci/soak runs."""

import re
import tomllib
import unittest
from datetime import date, timedelta
from pathlib import Path

from runner import boots, rotation
from runner.paths import REPO

SUITES = REPO / "selftests/suites.toml"
SOAK = REPO / "selftests/soak.toml"

# The product of tests and configurations: programs, and the boots of ci/test or ci/soak matrix that run them.
ONE_XCC = "driver-hws no-hws mi250 mi250-no-hws mi100 mi100-no-hws"
PRODUCT = [
    (
        "abi_test state_test preempt_test operator_test switch_test pm4_test sdma_test checkpoint_test"
        " other_calls_test counts_test",
        f"{ONE_XCC} hws-xcc4 no-hws-xcc4",
    ),
    ("watch_test watch_race_test", f"{ONE_XCC} no-hws-xcc4"),
    ("contended_test born_test release_test leader_test sysfs_test storm suspend_test", ONE_XCC),
    ("trace_test bench_preempt fuzz_ioctls evicted_exit_test", "driver-hws no-hws"),
    ("gws_test crowd_test", "driver-hws hws-xcc4 mi250 mi100"),
    ("debugger_test fast_test tenant_test same_user_test", "driver-hws mi250 mi100"),
    ("drain_test", "no-hws no-hws-xcc4 mi250-no-hws mi100-no-hws"),
    ("undo_test", "no-hws no-hws-xcc4"),
    ("xcc_test", "hws-xcc4 no-hws-xcc4 hws-xcc8 no-hws-xcc4-schedule"),
    ("storm schedule_test", "hws-schedule no-hws-xcc4-schedule"),
    ("bench_preempt", "no-hws-xcc8"),
    ("same_user_test", "same-user same-user-no-hws"),
    ("possession_test", "possession possession-no-hws"),
    ("no_cwsr_test", "no-cwsr no-cwsr-hws"),
    ("late_test", "late late-xcc1 late-xcc4 late-all-xcc4"),
    ("never_test", "late never"),
    ("evict_test", "pressure pressure-no-hws"),
    ("yield_test yield_turns_test yield_restore_test give_test", "yield yield-no-hws yield-256 yield-256-no-hws"),
    ("yield_failed_test", "yield yield-256"),
    ("swap_test", "swap swap-no-hws"),
    ("in_reset_test end_in_reset_test", "in-reset in-reset-no-hws in-reset-no-hws-xcc1"),
    ("preempt_test crowd_test doorbell_test hang_test", "by-doorbell"),
    (
        "command_test.py daemon_test.py shown_test.py hints_test.py policies_test.py crash_rounds",
        "tools-hws tools-no-hws",
    ),
    ("freeze_test.py containers_test.py bad_days_test.py replay_test.py", "tools-hws"),
    ("memory_test.py turns_test.py", "memory memory-256"),
    ("verify_test.py", "verify verify-no-hws verify-naive"),
]
# HIP programs that run under a storm, and the boots.
HIP = (
    "matmul histogram nbody vadd reduce ledger tally scratch scratch_O0 reclaim streams device_printf graph pool"
    " managed sort_scan wheel roundtrip cu_mask models loaders captures all_reduce"
)
HIP_PRODUCT = [
    (HIP + " cooperative", "Storm Plain", "rocm-hws"),
    (HIP, "Storm", "rocm-no-hws"),
    ("matmul reduce scratch streams graph managed cooperative sort_scan", "Storm", "rocm-hws-xcc4"),
]
# Programs of selftests/kfd_preempt that are no tests, and one for the test kernels only (selftests/kernels).
NO_TESTS = {"preempt_demo", "vram_job", "bench_preempt", "bench_switch", "unmodelled_shader", "failnth_test"}
# Scripts of tools/tests/guest for ci/soak only.
SOAK_ONLY = {"steady_test.py", "service_test.py", "daemon_figures_test.py", "llama-in-guest"}


def words(command: str) -> set[str]:
    return set(re.findall(r"[\w.-]+", command))


def of_suites(path: Path, *names: str) -> list[boots.Boot]:
    tables = tomllib.loads(path.read_text())
    files = [REPO / file for name in names for file in tables[name]["boots"]]
    return boots.load(files)


def programs(boot: boots.Boot) -> set[str]:
    return {word for command in boot.run for word in words(command)}


class Product(unittest.TestCase):
    def setUp(self):
        self.daily = {boot.name: boot for boot in of_suites(SUITES, "vm")}
        self.matrix = {boot.name: boot for boot in of_suites(SOAK, "matrix")}

    def test_every_program_of_the_driver_is_in_a_boot_of_ci_test(self):
        makefile = (REPO / "selftests/kfd_preempt/Makefile").read_text()
        listed = re.search(r"^PROGRAMS := ([^\\\n]*(?:\\\n[^\\\n]*)*)", makefile, re.MULTILINE)
        assert listed
        wanted = set(listed[1].replace("\\\n", " ").split()) - NO_TESTS
        self.assertGreater(len(wanted), 50)
        self.assertEqual(wanted - self.run_daily(), set())

    def test_every_source_of_a_test_is_built(self):
        makefile = words((REPO / "selftests/kfd_preempt/Makefile").read_text())
        sources = {path.stem for path in (REPO / "selftests/kfd_preempt").glob("*_test.c")}
        self.assertEqual(sources - makefile, set())

    def test_every_script_of_the_command_is_in_a_boot_of_ci_test(self):
        guest = REPO / "tools/tests/guest"
        wanted = {path.name for path in (*guest.glob("*-in-guest"), *guest.glob("*_test.py"))} - SOAK_ONLY
        self.assertGreater(len(wanted), 10)
        self.assertEqual(wanted - self.run_daily(), set())

    def test_every_HIP_program_is_in_a_boot_of_ci_test(self):
        wanted = {path.stem for path in (REPO / "selftests/hip").glob("*.hip")} - {"batch", "server", "turnover"}
        self.assertGreater(len(wanted), 15)
        # The part `Replaced` runs turnover.
        self.assertEqual((wanted | {"Replaced"}) - self.run_daily(), set())

    def run_daily(self) -> set[str]:
        return {word for boot in self.daily.values() for word in programs(boot)}

    def test_ci_test_and_the_matrix_have_the_whole_product(self):
        for names, where in PRODUCT:
            for boot in where.split():
                with self.subTest(boot):
                    self.assertEqual(set(names.split()) - programs(self.matrix[boot]), set())

    def test_ci_test_and_the_matrix_have_every_HIP_program(self):
        for names, parts, where in HIP_PRODUCT:
            for part in parts.split():
                with self.subTest(f"{where} {part}"):
                    run = [words(command) for command in self.matrix[where].run]
                    found = {word for command in run if part in command for word in command}
                    self.assertEqual(set(names.split()) - found, set())

    def test_the_matrix_has_all_that_ci_test_has(self):
        for name, boot in self.daily.items():
            with self.subTest(name):
                self.assertEqual(set(boot.run) - set(self.matrix[name].run), set())


class Rotation(unittest.TestCase):
    def setUp(self):
        self.suite = tomllib.loads(SUITES.read_text())["rotation"]
        tables = [[REPO / file for file in self.suite[key]] for key in ("boots", "rotation")]
        self.boots = boots.load(*tables)
        self.length = len(rotation.slices(self.boots))

    def test_it_has_all_that_ci_test_leaves_out(self):
        daily = {(boot.name, command) for boot in of_suites(SUITES, "vm") for command in boot.run}
        matrix = {(boot.name, command) for boot in of_suites(SOAK, "matrix") for command in boot.run}
        rotated = {(boot.name, command) for boot in self.boots for command in boot.run}
        self.assertEqual(matrix - daily, rotated)

    def test_every_command_has_its_day(self):
        seen = []
        for day in range(self.length):
            boot, _ = rotation.of_day(self.boots, date(2026, 11, 28) + timedelta(day))
            seen += [(boot.name, command) for command in boot.run]
        wanted = [(boot.name, command) for boot in self.boots if boot.slice for command in boot.run]
        self.assertEqual(sorted(seen), sorted(wanted))
