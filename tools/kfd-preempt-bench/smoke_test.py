# SPDX-License-Identifier: MIT
"""Runs kfd-preempt-bench for a moment: its figures are there, and wrong words are refused."""

import json
import shlex
import subprocess

from runner.testing.commands import CommandTest, cases, fails, program

WORDS = (
    "machine", "commit", "seed     7", "submit_inline", "memory_500k_queued", "reaction_p50", "lv1_suspend_over_T_20us",
    "measured", "emulated", "predicted", "method",
)  # fmt: skip


class Bench(CommandTest):
    def test_report_has_every_figure_and_the_file_every_sample(self):
        raw = self.work / "raw"
        report = self.succeeds(program("kfd-preempt-bench"), "--samples", 5, "--seed", 7, "--raw", raw).stdout
        self.assertEqual([word for word in WORDS if word not in report], [])
        samples = [line for line in raw.read_text().splitlines() if line.startswith("submit_inline,ns,measured,")]
        self.assertEqual(len(samples), 5)

    def test_json_has_figures_and_their_targets(self):
        report = json.loads(self.succeeds(program("kfd-preempt-bench"), "--json", "--samples", 5, "null").stdout)
        self.assertTrue(report["machine"] and report["commit"] and not report["skipped"])
        figures = {figure["name"]: figure for figure in report["figures"]}
        inline = figures["submit_inline"]
        self.assertEqual((inline["n"], inline["target"]), (5, 100))
        self.assertTrue(0 < inline["p50"] <= inline["p99"] <= inline["max"], inline)
        for name, figure in figures.items():
            if "target" not in figure:
                continue
            value = figure[figure["target_of"]]
            self.assertEqual(figure["met"], value <= figure["target"], name)
            # A busy machine is some times slower. A lost fast path costs a factor of fifty or more.
            self.assertTrue(figure["target_of"] != "p50" or value < 10 * figure["target"], f"{name}: {value}")

    def test_full_disk_is_a_failure(self):
        for words in ["--help"], ["--json", "--samples", "1", "null"]:
            with open("/dev/full", "w", encoding="ascii") as full:
                command = [program("kfd-preempt-bench"), *words]
                ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            self.assertNotEqual(ran.returncode, 0, words)
            self.assertIn("cannot write to standard output: No space left on device", ran.stderr)

    @cases(
        ("unknown suite", "nul", "not a suite"),
        ("no samples", "--samples 0", "samples: .0. is not a number"),
        ("seed that is no number", "--seed x", "not a number"),
        ("samples with a leading zero", "--samples 010", "samples: .010. is not a number"),
        ("two runtimes in a process", "null hip", "a process each"),
        ("file in no directory", "--raw $work/none/raw", "No such file"),
        ("unknown option", "--unknown", "usage"),
    )
    def refused(self, words, text):
        self.meets(fails(64, text), program("kfd-preempt-bench"), *shlex.split(self.filled(words)))
