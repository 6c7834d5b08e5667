# SPDX-License-Identifier: MIT
"""ci/demo two-jobs: what the guest and the vgpu measured, the table, and the verdict on counts and results.

Times are on the clock of the GPU, in wave instructions: "Pace" of selftests/vgpu/README.md defines it.
"""

import math
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Callable, Iterable

MODES = {"alone": "server alone", "free": "free sharing", "xpreemptd": "xpreemptd"}

# The bounds of the verdict.
MOST_EXCESS = 1 / 3  # of p99 over alone, of that in free sharing
MOST_P50 = 1.2  # of alone
LEAST_KEPT = 0.6  # of the batch job's share in free sharing
LATEST_STOP = 1 / 4  # of a request

# The least ratio of the shortest gap between two requests to the longest gap within one.
CLEARLY = 1.5

DIGEST = re.compile(r"(server|batch): right: .*, digest ([0-9a-f]{16})$")
REQUESTS = re.compile(r"server: right: (\d+) requests")
KERNELS = re.compile(r"batch: right: (\d+) kernels")

Interval = tuple[int, int]


@dataclass
class Mode:
    """One way to share the GPU, as measured."""

    name: str
    counts: dict[str, Interval] = field(default_factory=dict)  # before and after the requests
    digests: dict[str, str] = field(default_factory=dict)
    pasids: dict[str, str] = field(default_factory=dict)
    measured: int = 0  # requests, by the server
    kernels: int = 0
    busy: list[Interval] = field(default_factory=list)  # the server's queues
    stops: list[Interval] = field(default_factory=list)  # of the batch job
    ended: bool = False

    def requests(self) -> list[Interval]:
        """Each from its first doorbell to its last completion: between two of them is one of the longest gaps."""
        gaps = sorted((begin - end for (_, end), (begin, _) in pairwise(self.busy)), reverse=True)
        between, within = gaps[: max(self.measured - 1, 0)], gaps[max(self.measured - 1, 0) :]
        shortest = min(between, default=math.inf)
        # The server sleeps between two requests; the kernels of one follow each other as soon as its CPU has called HIP.
        if shortest < CLEARLY * max(within, default=0):
            return []
        merged: list[Interval] = []
        for begin, end in self.busy:
            if merged and begin - merged[-1][1] < shortest:
                begin = merged.pop()[0]
            merged.append((begin, end))
        return merged

    def latency(self, percent: int) -> int:
        """The nearest rank."""
        took = sorted(end - begin for begin, end in self.requests())
        return took[(len(took) * percent + 99) // 100 - 1]

    def grown(self, counter: str) -> int:
        """How much it has grown meanwhile: a PASID may be that of an earlier process."""
        before, after = self.counts[counter]
        return after - before

    def share(self) -> float:
        """Returns the part of the wave instructions that the GPU could have executed that were those of the batch job."""
        return self.grown("wave_instructions_by_pasid") / max(self.grown("gpu_clock"), 1)

    def stop_delays(self) -> list[tuple[float, int]]:
        """For each request in which the batch job was stopped: when, as a share of it, and after how many instructions."""
        delays = []
        for begin, end in self.requests():
            stop = next((max(first, begin) for first, last in self.stops if last > begin and first < end), None)
            if stop is not None:
                delays.append(((stop - begin) / (end - begin), stop - begin))
        return delays


def read(lines: Iterable[str], summary: dict) -> list[Mode]:
    """From the output of two-jobs and the summary of the vgpu."""
    modes: list[Mode] = []
    for line in lines:
        words = line.split()
        if words[:1] == ["@mode"]:
            modes.append(Mode(words[1]))
        if not modes or not words:
            continue
        mode = modes[-1]
        if words[0] == "@count":
            mode.counts[words[1].partition("/")[0]] = (int(words[2]), int(words[3]))
        elif words[0] == "@pasid":
            mode.pasids[words[1]] = words[2]
        elif words[0] == "@end":
            mode.ended = True
        elif found := DIGEST.match(line):
            mode.digests[found[1]] = found[2]
            if requests := REQUESTS.match(line):
                mode.measured = int(requests[1])
            if kernels := KERNELS.match(line):
                mode.kernels = int(kernels[1])
    for mode in modes:
        mode.busy = recorded(summary, "busy_intervals", mode, "server")
        mode.stops = recorded(summary, "stopped_intervals", mode, "batch")
    return modes


def recorded(summary: dict, name: str, mode: Mode, program: str) -> list[Interval]:
    """Those of a process during the requests."""
    first, last = mode.counts.get("gpu_clock", (0, 0))
    every = summary.get(name, {}).get(mode.pasids.get(program, ""), [])
    return [(begin, end) for begin, end in every if begin >= first and end <= last]


def thousands(count: float) -> str:
    return f"{count / 1e3:.0f}"


def latest_stop(mode: Mode) -> str:
    delays = mode.stop_delays()
    return thousands(max(delay for _, delay in delays)) if delays else "-"


ROWS: list[tuple[str, Callable[[Mode], str]]] = [
    ("request p50, 1000 wave instructions", lambda mode: thousands(mode.latency(50))),
    ("request p99", lambda mode: thousands(mode.latency(99))),
    ("share of the batch job, %", lambda mode: f"{100 * mode.share():.0f}"),
    ("latest stop in a request", latest_stop),
    ("stops per request", lambda mode: f"{len(mode.stops) / mode.measured:.2f}"),
    ("batch instructions after a stop", lambda mode: str(mode.grown("wave_instructions_after_stop"))),
]


def table(modes: list[Mode]) -> str:
    def cell(name: str, show: Callable[[Mode], str], mode: Mode) -> str:
        measured = bool(mode.requests()) and (name.startswith("request") or bool(mode.kernels))
        return show(mode) if measured else "-"

    head = ["", *(MODES.get(mode.name, mode.name) for mode in modes)]
    rows = [[name, *(cell(name, show, mode) for mode in modes)] for name, show in ROWS]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:]))]).rstrip()
        for row in [head, *rows]
    )


