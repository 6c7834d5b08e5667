# SPDX-License-Identifier: MIT
"""kernel/prepare, kernel/build-module and DKMS refuse where they must, and report why.

dpkg's own tools read a made-up database, headers and source are small made-up trees; prepare is the real one.
"""

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from fixture import AMD, RELEASE, SOURCE_PACKAGE, VERSION, MachineTest
from runner.paths import REPO
from runner.testing.commands import cases

KERNEL = REPO / "kernel"
FILE = f"{AMD}/amdkfd/kfd.c"
SOURCE = r"""/* Made up. */
#define LIMIT(x) \
	((x) < 3)
struct thing {
	int size;
};

static int unrelated(void)
{
	return 1;
}

int touched(struct thing *t)
{
	return two;
}

int relied_on(int a)
{
	return a; /* as it is */
}
"""
# Not bound to touched(): it fits whatever returns two.
EDITS = f"""@ {FILE.removeprefix("drivers/gpu/drm/amd/")} *
-	return two;
+	return 2;
"""
SCRIPTS = "prepare lay-out apply-edits base-functions probe-kernel probe-tree secure-boot amdkfd-patches/bases".split()


def definitions(tree: Path, *names: str) -> list[str]:
    """Lines of a base: hashes of definitions."""
    listed = "".join(f"{FILE} {name}\n" for name in names)
    ran = subprocess.run([KERNEL / "base-functions", tree], input=listed, text=True, stdout=subprocess.PIPE, check=True)
    return ran.stdout.splitlines()


def make_package(top: Path) -> None:
    """In src a source of one file, in pkg our source with a series of one edit that fits it."""
    source = top / "src" / SOURCE_PACKAGE
    (source / FILE).parent.mkdir(parents=True)
    (source / FILE).write_text(SOURCE)
    series = top / "pkg/kernel/amdkfd-patches/linux-6.12"
    series.mkdir(parents=True)
    (top / "pkg/kernel/amdkfd").mkdir()
    (top / "pkg/uapi").mkdir()
    for name in SCRIPTS:
        shutil.copy(KERNEL / name, top / "pkg/kernel" / name)
    shutil.copy(REPO / "dkms.conf", top / "pkg")
    shutil.copy(REPO / "uapi/kfd_preempt.h", top / "pkg/uapi")
    (top / "pkg/kernel/amdkfd/kfd_preempt.c").write_text("ours\n")
    (series.parent / "edits").mkdir()
    (series.parent / "edits/one.edits").write_text(EDITS)
    relied = [f"function {line}" for line in definitions(source, "LIMIT", "struct thing", "touched()", "relied_on()")]
    patched = shutil.copytree(source, top / "patched")
    (patched / FILE).write_text(SOURCE.replace("return two", "return 2"))
    results = [f"result {line}" for line in definitions(patched, "touched()")]
    (series / "base").write_text("\n".join([f"version {VERSION}", "edits one", *relied, *results]) + "\n")


class PrepareTest(MachineTest):
    @classmethod
    def setUpClass(cls):
        cls.template = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        make_package(cls.template)

    def setUp(self):
        super().setUp()
        shutil.copytree(self.template, self.work, dirs_exist_ok=True)
        self.package = self.work / "pkg"
        self.patches = self.package / "kernel/amdkfd-patches"
        self.patched = self.package / "tree" / FILE
        self.kept = self.work / f"kept/{SOURCE_PACKAGE}_{VERSION}.tar.xz"
        self.pack(SOURCE)
        self.install({SOURCE_PACKAGE: VERSION})
        self.add_headers("headers", f"Debian {VERSION}")
        self.environment["KFD_PREEMPT_SOURCES"] = ""

    def pack(self, text):
        """Makes the source package have this source."""
        self.write(f"src/{SOURCE_PACKAGE}/{FILE}", text)
        with tarfile.open(self.tarball, "w:xz", preset=0) as archive:
            archive.add(self.work / "src" / SOURCE_PACKAGE, SOURCE_PACKAGE)

    def change(self, old, new):
        self.assertIn(old, SOURCE)
        self.pack(SOURCE.replace(old, new))

    def prepare(self, release=RELEASE, **env):
        return self.ran("kernel/prepare", release, self.work / "headers", cwd=self.package, env=env)

    def prepares(self, **env):
        ran = self.prepare(**env)
        self.assertEqual(ran.status, 0, ran)
        text = self.patched.read_text()
        self.assertRegex(text, r"int touched\(struct thing \*t\)\n{\n\treturn 2;")
        return ran

    def refuses(self, *texts, **options):
        """Fails unless prepare fails, in one line that has each of the texts."""
        ran = self.prepare(**options)
        self.assertNotEqual(ran.status, 0, ran)
        lines = [line for line in ran.output.splitlines() if line.startswith("kfd-preempt: ")]
        self.assertEqual(len(lines), 1, ran)
        for text in texts:
            self.assertIn(text, lines[0])
        self.assertFalse((self.package / "prepared").exists())


