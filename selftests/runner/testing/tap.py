# SPDX-License-Identifier: MIT
"""Results of unittest as TAP."""

import sys
import unittest
from pathlib import Path

from .commands import PROGRAMS

USAGE = "usage: run-tests DIRECTORY|FILE [NAME]... [PROGRAM=PATH]...   (runs *_test.py, or the tests with NAME in their name)"


class TapResult(unittest.TestResult):
    printed = 0

    def one(self, test: unittest.TestCase, good: bool, details: str = "", skip: str = "") -> None:
        if not good and hasattr(test, "context"):
            details += test.context()
        for line in details.splitlines():
            print(f"# {line}")
        self.printed += 1
        name = getattr(test, "_testMethodName", test.id()).removeprefix("test").replace("_", " ").strip()
        print(f"{'ok' if good else 'not ok'} {self.printed} - {name}{skip}", flush=True)

    def addSuccess(self, test):
        self.one(test, True)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.one(test, True, skip=f" # SKIP {reason}")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.one(test, False, self.failures[-1][1])

    # unittest calls no other one for a test with a part that failed.
    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            self.one(test, False, f"{subtest}\n{(self.failures + self.errors)[-1][1]}")

    def addError(self, test, error):
        super().addError(test, error)
        self.one(test, False, self.errors[-1][1])


def main(words: list[str]) -> int:
    if not words or not Path(words[0]).exists():
        print(USAGE, file=sys.stderr)
        return 64
    place = Path(words[0]).resolve()
    PROGRAMS.update((name, Path(path).resolve()) for name, _, path in (word.partition("=") for word in words[1:]) if path)
    directory, pattern = (place, "*_test.py") if place.is_dir() else (place.parent, place.name)
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{word.replace(' ', '?')}*" for word in words[1:] if "=" not in word] or None
    result = TapResult()
    loader.discover(str(directory), pattern).run(result)
    print(f"1..{result.printed}")
    return int(not result.wasSuccessful() or not result.printed)
