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

# KFD, our part of it, and most of amdgpu print errors without a mark. These lines report that the hardware
# failed or that the driver lost state. Not among them is a rejected request of a process.
DRIVER = re.compile(
    # Ours, and the line of the guest's init about the driver's parameter.
    r"kfd_preempt: |preempt_degraded at the end: |no answer to an unmap|Creating preempt files"
    # Stops and the runlist.
    r"|failed to execute runlist|[Pp]reemption failed|unrecoverable state|queue preemption time ?out|RLC not idle"
    r"|fence wait loop timeout|Resetting wave fronts|[Ss]etting grace timeout|reset grace period"
    r"|unmap queue failed|destroy mqd failed|buffer on kernel queue|Kernel queue test failed"
    r"|DQM create queue type|destroy queue \d+ failed|(hardware queue|gangs) (to|from) MES"
    # Eviction and restore, and the mappings of a process.
    r"|Failed to (evict|restore|suspend|resume|remove|quiesce|flush|update page|create eviction fence)"
    r"|(Removing bad queue|Suspending all queues|Evicting process queues|Resuming all queues) failed"
    r"|TLB flush failed|still active bo inside vm|Freeing queue vital buffer|[Ff]ailed to (map|validate|reserve) (bo|BO|PT)"
    r"|(update_gpuvm_pte\(\)|validate_pt_pd_bos\(\)|amdgpu_vm_bo_update|update PTE) failed"
    # Resets, faults of a process, and interrupts.
    r"|GPU reset begin|GPU (mode1 reset|Recovery|reset\(\d+\)) [Ff]ailed|queue id .* is reset|Queues reset on|ring \S+ timeout"
    r"|ring test failed|page fault|PROTECTION_FAULT|got unhandled exception|Sending SIG|Send SIGBUS|sq_intr: error"
    r"|IH (soft )?ring buffer overflow|timeout waiting for kiq|device lost|NOT added due to errors"
    r"|fail to (wait on hqd|resv|unresv|remap)|critical bug"
)

# The entry points and workers of the preempt core: any other function of it has one of them below it in
# a stack. A race that KCSAN reports counts only if its stacks contain one of them: amdgpu has many.
OURS = re.compile(r"(preempt_[a-z0-9_]+|run_worker)\+0x[0-9a-f/x]+ \[amdgpu\]")

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
        if (BAD.search(line) or DRIVER.search(line)) and not any(each.search(f"{number}:{line}") for each in permitted)
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
