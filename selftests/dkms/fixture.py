# SPDX-License-Identifier: MIT
"""Packages, headers and firmware of made-up machines, which kernel/prepare and the hook of kernels find."""

from runner.paths import REPO
from runner.testing.commands import CommandTest

RELEASE = "6.12.117+deb12-amd64"
VERSION = "6.12.117-1~deb12u1"
SOURCE_PACKAGE = "linux-source-6.12"
AMD = "drivers/gpu/drm/amd"
SECURE_BOOT = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


class MachineTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.tarball = self.work / "linux-source.tar.xz"
        self.environment |= {"DPKG_ADMINDIR": str(self.work / "dpkg"), "EFIVARS": str(self.work / "efivars")}
        self.environment.pop("KFD_PREEMPT_SOURCES", None)

    def install(self, packages: dict[str, str], state: str = "installed") -> None:
        """Makes the database of packages have these alone, NAME: VERSION; their one file is the tarball."""
        field = {"triggers-awaited": "Triggers-Awaited", "triggers-pending": "Triggers-Pending"}.get(state, "Section")
        (self.work / "dpkg/updates").mkdir(parents=True, exist_ok=True)
        entries = ""
        for name, version in packages.items():
            entries += (
                f"Package: {name}\nStatus: install ok {state}\n{field}: other\nArchitecture: all\nVersion: {version}\n"
                "Maintainer: nobody <nobody@example.org>\nDescription: made up\n\n"
            )
            self.write(f"dpkg/info/{name}.list", f"{self.tarball}\n")
        self.write("dpkg/status", entries)

    def add_headers(self, directory, package_id: str) -> None:
        self.write(f"{directory}/include/linux/mm.h", "int vmemdup_user(void);\n")
        self.write(f"{directory}/include/generated/package.h", f'#define LINUX_PACKAGE_ID " {package_id}"\n')

    def secure_boot(self, on: bool, answer: str) -> None:
        """The variable of the firmware, and a mokutil with that answer."""
        self.write(f"efivars/{SECURE_BOOT}").write_bytes(bytes([6, 0, 0, 0, on]))
        self.fake_command("mokutil", f'[ "$1" = --test-key ] && echo "$2 {answer}"')
