# SPDX-License-Identifier: MIT
"""Signals that end a run in order: its processes first."""

import signal

number = 0


class Stopped(Exception):
    """A signal has asked the run to end; the argument is its number."""


def watch() -> None:
    """From here on such a signal is only noted: one that raised anywhere could lose a new process."""

    def note(received: int, _: object) -> None:
        global number
        number = number or received

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, note)


def check() -> None:
    """Where a run can end: raises Stopped when a signal has come."""
    if number:
        raise Stopped(number)
