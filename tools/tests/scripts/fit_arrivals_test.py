# SPDX-License-Identifier: MIT
"""fit-arrivals with times as published traces have them."""

from runner.paths import REPO
from runner.testing.commands import CommandTest, cases


class FitArrivals(CommandTest):
    @cases(
        ("seven digits of a second", "# 3 requests in 25 s", "rate = 0.08",
         "2023-11-16 18:17:03.9799600", "2023-11-16 18:17:13.9799600", "2023-11-16 18:17:28.9799600"),
        ("times with a zone", "# 3 requests in 10800 s", "rate = 0.0001852",
         "2024-05-10 02:00:00.009930+02:00", "2024-05-10 01:00:00.009930+00:00", "2024-05-10 03:00:00.009930+00:00"),
        ("a zone behind seven digits", "# 3 requests in 25 s", "rate = 0.08",
         "2024-05-10 02:00:00.0099300+02:00", "2024-05-10 00:00:10.0099300+00:00", "2024-05-10 00:00:25.0099300Z"),
        ("times without a zone are in UTC", "# 3 requests in 10800 s", "rate = 0.0001852",
         "2023-10-29 00:30:00", "2023-10-29 02:30:00", "2023-10-29 03:30:00"),
    )
    def times(self, expected, rate, *times):
        self.environment["TZ"] = "Europe/Berlin"  # where summer time ends in that night
        rows = "".join(f"{time},100,10\n" for time in times)
        trace = self.write("trace.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n" + rows)
        ran = self.succeeds(REPO / "tools/kfd-preempt-sim/fit-arrivals", trace, env=self.environment)
        self.assertIn(expected + "\n", ran.stdout)
        self.assertIn(rate + "\n", ran.stdout)