class Prepare(PrepareTest):
    def test_matching_base_is_prepared_with_our_files_version_and_probes(self):
        self.prepares()
        self.assertEqual((self.patched.parent / "kfd_preempt.c").read_text(), "ours\n")
        for name, text in (
            ("version", r'"0\..* linux-6.12"'),
            ("tree", "Made by kernel/probe-tree"),
            ("kernel", "Made by kernel/probe-kernel"),
        ):
            self.assertRegex((self.patched.parent / f"kfd_preempt_{name}.h").read_text(), text)

    @cases(
        ("change in a function that nothing relies on", "return 1", "return 0"),
        ("new function in front of a patched one", "static int unrelated", "int added(void)\n{\n\treturn 7;\n}\nstatic int unrelated"),
        ("other comment in a function that is relied on", "return a; /* as it is */", "return  a; // moved"),
    )
    def harmless(self, old, new):
        self.change(old, new)
        self.prepares()

    @cases(
        ("change in a function that is relied on is refused by name", "return a", "return -a", "relied_on() has changed since"),
        ("change in a patched function is refused by name", "touched(struct", "touched(const struct", "touched() has changed since"),
        ("change in a macro is refused by name", "< 3", "< 4", "LIMIT has changed since"),
        ("change in a struct is refused by name", "int size", "long size", "struct thing has changed since"),
        ("function that is gone is refused by name", "relied_on", "renamed", "relied_on() has changed since"),
    )
    def harmful(self, old, new, text):
        self.change(old, new)
        self.refuses(f"kfd.c: {text}", "linux-6.12", VERSION)

    def test_edit_that_fits_two_places_is_refused_by_name(self):
        self.change("static int unrelated", "static int twin(void)\n{\n\treturn two;\n}\nstatic int unrelated")
        self.refuses("one.edits", "its anchor is there 2 times", "linux-6.12", VERSION)

    def test_edit_with_another_result_than_that_of_base_is_refused_by_what_it_spoils(self):
        self.write(self.patches / "edits/one.edits", EDITS.replace("2;", "3;"))
        self.refuses("kfd.c: touched() is not what", "linux-6.12", VERSION)

    def test_edit_that_does_not_fit_is_refused_by_name(self):
        self.write(self.patches / "edits/one.edits", EDITS.replace("two", "three"))
        self.refuses("one.edits", "its anchor is there 0 times", "linux-6.12", VERSION)

    def test_kernel_of_no_series_is_refused(self):
        self.write(self.patches / "bases", "linux-5.10 5.10.* linux-source-5.10\n")
        self.refuses(f"{RELEASE}: kernel not supported")

    def test_linux_6_1_is_refused_with_the_kernels_that_support_debian_12(self):
        self.refuses("6.1 is not supported", "amdgpu-dkms", "linux-image-6.12-amd64", release="6.1.0-43-amd64")

    def test_build_stops_at_a_refused_prepare_and_repeats_the_reason(self):
        self.install({})
        self.prepare()
        shutil.copy(KERNEL / "Makefile", self.package / "kernel")
        ran = self.ran("make", "-C", self.package / "kernel", "modules", f"KERNELDIR={self.work}/headers")
        self.assertNotEqual(ran.status, 0, ran)
        self.assertIn(f"{SOURCE_PACKAGE}={VERSION}", ran.output)


class Headers(PrepareTest):
    @cases(
        ("headers without those of linux", "linux/mm.h", "include/linux/mm.h", f"install linux-headers-{RELEASE} again"),
        ("headers without their package", "generated/package.h", f"install linux-headers-{RELEASE}"),
    )
    def incomplete(self, missing, *texts):
        (self.work / "headers/include" / missing).unlink()
        self.refuses(*texts)

    def test_headers_that_debian_has_not_packaged(self):
        self.add_headers("headers", "6.12.117-custom")
        self.refuses("Debian")


