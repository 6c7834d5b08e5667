# SPDX-License-Identifier: MIT
"""Prolog and epilog of slurmd: what they leave below /run, and that no failure of theirs drains the node."""

from runner.paths import REPO
from runner.testing.commands import CommandTest, cases

JOB = {"SLURM_JOB_ID": "77", "SLURM_JOB_PARTITION": "interactive"}


class Scripts(CommandTest):
    def setUp(self):
        super().setUp()
        self.directory = self.work / "run/kfd-preempt/slurm"

    def runs(self, script, variables):
        text = (REPO / "tools/xpreemptd/deploy/slurm" / script).read_text()
        self.environment |= variables
        return self.succeeds("sh", self.write(script, text.replace("/run/kfd-preempt", f"{self.work}/run/kfd-preempt")))

    def left(self):
        return sorted(path.name for path in self.directory.iterdir())

    @cases(
        ("the number of the job", {}, ["77"]),
        ("its SLUID in the variable of the prolog", {"SLURM_JOB_SLUID": "sEKNKTV3WPV500"}, ["77", "sEKNKTV3WPV500"]),
        ("its SLUID in the variable of jobs", {"SLURM_SLUID": "sEKNKTV3WPV500"}, ["77", "sEKNKTV3WPV500"]),
    )
    def noted(self, more, names):
        self.runs("prolog", JOB | more)
        self.assertEqual(self.left(), names)
        for name in names:
            self.assertEqual((self.directory / name).read_text(), "interactive\n")
        self.runs("epilog", {})
        self.assertEqual(self.left(), [])

    def test_a_partition_that_slurm_does_not_name_is_reported(self):
        ran = self.runs("prolog", {"SLURM_JOB_ID": "77"})
        self.assertIn("the partition of job 77 was not written", ran.stderr)

    def test_a_directory_that_cannot_be_made_is_reported(self):
        self.write("run/kfd-preempt", "")
        ran = self.runs("prolog", JOB)
        self.assertIn("the partition of job 77 was not written", ran.stderr)

    def test_a_disk_without_room_is_reported_and_nothing_is_left(self):
        self.fake_command("mv", "exit 1")
        self.directory.mkdir(parents=True)
        self.assertIn("the partition of job 77 was not written", self.runs("prolog", JOB).stderr)
        self.assertEqual(self.left(), [])

    @cases(("prolog", "prolog"), ("epilog", "epilog"))
    def nameless(self, script):
        self.directory.mkdir(parents=True)
        self.runs(script, {})
        self.assertEqual(self.left(), [])
