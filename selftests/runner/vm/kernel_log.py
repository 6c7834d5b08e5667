# SPDX-License-Identifier: MIT
"""Lines of a kernel log that no healthy run prints."""

import re
from pathlib import Path
from typing import Iterable, Iterator

# "Call Trace" and "RIP:" alone would name the middle of a report; they are here for reports whose
# first line was lost.
BAD = re.compile(
    r"WARNING:|BUG:|kernel BUG|Oops|Call Trace|general protection fault|possible recursive locking"
    r"|possible circular locking|lockdep is turned off|soft lockup|hard LOCKUP|rcu.*(stall|detected)"
    r"|blocked for more than|refcount_t|use-after-free|Kernel panic|\*ERROR\*"
    # Reports that only the kernels of selftests/kernels print.
    r"|KASAN:|KCSAN:|UBSAN:|ODEBUG:|BUG [a-z0-9_-]+ \(|list_(add|del) corruption"
    r"|inconsistent lock state|irq lock inversion|irq-unsafe lock|bad unlock balance|held lock freed"
    r"|lock held when returning|suspicious RCU usage|locking correctness validator|non-static key"
    r"|kmemleak: (unreferenced|Memory pool empty|.*detector disabled)"
)

# The entry points and workers of the preempt core: any other function of it has one of them below it in
# a stack. A race that KCSAN reports counts only if its stacks contain one of them: amdgpu has many.
OURS = re.compile(r"(preempt_[a-z0-9_]+|release_worker|run_worker)\+0x[0-9a-f/x]+ \[amdgpu\]")

# The kernel prints this line before the blocked processes, which the runner requests after a timeout.
BLOCKED = "sysrq: Show Blocked State"
TASK = re.compile(r"task:(\S+) .*\bpid:(\d+)")
FRAME = re.compile(r"\]  ([A-Za-z_][\w.]*)\+0x")


def errors(log: Path, allowed: Iterable[str] = ()) -> list[str]:
    """With their line numbers; without those that an expression of allowed finds."""
    permitted = [re.compile(each) for each in allowed]
    lines = log.read_bytes().decode(errors="replace").partition(BLOCKED)[0].split("\n")
    return [
        f"{number}:{line}"
        for number, line in counted(lines)
        if BAD.search(line) and not any(each.search(f"{number}:{line}") for each in permitted)
    ]


def counted(lines: list[str]) -> Iterator[tuple[int, str]]:
    """All lines but those of a race that is not ours."""
    race: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if "BUG: KCSAN:" in line:
            race = [(number, line)]
        elif race and "====================" in line:
            if any(OURS.search(each) for _, each in race[1:]):
                yield from race
            race = []
        elif race:
            race.append((number, line))
        else:
            yield number, line
    yield from race


def blocked(log: Path) -> list[str]:
    """Each process that waited in the kernel at the end, with its functions from the innermost on."""
    tasks: list[list[str]] = []
    for line in log.read_bytes().decode(errors="replace").partition(BLOCKED)[2].split("\n"):
        if task := TASK.search(line):
            tasks.append([f"{task[1]}[{task[2]}]"])
        elif tasks and (frame := FRAME.search(line)):
            tasks[-1].append(frame[1])
    return [f"{name}: {' < '.join(frames)}" for name, *frames in tasks]
