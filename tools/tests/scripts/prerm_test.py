# SPDX-License-Identifier: MIT
"""The removal of kfd-preempt-dkms where entries of DKMS are broken, with a stub in the place of dkms."""

import shutil

from runner.paths import REPO
from runner.testing.commands import CommandTest, cases

OURS, ROCM = ("kfd-preempt", "1.0"), ("kfd-preempt-rocm", "1.0+6.12")


class Prerm(CommandTest):
    def setUp(self):
        super().setUp()
        text = (REPO / "debian/kfd-preempt-dkms.prerm").read_text()
        text = text.replace("#MODULE_VERSION#", "1.0").replace("#DEBHELPER#\n", "")
        for place, ours in ("/usr/src/", "src/"), ("/var/lib/dkms", "dkms"), ("/etc/dkms/", "etc/"):
            text = text.replace(place, f"{self.work}/{ours}")
        self.prerm = self.write("prerm", text)
        self.source = self.work / "src"
        self.use_tree("dkms")
        # remove -m MODULE -v VERSION --all: fails for an entry whose link does not lead to its source, as dkms does.
        self.fake_command("dkms", f"""
            [ "$1" = remove ] || exit 0
            entry={self.work}/$(cat {self.work}/tree)/$3/$5
            [ -d "$entry/source" ] || exit 4
            rm -r "$entry" """)

    def use_tree(self, name):
        self.write("tree", name)
        self.tree = self.work / name
        for directory in self.tree, self.source, self.work / "dkms", self.work / "etc/framework.conf.d":
            directory.mkdir(parents=True, exist_ok=True)

    def add(self, module, version):
        (self.source / f"{module}-{version}").mkdir()
        (self.tree / module / version).mkdir(parents=True)
        (self.tree / module / version / "source").symlink_to(self.source / f"{module}-{version}")

    def removes_all(self, verb="remove"):
        self.succeeds("sh", self.prerm, verb)
        self.assertEqual([*self.tree.iterdir(), *(self.work / "dkms").iterdir(), *self.source.glob("*rocm*")], [])

    def test_whole_entries_are_removed(self):
        self.add(*OURS)
        self.add(*ROCM)
        self.removes_all()

    @cases(
        *((f"{verb}: our entry without its source", verb, OURS, "src/kfd-preempt-1.0") for verb in ("remove", "upgrade")),
        *((f"{verb}: an entry for ROCm without its source", verb, ROCM, "src/kfd-preempt-rocm-1.0+6.12")
          for verb in ("remove", "upgrade")),
        *((f"{verb}: an entry for ROCm without its link", verb, ROCM, "dkms/kfd-preempt-rocm/1.0+6.12/source")
          for verb in ("remove", "upgrade")),
    )
    def broken(self, verb, entry, missing):
        self.add(*entry)
        path = self.work / missing
        (path.unlink if path.is_symlink() else path.rmdir)()
        self.removes_all(verb)

    @cases(
        ("a tree elsewhere", "framework.conf", "dkms_tree=\"$work/elsewhere\" # of the site", True),
        ("a tree elsewhere, the entries without their sources", "framework.conf.d/site.conf", "dkms_tree=$work/elsewhere", False),
    )
    def settled(self, file, text, has_sources):
        self.use_tree("elsewhere")
        self.write(f"etc/{file}", self.filled(text) + "\n")
        self.add(*OURS)
        self.add(*ROCM)
        if not has_sources:
            shutil.rmtree(self.source)
        self.removes_all()

    def test_a_configuration_that_is_no_shell_script(self):
        self.write("etc/framework.conf", "if (\n")
        self.add(*OURS)
        self.removes_all()

    def test_an_entry_of_another_version_is_left_alone(self):
        self.add("kfd-preempt", "0.9")
        self.succeeds("sh", self.prerm, "remove")
        self.assertTrue((self.tree / "kfd-preempt/0.9").is_dir())
