# SPDX-License-Identifier: MIT
"""ci/demo two-jobs: what the guest measured, the table, and the verdict on counts and results."""

import re
from dataclasses import dataclass, field

MODES = {"alone": "server alone", "free": "free sharing", "xpreemptd": "xpreemptd"}
FIRST_REQUESTS = 3  # of the server, which it does not measure
DIGEST = re.compile(r"(server|batch): right: .*, digest ([0-9a-f]{16})$")
KERNELS = re.compile(r"batch: right: (\d+) kernels")
EVENT = re.compile(
    r" (\d+)\.(\d{6}): kfd_preempt_queue: .* queue_id=(\d+) .* op=(preempt|resume) .* holds=0x[0-9a-f]+->0x([0-9a-f]+) result=0 "
)


@dataclass
class Mode:
    """One way to share the GPU, as measured. Times are ns of the guest's CLOCK_MONOTONIC."""

    name: str
    samples: list[tuple[int, int]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    kernels: int = 0
    holds: list[tuple[int, int | None]] = field(default_factory=list)  # of the batch job
    held_queues: set[int] = field(default_factory=set)
    ended: bool = False

    def latency_ms(self, percent: int) -> float:
        """The nearest rank, as the server prints it."""
        took = sorted(end - begin for begin, end in self.samples)
        return took[(len(took) * percent + 99) // 100 - 1] / 1e6

    def queue_event(self, ns: int, queue: int, held: bool) -> None:
        """The batch job is held from its first held queue until none is."""
        before = bool(self.held_queues)
        (self.held_queues.add if held else self.held_queues.discard)(queue)
        if held and not before:
            self.holds.append((ns, None))
        elif before and not self.held_queues:
            self.holds[-1] = (self.holds[-1][0], ns)

    def batch_rate(self) -> float:
        """Wave instructions of the batch job a second, while the server ran."""
        return self.counts["wave_instructions_by_pasid-batch"] * 100 / max(self.counts["centiseconds"], 1)


def read(lines: list[str]) -> list[Mode]:
    modes: list[Mode] = []
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "@mode":
            modes.append(Mode(rest))
        if not modes:
            continue
        mode = modes[-1]
        if word == "@sample":
            begin, end = rest.split()
            mode.samples.append((int(begin), int(end)))
        elif word == "@count":
            name, value = rest.split()
            mode.counts[name] = int(value)
        elif word == "@event" and (found := EVENT.search(rest)):
            seconds, micros, queue, _, holds = found.groups()
            mode.queue_event(int(seconds) * 10**9 + int(micros) * 1000, int(queue), holds.strip("0") != "")
        elif word == "@end":
            mode.ended = True
        elif found := DIGEST.match(line):
            mode.digests[found[1]] = found[2]
            if kernels := KERNELS.match(line):
                mode.kernels = int(kernels[1])
    return modes


def millions(count: int) -> str:
    return f"{count / 1e6:.2f} M"


ROWS = [
    ("server latency p50, ms", lambda mode: f"{mode.latency_ms(50):.1f}"),
    ("server latency p99, ms", lambda mode: f"{mode.latency_ms(99):.1f}"),
    ("batch kernels", lambda mode: str(mode.kernels)),
    ("batch wave instructions", lambda mode: millions(mode.counts["wave_instructions_by_pasid-batch"])),
    ("  while the server had work", lambda mode: millions(mode.counts["wave_instructions_while_busy-batch"])),
    ("  of those, after a stop", lambda mode: str(mode.counts["wave_instructions_after_stop-batch"])),
    ("stops", lambda mode: str(len(mode.holds))),
    ("stops per request", lambda mode: f"{len(mode.holds) / len(mode.samples):.2f}"),
]


def table(modes: list[Mode]) -> str:
    def cell(show, mode: Mode) -> str:
        try:
            return show(mode)
        except KeyError:
            return "-"  # no batch job ran

    head = ["", *(MODES.get(mode.name, mode.name) for mode in modes)]
    rows = [[name, *(cell(show, mode) if name.startswith("server") or mode.kernels else "-" for mode in modes)] for name, show in ROWS]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:]))]).rstrip()
        for row in [head, *rows]
    )


def problems(modes: list[Mode]) -> list[str]:
    """Counts and results only: times on an emulator prove nothing."""
    found = {mode.name: mode for mode in modes if mode.ended and mode.samples}
    missing = [title for name, title in MODES.items() if name not in found]
    if missing:
        return [f"no measurement of: {', '.join(missing)}"]
    free, daemon = found["free"], found["xpreemptd"]
    result = []
    for program in ("server", "batch"):
        digests = {mode.digests[program] for mode in modes if program in mode.digests}
        wanted = 3 if program == "server" else 2
        if len(digests) != 1 or sum(program in mode.digests for mode in modes) != wanted:
            result.append(f"results of {program} are not right, or differ between the runs")
    if not free.counts["busy_periods_shared-batch"]:
        result.append("the batch job never executed while the server had work, even without xpreemptd")
    if stolen := daemon.counts["wave_instructions_after_stop-batch"]:
        result.append(f"the batch job executed {stolen} wave instructions while the server had work and it should be stopped")
    if not daemon.counts["busy_periods_stopped-batch"]:
        result.append("xpreemptd never stopped the batch job while the server had work")
    requests = len(daemon.samples)
    if len(daemon.holds) > requests + FIRST_REQUESTS:
        result.append(f"{len(daemon.holds)} stops for {requests + FIRST_REQUESTS} requests")
    return result


def verdict(modes: list[Mode]) -> str:
    if wrong := problems(modes):
        return f"FAIL: {'; '.join(wrong)}"
    alone, free, daemon = (next(mode for mode in modes if mode.name == name) for name in MODES)
    above = daemon.latency_ms(99) / alone.latency_ms(99)
    kept = 100 * daemon.batch_rate() / free.batch_rate()
    return f"PASS: server p99 within {above:.1f}x of alone, batch kept {kept:.0f} %, 0 waves stolen, results right"
