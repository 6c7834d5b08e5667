# SPDX-License-Identifier: MIT
import re
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

from runner import boots, builds, hip, provoked, suites
from runner.errors import Refusal
from runner.paths import REPO


class Boots(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def load(self, *texts: str) -> list[boots.Boot]:
        paths = []
        for number, text in enumerate(texts):
            paths.append(self.directory / f"{number}.toml")
            paths[-1].write_text(text)
        return boots.load(paths)

    def refused(self, *texts: str) -> str:
        with self.assertRaises(Refusal) as caught:
            self.load(*texts)
        return str(caught.exception)

    def test_a_boot_in_two_tables_runs_both(self):
        (boot,) = self.load('[a]\nrun = ["x"]\nparam = ["p=1"]', '[a]\nrun = ["y"]\nxccs = 4')
        self.assertEqual((boot.run, boot.param, boot.xccs), (["x", "y"], ["p=1"], [4]))

    def test_a_boot_like_another_has_its_options_and_commands_of_its_own(self):
        text = '[a]\nrun = ["x"]\ncheck = ["c"]\nparam = ["p=1"]\nrocm = true\n[b]\nlike = "a"\nrun = ["y"]\nparam = ["q=1"]'
        a, b = self.load(text)
        self.assertEqual((a.run, a.check, a.param), (["x"], ["c"], ["p=1"]))
        self.assertEqual((b.name, b.run, b.check, b.param, b.rocm), ("b", ["y"], [], ["p=1", "q=1"], True))
        self.assertIn("names no boot above it", self.refused('[b]\nlike = "a"\nrun = ["y"]'))
        self.assertIn("in its first table", self.refused(text, '[b]\nlike = "a"'))

    def test_wrong_tables_are_named(self):
        self.assertIn("no field is named parm", self.refused('[a]\nrun = ["x"]\nparm = ["p=1"]'))
        self.assertIn("not of the type bool", self.refused('[a]\nrun = ["x"]\nrocm = "yes"'))
        self.assertIn("boot a: no table says what it runs", self.refused("[a]\nxccs = 4"))
        self.assertIn("0.toml", self.refused("[a"))

    def test_a_boot_that_must_fail_names_its_tests(self):
        self.assertEqual(len(self.load('[a]\nmust-fail = true\nrun = ["x_test -t one"]')), 1)
        text = '[a]\nmust-fail = true\nrun = ["x_test -t one", "y_test"]'
        self.assertIn("y_test does not name its test", self.refused(text))

    def test_options_of_the_command_line(self):
        (boot,) = self.load('[a]\nrun = ["x"]\nkernel-param = ["b=1", "c"]\ngpu = "none"\nadd = ["$BUILD/f:/f"]')
        line = boots.command(boot, Path("/out"), Path("/build"), [])
        text = " ".join(line)
        self.assertIn("--kernel-param b=1 --kernel-param c", text)
        self.assertIn("--no-gpu", text)
        self.assertIn("--add /build/f:/f", text)
        self.assertIn("--timeout 1200 --out /out", text)
        self.assertEqual(line[-2], "--")

    def test_a_guest_has_only_what_its_boot_names(self):
        (boot,) = self.load('[a]\nrun = ["x"]\nwith = ["y", "z"]')
        text = " ".join(boots.command(boot, Path("/out"), Path("/build"), []))
        self.assertIn("--no-build --named", text)
        self.assertIn("--with y --with z", text)

    def test_hip_programs_of_the_boots_that_are_chosen(self):
        tables = ["[a]\nrocm = true\nrun = [\"env PROGRAMS='matmul wheel' hip_test.py Storm\"]"]
        tables += ['[b]\nrocm = true\ngpu = "mi250"\nrun = ["llama-in-guest"]\nwith = ["pool", "kfd-preempt"]']
        tables += ['[c]\nrun = ["storm"]', '[d]\nrocm = true\nrun = ["hip_test.py Plain"]']
        a, b, c, d = self.load(*tables)
        needs = hip.needs_of([("forky", a), ("forky", b), ("experimental", d), ("forky", c)])
        self.assertEqual(needs["forky"].archs, {"gfx942", "gfx90a"})
        self.assertLessEqual({"matmul", "libwalk_kernels.so", "pool"}, needs["forky"].programs)
        self.assertNotIn("nbody", needs["forky"].programs)
        self.assertLessEqual({"matmul", "nbody", "scratch_O0"}, needs["experimental"].programs)
        self.assertEqual(hip.needs_of([("forky", c)]), {})

    def test_builds_get_the_hip_programs(self):
        needs = {"experimental": hip.Needs({"nbody", "matmul"}, {"gfx942"})}
        jobs = {job.name: job for job in builds.jobs(Path("/logs"), Path("/build"), hip=needs)}
        self.assertEqual(jobs["rocm-experimental"].environment["HIP_PROGRAMS"], "matmul nbody")
        self.assertEqual(jobs["rocm-experimental"].environment["HIP_ARCHS"], "gfx942")
        self.assertNotIn("HIP_PROGRAMS", jobs["guest"].environment)

    def test_a_program_brings_the_errors_that_it_provokes(self):
        (boot,) = self.load('[a]\nrun = ["env COUNT=1 never_test -t x", "hang_test", "fence_test"]\nallow-dmesg = ["z"]')
        line = boots.command(boot, Path("/out"), Path("/build"), [])
        allowed = [line[i + 1] for i, word in enumerate(line) if word == "--allow-dmesg"]
        self.assertEqual(allowed[0], "z")
        self.assertIn("Resetting wave fronts", allowed)
        self.assertEqual(len(allowed), len(set(allowed)))
        self.assertEqual(provoked.errors(["preempt_test", "not_never_test"]), [])

    def test_every_program_that_provokes_errors_is_there_and_its_expressions_allow_few(self):
        for program, expressions in tomllib.loads(provoked.TABLE.read_text()).items():
            with self.subTest(program):
                self.assertTrue((provoked.TABLE.parent / f"{program}.c").exists())
                self.assertFalse([each for each in expressions if re.search(each, "amdgpu 0000:00:01.0: amdgpu: kfd ")])

    def test_a_boot_of_another_gpu(self):
        (boot,) = self.load('[a]\nrun = ["x"]\ngpu = "mi250"')
        self.assertIn("--gpu mi250", " ".join(boots.command(boot, Path("/out"), Path("/build"), [])))

    def test_a_boot_in_another_rocm(self):
        (boot,) = self.load('[a]\nrun = ["x"]\nrocm = true\nprograms = ["mapping"]')
        job = suites.Suites(Path("/build"), self.directory).boot("vm", boot, {"guest", "hip"}, "experimental")
        self.assertIn("--add /build/rocm-experimental/xpreempt/mapping", " ".join(job.command))
        self.assertEqual(job.environment["ROCM_SUITE"], "experimental")
        self.assertEqual(job.needs, {"guest", "hip-experimental"})

    def test_a_suite_names_the_gpu_of_its_boots(self):
        table = self.directory / "table.toml"
        table.write_text('[a]\nrun = ["x"]')
        (job,) = suites.Suites(Path("/build"), self.directory).jobs(
            "vm", {"boots": [table], "gpu": "mi250"}, lambda name, boot: boot
        )
        self.assertIn("--gpu mi250", " ".join(job.command))

    def test_the_script_marks_each_command(self):
        (boot,) = self.load("""[a]\nrun = ["echo 'it is'", "false"]\nprelude = ["word=said"]""")
        ran = subprocess.run(["sh", "-c", boots.script(boot)], stdout=subprocess.PIPE, text=True, check=False)
        lines = [line for line in ran.stdout.splitlines() if not line.startswith("# ")]
        self.assertEqual(lines, ["@run echo 'it is'", "it is", "@exit 0", "@run false", "@exit 1"])
        self.assertEqual(ran.returncode, 1)

    def test_a_check_has_marks_of_its_own(self):
        (boot,) = self.load('[a]\nrun = ["x"]\ncheck = ["echo ok 1 - $SUMMARY", "false"]')
        command = boots.checked(boot, ["/bin/sh", "-c", "echo booted; exit 3"])
        ran = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=False, env={"SUMMARY": "s", "PATH": "/bin"}
        )
        wanted = ["booted", "@run echo ok 1 - $SUMMARY", "ok 1 - s", "@exit 0", "@run false", "@exit 1"]
        self.assertEqual(ran.stdout.splitlines(), wanted)
        self.assertEqual(ran.returncode, 3)

    def test_every_table_of_the_suites(self):
        for path in ("suites.toml", "soak.toml"):
            for name, suite in tomllib.loads((REPO / "selftests" / path).read_text()).items():
                with self.subTest(name):
                    tables = [REPO / each for each in suite.get("boots", [])]
                    self.assertTrue(tables == [] or boots.load(tables))
                    self.assertIn(suite.get("rocm_suite", ""), ("", *builds.ROCM_SUITES))

    def test_every_command_that_must_fail_names_its_tests(self):
        for path in set((REPO / "selftests").rglob("*.toml")) - {provoked.TABLE}:
            for name, table in tomllib.loads(path.read_text()).items():
                for command in table["run"] if table.get("must-fail") else []:
                    with self.subTest(f"{path.name} {name}"):
                        self.assertIn(" -t ", command)
