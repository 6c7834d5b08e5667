#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""AMD's debugger library looks at a program's waves: alone, held before, and held between its stop and its end."""

import subprocess

from guest import GuestTest


class Debugger(GuestTest):
    def setUp(self):
        super().setUp()
        self.program = self.start_told("registers", "registers", 4)
        self.soon(lambda: self.program.says("^ready") or not self.program.is_alive(), "the program is ready")

    def start_told(self, name, *command):
        """A program that ends at a line of its standard input."""
        return self.start(name, *command, stdin=subprocess.PIPE, text=True)

    def tell(self, program):
        """A program that has ended early is a result, and not the end of the test."""
        try:
            print(file=program.process.stdin, flush=True)
        except BrokenPipeError:
            pass
        return program.process.wait(600)

    def attach(self, steps):
        """The debugger, once it has stopped the program and read its registers."""
        debugger = self.start_told("debugger", "dbgapi_client", self.program.pid, 8, steps)
        self.soon(lambda: debugger.says("^ok 4 ") or not debugger.is_alive(), "the debugger stops the program")
        return debugger

    def suspend(self):
        self.check(f"kfd-preempt suspend {self.program.pid}")

    def resume(self):
        self.check(f"kfd-preempt resume {self.program.pid}")

    def assert_debugger_right(self, debugger):
        self.assertEqual(self.tell(debugger), 0, "the debugger sees what the program has")

    def assert_program_right(self):
        self.assertEqual(self.tell(self.program), 0, "the program ends right")
        lanes = [line for line in self.program.output.read_text().splitlines() if line.startswith("lane")]
        self.assertEqual(lanes, ["lane 67 has 0decade0"], "the lane that the debugger wrote")

    def test_debugger_sees_and_changes_a_program_alone(self):
        self.assert_debugger_right(self.attach(12))
        self.assert_program_right()

    def test_debugger_sees_and_changes_a_program_that_is_held(self):
        self.suspend()
        self.assert_debugger_right(self.attach(0))
        self.resume()
        self.assert_program_right()

    def test_operator_holds_what_a_debugger_has_stopped(self):
        debugger = self.attach(0)
        self.suspend()
        self.assert_debugger_right(debugger)
        self.resume()
        self.assert_program_right()
