# SPDX-License-Identifier: MIT
"""The runner takes a kept result for the same inputs, and for no other ones."""

import contextlib
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Callable
from unittest import mock

from runner import budget
from runner import main as runner_main
from runner import passed
from runner.engine import Engine
from runner.jobs import Job
from runner.keeper import Keeper
from runner.passed import Store
from runner.paths import REPO, VM
from runner.progress import Display
from runner.results import BootReader, Result, TapReader

from fake_guest import FakeGuest


class Quiet(Display):
    """Keeps its lines instead of printing them."""

    def __init__(self):
        super().__init__(interval_s=60)
        self.live, self.lines = False, []

    def line(self, text: str) -> None:
        self.lines.append(text)


class Kept(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.guest = FakeGuest(self.directory)
        self.enterContext(mock.patch.dict(os.environ, self.guest.environment))
        self.store = Store(self.directory / "cache/kfd-preempt/passed")
        self.display = Quiet()

    def boot(self, *options: str, records: bool = True, **fields) -> Job:
        out = self.directory / "out"
        words = [str(VM / "run"), "--no-build", "--out", str(out), "--add", str(self.guest.program), *options]
        return Job(
            "vm/one",
            [*words, "--", "one"],
            fields.pop("reader", None) or BootReader("one", ["one"]),
            self.directory / "vm-one.log",
            records=self.directory / "records" if records else None,
            **fields,
        )

    def run_jobs(self, *jobs: Job, again: bool = False) -> Engine:
        self.display.lines.clear()
        engine = Engine(jobs, 2, self.display, Keeper(self.store, again))
        engine.run()
        engine.keeper.save()
        return engine

    def boots(self, *options: str, again: bool = False, **fields) -> tuple[bool, bool]:
        """Whether it passed, and whether the guest has run for that."""
        before = self.guest.started()
        engine = self.run_jobs(self.boot(*options, **fields), again=again)
        return all(each.passed for each in engine.results()), self.guest.started() > before

    def entries(self) -> list[Path]:
        return [path for path in self.store.path.glob("[0-9a-f]*") if path.is_dir()]

    def entry(self) -> Path:
        (path,) = self.entries()
        return path

    def assert_not_kept(self, run: Callable[[], tuple[bool, bool]]) -> None:
        """It fails, leaves nothing, and runs again."""
        for _ in range(2):
            self.assertEqual(run(), self.FAILED)
            self.assertEqual(self.entries(), [])

    PASSED, PASSED_BEFORE, FAILED = (True, True), (True, False), (False, True)


class Boots(Kept):
    def test_the_second_run_takes_what_the_first_printed(self):
        self.assertEqual(self.boots(), self.PASSED)
        self.assertEqual(self.boots(), self.PASSED_BEFORE)
        today = time.strftime("%Y-%m-%d")
        self.assertRegex(self.display.lines[-1], rf"vm/one: 2 passed before \({today} \d\d:\d\d, the same inputs\)$")
        self.assertIn("ok 1 - a", (self.directory / "out/output.log").read_text())
        self.assertTrue((self.directory / "out/vgpu.json").exists())

    def test_what_an_entry_says(self):
        self.boots()
        facts = json.loads((self.entry() / "run.json").read_text())
        self.assertEqual(facts["tests"], ["one: one: a", "one: kernel log and vgpu have nothing to complain about"])
        self.assertEqual(facts["part"], "vm/one")
        self.assertEqual(facts["files"], ["dmesg.log", "inputs", "output.log", "qemu.log", "vgpu.json", "vgpu.log"])
        self.assertGreater(facts["cpu_s"], 0)
        self.assertAlmostEqual(facts["date"], time.time(), delta=60)
        self.assertIn("commit", facts)

    def test_again(self):
        self.boots()
        self.assertEqual(self.boots(again=True), self.PASSED)
        self.assertEqual(self.boots(), self.PASSED_BEFORE)

    def test_without_a_directory_for_records(self):
        self.boots()
        self.assertEqual(self.boots(records=False), self.PASSED)

    def test_another_option(self):
        self.boots()
        self.assertEqual(self.boots("--param", "a=1"), self.PASSED)

    def test_a_program_that_fails_now(self):
        self.boots()
        self.guest.executable(self.guest.program, self.guest.program.read_text().replace("ok 1", "not ok 1"))
        self.assertEqual(self.boots(), self.FAILED)
        self.assertEqual(self.boots(), self.FAILED)

    def test_a_failed_boot_is_not_kept(self):
        self.guest.executable(self.guest.program, "#!/bin/sh\necho '@run one'\necho 'not ok 1 - a'\necho '@exit 1'\n")
        self.assert_not_kept(self.boots)

    def test_a_skipped_test_is_not_kept(self):
        skipped = "#!/bin/sh\necho '@run one'\necho 'ok 1 - a # SKIP no GPU'\necho '@exit 0'\n"
        self.guest.executable(self.guest.program, skipped)
        self.assert_not_kept(self.boots)

    def test_a_failed_check_is_not_kept(self):
        self.assert_not_kept(lambda: self.boots(reader=BootReader("one", ["one", "two"])))

    def test_an_error_in_the_kernel_log_is_not_kept(self):
        qemu = self.directory / "qemu"
        self.guest.executable(qemu, qemu.read_text().replace("Linux", "BUG: a report"))
        self.assert_not_kept(self.boots)

    def test_the_end_of_a_part_that_passed_removes_a_failed_one(self):
        self.boots()
        identity = self.entry().name
        self.assertEqual(self.boots(reader=BootReader("one", ["one", "two"]), again=True), self.FAILED)
        self.assertIsNone(self.store.find(identity))

    def test_a_boot_that_does_not_end_removes_the_kept_result(self):
        self.boots("--no-gpu")
        self.guest.starts.unlink()
        self.guest.starts.mkdir()  # QEMU writes there; now it ends before the guest does
        engine = self.run_jobs(self.boot("--no-gpu"), again=True)
        self.assertFalse(all(each.passed for each in engine.results()))
        self.assertEqual(self.entries(), [])


class Poisoned(Kept):
    """An entry that was edited or cut off: the part runs again."""

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.entry() / name
        self.assertIn(old, path.read_text())
        path.write_text(path.read_text().replace(old, new))

    def test_an_entry_that_was_edited(self):
        self.boots()
        ways = {
            "a failed test": lambda: self.edit("output.log", "ok 1", "not ok 1"),
            "no last line": lambda: self.edit("output.log", "@exit 0\n", ""),
            "a test less": lambda: self.edit("run.json", '"one: one: a"', '"one: one: a", "one: one: b"'),
            "a report of the kernel": lambda: self.edit("dmesg.log", "Linux", "BUG: a report"),
            "a status of the vgpu": lambda: self.edit("run.json", '"vgpu": 0', '"vgpu": 3'),
            "a file less": lambda: (self.entry() / "dmesg.log").unlink(),
            "a fact less": lambda: self.edit("run.json", '"cpu_s"', '"seconds"'),
            "half of the facts": lambda: self.edit("run.json", "}", ""),
        }
        for name, poison in ways.items():
            with self.subTest(name):
                poison()
                self.assertEqual(self.boots(), self.PASSED)
        self.assertEqual(self.boots(), self.PASSED_BEFORE)

    def test_a_judge_that_became_stricter(self):
        class Stricter(BootReader):
            def parse(self, text: str) -> Result | None:
                result = super().parse(text)
                return result and replace(result, passed=False)

        self.boots()
        self.assertEqual(self.boots(reader=Stricter("one", ["one"])), self.FAILED)


class Trust(Kept):
    """Entries that are ignored."""

    def setUp(self):
        super().setUp()
        self.boots()
        self.path = self.entry()

    def found(self) -> bool:
        return self.store.find(self.path.name) is not None

    def test_an_entry_of_today(self):
        self.assertTrue(self.found())

    def test_one_that_others_can_write(self):
        for path in (self.path, self.path / "output.log", self.store.path):
            mode = path.stat().st_mode
            path.chmod(mode | 0o020)
            with self.subTest(path):
                self.assertFalse(self.found())
            path.chmod(mode)
        self.assertTrue(self.found())

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a file away")
    def test_one_of_another_owner(self):
        os.chown(self.path / "output.log", 65534, -1)
        self.assertFalse(self.found())

    def dated(self, days: float) -> bool:
        facts = json.loads((self.path / "run.json").read_text())
        facts["date"] = time.time() - days * 86400
        (self.path / "run.json").write_text(json.dumps(facts))
        return self.found()

    def test_one_of_more_than_14_days(self):
        self.assertTrue(self.dated(13.9))
        self.assertFalse(self.dated(14.1))

    def test_one_of_tomorrow(self):
        self.assertFalse(self.dated(-1))

    def test_a_link_to_another_directory(self):
        elsewhere = self.directory / "elsewhere"
        self.path.rename(elsewhere)
        self.path.symlink_to(elsewhere)
        self.assertFalse(self.found())


class Chance(Kept):
    def test_spot_checks_change_by_the_day_and_stay_below_their_bound(self):
        costs = {f"vm/{number}": 20.0 for number in range(20)}
        days = [passed.spot_checks(costs, f"2026-11-{day:02}", 60) for day in range(1, 31)]
        self.assertTrue(all(len(day) == 3 for day in days))
        self.assertEqual(days[0], passed.spot_checks(costs, "2026-11-01", 60))
        self.assertGreater(len({name for day in days for name in day}), 15)
        self.assertEqual(passed.spot_checks(costs, "2026-11-01", 0), [])

    def test_only_ci_checks(self):
        self.boots()
        engine = self.run_jobs(self.boot())
        for value, wanted in (("", []), ("true", ["vm/one"])):
            with mock.patch.dict(os.environ, {"CI": value}):
                self.assertEqual(engine.keeper.to_check(), wanted)

    def test_a_check_that_passes_is_a_result_of_today(self):
        self.boots()
        engine = self.run_jobs(self.boot())
        self.assertTrue(engine.done["vm/one"].before)
        before = self.guest.started()
        engine.again(["vm/one"], 1)
        self.assertEqual(self.guest.started(), before + 1)
        self.assertIsNone(engine.done["vm/one"].before)

    def test_a_check_that_fails(self):
        self.boots()
        engine = self.run_jobs(self.boot())
        # The same inputs, another result: here because nothing that the guest prints is read.
        with mock.patch.object(BootReader, "line", lambda reader, text: None):
            engine.again(["vm/one"], 1)
        why = [each.name for each in engine.results() if not each.passed]
        today = time.strftime("%Y-%m-%d")
        self.assertRegex(why[-1], rf"^vm/one: passed before with the same inputs on {today} .*, fails now: it depends on chance$")
        self.assertTrue(self.store.depends_on_chance("vm/one"))
        self.assertEqual(self.boots(), self.PASSED)
        self.assertEqual(self.boots(), self.PASSED)  # not taken any more

    def test_chance_is_forgotten_after_14_days(self):
        self.store.note_chance("vm/one", "identity")
        old = time.time() - 14.1 * 86400
        os.utime(self.store.chance("vm/one"), (old, old))
        self.assertFalse(self.store.depends_on_chance("vm/one"))


class Runs(Kept):
    def keeps(self, *words: str) -> bool:
        return runner_main.Run(runner_main.arguments().parse_args(words)).keeps()

    def test_only_some_runs_keep_results(self):
        self.assertTrue(self.keeps())
        self.assertTrue(self.keeps("vm/hws"))
        self.assertTrue(self.keeps("--again"))
        self.assertFalse(self.keeps("--filter", "storm"))
        self.assertFalse(self.keeps("--rerun-failed"))
        self.assertFalse(self.keeps("--kernel", "kasan"))
        self.assertFalse(self.keeps("--suites", "selftests/soak.toml"))
        elsewhere = ("--results", str(self.directory / "elsewhere"))
        self.assertTrue(self.keeps(*elsewhere, "--suites", "selftests/soak.toml"))
        self.assertTrue(self.keeps(*elsewhere, "--kernel", "kasan"))
        self.assertFalse(self.keeps(*elsewhere, "--filter", "storm"))

    def test_results_of_another_directory(self):
        """They are neither taken from the cache nor put there."""
        self.boots()
        usual, self.store = self.store, Store(self.directory / "elsewhere")
        self.assertEqual(self.boots(), self.PASSED)
        self.assertEqual(self.boots(), self.PASSED_BEFORE)
        self.assertEqual(self.boots("--param", "a=1"), self.PASSED)
        self.assertEqual(len(self.entries()), 2)
        self.store = usual
        self.assertEqual(len(self.entries()), 1)

    def test_a_run_begins_without_git(self):
        with mock.patch.dict(os.environ, {"PATH": str(self.directory)}):
            self.assertEqual(Keeper(self.store).commit, "")

    def test_a_script_that_boots(self):
        """Its boots are taken, and the script itself runs."""
        script = f'{VM}/run --no-build --add {self.guest.program} -- one | grep -q "ok 1" && echo "ok 1 - it boots"'
        job = Job("script", ["/bin/sh", "-c", script], TapReader(), self.directory / "log", records=self.directory / "records")
        self.run_jobs(job)
        engine = self.run_jobs(job)
        self.assertEqual([each.passed for each in engine.results()], [True])
        self.assertTrue(engine.done["script"].before)
        self.assertEqual(self.guest.started(), 1)

    def test_a_script_of_which_a_new_boot_fails(self):
        """Its kept boot is no reason to run the script until that passes."""
        boot = f"{VM}/run --no-build --no-gpu --add {self.guest.program} --"

        def script(text: str) -> Engine:
            words = ["/bin/sh", "-c", text]
            return self.run_jobs(Job("script", words, TapReader(), self.directory / "log", records=self.directory / "records"))

        script(f"{boot} one >/dev/null && echo 'ok 1 - one'")
        engine = script(f"{boot} one >/dev/null; {boot} other >/dev/null; echo 'not ok 1 - other'")
        self.assertEqual([each.passed for each in engine.results()], [False])
        self.assertEqual(self.guest.started(), 2)
        self.assertEqual(self.entries(), [])

    def whole_run(self, *words: str) -> list[str]:
        """The lines of a run of a table with one suite, which boots."""
        table = self.directory / "suites.toml"
        boot = f"{VM}/run --no-build --add {self.guest.program} -- one | grep 'ok 1' && echo 1..1"
        table.write_text(f'[booted]\ncommand = {json.dumps(f"sh -c {shlex.quote(boot)}")}\n')
        printed = io.StringIO()
        places = {"LOG_DIR": str(self.directory / "logs"), "CI": ""}
        known = budget.Budget(parts={"booted": 60})
        self.enterContext(mock.patch.object(budget.Budget, "read", classmethod(lambda cls: known)))
        self.enterContext(mock.patch.object(budget, "counts", lambda jobs, build, logs: {}))
        with mock.patch.object(runner_main, "SUITES", table), mock.patch.dict(os.environ, places):
            with contextlib.redirect_stdout(printed):
                options = ["--no-build", "--suites", str(table), "--junit", str(self.directory / "junit.xml"), *words]
                self.assertEqual(runner_main.main(options), 0)
        return printed.getvalue().splitlines()

    def test_the_last_lines_of_a_run(self):
        self.assertEqual(self.whole_run()[-1], "1 passed, 0 failed")
        lines = self.whole_run()
        self.assertRegex(lines[-2], r"^1 of them passed before with the same inputs, the oldest \d+ s ago$")
        self.assertEqual(lines[-1], "1 passed, 0 failed")
        self.assertEqual(self.guest.started(), 1)
        self.assertIn('<property name="passed before" value="20', (self.directory / "junit.xml").read_text())
        self.assertEqual(len([line for line in self.whole_run("--again") if "before" in line]), 0)
        self.assertEqual(self.guest.started(), 2)

    def test_the_age_of_results(self):
        ages = {30: "30 s", 90: "90 s", 600: "10 min", 7000: "116 min", 3 * 3600: "3 h", 5 * 86400: "5 days"}
        self.assertEqual([passed.age(seconds) for seconds in ages], list(ages.values()))


class Suites(Kept):
    """Suites of this machine, in a tree with only their inputs."""

    def setUp(self):
        super().setUp()
        self.tree = self.directory / "tree"
        shutil.copytree(REPO / "selftests/runner", self.tree / "selftests/runner", ignore=shutil.ignore_patterns("tests"))
        (self.tree / "inputs").mkdir()
        (self.tree / "inputs/one").write_text("1\n")
        (self.tree / "beside").write_text("2\n")
        self.guest.executable(self.tree / "test", '#!/bin/sh\ncat inputs/* && echo "ok 1 - a" && echo run >>$COUNT\n')
        for words in (["init", "-q"], ["add", "."]):
            self.git(*words)
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a")
        self.count = self.directory / "count"
        self.built = self.directory / "build"
        (self.built / "one.txt").write_text(f"made in {self.built}\n")

    def git(self, *words: str) -> None:
        status = os.spawnlp(os.P_WAIT, "git", "git", "-C", str(self.tree), *words)
        self.assertEqual(status, 0)

    def suite(self, command: str = "./test", inputs: tuple[str, ...] = ("test", "inputs/**"), again: bool = False, **fields: object):
        """Whether it passed, and whether it has run."""
        table = self.directory / "suites.toml"
        lines = ["[one]", f"command = {json.dumps(command)}", f"inputs = {json.dumps(inputs)}"]
        table.write_text("\n".join([*lines, *(f"{name} = {json.dumps(value)}" for name, value in fields.items())]))
        script = self.tree / "test"
        script.write_text(script.read_text().replace("$COUNT", str(self.count)))
        job = Job(
            "one",
            [sys.executable, str(self.tree / "selftests/runner/run-suite"), str(table), "one"],
            TapReader(),
            self.directory / "one.log",
            records=self.directory / "records",
        )
        before = self.ran()
        engine = self.run_jobs(job, again=again)
        return all(each.passed for each in engine.results()), self.ran() > before

    def ran(self) -> int:
        return len(self.count.read_text().splitlines()) if self.count.exists() else 0

    def test_a_suite_that_passed_before(self):
        self.assertEqual(self.suite(), self.PASSED)
        self.assertEqual(self.suite(), self.PASSED_BEFORE)
        self.assertEqual(self.suite(again=True), self.PASSED)

    def test_each_kind_of_input(self):
        more = {"built": ["tests/**", "!**/*.o"], "cached": ["things"], "git": True}
        (self.built / "tests/deep").mkdir(parents=True)
        (self.built / "tests/deep/one.o").touch()
        (self.built / "one.txt").rename(self.built / "tests/deep/one.txt")
        self.assertEqual(self.suite(**more), self.PASSED)
        self.assertEqual(self.suite(**more), self.PASSED_BEFORE)

        def commit():
            self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "b")

        def shallow():
            head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.tree, stdout=subprocess.PIPE, check=True).stdout
            (self.tree / ".git/shallow").write_bytes(head)

        def locale():
            self.enterContext(mock.patch.dict(os.environ, {"LC_ALL": "C.UTF-8"}))

        changes = {
            "a file of the tree": lambda: (self.tree / "inputs/one").write_text("3\n"),
            "a new file": lambda: (self.tree / "inputs/two").write_text("3\n"),
            "a mode": lambda: (self.tree / "inputs/one").chmod(0o755),
            "a built file": lambda: (self.built / "tests/deep/one.txt").write_text("other\n"),
            "a commit": commit,
            "a history that ends earlier": shallow,
            "an environment variable": locale,
        }
        for name, change in changes.items():
            with self.subTest(name):
                change()
                self.assertEqual(self.suite(**more), self.PASSED)
                self.assertEqual(self.suite(**more), self.PASSED_BEFORE)
        self.assertEqual(self.suite(command="./test more", **more), self.PASSED)
        (self.built / "tests/deep/one.o").write_text("no input")
        (self.built / "tests/Testing/Temporary").mkdir(parents=True)
        (self.built / "tests/Testing/Temporary/LastTest.log").write_text("no input")
        self.assertEqual(self.suite(command="./test more", **more), self.PASSED_BEFORE)

    def test_a_file_that_is_no_input(self):
        self.assertEqual(self.suite(), self.PASSED)
        (self.tree / "beside").write_text("3\n")
        self.assertEqual(self.suite(), self.PASSED_BEFORE)

    def test_a_suite_reads_an_undeclared_file(self):
        for path in ("beside", f"{self.tree}/beside", str(self.built / "one.txt"), f"{self.directory}/cache/kfd-preempt/thing"):
            Path(self.directory / "cache/kfd-preempt").mkdir(parents=True, exist_ok=True)
            (self.directory / "cache/kfd-preempt/thing").touch()
            self.assertTrue((self.tree / path).exists())
            script = f"#!/bin/sh\ncat {path} && echo 'ok 1 - a'\n"
            self.guest.executable(self.tree / "test", script)
            with self.subTest(path):
                self.assertFalse(self.suite()[0])

    def test_a_declared_directory_of_the_cache(self):
        things = self.directory / "cache/kfd-preempt/things"
        self.guest.executable(self.tree / "test", f"#!/bin/sh\nset -e\necho 1 >>{things}/thing\necho 'ok 1 - a'\n")
        self.assertFalse(self.suite()[0])
        self.assertTrue(self.suite(cached=["things"])[0])
        self.assertEqual((things / "thing").read_text(), "1\n")

    def test_a_suite_sees_no_other_variable(self):
        self.guest.executable(self.tree / "test", "#!/bin/sh\n[ -z \"$OTHER\" ] && echo 'ok 1 - a'\n")
        with mock.patch.dict(os.environ, {"OTHER": "1"}):
            self.assertTrue(self.suite()[0])

    def test_git_in_a_suite_knows_who_runs_sudo(self):
        self.guest.executable(self.tree / "test", "#!/bin/sh\n[ \"$SUDO_UID\" = 7 ] && echo 'ok 1 - a'\n")
        with mock.patch.dict(os.environ, {"SUDO_UID": "7"}):
            self.assertTrue(self.suite()[0])

    def test_a_suite_that_writes_to_its_tree(self):
        self.guest.executable(self.tree / "test", "#!/bin/sh\necho 9 >inputs/one; echo 'ok 1 - a'\n")
        self.assertTrue(self.suite()[0])
        self.assertEqual((self.tree / "inputs/one").read_text(), "1\n")

    def test_why_git_does_not_list_the_files(self):
        shutil.rmtree(self.tree / ".git")
        self.assertFalse(self.suite()[0])
        self.assertRegex((self.directory / "one.log").read_text(), "cannot be run: git does not list .*: fatal: not a git repository")

    def test_a_failed_suite_is_not_kept(self):
        self.guest.executable(self.tree / "test", "#!/bin/sh\necho run >>$COUNT\necho 'not ok 1 - a'\nexit 1\n")
        self.assert_not_kept(self.suite)

    def test_without_namespaces_nothing_is_kept(self):
        tools = self.directory / "tools"
        tools.mkdir()
        self.guest.executable(tools / "unshare", "#!/bin/sh\nexit 1\n")
        with mock.patch.dict(os.environ, {"PATH": f"{tools}:{os.environ['PATH']}"}):
            self.assertEqual(self.suite(), self.PASSED)
            self.assertEqual(self.suite(), self.PASSED)

    def test_the_same_text_in_another_build_directory(self):
        """A clone elsewhere has the same inputs."""
        self.assertEqual(self.suite(built=["one.txt"]), self.PASSED)
        other = self.directory / "elsewhere"
        self.built.rename(other)
        (other / "one.txt").write_text(f"made in {other}\n")
        with mock.patch.dict(os.environ, {"BUILD_DIR": str(other)}):
            self.assertEqual(self.suite(built=["one.txt"]), self.PASSED_BEFORE)
