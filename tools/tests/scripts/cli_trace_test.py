# SPDX-License-Identifier: MIT
"""`kfd-preempt trace` against a test server, and what Perfetto asks of a trace: slices that begin and end in turn on each
track, timestamps that never fall, names for all tracks."""

import collections
import json
import signal

from fixture import KfdPreemptTest
from runner.testing.commands import blocks_signals, fails, prints, program


def faults_of(events):
    """What is wrong with the structure of a trace, a line each."""
    faults, open_phases, last = [], collections.Counter(), 0.0
    named, used = set(), set()
    for event in events:
        track, kind = (event["pid"], event["tid"]), event["ph"]
        open_phases[track] += {"B": 1, "E": -1}.get(kind, 0)
        for wrong, fault in (
            (event["ts"] < last, "the time falls"),
            (kind != "M" and 0 in track, "a process or a thread 0, which is the idle task of the kernel"),
            (open_phases[track] > 1, "a phase in a phase"),
            (open_phases[track] < 0, "an end without a begin"),
            (kind == "X" and (event["dur"] < 0 or event["args"]["queues"] < 1), "no stop"),
            (kind == "C" and not all(isinstance(value, int) for value in event["args"].values()), "no counter"),
            (kind == "i" and event["s"] not in ("g", "p", "t"), "no scope"),
            (kind not in "BEXCMi", "an event of another type"),
        ):
            faults += [f"{fault}: {event}"] if wrong else []
        last = event["ts"]
        if kind == "M":
            named.add(track if event["name"] == "thread_name" else event["pid"])
        elif kind != "C":
            used |= {track, event["pid"]}
    faults += [f"never ends: {track}" for track, number in open_phases.items() if number > 0]
    return faults + [f"without a name: {track}" for track in used - named]


class TraceTest(KfdPreemptTest):
    def setUp(self):
        super().setUp()
        self.file = self.work / "trace.json"

    def is_whole(self):
        """Fails unless the trace has no fault; returns its events."""
        events = json.loads(self.file.read_text())["traceEvents"]
        self.assertEqual(faults_of(events), [])
        return events


class WithoutDaemon(TraceTest):
    def test_trace_without_a_daemon_fails_and_makes_no_file(self):
        self.check("trace --output $work/trace.json", fails(1, "is not running"))
        self.assertFalse(self.file.exists())


class Ends(TraceTest):
    def setUp(self):
        super().setUp()
        self.server = self.start_server()

    def start_trace(self):
        """The first look is written when the file is closed: wait for the program's state."""
        tracing = self.start(program("kfd-preempt"), "trace", "--output", self.file, stderr=-1)
        self.soon(lambda: blocks_signals(tracing.pid))
        return tracing

    def test_interrupt_ends_a_trace_well(self):
        tracing = self.start_trace()
        tracing.send_signal(signal.SIGINT)
        said = tracing.communicate()
        self.assertEqual(tracing.returncode, 0, said)
        self.is_whole()

    def test_daemon_that_ends_leaves_a_whole_trace(self):
        tracing = self.start_trace()
        self.server.stdin.close()
        said = tracing.communicate()
        self.assertEqual(tracing.returncode, 1, said)
        self.assertIn("has the events until then", said[1])
        self.is_whole()

    def test_file_that_cannot_be_written(self):
        self.check("trace -o $work/absent/x", fails(1, "absent/x: not written: No such file"))


class Events(TraceTest):
    def setUp(self):
        super().setUp()
        self.start_server()
        self.said = self.check("trace --output $work/trace.json --seconds 0.5", prints("ui.perfetto.dev"))
        self.events = self.is_whole()

    def test_job_has_a_track_for_each_gpu_with_a_slice_for_each_phase(self):
        spans = [
            (event["ph"], event.get("name"), event["pid"], event["tid"], event["ts"])
            for event in self.events
            if event["ph"] in "BE" and event["pid"] == 1
        ]
        wanted = [("B", "waiting", 1000.0), ("E", None, 2000.5), ("B", "running", 2000.5)]
        self.assertEqual(spans[:6], [(kind, name, 1, gpu, at) for kind, name, at in wanted for gpu in (7, 8)])

    def test_stop_has_its_latency_its_queues_and_the_job_that_runs_instead(self):
        (stop,) = (event for event in self.events if event["ph"] == "X" and event["name"] == "stop")
        self.assertEqual((stop["ts"], stop["dur"]), (3000.0, 250.75))
        arguments = {"queues": 5, "failed": 1, "latency_us": 250.75, "for": "/tmp\\x1b[2J\\x0ax (2)"}
        self.assertEqual(stop["args"], arguments)

    def test_decisions_have_their_reasons(self):
        decisions = [event["name"] for event in self.events if event.get("cat") == "decision"]
        self.assertEqual(decisions[:2], ["ring", "LOST"])

    def test_lost_records_are_counted(self):
        self.assertEqual([event["args"]["records"] for event in self.events if event.get("name") == "LOST"], [43])
        self.assertIn("43 records lost", self.said.stdout)

    def test_counters_follow_the_phases(self):
        counters = [event["args"] for event in self.events if event["ph"] == "C"]
        self.assertEqual(counters[:2], [{"running": 0, "waiting": 1, "held": 0}, {"running": 1, "waiting": 0, "held": 0}])
