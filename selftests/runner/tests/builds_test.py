# SPDX-License-Identifier: MIT
import unittest
from pathlib import Path

from runner.builds import DownloadReader, DriverReader, NinjaReader, PackagesReader, jobs


def so_far(reader, *lines: str) -> str:
    for line in lines:
        reader.line(line)
    return reader.so_far()


class Builds(unittest.TestCase):
    def test_packages_are_counted(self):
        lines = (
            "0 upgraded, 3 newly installed, 0 to remove and 1 not upgraded.",
            "Get:1 http://mirror bookworm/main amd64 a 1",
            "Get:2 http://mirror bookworm/main amd64 b 1",
            "Setting up a (1) ...",
        )
        self.assertEqual(so_far(PackagesReader(), *lines), "2 of 3 packages downloaded, 1 installed")

    def test_a_download_is_named(self):
        lines = ("build: downloading linux-image-6.12", "Get:1 http://mirror")
        self.assertEqual(so_far(DownloadReader(), *lines), "downloading linux-image-6.12")

    def test_the_steps_of_ninja_are_counted(self):
        lines = ("[1/20] Building a", "[20/20] Building b", "[0/2] Re-checking globbed directories")
        self.assertEqual(so_far(NinjaReader(), *lines), "20 of 20 steps")

    def test_a_warning_of_the_compiler_fails_the_build(self):
        reader = NinjaReader()
        so_far(reader, "[1/2] Building a.o", "/src/a.cpp:3:5: warning: unused variable 'x' [-Wunused-variable]")
        reader.end(0)
        self.assertEqual([result.passed for result in reader.results], [False])
        self.assertIn("unused variable", reader.results[0].name)

    def test_the_driver_says_what_it_does_and_what_it_is_made_of(self):
        line = "module: Debian's amdgpu.ko 6.12.117 with 74 objects of ours"
        self.assertEqual(so_far(DriverReader(), "test-module: compiling 74 objects", line), "compiling 74 objects")
        for demo in (False, True):
            driver = next(job for job in jobs(Path("logs"), Path("build"), demo=demo) if job.name == "driver")
            self.assertEqual((driver.shown(line), driver.shown("make: ...")), (line, None))
