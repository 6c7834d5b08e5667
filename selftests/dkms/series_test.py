# SPDX-License-Identifier: MIT
"""The series themselves: their edits fit the base they name, are clean as patches, small where they touch existing
files, and carry the uapi of this repository. About 20 seconds for each of those whose linux-source package is installed.

ci/series runs this in a root of the release of each.
"""

import os
import re
import shutil
import tempfile
from pathlib import Path

from runner.paths import REPO
from runner.testing.commands import CommandTest, Ran, run_command

KERNEL = REPO / "kernel"
PATCHES = KERNEL / "amdkfd-patches"
MUTANTS = REPO / "selftests/kfd_preempt/mutants"
AMD = "drivers/gpu/drm/amd"
AMDKFD = f"{AMD}/amdkfd"
MAX_HOOK_LINES = 70
WHO = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "series_test"), ("EMAIL", "series_test@example.org"))}


class Series(CommandTest):
    """The checks of one series, whose trees are made once: base as Debian has it, laid_out as DKMS builds it, git the
    mailed series commit by commit, export the mails."""

    series: str
    package: str

    @classmethod
    def setUpClass(cls):
        cls.place = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.base, cls.tree, cls.git, cls.export = (cls.place / name for name in ("base", "laid-out", "git", "export"))
        source = Path(cls.step(KERNEL / "source-tree", f"/usr/src/{cls.package}.tar.xz").stdout.strip())
        # Without the headers of registers, which are half a gigabyte and which no edit changes.
        for name in "amdkfd", "amdgpu":
            shutil.copytree(source / AMD / name, cls.base / AMD / name, symlinks=True)
        shutil.copytree(cls.base, cls.tree, symlinks=True)
        for name in "scripts", "include":
            (cls.tree / name).symlink_to(source / name)
        cls.laid_out = cls.step(KERNEL / "lay-out", cls.tree, cls.series)
        cls.made_git = cls.step(KERNEL / "refresh", "--tree", cls.git, cls.series)
        cls.exported = cls.step(KERNEL / "refresh", "--export", cls.export, cls.series)
        cls.text_of_base = (PATCHES / cls.series / "base").read_text()

    @classmethod
    def step(cls, *command) -> Ran:
        return run_command(command, {**os.environ, **WHO, "LINUX_TARBALL": cls.base})

    def same_tree(self, one, other, *options, also=""):
        """Fails unless the trees are equal, but for files whose line of diff matches."""
        ran = self.ran("diff", "-r", *options, one, other)
        differing = [line for line in ran.output.splitlines() if not also or not re.search(also, line)]
        self.assertEqual(differing, [])

    def has_definitions(self, kind, tree):
        wanted = re.findall(rf"^{kind} (.*)", self.text_of_base, re.MULTILINE)
        names = "".join(line.partition(" ")[2] + "\n" for line in wanted)
        self.assertEqual(self.succeeds(KERNEL / "base-functions", tree, input=names).stdout.splitlines(), wanted)
        self.assertEqual([line for line in wanted if line.startswith("- ")], [], "not found")

    def check_every_definition_of_base_is_as_in_the_source_package(self):
        self.has_definitions("function", self.base)

    def check_edits_fit(self):
        self.assertEqual(self.laid_out.status, 0, self.laid_out)

    def check_git_tree_of_the_mailed_series_is_what_lay_out_makes(self):
        self.assertEqual(self.made_git.status, 0, self.made_git)
        # A series without suites has no use for them.
        suites = rf"^Only in {self.tree}/.*(_test\.[ch]|Kconfig\.preempt)$"
        self.same_tree(self.git / AMDKFD, self.tree / AMDKFD, also=suites)

    def check_every_result_of_base_is_what_the_edits_make(self):
        self.has_definitions("result", self.tree)

    def check_base_is_what_refresh_writes(self):
        (self.work / "selftests/kfd_preempt/mutants").mkdir(parents=True)
        for name in "kernel", "uapi":
            shutil.copytree(REPO / name, self.work / name, symlinks=True)
        self.succeeds(self.work / "kernel/refresh", "--from", self.git, self.series, env=WHO)
        written = self.work / "kernel/amdkfd-patches" / self.series / "base"
        self.assertEqual(written.read_text(), self.text_of_base)

    def check_patches_of_the_exported_series_pass_checkpatch_strict(self):
        self.assertEqual(self.exported.status, 0, self.exported)
        patches = sorted(patch for patch in self.export.glob("00*.patch") if not patch.name.startswith("0000-"))
        self.assertTrue(patches)
        # checkpatch reads its options and leaves a list of names where it runs.
        shutil.copy(KERNEL / "checkpatch.conf", self.work / ".checkpatch.conf")
        for patch in patches:
            with self.subTest(patch.name):
                self.succeeds("perl", self.tree / "scripts/checkpatch.pl", patch, cwd=self.work)

    def check_hooks_are_fewer_than_70_lines(self):
        """Lines added to or removed from files that exist in the base; fixes are not hooks."""
        hooks = [*self.export.glob("*-call-the-queue-preempt-core.patch"), *self.export.glob("*-KUnit-suites-*.patch")]
        self.assertTrue(hooks)
        lines = 0
        for patch in hooks:
            for diff in patch.read_text().split("\ndiff --git ")[1:]:
                if "\nnew file" not in diff:
                    lines += sum(bool(re.match(r"[+-](?!\+\+ |-- |- $)", line)) for line in diff.splitlines())
        self.assertGreater(lines, 0)
        self.assertLess(lines, MAX_HOOK_LINES)

    def check_core_patch_has_new_files_only_and_the_uapi_header(self):
        (core,) = self.export.glob("*-add-the-queue-preempt-core.patch")
        text = core.read_text()
        self.assertNotRegex(text, r"(?m)^--- a/")
        self.assertRegex(text, r"(?m)^\+\+\+ b/.*/kfd_preempt_uapi\.h$")

    def check_no_file_of_ours_depends_on_a_version_of_the_kernel(self):
        """Features of kernels and trees are found in their source."""
        version = re.compile("LINUX_VERSION_CODE|KERNEL_VERSION|linux/version.h")
        ours = list((self.tree / AMDKFD).glob("kfd_preempt*"))
        self.assertTrue(ours)
        self.assertEqual([str(path) for path in ours if version.search(path.read_text())], [])

    def check_mutants_apply(self):
        tree = shutil.copytree(self.tree, self.work / "tree", symlinks=True)
        for mutant in sorted(MUTANTS.glob("*.patch")):
            with self.subTest(mutant.name):
                self.succeeds("patch", "-d", tree, "-p1", "-F0", "--no-backup-if-mismatch", "-i", mutant)
                self.succeeds("patch", "-d", tree, "-R", "-p1", "-s", "-i", mutant)


def tests_of(series: str, package: str) -> type:
    """The checks of Series, with the series in their names."""
    # The mutants are made for the series of ci/test.
    left_out = set() if series == "linux-6.12" else {"check_mutants_apply"}
    checks = {name for name in dir(Series) if name.startswith("check_")} - left_out
    own = {name.replace("check_", f"test_{series}: "): getattr(Series, name) for name in checks}
    return type(f"Series of {series}", (Series,), {"series": series, "package": package, **own})


for bases_line in (PATCHES / "bases").read_text().splitlines():
    words = bases_line.split()
    if not bases_line.startswith("#") and Path(f"/usr/src/{words[2]}.tar.xz").exists():
        globals()[words[0]] = tests_of(words[0], words[2])