class Packages(PrepareTest):
    def test_amdgpu_dkms_without_its_source(self):
        self.install({SOURCE_PACKAGE: VERSION, "amdgpu-dkms": "1:6.4"})
        self.refuses("amdgpu-dkms 1:6.4", "apt-get remove amdgpu-dkms", "is not there")

    def test_amdgpu_dkms_is_refused_with_the_place_of_its_source(self):
        self.install({SOURCE_PACKAGE: VERSION, "amdgpu-dkms": "1:6.4"})
        self.write("dpkg/info/amdgpu-dkms.list", "/usr/src/amdgpu-6.12.12/dkms.conf\n")
        self.refuses("apt-get remove amdgpu-dkms", "(/usr/src/amdgpu-6.12.12) as kernel/README.md says")

    def test_missing_source_package_is_named_with_its_version(self):
        self.install({})
        self.refuses("not installed", f"apt-get install {SOURCE_PACKAGE}={VERSION}")

    def test_source_of_another_version_is_named_with_the_right_one(self):
        self.install({SOURCE_PACKAGE: "6.12.115-2~deb12u1"})
        self.refuses("6.12.115-2~deb12u1", f"apt-get install {SOURCE_PACKAGE}={VERSION}")

    @cases(*((f"source package that is {state} is used", state)
             for state in ("unpacked", "half-configured", "triggers-awaited", "triggers-pending")))
    def unpacked(self, state):
        self.install({SOURCE_PACKAGE: VERSION}, state)
        self.prepares()

    def test_source_package_that_is_half_installed_is_not_used(self):
        self.install({SOURCE_PACKAGE: VERSION}, "half-installed")
        self.refuses("not installed", f"apt-get install {SOURCE_PACKAGE}={VERSION}")

    def test_source_package_without_its_tarball(self):
        self.tarball.unlink()
        self.refuses(f"apt-get install --reinstall {SOURCE_PACKAGE}")

    def test_damaged_tarball(self):
        self.tarball.write_text("garbage\n")
        self.refuses(str(self.tarball))


class KeptSource(PrepareTest):
    def setUp(self):
        super().setUp()
        self.environment["KFD_PREEMPT_SOURCES"] = str(self.kept.parent)

    def move_on(self):
        """Keeps the source; then linux-source has another version."""
        self.prepares()
        self.install({SOURCE_PACKAGE: "6.12.999-1"})
        self.tarball.unlink()

    def test_source_is_kept_as_it_was_before_the_edits(self):
        self.prepares()
        self.assertEqual(list(self.kept.parent.iterdir()), [self.kept])
        with tarfile.open(self.kept) as archive:
            (name,) = (name for name in archive.getnames() if name.endswith("kfd.c"))
            self.assertEqual(archive.extractfile(name).read().decode(), SOURCE)

    def test_kept_source_is_used_when_linux_source_has_moved_on(self):
        self.move_on()
        self.assertIn(f"from {self.kept}", self.prepares().output)

    def test_damaged_kept_source(self):
        self.move_on()
        self.kept.write_text("garbage\n")
        self.refuses(str(self.kept))

    def test_missing_kept_source_is_refused_with_package_and_version(self):
        self.move_on()
        self.kept.unlink()
        self.refuses(f"apt-get install {SOURCE_PACKAGE}={VERSION}")

    def test_nothing_is_kept_where_that_is_turned_off(self):
        self.prepares(KFD_PREEMPT_SOURCES="")
        self.assertFalse(self.kept.parent.exists())

    def test_refused_source_is_neither_kept_nor_left_unpacked(self):
        self.change("return a", "return -a")
        self.refuses()
        self.assertFalse(self.kept.exists())
        self.assertFalse((self.package / "tree").exists())


class SecureBoot(PrepareTest):
    def test_key_that_is_not_enrolled_is_refused_with_the_command(self):
        self.secure_boot(True, "is not enrolled")
        self.refuses("mokutil --import /var/lib/dkms/mok.pub")

    def test_secure_boot_of_another_machine_can_be_ignored(self):
        self.secure_boot(True, "is not enrolled")
        self.prepares(KFD_PREEMPT_SECURE_BOOT="ignore")

    def test_key_whose_enrolment_was_not_confirmed(self):
        self.secure_boot(True, "is already in the enrollment request")
        self.refuses("is not enrolled")

    @cases(*((f"key that {answer} is accepted", True, answer) for answer in ("is already enrolled", "is already in db")),
           ("without Secure Boot no key is needed", False, "is not enrolled"))
    def accepted(self, on, answer):
        self.secure_boot(on, answer)
        self.prepares()


class BuildModule(MachineTest):
    @cases(
        ("build-module without a kernel prints its usage", "", "usage"),
        ("build-module names the missing headers", "--kernelver 1.2.3-none", "linux-headers-1.2.3-none"),
        ("build-module says where the mutants are", f"--kernelver {RELEASE} --mutant none", "no mutant 'none'"),
        ("build-module names an unknown option", "--bogus", "--bogus"),
    )
    def refused(self, words, text):
        ran = self.ran(KERNEL / "build-module", *words.split())
        self.assertNotEqual(ran.status, 0, ran)
        self.assertIn(text, ran.output)
