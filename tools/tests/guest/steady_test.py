#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""xpreemptd while an important program asks for the GPU again and again, as often as this machine manages.

Prints how many stops a second that were. SECONDS is the duration, 600 if it is not set.
"""

import os
import re
import time
from pathlib import Path

from daemon import DaemonTest, rules

SECONDS = int(os.environ.get("SECONDS") or 600)


class Steady(DaemonTest):
    def stops_rss_files(self):
        """Stops of the batch job, kB of memory and open files of the daemon."""
        process = Path(f"/proc/{self.daemon.pid}")
        rss = int(re.search(r"VmRSS:\s*(\d+)", (process / "status").read_text())[1])
        return self.job(self.batch)["preemptions"], rss, len([*(process / "fd").iterdir()])

    def test_daemon_does_not_grow_and_ejects_no_policy(self):
        self.daemon = self.start_daemon(rules("0%"), verbose=False)
        self.batch, requests = self.queue_owner("batch", queues=2), self.start_requests(1, progress=1)
        # Memory that the daemon allocates once, for its first jobs and their history, is not growth.
        time.sleep(SECONDS / 5)
        stops, rss, files = self.stops_rss_files()
        seconds = SECONDS * 4 / 5
        time.sleep(seconds)
        stops_now, rss_now, files_now = self.stops_rss_files()
        made = stops_now - stops
        growth = f"RSS {rss} kB, grown by {rss_now - rss} kB"
        print(f"# {made} stops in {seconds:.0f} s: {made / seconds:.1f} a second; {growth}")
        self.assertGreaterEqual(made, SECONDS // 2, "the batch job is stopped all the time")
        self.assertLessEqual(rss_now - rss, 256, "kB that the daemon has grown by")
        self.assertLessEqual(files_now, files + 2, "files that the daemon has open")
        self.assertIsNone(self.policy()["ejected"])
        self.assert_end_right(requests)
        self.assert_soon_running(self.batch)
        self.assert_end_right(self.batch, self.daemon)
