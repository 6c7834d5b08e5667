# SPDX-License-Identifier: MIT
"""Results of tests, read line by line from what a command prints."""

import re
from dataclasses import dataclass, field, replace
from typing import Iterable


@dataclass(frozen=True)
class Result:
    name: str
    passed: bool
    why: str = ""
    # Its number in the plan of its command, if it has one.
    number: str = ""


@dataclass
class Plan:
    """How many tests a command has announced. Of scripts that run one after the other each has a plan."""

    LINE = re.compile(r"1\.\.(\d+)(?: *#.*)?")

    tests: int = 0
    planned: int | None = None
    # Numbers of tests since the last plan. A script without numbers may repeat a name.
    known: set[str] = field(default_factory=set)

    def line(self, text: str) -> None:
        if found := self.LINE.fullmatch(text):
            self.planned = (self.planned or 0) + int(found[1])
            self.known.clear()

    def counted(self, result: Result) -> Result:
        """The result, as a failure if an earlier test was the same, as a forked child prints it."""
        self.tests += 1
        repeats = bool(result.number) and result.number in self.known
        self.known.add(result.number)
        return replace(result, passed=False, why="this test has been printed before") if repeats and result.passed else result

    def missed(self) -> str:
        """Why it is not fulfilled, or nothing. A command need not have one."""
        return "" if self.planned in (None, self.tests) else f"planned {self.planned}, but {self.tests} ran"


class TapReader:
    """TAP or KTAP of one command. A skipped test has failed: a test that never runs finds nothing.

    Only lines that begin at the margin count; KTAP indents the parts of a test.
    """

    LINE = re.compile(r"(not )?ok\b *(\d*) *(?:- )?(.*)")
    AS_PLANNED = "as many tests run as planned"

    def __init__(self, prefix: str = ""):
        self.prefix = prefix
        self.results: list[Result] = []
        self.plan = Plan()

    def line(self, text: str) -> None:
        self.plan.line(text)
        if result := self.parse(text):
            self.results.append(self.plan.counted(result))

    def parse(self, text: str) -> Result | None:
        found = self.LINE.fullmatch(text)
        if not found:
            return None
        name, _, directive = found[3].partition(" # SKIP")
        if found[3].startswith("# SKIP"):
            name, directive = "", found[3].removeprefix("# SKIP")
        skipped = "# SKIP" in found[3]
        why = f"skipped:{directive}" if skipped else ""
        return Result(self.prefix + name, not found[1] and not skipped, why, found[2])

    def end(self, status: int) -> None:
        """A command that fails without a failed test, or that runs none, is one failure."""
        if any(not result.passed for result in self.results):
            return
        if status:
            self.results.append(Result(f"{self.prefix}the command", False, f"ended with status {status}"))
        elif not self.results:
            self.results.append(Result(f"{self.prefix}the command", False, "ran no test"))
        elif missed := self.plan.missed():
            self.results.append(Result(f"{self.prefix}{self.AS_PLANNED}", False, missed))

    def so_far(self) -> str:
        bad = sum(not result.passed for result in self.results)
        return f"{len(self.results) - bad} passed, {bad} failed"


class CtestReader(TapReader):
    """The lines that ctest prints when a test has ended."""

    LINE = re.compile(r" *\d+/\d+ Test +#\d+: (\S+)(.*)")
    SUM = re.compile(r"\d+% tests passed, \d+ tests failed out of (\d+)")

    def line(self, text: str) -> None:
        if found := self.SUM.fullmatch(text):
            self.plan.planned = int(found[1])
        super().line(text)

    def parse(self, text: str) -> Result | None:
        found = self.LINE.fullmatch(text)
        if not found:
            return None
        good = " Passed " in found[2]
        return Result(self.prefix + found[1], good, "" if good else found[2].strip(" .*"))


@dataclass
class Command:
    """The one that runs in the guest."""

    text: str = ""
    plan: Plan = field(default_factory=Plan)
    bad: bool = False


class BootReader(TapReader):
    """One boot of the guest: the marks in its output tell the commands and their ends apart."""

    # Statuses of selftests/vm/run from here on are its own: kernel log, vgpu, timeout, start.
    OWN_STATUS = 64
    # Its lines that are no complaints.
    NEWS = ("logs in", "amdgpu ready", "passed before", "not kept")

    def __init__(self, name: str, asked: list[str], must_fail: bool = False):
        super().__init__()
        self.name, self.asked, self.must_fail = name, asked, must_fail
        self.ended = 0
        self.now = Command()
        self.complaint = ""

    def line(self, text: str) -> None:
        if text.startswith("@run "):
            self.now = Command(text.removeprefix("@run "))
        elif text.startswith("@exit "):
            self.ended += 1
            self.command_ended(int(text.removeprefix("@exit ")))
        elif text.startswith("run: "):
            if not self.complaint and not any(each in text for each in self.NEWS):
                self.complaint = text.removeprefix("run: ")
        elif result := self.parse(text):
            result = self.now.plan.counted(result)
            self.now.bad |= not result.passed
            if not self.must_fail:
                self.add(f"{self.now.text}: {result.name}", result.passed, result.why)
        else:
            self.now.plan.line(text)

    def add(self, what: str, passed: bool, why: str = "") -> None:
        self.results.append(Result(f"{self.name}: {what}", passed, "" if passed else why))

    def command_ended(self, status: int) -> None:
        command = self.now
        if self.must_fail:
            # A crash or a missing program is no failed test.
            self.add(f"fails as it must: {command.text}", status == 1 and command.bad, f"ended with status {status}")
        elif status and not command.bad:
            self.add(command.text, False, f"ended with status {status}")
        elif not command.plan.tests:
            self.add(command.text, False, "ran no test")
        elif not command.bad and (missed := command.plan.missed()):
            self.add(f"{command.text}: {self.AS_PLANNED}", False, missed)

    def end(self, status: int) -> None:
        if len(self.asked) != self.ended:
            self.add("all commands end", False, f"{self.ended} of {len(self.asked)} did")
        own = status >= self.OWN_STATUS
        self.add(
            "kernel log and vgpu have nothing to complain about",
            not own,
            f"the run ended with status {status}: {self.complaint}",
        )


def count(results: Iterable[Result]) -> tuple[int, int]:
    """How many passed and how many failed."""
    good = [result.passed for result in results]
    return sum(good), len(good) - sum(good)
