# SPDX-License-Identifier: MIT
"""How fast this machine computes right now: the CPU seconds of a fixed piece of work.

The same build took 1,051 CPU seconds on an idle machine and 1,700 on a busy one, whose threads share cores and
caches. So seconds are divided by those of the yardstick at that time.
"""

import os
import statistics
import subprocess
import sys
import time

# Text that compresses like a source tree, unpacked again and again: memory and integer arithmetic. Then what tests do
# beside that, fresh pages and short programs: a host can be as quick as ever at the one and twice as slow at the other.
WORK = """
import lzma, mmap, os, random
words = [random.Random(number).randbytes(8).hex()[: 3 + number % 12] for number in range(4000)]
choose = random.Random(1)
packed = lzma.compress(" ".join(choose.choices(words, k=400_000)).encode(), preset=0)
for _ in range(8):
    lzma.decompress(packed)
for _ in range(20):
    with mmap.mmap(-1, 16 << 20) as fresh:
        for at in range(0, len(fresh), mmap.PAGESIZE):
            fresh[at] = 1
for _ in range(300):
    os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", ":"], {}), 0)
"""


class Yardstick:
    INTERVAL_S = 60

    def __init__(self, reference_s: float):
        """reference_s: its CPU seconds on the machine that the budgets were measured on; 0: measure nothing."""
        self.reference_s = reference_s
        # When, and how many CPU seconds.
        self.samples: list[tuple[float, float]] = []
        self.child: subprocess.Popen | None = None
        self.next = time.monotonic()

    def tick(self) -> None:
        """Called now and then: measures at the begin and every minute, beside the parts."""
        if self.child:
            self.collect(os.WNOHANG)
        elif self.reference_s and time.monotonic() >= self.next:
            self.start()

    def start(self) -> None:
        self.next = time.monotonic() + self.INTERVAL_S
        self.child = subprocess.Popen([sys.executable, "-c", WORK], stdin=subprocess.DEVNULL)

    def collect(self, flags: int = 0) -> None:
        assert self.child
        pid, status, usage = os.wait4(self.child.pid, flags)
        if pid:
            self.child.returncode = os.waitstatus_to_exitcode(status)
            self.child = None
            if not status:
                self.samples.append((time.monotonic(), usage.ru_utime + usage.ru_stime))

    def measure(self) -> float:
        """The CPU seconds that it takes now."""
        self.start()
        self.collect()
        return self.samples[-1][1]

    def finish(self) -> None:
        if self.child:
            self.collect()

    def factor(self, began: float, ended: float) -> float:
        """How many CPU seconds of this machine are one of the reference machine, between two times."""
        if not self.samples or not self.reference_s:
            return 1.0
        within = [seconds for when, seconds in self.samples if began - self.INTERVAL_S <= when <= ended + self.INTERVAL_S]
        nearest = min(self.samples, key=lambda sample: abs(sample[0] - (began + ended) / 2))
        return statistics.mean(within or [nearest[1]]) / self.reference_s