def wrong_results(modes: list[Mode]) -> list[str]:
    result = []
    for program, wanted in (("server", 3), ("batch", 2)):
        digests = [mode.digests[program] for mode in modes if program in mode.digests]
        if len(set(digests)) != 1 or len(digests) != wanted:
            result.append(f"results of {program} are not right, or differ between the runs")
    return result


def problems(modes: list[Mode]) -> list[str]:
    """Counts and results only: times on an emulator prove nothing."""
    found = {mode.name: mode for mode in modes if mode.ended and mode.measured}
    missing = [title for name, title in MODES.items() if name not in found]
    if missing:
        return [f"no measurement of: {', '.join(missing)}"]
    unclear = [MODES[mode.name] for mode in found.values() if len(mode.requests()) != mode.measured]
    if unclear:
        return [f"the requests that the vgpu recorded cannot be told apart in: {', '.join(unclear)}"]
    return [*wrong_results(modes), *out_of_bounds(*(found[name] for name in MODES))]


def out_of_bounds(alone: Mode, free: Mode, daemon: Mode) -> list[str]:
    result = []
    if free.latency(50) < 2 * alone.latency(50):
        result.append("the batch job hardly executed while the server had work, even without xpreemptd")
    if stolen := daemon.grown("wave_instructions_after_stop"):
        result.append(f"the batch job executed {stolen} wave instructions while the server had work and it should be stopped")
    excess, most = daemon.latency(99) - alone.latency(99), MOST_EXCESS * (free.latency(99) - alone.latency(99))
    if excess > most:
        result.append(f"the p99 of requests is {excess} wave instructions above alone, more than {most:.0f}, a third of that in free sharing")
    if daemon.latency(50) > MOST_P50 * alone.latency(50):
        result.append(f"the p50 of requests is {daemon.latency(50) / alone.latency(50):.2f} times that of alone, more than {MOST_P50}")
    if daemon.share() < LEAST_KEPT * free.share():
        result.append(f"the batch job kept {100 * daemon.share() / free.share():.0f} % of its share, less than {100 * LEAST_KEPT:.0f} %")
    delays = daemon.stop_delays()
    if not delays:
        result.append("xpreemptd never stopped the batch job while the server had work")
    elif (late := max(share for share, _ in delays)) > LATEST_STOP:
        result.append(f"a stop came when {100 * late:.0f} % of the request had passed, later than {100 * LATEST_STOP:.0f} %")
    if len(daemon.stops) > len(daemon.busy):
        result.append(f"{len(daemon.stops)} stops for {len(daemon.busy)} kernels of the server")
    return result


def verdict(modes: list[Mode]) -> str:
    if wrong := problems(modes):
        return f"FAIL: {'; '.join(wrong)}"
    alone, free, daemon = (next(mode for mode in modes if mode.name == name) for name in MODES)
    excess = (daemon.latency(99) - alone.latency(99)) / (free.latency(99) - alone.latency(99))
    return (
        f"PASS: server p50 {daemon.latency(50) / alone.latency(50):.2f}x of alone, p99 has {100 * excess:.0f} % of the excess of free sharing,"
        f" batch kept {100 * daemon.share() / free.share():.0f} %, 0 instructions stolen, results right"
    )
