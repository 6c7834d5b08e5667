# SPDX-License-Identifier: MIT
"""ci/demo two-jobs: the verdict, the table and the timeline, from lines of the guest and intervals of the vgpu."""

import json
import unittest
import xml.etree.ElementTree
from pathlib import Path

from runner import timeline, two_jobs

PERIOD = 4_000_000
RECORDED = Path(__file__).parent / "two_jobs"
SERVER, BATCH = "32769", "32770"


class Run:
    """The lines of a guest and the summary of the vgpu for a run in which all is well, to be changed by a test."""

    def __init__(self) -> None:
        self.requests = {"alone": [500_000] * 4, "free": [2_500_000] * 4, "xpreemptd": [560_000] * 4}
        self.stop_after = [50_000] * 4
        self.share = {"free": 0.85, "xpreemptd": 0.75}
        self.digests = {"free": "0123456789abcdef", "xpreemptd": "0123456789abcdef"}
        self.stolen = 0
        self.without: set[str] = set()  # lines that begin so are left out

    def modes(self) -> list[two_jobs.Mode]:
        lines: list[str] = []
        summary: dict = {"busy_intervals": {SERVER: []}, "stopped_intervals": {BATCH: []}}
        clock = 7
        for name, took in self.requests.items():
            begins = [clock + PERIOD * (n + 1) for n in range(len(took))]
            for begin, ticks in zip(begins, took):
                # A copy, and behind a gap the kernel with the copy back.
                summary["busy_intervals"][SERVER] += [(begin, begin + 10_000), (begin + 40_000, begin + ticks)]
            if name == "xpreemptd":
                summary["stopped_intervals"][BATCH] += [
                    (begin + after, begin + ticks + 60_000) for begin, ticks, after in zip(begins, took, self.stop_after)
                ]
            end = begins[-1] + PERIOD
            lines += [f"@mode {name}", f"== {name}", f"server: right: {len(took)} requests, digest 00000000000000aa"]
            lines += [f"@pasid server {SERVER}", f"@count gpu_clock {clock} {end}"]
            if name != "alone":
                executed = int(self.share[name] * (end - clock))
                lines += [f"@pasid batch {BATCH}", f"@count wave_instructions_by_pasid/{BATCH} 100 {100 + executed}"]
                stolen = self.stolen if name == "xpreemptd" else 0
                lines += [f"@count wave_instructions_after_stop/{BATCH}:{SERVER} 3 {3 + stolen}"]
                lines += [f"batch: right: 16 kernels of 40000 steps, 4 rounds, digest {self.digests[name]}"]
            lines += [f"@end {name}"]
            clock = end
        return two_jobs.read([line for line in lines if not line.startswith(tuple(self.without))], summary)


class Verdict(unittest.TestCase):
    def setUp(self):
        self.run_ = Run()

    def fails(self, text: str):
        verdict = two_jobs.verdict(self.run_.modes())
        self.assertRegex(verdict, "^FAIL: ")
        self.assertIn(text, verdict)

    def passes(self):
        self.assertRegex(two_jobs.verdict(self.run_.modes()), "^PASS: ")

    def test_a_run_within_all_bounds_passes(self):
        self.assertEqual(
            two_jobs.verdict(self.run_.modes()),
            "PASS: server p50 1.12x of alone, p99 has 3 % of the excess of free sharing, batch kept 88 %,"
            " 0 instructions stolen, results right",
        )

    def test_one_slow_request_fails_by_the_p99(self):
        self.run_.requests["xpreemptd"][2] = 1_170_000
        self.run_.stop_after[2] = 200_000
        self.fails("the p99 of requests is 670000 wave instructions above alone, more than 666667")
        self.run_.requests["xpreemptd"][2] = 1_160_000
        self.passes()

    def test_slow_requests_fail_by_the_p50(self):
        self.run_.requests["xpreemptd"] = [601_000] * 4
        self.fails("1.20 times that of alone")
        self.run_.requests["xpreemptd"] = [600_000] * 4
        self.passes()

    def test_a_batch_job_that_hardly_runs_fails(self):
        self.run_.share["xpreemptd"] = 0.50
        self.fails("the batch job kept 59 % of its share")
        self.run_.share["xpreemptd"] = 0.52
        self.passes()

    def test_one_late_stop_fails(self):
        self.run_.stop_after[1] = 141_000
        self.fails("a stop came when 25 % of the request had passed")
        self.run_.stop_after[1] = 139_000
        self.passes()

    def test_an_instruction_after_a_stop_fails(self):
        self.run_.stolen = 1
        self.fails("executed 1 wave instructions")

    def test_a_daemon_that_never_stops_fails(self):
        self.run_.stop_after = []
        self.fails("never stopped")

    def test_jobs_that_never_meet_fail(self):
        self.run_.requests["free"] = [510_000] * 4
        self.fails("even without xpreemptd")

    def test_results_that_differ_or_lack_fail(self):
        self.run_.digests["free"] = "fedcba9876543210"
        self.fails("results of batch")
        self.run_.without = {"batch: "}
        self.fails("results of batch")

    def test_a_mode_that_did_not_end_fails(self):
        self.run_.without = {"@end xpreemptd"}
        self.fails("no measurement of: xpreemptd")
        self.run_.without = {"@"}
        self.fails("no measurement of: server alone, free sharing, xpreemptd")

    def test_requests_behind_each_other_fail(self):
        self.run_.requests["free"] = [4_000_000 - 40_000] * 4
        self.fails("cannot be told apart in: free sharing")


