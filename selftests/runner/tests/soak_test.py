# SPDX-License-Identifier: MIT
"""ci/soak --resume continues where the last one ended, and counts no result of another tree."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

from runner.paths import REPO

# Ends as the file `plan` of the directory says, which has lines WORD PASSED FAILED, and notes each call. `kill`
# in place of the numbers ends the soak as a machine that is switched off does.
RUN = """#!/bin/bash
for suite in "$@"; do :; done
echo "$suite" >>"$FAKE/ran"
read -r _ passed failed < <(grep "^$suite " "$FAKE/plan" || echo "$suite 2 0")
[ "$passed" != kill ] || { kill -9 "$(cat "$FAKE/pid")"; exit 1; }
[ "$passed" != edit ] || { echo more >>"$FAKE/tree/source"; passed=2; }
echo "$passed passed, ${failed:-0} failed"
"""
MACHINE = """#!/bin/bash
echo machine >>"$FAKE/ran"
grep -q '^machine fail' "$FAKE/plan" && exit 1
echo '# 1000 arms against 1000 rings'
"""


class Soak(unittest.TestCase):
    def setUp(self):
        self.fake = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.tree = self.fake / "tree"
        for name in ("ci/soak", "selftests/soak.toml"):
            self.copy(name)
        for path in (REPO / "selftests/runner").glob("*.py"):
            self.copy(str(path.relative_to(REPO)))
        for name in ("ci/deps", "selftests/vm/build"):
            self.script(name, "#!/bin/sh\n")
        self.script("selftests/run", RUN)
        self.script("selftests/vm/run", MACHINE)
        self.script(".gitignore", "build/\n__pycache__/\n")
        self.script("source", "one\n")
        self.script("selftests/RESULTS.md", "none\n")
        self.git("init", "--quiet")
        self.commit()
        self.plan()

    def copy(self, name: str) -> None:
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPO / name, path)

    def script(self, name: str, text: str) -> None:
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def git(self, *words: str) -> None:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *names, *words], cwd=self.tree, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=a")

    def plan(self, *lines: str) -> None:
        (self.fake / "plan").write_text("".join(f"{line}\n" for line in lines))

    def soak(self, *words: str, directory: str = "results") -> list[str]:
        """Its last lines; self.ran has what it ran, self.status its status."""
        (self.fake / "ran").write_text("")
        environment = {**os.environ, "FAKE": str(self.fake)}
        environment.pop("LOG_DIR", None)
        resume = ["--resume", str(self.fake / directory)] if directory else []
        child = subprocess.Popen(
            [str(self.tree / "ci/soak"), *resume, *words],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )
        (self.fake / "pid").write_text(str(child.pid))
        output, _ = child.communicate(timeout=300)
        self.status, self.ran = child.returncode, (self.fake / "ran").read_text().split()
        return output.splitlines()

    def rows(self, lines: list[str]) -> dict[str, str]:
        cells = (line.strip("| ").split(" | ") for line in lines if line.startswith("| "))
        return {name: text for name, text in cells}

    def test_each_suite_that_it_runs_is_in_the_table(self):
        text = (REPO / "ci/soak").read_text()
        named = re.findall(r"\b(?:self\.suite\(|SUITES, )\"([a-z][a-z0-9-]+)", text)
        # A part without a function is a suite.
        functions = [name.replace("_", "-") for name in re.findall(r"^    def ([a-z0-9_]+)\(", text, re.MULTILINE)]
        named += set(re.search(r'^PARTS = """([^"]*)"""', text, re.MULTILINE)[1].split()) - set(functions)
        known = tomllib.loads((REPO / "selftests/soak.toml").read_text())
        self.assertGreater(len(named), 20)
        self.assertEqual([name for name in named if name not in known], [])

    def test_without_resume(self):
        lines = self.soak("memory", "kunit", directory="")
        self.assertEqual((lines[-1], self.status, self.ran), ("4 passed, 0 failed", 0, ["memory", "kunit"]))

    def test_each_part_once(self):
        self.soak("memory")
        self.assertEqual(self.ran, ["memory"])
        self.soak("memory", "kunit")
        self.assertEqual(self.ran, ["kunit"])
        lines = self.soak("memory", "kunit")
        self.assertEqual(self.ran, [])
        rows = self.rows(lines)
        self.assertRegex(rows["memory"], r"^2 passed, 0 failed, \d+ s, 20\d\d-\d\d-\d\d \d\d:\d\d, commit [0-9a-f]{12}$")
        self.assertEqual(rows["kasan"], "not run")
        self.assertRegex(lines[-1], r"^4 passed, 0 failed; \d+ of \d+ parts have no result of this tree$")
        self.assertEqual(self.status, 1)

    def test_a_soak_that_was_killed(self):
        """Its finished parts, and the finished steps of the part that it was in, stay."""
        self.plan("mi250-sdk kill")
        self.soak("memory", "gpus")
        self.assertEqual(self.ran, ["memory", "mi250", "mi250-hip-5", "mi250-sdk"])
        self.plan()
        lines = self.soak("memory", "kunit")
        self.assertEqual(self.rows(lines)["gpus"], "not finished: 2 steps have ended")
        lines = self.soak("memory", "gpus")
        self.assertEqual(self.ran[:2], ["mi250-sdk", "mi250-libraries"])
        self.assertEqual(len(self.ran), 7)
        self.assertRegex(self.rows(lines)["gpus"], r"^18 passed, 0 failed,")

    def test_a_part_that_failed(self):
        """It stays failed until somebody asks for it again, and then the table says so."""
        self.plan("memory 1 1", "machine fail")
        self.soak("memory", "watch")
        self.assertEqual(self.ran, ["memory", "machine", "machine"])
        self.plan()
        lines = self.soak("memory", "watch")
        self.assertEqual(self.ran, [])
        self.assertRegex(self.rows(lines)["watch"], r"^0 passed, 2 failed,")
        self.assertRegex(lines[-1], r"^1 passed, 3 failed;")
        lines = self.soak("--again", "memory")
        self.assertEqual(self.ran, ["memory"])
        self.assertRegex(self.rows(lines)["memory"], r"^2 passed, 0 failed, .*; 2 runs, 1 of those before failed$")

    def test_another_tree(self):
        self.soak("memory", "kunit")
        self.script("source", "two\n")
        lines = self.soak("kunit")
        self.assertEqual(self.ran, ["kunit"])
        rows = self.rows(lines)
        self.assertRegex(rows["memory"], r"^not counted \(another tree: 1 files differ, in source\): 2 passed, 0 failed, ")
        self.assertRegex(rows["kunit"], r"commit [0-9a-f]{12}\+$")
        self.assertRegex(lines[-1], r"^2 passed, 0 failed;")
        self.commit()  # the same content
        self.soak("kunit")
        self.assertEqual(self.ran, [])

    def test_the_page_of_the_results_is_no_input(self):
        self.soak("memory")
        self.script("selftests/RESULTS.md", "some\n")
        self.soak("memory")
        self.assertEqual(self.ran, [])

    def test_another_machine(self):
        self.soak("memory")
        file = self.fake / "results/results"
        lines = [json.loads(line) | {"machine": "other"} for line in file.read_text().splitlines()]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.assertIn("(other packages or another machine)", self.rows(self.soak("kunit"))["memory"])

    def test_a_tree_that_changes_during_a_part(self):
        self.plan("memory edit")
        lines = self.soak("memory", "kunit")
        self.assertIn("soak: memory/memory: the tree or the packages changed while it ran, so its result is not kept", lines)
        self.assertEqual((self.ran, self.status), (["memory"], 64))
        self.assertEqual((self.fake / "results/results").exists(), False)

    def test_a_line_that_was_cut_off(self):
        self.soak("memory", "kunit")
        file = self.fake / "results/results"
        file.write_text(file.read_text()[:-20])
        lines = self.soak("memory", "kunit")
        self.assertEqual(self.ran, [])  # the step of kunit is whole
        self.assertRegex(self.rows(lines)["kunit"], "^2 passed, 0 failed,")

    def test_seed_and_minutes_are_those_of_the_first(self):
        first = self.soak("--seed", "7", "memory")
        self.assertIn("soak: memory; seed 7, 60 minutes of rounds", first)
        self.assertIn("soak: memory; seed 7, 60 minutes of rounds", self.soak("memory"))
        lines = self.soak("--seed", "8", "memory")
        self.assertRegex(lines[-1], r"^soak: --seed 8: the results in .* are of --seed 7$")
        self.assertEqual(self.status, 64)

    def test_a_directory_in_the_tree(self):
        lines = self.soak("memory", directory="tree/results")
        self.assertRegex(lines[-1], "^soak: .* is in the tree and not ignored by git")
        self.soak("memory", directory="tree/build/results")
        self.assertEqual(self.ran, ["memory"])

    def test_two_at_once(self):
        self.soak("memory")
        with open(self.fake / "results/lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lines = self.soak("kunit")
        self.assertRegex(lines[-1], "^soak: another soak runs with ")
        self.assertEqual(self.ran, [])

    def test_all_parts(self):
        """Status 0 needs a result of each part."""
        script = self.tree / "ci/soak"
        text = script.read_text()
        self.script("ci/soak", re.sub('^PARTS = """[^"]*"""', 'PARTS = "memory kunit"', text, flags=re.MULTILINE))
        self.commit()
        self.soak("memory")
        self.assertEqual(self.status, 1)
        lines = self.soak()
        self.assertEqual((lines[-1], self.status, self.ran), ("4 passed, 0 failed", 0, ["kunit"]))
