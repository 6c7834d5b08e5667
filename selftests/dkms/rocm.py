# SPDX-License-Identifier: MIT
"""Sources of ROCm's driver laid out as AMD's packages do, made from Debian's source by rocm-tree.sh."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from fixture import MachineTest
from runner.paths import REPO

TARBALL = os.environ.get("LINUX_TARBALL") or "/usr/src/linux-source-6.12.tar.xz"
OURS = re.search(r'^PACKAGE_VERSION="(.*)"', (REPO / "dkms.conf").read_text(), re.MULTILINE)[1]


def in_rocm_tree(work: Path, root: Path, command: str, *words: str) -> None:
    """Runs a function of rocm-tree.sh."""
    script = f'set -eu; top=$1 work=$2 root=$3; . "$top/selftests/dkms/rocm-tree.sh"; shift 3; {command} "$@"'
    subprocess.run(["sh", "-c", script, "sh", REPO, work, root, *words], check=True)


def installed_kernel() -> str:
    """The newest 6.12 whose headers are installed."""
    builds = [path.parent.name for path in Path("/lib/modules").glob("6.12.*/build")]
    if not builds or not shutil.which("dkms"):
        raise LookupError("needs dkms and headers of Debian's 6.12; run ci/deps")
    return max(builds, key=lambda release: [int(number) for number in re.findall(r"\d+", release)])


class RocmTest(MachineTest):
    """Root is a directory for /, which the commands take for it."""

    @classmethod
    def setUpClass(cls):
        cls.base = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        in_rocm_tree(cls.base, cls.base, "unpack_base", TARBALL)

    def setUp(self):
        super().setUp()
        self.root = self.work / "root"
        self.sources = self.root / "usr/src"
        self.modules = self.root / "lib/modules"
        self.tree = self.root / "var/lib/dkms"
        for directory in self.sources, self.modules, self.tree, self.root / "boot":
            directory.mkdir(parents=True)
        self.environment |= {"KFD_PREEMPT_ROOT": str(self.root), "KFD_PREEMPT_MODULES": str(self.modules)}

    def lay_out(self, version: str, driver: str = "6.12.12") -> Path:
        in_rocm_tree(self.base, self.root, "lay_out", version, driver)
        return self.sources / f"amdgpu-{version}"

    def link_headers(self, release: str) -> None:
        (self.modules / release).mkdir()
        (self.modules / release / "build").symlink_to(Path(f"/lib/modules/{release}/build").resolve())

    def change(self, path: Path, pattern: str, replacement: str) -> None:
        text, count = re.subn(pattern, replacement, path.read_text(), flags=re.MULTILINE)
        self.assertGreater(count, 0, f"{path} has no {pattern}")
        path.write_text(text)

    def modinfo(self, release: str, field: str) -> str:
        (module,) = (self.modules / release / "updates/dkms").glob("amdgpu.ko*")
        return self.succeeds("/sbin/modinfo", "-F", field, module).stdout.strip()
