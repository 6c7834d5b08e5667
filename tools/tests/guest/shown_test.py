#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""Output of xpreemptd: accounts, metrics, reaction times, and a trace with each stop of the driver's tracepoints."""

import json
import re
import signal
from pathlib import Path

from daemon import DaemonTest, rules
from runner.testing.commands import blocks_signals, prints

EVENTS = Path("/sys/kernel/tracing/instances/shown")
RULES = rules("0%") + "priority = 7\n"


def uptime_s():
    return float(Path("/proc/uptime").read_text().split()[0])


class Shown(DaemonTest):
    def start_batch(self):
        self.daemon = self.start_daemon(RULES)
        self.began = uptime_s()
        self.batch = self.queue_owner("batch", queues=2)

    def metrics(self):
        """The figures by their short names; of jobs those of the first one, which is the batch job."""
        figures = {}
        for line in self.asked("metrics").stdout.splitlines():
            if found := re.match(r"xpreempt_(?:job_)?(\w+?)(?:_seconds)?(?:_total)?[{ ](?:.* )?(\S+)$", line):
                figures.setdefault(found[1], float(found[2]))
        return figures

    def metrics_after(self, seconds):
        """The figures once the GPU time of the batch job is that long."""
        self.soon(lambda: self.metrics().get("gpu", 0) >= seconds, f"the batch job runs for {seconds} s")
        return self.metrics()

    def assert_all_end_right(self):
        self.assert_end_right(self.batch, self.daemon)

    def test_metrics_of_no_daemon_say_that_it_is_down(self):
        file = self.work / "x.prom"
        self.check(f"kfd-preempt metrics --output {file}")
        self.assertEqual(re.findall("^xpreempt.*", file.read_text(), re.MULTILINE), ["xpreempt_up 0"])

    def test_accounts_of_a_job_alone_agree_with_a_clock(self):
        self.start_batch()
        # It is known before its first kernel. The daemon adds to its accounts ten times a second, and more seldom
        # on a machine so slow that this would take a twentieth of a CPU.
        first = self.metrics_after(0.1)
        last = self.metrics_after(4)
        self.assertLessEqual(last["gpu"], uptime_s() - self.began + 0.1, "GPU time grows faster than a clock")
        known, ran = last["accounted"] - first["accounted"], last["gpu"] - first["gpu"]
        self.assertLess(known - ran, 0.05 * known, "GPU time is not all of the time that is accounted")
        self.assertLessEqual(last["gpu"], last["accounted"])
        self.assertEqual((last["held"], last["stops"]), (0, 0), "a job alone waits for no other")
        self.check("kfd-preempt top --once", prints(r" normal +running +(100|[5-9][0-9])\.[0-9] +0\.0 "))
        self.assert_all_end_right()

    def start_trace(self):
        """kfd-preempt trace, and beside it the driver's tracepoint."""
        EVENTS.mkdir()
        self.addCleanup(EVENTS.rmdir)
        (EVENTS / "trace_clock").write_text("mono")
        (EVENTS / "events/kfd_preempt/kfd_preempt_queue/enable").write_text("1")
        self.trace = self.start("trace", "kfd-preempt", "trace", "--output", self.work / "trace.json")
        self.soon(lambda: blocks_signals(self.trace.pid), "kfd-preempt trace begins")

    def stop_batch_by_a_program(self):
        server = self.start_server()
        self.assert_soon_held(self.batch)
        self.soon(lambda: self.metrics()["held"] >= 1, "the batch job is held for 1 s")
        self.assert_end_right(server)
        self.assert_soon_running(self.batch)

    def stop_batch_by_a_ring(self):
        """A request to queues that the daemon knows to be idle, while the other job runs.

        One that is over before the daemon runs stops nothing, so there are more until one does.
        """
        requests = self.start_requests("signal")

        def is_stopped():
            if self.is_noted(requests, band="high", state="idle") and self.states(self.batch) == {"RUNNING"}:
                requests.process.send_signal(signal.SIGUSR1)
            return int(requests.progress()[0]) >= 3 and self.policy()["ring_to_switch"]["count"] > 0

        self.soon(is_stopped, "a request stops the other job by a ring")
        self.assert_end_right(requests)
        self.assert_soon_running(self.batch)

    def driver_stops(self):
        """Times in microseconds of the queues of the batch job that the driver has stopped."""
        line = rf" (\d+)\.(\d+): kfd_preempt_queue: pid={self.batch.pid} .*op=preempt .*result=0"
        return [int("".join(found)) for found in re.findall(line, (EVENTS / "trace").read_text())]

    def end_of_trace(self):
        self.trace.process.send_signal(signal.SIGINT)
        self.assertEqual(self.trace.process.wait(600), 0, "an interrupt ends the trace well")
        self.assertTrue(self.trace.says(" 0 records lost"))
        return json.loads((self.work / "trace.json").read_text())["traceEvents"]

    def test_trace_and_metrics_have_the_stops_of_the_driver(self):
        self.start_batch()
        self.start_trace()
        self.stop_batch_by_a_program()
        self.stop_batch_by_a_ring()
        figures = self.metrics_after(self.metrics()["gpu"] + 0.3)
        self.assertGreaterEqual(figures["held"], 1)
        self.assertEqual(figures["held"], figures["added_wait"], "all of the time in which the job was held, it waited")
        self.assertRegex(self.asked("policy").stdout, r"(?m)^ring to switch: p50 .*, p99 .*, max .* \(last [1-9]")
        self.assertRegex(self.asked("policy").stdout, "(?m)^ring to stopped: p50 ")
        self.assertGreater(figures["ring_to_switch_seconds_sum"], 0)
        self.assertGreaterEqual(figures["ring_to_stopped_seconds_sum"], figures["ring_to_switch_seconds_sum"])

        events = self.end_of_trace()
        stops = [event for event in events if event.get("name") == "stop"]
        driver = self.driver_stops()
        self.assertEqual(sum(stop["args"]["queues"] for stop in stops), len(driver), "queues that the driver stopped")
        self.assertGreaterEqual(len(stops), 1)
        self.assertEqual(len(stops), figures["stops"], "stops that are counted")
        self.assertEqual([stop["args"]["failed"] for stop in stops], [0] * len(stops))
        # The driver notes a stop while the call is under way: on one clock, in microseconds.
        begin = stops[0]["ts"]
        self.assertTrue(begin - 1 <= driver[0] <= begin + stops[0]["dur"] + 1, f"{stops[0]} at {driver[0]}")
        reasons = {event["name"] for event in events if event.get("cat") == "decision"}
        self.assertIn("ring", reasons)
        begun = [event for event in events if event["ph"] == "B"]
        self.assertIn("waiting", {event["name"] for event in begun}, "a phase of the job")
        self.assertEqual(len(begun), sum(event["ph"] == "E" for event in events), "each phase ends")
        self.assert_all_end_right()