class Recorded(unittest.TestCase):
    """Runs of `ci/demo two-jobs` as the guest and the vgpu reported them."""

    def modes(self, name: str) -> list[two_jobs.Mode]:
        recorded = json.loads((RECORDED / f"{name}.json").read_text())
        return two_jobs.read(recorded["lines"], recorded)

    def fails(self, name: str, *texts: str):
        verdict = two_jobs.verdict(self.modes(name))
        self.assertRegex(verdict, "^FAIL: ")
        for text in texts:
            self.assertIn(text, verdict)

    def test_stops_in_time_pass(self):
        self.assertRegex(two_jobs.verdict(self.modes("in_time")), "^PASS: server p50 1.09x of alone, p99 has 7 %")

    # A daemon that rests after a ring without work.
    def test_a_stop_that_comes_late_now_and_then_fails(self):
        self.fails("late", "the p99 of requests is 1923411 wave instructions above alone", "a stop came when 96 %")

    # usleep(100000) before each call that stops.
    def test_a_delay_of_each_stop_fails(self):
        self.fails("delayed", "1.37 times that of alone", "the batch job kept 17 %", "a stop came when 100 %")

    def test_the_clock_of_a_server_alone_does_not_depend_on_the_host(self):
        for name in ("in_time", "late", "delayed"):
            alone = self.modes(name)[0]
            self.assertLess(alone.latency(99), 1.02 * alone.latency(50))


class Shown(unittest.TestCase):
    def test_the_table_has_a_column_for_each_mode(self):
        rows = two_jobs.table(Run().modes()).splitlines()
        self.assertEqual(rows[0].split("  ")[-1].strip(), "xpreemptd")
        self.assertEqual(rows[1].split()[-3:], ["500", "2500", "560"])
        self.assertEqual(rows[3].split()[-3:], ["-", "85", "75"])
        self.assertEqual(rows[4].split()[-3:], ["-", "-", "50"])
        self.assertEqual(rows[5].split()[-3:], ["-", "0.00", "1.00"])

    def test_the_timeline_is_xml_with_a_bar_for_each_request_and_stop(self):
        root = xml.etree.ElementTree.fromstring(timeline.svg(Run().modes()))
        fills = [each.get("fill") for each in root.iter("{http://www.w3.org/2000/svg}rect")]
        self.assertEqual(fills.count(timeline.COLOURS["request"]), 1 + 12)
        self.assertEqual(fills.count(timeline.COLOURS["ran"]), 1 + 2)
        self.assertEqual(fills.count(timeline.COLOURS["held"]), 1 + 4)

    def test_a_timeline_without_requests_is_xml(self):
        xml.etree.ElementTree.fromstring(timeline.svg(two_jobs.read(["@mode alone"], {})))
