#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""Hints of a program to xpreemptd. Counters show the effect of a hint, for the guest's clock is not the GPU's."""

import json

from daemon import DaemonTest, rules

# Without a floor and with the longest grace: a lower job resumes early by a hint only.
RULES = rules("0%", 'resume_grace = "10s"') + '[limits]\nmax_hold = "60s"\n'


class Hints(DaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.start_daemon(RULES)
        self.batch = self.queue_owner("batch")
        self.server = self.start_asked("server")
        self.soon(lambda: self.is_noted(self.server, band="high", state="idle"), "the server is known and idle")
        self.stops = self.job(self.batch)["preemptions"]

    def hint(self, kind, **values):
        return json.loads(self.ask(self.server, json.dumps({"do": "hint", "is": kind, **values})))

    def assert_taken(self, kind, **values):
        reply = self.hint(kind, **values)
        self.assertTrue(reply["ok"], f"hint {kind}: {reply}")

    def assert_works(self):
        self.assert_done(self.server, "work")

    def is_stopped(self):
        """Whether the other job was stopped once more than at the beginning."""
        return self.is_noted(self.batch, preemptions=self.stops + 1)

    def is_stopped_by_work(self):
        """Work that is over before the daemon runs stops no job, so there is more until some does."""
        self.assert_works()
        return self.is_stopped()

    def begin_request(self):
        """Leaves the server idle after the work of a request that has not ended, and the other job stopped."""
        self.assert_taken("begin", deadline_us=5000000)
        self.soon(self.is_stopped_by_work, "work stops the other job")
        # Where the machine is so busy that the 10 s are over before we ask, with more work.
        for _ in range(4):
            self.soon(lambda: self.is_noted(self.server, state="idle"), "the server is idle")
            if self.is_noted(self.batch, state="held"):
                return
            self.assert_works()
        self.fail("the other job does not wait for the grace")

    def assert_other_ends_right(self):
        self.assert_progress(self.batch)
        self.server.kill()
        self.assert_progress(self.batch)
        self.assert_end_right(self.batch, self.daemon)

    def test_announced_work_stops_the_other_job_before_it_comes(self):
        edges = self.job(self.server)["ready_edges"]
        self.assert_taken("soon", us=100000)
        self.soon(self.is_stopped, "the announcement stops the other job")
        self.assertEqual(self.job(self.server)["ready_edges"], edges, "work came")
        # The announcement lapses.
        self.assert_other_ends_right()

    def test_other_job_waits_for_the_grace_until_the_request_ends(self):
        self.begin_request()
        self.assert_taken("end")
        self.assertEqual(self.job(self.batch)["state"], "running", "resumes at once")
        self.assert_other_ends_right()

    def test_band_of_a_hint_is_in_force_until_the_daemon_ends(self):
        self.assert_taken("band", band="normal")
        self.assertEqual(self.job(self.server)["band"], "normal")
        self.assert_works()
        self.assertEqual(self.job(self.batch)["preemptions"], self.stops, "stops of an equal job")
        self.daemon.kill()
        self.daemon = self.start_daemon()
        self.soon(lambda: self.is_noted(self.server, band="high"), "a new daemon has forgotten the hint")
        # The first one ends the connection to the old daemon.
        self.assertEqual(self.ask(self.server, '{"do": "hint", "is": "end"}'), "no reply")
        self.assert_taken("end")
        self.assert_other_ends_right()
