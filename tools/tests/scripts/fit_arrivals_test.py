# SPDX-License-Identifier: MIT
"""fit-arrivals with times as published traces have them."""

import os
import subprocess

from runner.paths import REPO
from runner.testing.commands import CommandTest, cases, fails, prints

FIT = REPO / "tools/kfd-preempt-sim/fit-arrivals"
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


class FitArrivals(CommandTest):
    def trace_at(self, *times):
        return self.write("trace.csv", HEADER + "".join(f"{time},100,10\n" for time in times))

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
        ran = self.succeeds(FIT, self.trace_at(*times), env=self.environment)
        self.assertIn(expected + "\n", ran.stdout)
        self.assertIn(rate + "\n", ran.stdout)

    @cases(
        ("equal intervals are a period", "rate = 0.1", [f"00:00:{second}" for second in (10, 20, 30, 40)]),
        ("equal intervals of a second", "rate = 1", [f"00:00:{second}" for second in range(10, 20)]),
        # 30 a second, to the microsecond: the intervals differ by one.
        ("intervals that differ by the clock's step are a period", "rate = 30",
         [f"00:00:{frame // 30:02}.{frame % 30 * 1000000 // 30:06}" for frame in range(1000)]),
        ("intervals that differ by the step of seven digits are a period", "rate = 30",
         [f"00:00:{frame // 30:02}.{frame % 30 * 10000000 // 30:07}" for frame in range(1000)]),
    )
    def periods(self, rate, times):
        ran = self.meets(prints('^arrival = "periodic"$'), FIT, self.trace_at(*(f"2024-05-10 {time}" for time in times)))
        self.assertIn(rate + "\n", ran.stdout)
        self.assertNotIn("shape", ran.stdout)

    def test_intervals_with_a_jitter_have_a_shape(self):
        times = (f"2024-05-10 00:00:{second}.{second % 3:03}" for second in range(10, 60))
        ran = self.meets(prints('^arrival = "gamma"$'), FIT, self.trace_at(*times))
        self.assertRegex(ran.stdout, r"(?m)^shape = \d\.?\d*e\+05$")

    @cases(
        ("an empty file is rejected", "", r"trace.csv: has no column TIMESTAMP \(its columns: none\); give a trace with "
         "TIMESTAMP, ContextTokens and GeneratedTokens"),
        ("a trace without a column is rejected", "TIMESTAMP,Tokens\n2024-05-10,1\n",
         r"trace.csv: has no column ContextTokens \(its columns: TIMESTAMP, Tokens\);"),
        ("a trace without requests is rejected", HEADER, r"trace.csv: too few requests \(0\); give a trace of at least 3"),
        ("one request is rejected", HEADER + "2024-05-10,1,1\n", r"trace.csv: too few requests \(1\); give"),
        ("one interval is rejected", HEADER + "2024-05-10,1,1\n2024-05-11,1,1\n", r"trace.csv: too few requests \(2\); give"),
        ("times that are all the same are rejected", HEADER + 3 * "2024-05-10,1,1\n",
         "trace.csv: its 3 requests have the same time, so there is no rate; give a trace with finer times"),
        *((f"a time that is {word or 'empty'} is rejected", f"{HEADER}2024-05-10,1,1\n{word},1,1\n",
           f"trace.csv:3: '{word}' is not a time; expected one such as 2023-11-16 18:17:03.979")
          for word in ("nan", "inf", "-1", "7.5", "", "2024-05-32")),
        ("a count of tokens that is no number is rejected", HEADER + "2024-05-10,1,nan\n",
         "trace.csv:2: GeneratedTokens 'nan' is not a count; expected an integer from 0"),
        ("a negative count of tokens is rejected", HEADER + "2024-05-10,-1,1\n",
         "trace.csv:2: ContextTokens '-1' is not a count; expected"),
        *((f"a count of {digits} digits is rejected", HEADER + f"2024-05-10,{'1' * digits},1\n",
           f"trace.csv:2: ContextTokens '{'1' * 20}.*' is not a count; expected an integer from 0 to 1000000000000")
          for digits in (20, 400, 5000)),
        ("a count just above the bound is rejected", HEADER + "2024-05-10,1000000000001,1\n",
         "ContextTokens '1000000000001' is not a count"),
        ("a row that ends early is rejected", HEADER + "2024-05-10,1\n", "trace.csv:2: GeneratedTokens '' is not a count;"),
    )
    def rejected(self, text, pattern):
        self.meets(fails(1, pattern), FIT, self.write("trace.csv", text))

    @cases(*((f"part {text or 'of no text'} is rejected", text) for text in ("0", "-1", "nan", "inf", "half", "", "1_0", "\u0661", " 1", "1e999")))
    def part(self, text):
        trace = self.write("trace.csv", HEADER + "2024-05-10,1,1\n" * 3)
        self.meets(fails(2, f"--part: '{text}' is not a number above 0"), FIT, f"--part={text}", trace)

    @cases(*((f"part {text} is rejected where the simulator takes no such rate", text, pattern) for text, pattern in (
        ("1e308", "its rate, .* with --part 1e\\+308, is not from 1e-06 to 10000000"),
        ("1e-320", "its rate, .*, is not from 1e-06 to 10000000, which kfd-preempt-sim takes; give another --part"),
        ("9.9e-6", "its rate, 9.9e-07 per second"), ("1.001e8", "its rate, 1.001e\\+07 per second"))))
    def rate(self, text, pattern):
        self.meets(fails(1, f"trace.csv: {pattern}"), FIT, "--part", text, self.trace_of_tenths())

    @cases(("the least rate is printed", "1e-5", "1e-06"), ("the most is printed", "+1e8", "1e\\+07"),
           ("a part without a digit before its point is taken", ".5", "0.05"))
    def bound(self, part, rate):
        self.meets(prints(f"^rate = {rate}$"), FIT, "--part", part, self.trace_of_tenths())

    def trace_of_tenths(self):
        return self.trace_at(*(f"2024-05-10 00:00:{second}" for second in (10, 20, 30, 40)))

    def test_full_disk_is_reported_in_one_line(self):
        ran = self.ran("sh", "-c", f"{FIT} {self.trace_of_tenths()} >/dev/full")
        self.assertEqual((ran.status, ran.stderr), (1, "fit-arrivals: cannot write: No space left on device\n"))

    def test_closed_pipe_ends_it_silently(self):
        reads, writes = os.pipe()
        os.close(reads)
        ran = subprocess.run([FIT, self.trace_of_tenths()], stdout=writes, stderr=subprocess.PIPE, check=False, timeout=60)
        os.close(writes)
        self.assertEqual((ran.returncode, ran.stderr), (1, b""))

    def test_missing_trace_is_reported(self):
        self.meets(fails(1, "missing.csv: No such file or directory"), FIT, self.work / "missing.csv")
