# SPDX-License-Identifier: MIT
"""What ci/demo two-jobs makes of the guest's output: the verdict, the table and the timeline."""

import unittest
import xml.etree.ElementTree

from runner import timeline, two_jobs

MS = 1_000_000
PID = 77


def event(ms: int, queue: int, op: str, old: str, new: str, result: int = 0) -> str:
    return (
        f"@event kworker-9 [000] d..1. {ms // 1000:>4}.{ms % 1000:03}000: kfd_preempt_queue: pid={PID} gpu_id=1 queue_id={queue}"
        f" backend=HWS op={op} from=running to=held holds=0x{old}->0x{new} result={result} ns=5"
    )


def counts(**changed: int) -> list[str]:
    values = {
        "wave_instructions_by_pasid-batch": 5_000_000,
        "wave_instructions_while_busy-batch": 40_000,
        "wave_instructions_after_stop-batch": 0,
        "busy_periods_shared-batch": 4,
        "busy_periods_stopped-batch": 4,
        "wave_instructions_by_pasid-server": 100,
        "busy_periods-server": 4,
        "centiseconds": 500,
    }
    values |= {name.replace("__", "-"): value for name, value in changed.items()}
    return [f"@count {name} {value}" for name, value in values.items()]


def mode(name: str, took_ms: int, *extra: str, batch: str = "0123456789abcdef") -> list[str]:
    lines = [f"@mode {name}", f"== {name}", "server: right: 4 requests, digest 00000000000000aa"]
    lines += [f"@sample {(1000 + 100 * n) * MS} {(1000 + 100 * n + took_ms) * MS}" for n in range(4)]
    if name != "alone":
        lines += [f"batch: right: 16 kernels of 40000 steps, 4 rounds, digest {batch}"]
    return [*lines, *extra, f"@end {name}"]


STOPS = [
    line
    for n in range(4)
    for line in (event(1000 + 100 * n, 0, "preempt", "0", "4"), event(1020 + 100 * n, 0, "resume", "4", "0"))
]


def guest(alone=(), free=(), daemon=(), daemon_counts=(), **options: str) -> list[two_jobs.Mode]:
    """A run in which all is well, changed by what the test gives."""
    return two_jobs.read(
        [
            *(alone or mode("alone", 10, *counts())),
            *(free or mode("free", 40, *counts())),
            *(daemon or mode("xpreemptd", 15, *(daemon_counts or counts()), *STOPS, **options)),
        ]
    )


class Verdict(unittest.TestCase):
    def fails(self, text: str, modes: list[two_jobs.Mode]):
        verdict = two_jobs.verdict(modes)
        self.assertRegex(verdict, "^FAIL: ")
        self.assertIn(text, verdict)

    def test_counts_and_results_in_order_pass(self):
        self.assertEqual(
            two_jobs.verdict(guest()), "PASS: server p99 within 1.5x of alone, batch kept 100 %, 0 waves stolen, results right"
        )

    def test_slow_requests_alone_do_not_fail(self):
        self.assertRegex(two_jobs.verdict(guest(daemon=mode("xpreemptd", 5000, *counts(), *STOPS))), "^PASS: .* 500.0x")

    def test_an_instruction_after_a_stop_fails(self):
        self.fails("executed 1 wave instructions", guest(daemon_counts=counts(wave_instructions_after_stop__batch=1)))

    def test_a_daemon_that_never_stops_fails(self):
        self.fails("never stopped", guest(daemon_counts=counts(busy_periods_stopped__batch=0)))

    def test_jobs_that_never_meet_fail(self):
        self.fails("even without xpreemptd", guest(free=mode("free", 40, *counts(busy_periods_shared__batch=0))))

    def test_more_stops_than_requests_fail(self):
        self.fails("8 stops for 7 requests", guest(daemon=mode("xpreemptd", 15, *counts(), *STOPS, *STOPS)))

    def test_results_that_differ_or_lack_fail(self):
        self.fails("results of batch", guest(batch="fedcba9876543210"))
        silent = [line for line in mode("free", 40, *counts()) if not line.startswith("batch: ")]
        self.fails("results of batch", guest(free=silent))

    def test_a_mode_that_did_not_end_fails(self):
        self.fails("no measurement of: xpreemptd", guest(daemon=mode("xpreemptd", 15, *counts())[:-1]))
        self.fails("no measurement of: server alone, free sharing, xpreemptd", two_jobs.read([]))


class Holds(unittest.TestCase):
    def holds(self, *events: str) -> list[tuple[int, int | None]]:
        return two_jobs.read(["@mode xpreemptd", *events])[0].holds

    def test_queues_that_stop_together_are_one_stop(self):
        holds = self.holds(
            event(10, 0, "preempt", "0", "4"),
            event(11, 1, "preempt", "0", "4"),
            event(20, 0, "resume", "4", "0"),
            event(21, 1, "resume", "4", "0"),
        )
        self.assertEqual(holds, [(10 * MS, 21 * MS)])

    def test_a_queue_with_another_hold_left_stays_held(self):
        holds = self.holds(event(10, 0, "preempt", "0", "6"), event(20, 0, "resume", "6", "2"))
        self.assertEqual(holds, [(10 * MS, None)])

    def test_a_stop_that_failed_is_none(self):
        self.assertEqual(self.holds(event(10, 0, "preempt", "0", "0", result=-16)), [])


class Shown(unittest.TestCase):
    def test_the_table_has_a_column_for_each_mode(self):
        rows = two_jobs.table(guest()).splitlines()
        self.assertEqual(rows[0].split("  ")[-1].strip(), "xpreemptd")
        self.assertEqual(rows[2].split()[-3:], ["10.0", "40.0", "15.0"])
        self.assertEqual(rows[3].split()[-3:], ["-", "16", "16"])
        self.assertEqual(rows[7].split()[-3:], ["-", "0", "4"])

    def test_the_timeline_is_xml_with_a_bar_for_each_request_and_hold(self):
        root = xml.etree.ElementTree.fromstring(timeline.svg(guest()))
        fills = [each.get("fill") for each in root.iter("{http://www.w3.org/2000/svg}rect")]
        self.assertEqual(fills.count(timeline.COLOURS["request"]), 1 + 12)
        self.assertEqual(fills.count(timeline.COLOURS["ran"]), 1 + 2)
        self.assertEqual(fills.count(timeline.COLOURS["held"]), 1 + 4)

    def test_a_timeline_without_samples_is_xml(self):
        xml.etree.ElementTree.fromstring(timeline.svg(two_jobs.read(["@mode alone"])))
