# SPDX-License-Identifier: MIT
"""The programs of a boot are those that its commands name, and what these need."""

import re
import tempfile
import unittest
from pathlib import Path

from runner.errors import Refusal
from runner.paths import REPO
from runner.vm import catalogue
from runner.vm.catalogue import Catalogue, Program
from runner.vm.layers import Store


class Named(unittest.TestCase):
    def setUp(self):
        self.catalogue = Catalogue(
            {
                "abi_test": Program(["abi.cpio", "c.cpio"]),
                "storm": Program(["storm.cpio"]),
                "kfd-preempt": Program(["command.cpio", "c.cpio"]),
                "kfd-preempt-verify": Program(["verify.cpio"]),
                "checks.sh": Program(["checks.cpio"], []),
                "tests-in-guest": Program(["tests.cpio"], ["checks.sh", "kfd-preempt", "sed"]),
                "hip_tests": Program(["hip.cpio"], ["PROGRAMS", "matmul", "wheel", "kfd-preempt"], ["storm"]),
                "matmul": Program(["matmul.cpio"], kind="hip"),
                "wheel": Program(["wheel.cpio"], ["walk.so"], kind="hip"),
                "walk.so": Program(["walk.cpio"]),
            }
        )

    def named(self, text: str, *others: str) -> set[str]:
        return self.catalogue.named(text, others)

    def test_the_words_of_a_command(self):
        self.assertEqual(self.named("env COUNT=5 abi_test -t x; status=$?"), {"abi_test"})
        self.assertEqual(self.named("echo abi_test.log $abi_tests; true"), set())

    def test_what_a_script_calls(self):
        self.assertEqual(self.named("tests-in-guest off"), {"tests-in-guest", "checks.sh", "kfd-preempt"})

    def test_a_program_of_the_command(self):
        self.assertEqual(self.named("kfd-preempt verify --yes"), {"kfd-preempt", "kfd-preempt-verify"})
        self.assertEqual(self.named("kfd-preempt list"), {"kfd-preempt"})

    def test_a_word_that_a_script_takes_is_no_program(self):
        self.assertNotIn("storm", self.named("hip_tests plain storm"))
        self.assertIn("storm", self.named("hip_tests plain\nstorm"))

    def test_a_command_that_names_hip_programs_runs_these_alone(self):
        rest = {"hip_tests", "kfd-preempt"}
        self.assertEqual(self.named("hip_tests plain"), rest | {"matmul", "wheel", "walk.so"})
        self.assertEqual(self.named("env PROGRAMS='wheel' hip_tests plain"), rest | {"wheel", "walk.so"})
        both = "env PROGRAMS=wheel hip_tests plain\nhip_tests plain"
        self.assertEqual(self.named(both), rest | {"matmul", "wheel", "walk.so"})

    def test_programs_that_no_command_names(self):
        self.assertEqual(self.named("abi_test", "storm"), {"abi_test", "storm"})
        with self.assertRaises(Refusal) as caught:
            self.named("abi_test", "strom")
        self.assertIn("--with strom", str(caught.exception))

    def test_a_layer_is_there_once(self):
        self.assertEqual(self.catalogue.layers(["kfd-preempt", "abi_test"]), ["abi.cpio", "c.cpio", "command.cpio"])


class Files(unittest.TestCase):
    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = Store(self.work / "store")

    def program(self, data: bytes) -> Program:
        source = self.work / "source"
        source.write_bytes(data)
        return catalogue.program(self.store, source, "/usr/bin/source")

    def test_words_of_a_script(self):
        made = self.program(b"#!/bin/sh\n# not crowd\nstart() {\n\tstorm \"$work/request_loop\" kfd-preempt verify\n}\n")
        self.assertEqual(made.functions, ["start"])
        self.assertLessEqual({"storm", "request_loop", "kfd-preempt-verify"}, set(made.words))
        self.assertFalse({"crowd", "start"} & set(made.words))

    def test_interpreter_of_a_script_and_modules_beside_it(self):
        made = self.program(b"#!/usr/bin/run-tests\n# SPDX\nimport json\nfrom guest import GuestTest\n")
        self.assertLessEqual({"run-tests", "guest.py"}, set(made.words))
        self.assertFalse({"SPDX", "guest"} & set(self.program(b"#!/bin/sh\n# SPDX\n").words))

    def test_strings_of_a_compiled_program_do_not_count(self):
        # kfd-preempt names xpreemptd in its messages.
        source = self.work / "program"
        source.write_bytes(b"\x7fELF\0storm\0")
        self.assertEqual(catalogue.called(source), ["", ""])

    def test_a_library_of_the_build_is_at_the_same_place_in_every_guest(self):
        self.assertEqual(catalogue.place_of("/lib/x86_64-linux-gnu/libc.so.6"), "/lib/x86_64-linux-gnu/libc.so.6")
        self.assertEqual(catalogue.place_of("/home/me/build/libx.so.0"), "/usr/lib/x86_64-linux-gnu/libx.so.0")

    def test_it_is_written_and_read(self):
        script = self.program(b"#!/bin/sh\nmatmul\n")
        Catalogue({"a": script}).write(self.work / "a.json")
        Catalogue({"matmul": Program(["m.cpio"], kind="hip")}).write(self.work / "b.json")
        read = Catalogue.read(self.work / "a.json", self.work / "b.json")
        self.assertEqual(read.named("a"), {"a", "matmul"})


