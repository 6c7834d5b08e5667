#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""Costs of xpreemptd: from the ring of a doorbell to the call that stops others, stops per request, CPU time, memory.

Prints lines of figures, for a guest whose clock counts its instructions (selftests/vm/run --icount): there a
nanosecond is an instruction. REQUESTS is their number, 300 if it is not set.
"""

import os
import re
import time
from pathlib import Path

from daemon import DaemonTest, rules

REQUESTS = int(os.environ.get("REQUESTS") or 300)


class Figures(DaemonTest):
    PATIENCE_S = 600

    def used_and_uptime(self):
        """Seconds of CPU time of the daemon, and of the machine's clock."""
        used = int(Path(f"/proc/{self.daemon.pid}/schedstat").read_text().split()[0]) / 1e9
        return used, float(Path("/proc/uptime").read_text().split()[0])

    def assert_small_share(self, name, begin):
        """xpreemptd(8) bounds the parts of a share of a core; together they take less than a quarter."""
        used, passed = (now - then for now, then in zip(self.used_and_uptime(), begin, strict=True))
        print(f"# daemon {name}: {100 * used / passed:.3f} % of a core, {passed:.1f} s")
        self.assertLess(4 * used, passed, f"the daemon {name} takes a quarter of a core")

    def test_costs_are_bounded(self):
        self.daemon = self.start_daemon(rules("0%"), verbose=False)
        begin = self.used_and_uptime()
        time.sleep(20)
        self.assert_small_share("idle", begin)

        batch = self.queue_owner("batch", queues=2)
        begin = self.used_and_uptime()
        requests = self.start_requests(10, progress=1)
        self.soon(lambda: int(requests.progress()[0]) >= REQUESTS, f"{REQUESTS} requests are served")
        stops, answered = self.job(batch)["preemptions"], int(requests.progress()[0])
        self.assert_small_share(f"with {stops} stops", begin)
        print(f"# stops per request: {stops / answered:.2f} ({stops} of {answered})")
        print("\n".join(f"# {line}" for line in re.findall("(?m)^ring to.*", self.asked("policy").stdout)))
        status = Path(f"/proc/{self.daemon.pid}/status").read_text()
        print(f"# daemon {' '.join(re.search('VmRSS.*', status)[0].split())}")
        self.assertGreater(stops, 0)
        self.assert_end_right(requests, batch, self.daemon)
