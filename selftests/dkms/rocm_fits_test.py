# SPDX-License-Identifier: MIT
"""Whether rocm-fits says which sources of ROCm's driver our edits fit, also of one that has some files only."""

import shutil

from rocm import RocmTest
from runner.paths import REPO

DEB = "6.12.12-2164967.24.04"


class RocmFits(RocmTest):
    def fits(self, *words):
        """Whether all of it fits, and the output."""
        ran = self.ran(REPO / "selftests/dkms/rocm-fits", *words)
        self.assertIn(ran.status, (0, 1), ran)
        return ran.status == 0, ran.output

    def test_source_fits_the_description_of_its_version(self):
        fits, output = self.fits(self.lay_out(DEB))
        self.assertTrue(fits, output)
        self.assertIn("# driver 6.12.12; ", output)
        self.assertIn("\nok 1 - it fits the description of 6.12\n", output)
        self.assertNotIn("ok 2", output)

    def test_some_of_its_files_fit(self):
        source = self.lay_out(DEB)
        shutil.rmtree(source / "amd/amdgpu")
        (source / "amd/amdgpu").mkdir()
        fits, output = self.fits(source)
        self.assertTrue(fits, output)

    def test_function_that_is_gone_is_named(self):
        source = self.lay_out(DEB)
        self.change(source / "amd/amdkfd/kfd_device_queue_manager.c", r"\bexecute_queues_cpsch\b", "run_queues_cpsch")
        fits, output = self.fits(source)
        self.assertFalse(fits, output)
        self.assertIn("not ok 1 - it fits the description of 6.12", output)
        self.assertIn("kfd_device_queue_manager.c has no execute_queues_cpsch()", output)

    def test_source_is_not_changed(self):
        source = self.lay_out(DEB)
        before = shutil.copytree(source, self.work / "before")
        self.fits(source)
        self.succeeds("diff", "-r", before, source)

    def test_source_of_no_known_version_is_tried_with_each_description(self):
        source = self.lay_out(DEB)
        shutil.rmtree(source / "amd/dkms")
        _, output = self.fits(source)
        self.assertIn("# driver of no known version; ", output)
        for tree in (REPO / "kernel/amdkfd-patches/rocm/trees").iterdir():
            self.assertRegex(output, rf"ok \d - it fits the description of {tree.name}\b")

    def test_description_that_is_named_is_the_only_one(self):
        _, output = self.fits(self.lay_out(DEB), "6.14")
        self.assertRegex(output, r"ok 1 - it fits the description of 6\.14\b")
        self.assertNotIn("ok 2", output)

    def test_directory_without_a_driver(self):
        ran = self.ran(REPO / "selftests/dkms/rocm-fits", self.work)
        self.assertEqual(ran.status, 2, ran)
        self.assertIn("has no directory amdkfd", ran.output)
