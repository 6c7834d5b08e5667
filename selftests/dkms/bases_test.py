# SPDX-License-Identifier: MIT
"""All series together: the table of bases, one source, the claims of the READMEs."""

import re
from fnmatch import fnmatchcase

from runner.paths import REPO
from runner.testing.commands import CommandTest

PATCHES = REPO / "kernel/amdkfd-patches"
BASES = [line.split() for line in (PATCHES / "bases").read_text().splitlines() if not line.startswith("#")]
SERIES = sorted(path.name for path in PATCHES.glob("linux-*"))


class Bases(CommandTest):
    def test_each_series_is_in_bases_and_has_a_file_series(self):
        self.assertEqual(SERIES, sorted(name for name, *_ in BASES))
        self.assertEqual([name for name in SERIES if not (PATCHES / name / "series").exists()], [])

    def test_no_patch_touches_the_files_of_kernel_amdkfd(self):
        """They would differ from one kernel to the next."""
        patches = [patch for name in SERIES for patch in PATCHES.glob(f"{name}/*/*.patch")]
        self.assertTrue(patches)
        ours = re.compile(r"^\+\+\+ b/.*/kfd_preempt", re.MULTILINE)
        self.assertEqual([str(patch) for patch in patches if ours.search(patch.read_text())], [])

    def test_kernel_of_each_base_is_one_of_bases_and_dkms_builds_for_it(self):
        exclusive = re.search(r'^BUILD_EXCLUSIVE_KERNEL="(.*)"', (REPO / "dkms.conf").read_text(), re.MULTILINE)[1]
        for name, pattern, *_ in BASES:
            release = re.search(r"^kernel (.*)", (PATCHES / name / "base").read_text(), re.MULTILINE)[1]
            self.assertTrue(fnmatchcase(release, pattern), f"base has {release}, bases have {pattern}")
            self.assertRegex(release, exclusive)

    def test_debian_package_has_a_trigger_for_each_source_package(self):
        """A linux-source package that comes after its headers makes it build."""
        # The trigger on /usr/src itself is for amdgpu-dkms.
        text = (REPO / "debian/kfd-preempt-dkms.triggers").read_text()
        triggers = re.findall(r"^interest.*\.tar.*", text, re.MULTILINE)
        wanted = [f"interest-noawait /usr/src/{package}.tar.xz" for _, _, package, *_ in BASES]
        self.assertEqual(sorted(triggers), sorted(wanted))

    def test_readme_of_the_kernel_has_the_table_of_support_table(self):
        table = self.succeeds(REPO / "kernel/support-table").stdout
        readme = (REPO / "kernel/README.md").read_text()
        self.assertEqual(readme.partition("<!-- kernel/support-table -->\n")[2].partition("<!-- end -->")[0], table)
