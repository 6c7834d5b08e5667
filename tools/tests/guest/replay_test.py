#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""The model of the simulator and the driver: kfd-preempt-sim replays what xpreemptd did, with the same switches."""

import signal

from daemon import HAS_HWS, DaemonTest
from guest import doorbell
from runner.testing.commands import blocks_signals, cases

# Under AWF all jobs run, so that they can start.
RULES = """
[limits]
max_hold = "600s"

[policy]
name = "AWF"
BAND = { floor = "0%", max_rate = 0 }

[[rule]]
executable = "*/served"
band = "high"
priority = 10
deadline = "600s"

[[rule]]
executable = "*/second"
band = "idle"
priority = -10
deadline = "3600s"

[[rule]]
executable = "*/first"
deadline = "1800s"
"""
# The policy comes into force, and six requests begin and end.
SWITCHES = 13


class Replay(DaemonTest):
    def counters(self):
        """Runlists of the driver, and saves of the two jobs that compute."""
        saves = [f"saves_by_doorbell/{doorbell(job):#x}" for job in (self.first, self.second)]
        return [int(self.check(f"vgpu-fault counter {name}").stdout) for name in ("hiq_packets/RUN_LIST", *saves)]

    def serve(self):
        """A request, for which the first job is stopped."""
        self.assert_done(self.served, "begin")
        self.soon(lambda: self.is_noted(self.first, state="held"), "the first job is held for a request")
        self.assert_done(self.served, "end")
        self.soon(lambda: self.is_noted(self.first, state="running"), "the first job continues")

    def record(self, policy):
        """Returns how far the counters have come."""
        self.assert_soon_running(self.first, self.second)
        trace = self.start("trace", "kfd-preempt", "trace", "--output", self.work / "trace.json")
        self.soon(lambda: blocks_signals(trace.pid), "kfd-preempt trace begins")
        before = self.counters()
        self.asked("policy", policy)
        for _ in range(6):
            self.serve()
        made = [now - then for now, then in zip(self.counters(), before, strict=True)]
        trace.process.send_signal(signal.SIGINT)
        self.assertEqual(trace.process.wait(600), 0, "the recording is whole")
        return made

    def replay(self, policy):
        """Returns what kfd-preempt-sim prints."""
        first, second, served = (f"job.process {job.pid}" for job in (self.first, self.second, self.served))
        settings = [
            f"gpu.hws={str(HAS_HWS).lower()}",
            "policy.BAND.floor=0%",
            "policy.BAND.max_rate=0",
            *(f"{served}.{each}" for each in ("band=high", "priority=10", "deadline=600s")),
            *(f"{second}.{each}" for each in ("band=idle", "priority=-10", "deadline=3600s")),
            f"{first}.deadline=1800s",
        ]
        words = [word for each in settings for word in ("--set", each)]
        command = ["kfd-preempt-sim", "replay", self.work / "trace.json", "--switches", "--policy", policy]
        return self.succeeds(*command, *words).stdout

    @cases(
        ("BAND is replayed with the switches of the driver", "BAND"),
        ("HPF is replayed with the switches of the driver", "HPF"),
        ("K EDF is replayed with the switches of the driver", "K-EDF"),
    )
    def as_simulated(self, policy):
        daemon = self.start_daemon(RULES)
        self.first, self.second = self.start_jobs("first", "second")
        self.served = self.start_asked("served")
        runlists, of_first, of_second = self.record(policy)
        self.asked("policy", "AWF")
        replayed = self.replay(policy)
        print("\n".join(f"# {line}" for line in replayed.splitlines()))
        same = rf"The first {SWITCHES} of {SWITCHES} recorded switches are the same, and no other is simulated\."
        self.assertRegex(replayed, f"(?m)^{same}$")
        # Whether waves of the third job had begun when the others were stopped is chance.
        saves = f"process {self.first.pid} {of_first}, process {self.second.pid} {of_second}, "
        self.assertRegex(replayed, rf"(?m)^The model replaced {runlists} runlists\. .* {saves}")
        self.assert_end_right(self.first, self.second)
        self.assert_asked_end_right(self.served)
        self.assert_end_right(daemon)