class OfThisTree(unittest.TestCase):
    def test_scripts_and_what_they_call(self):
        called = {
            "tools/tests/guest/bad_days_test.py": {"daemon.py", "guest.py", "run-tests", "crowd", "lock_holder", "crashing.so"},
            "tools/tests/guest/plugin_test.py": {"daemon.py", "shortest_first.so", "crashing.so"},
            "tools/tests/guest/verify_test.py": {"guest.py", "kfd-preempt-verify", "vgpu-fault", "queue_owner"},
            "tools/tests/guest/freeze_test.py": {"guest.py", "run-tests", "follow-freezer"},
            "tools/tests/guest/guest.py": {"kfd-preempt", "queue_owner", "vram_job"},
            "tools/tests/guest/daemon.py": {"guest.py", "hinting", "xpreemptd"},
            "selftests/runner/run-tests": {"python3"},
            "tools/tests/guest/llama-in-guest": {"checks.sh", "matmul", "preempt_storm", "vram_job", "xpreemptd"},
            "selftests/hip/hip_test.py": {"preempt_storm", "daemon.py", "run-tests", "kfd-preempt-verify"},
            "selftests/hip/wheel/wheel": {"libwalk_kernels.so"},
            "selftests/vm/demo.sh": {"preempt_demo", "kfd-preempt"},
            "selftests/vm/two-jobs.sh": {"server", "batch", "start-xpreemptd", "vgpu-fault"},
        }
        for path, programs in called.items():
            words, _ = catalogue.called(REPO / path)
            self.assertLessEqual(programs, set(words.split()), path)


class Scripts(unittest.TestCase):
    """A program that is not in the guest must fail its test, so no script may ask whether it is there."""

    ASKS = re.compile(r"(?:^|[;&|!(]|\b(?:if|while|until|then|else|do)\s)\s*(?:command -v|type|which|hash)\s")
    # The path of a program as a word, where the command fails if there is none.
    PATH = re.compile(r"\$\(command -v [^)]+\)")
    ENDS = re.compile(r"command -v \S+ >/dev/null \|\| (?:bail |die |give_up |exit [1-9])")
    ENDS_BELOW = re.compile(r"command -v \S+ >/dev/null \|\| \{\n(?:(?!\t*\}).*\n)*\t+(?:exit [1-9]|bail .*)\n\t*\}")

    def wrong(self, text: str) -> list[str]:
        for each in (catalogue.COMMENT, self.ENDS_BELOW, self.PATH):
            text = each.sub("", text)
        return [line for line in text.splitlines() if self.ASKS.search(line) and not self.ENDS.search(line)]

    def test_the_rule_finds_what_it_is_for(self):
        self.assertTrue(self.wrong("command -v crowd >/dev/null || return 0"))
        self.assertTrue(self.wrong("if command -v crowd; then"))
        self.assertTrue(self.wrong("! type crowd >/dev/null || crowd 5"))
        self.assertTrue(self.wrong("command -v crowd >/dev/null || {\n\techo left out\n}"))
        self.assertFalse(self.wrong('cp "$(command -v crowd)" x\ncommand -v crowd >/dev/null || bail "no crowd"'))
        self.assertFalse(self.wrong("command -v crowd >/dev/null || {\n\techo no crowd\n\texit 1\n}"))

    def test_no_script_of_the_guest_goes_on_without_a_program(self):
        scripts = [REPO / "tools/freezer/follow-freezer"]
        for pattern in ("tools/tests/guest/*-in-guest", "tools/tests/guest/*.sh", "selftests/vm/*.sh"):
            scripts += REPO.glob(pattern)
        self.assertGreater(len(scripts), 5)
        for script in scripts:
            with self.subTest(script.name):
                self.assertEqual(self.wrong(script.read_text()), [])
