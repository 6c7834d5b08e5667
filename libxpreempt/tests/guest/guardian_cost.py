#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Compares what XP_GUARD adds to a wave, as the software GPU counted it, with the table of bench/README.md.
#
# usage: guardian_cost.py TAP VGPU_JSON; prints TAP lines, fails when one is not ok or none is there
import json
import re
import sys
from pathlib import Path

WAVES = 256
COUNTERS = "sq.wave_instructions", "sq.memory_instructions"


def main():
    tap, summary = sys.argv[1:]
    with open(summary, encoding="utf-8") as file:
        snapshots = {s["label"]: s["counters"] for s in json.load(file)["snapshots"]}
    counted = {}
    with open(tap, encoding="utf-8", errors="replace") as file:
        for line in file:
            if told := re.fullmatch(r"# cost (\d+) (\d+) (.*)\n", line):
                before, after = (snapshots[int(label)] for label in told.group(1, 2))
                counted[told.group(3)] = [after.get(key, 0) - before.get(key, 0) for key in COUNTERS]
    if len(counted) != 5:
        print("not ok - five commands were counted")
        return 1
    one, many, null, first, both = counted.values()
    costs = {
        "a later wave of a guarded command": [(b - f - m) / WAVES for b, f, m in zip(both, first, many)],
        "its first wave, which decides": [f - o for f, o in zip(first, one)],
        "a wave whose guardian is null": [(n - m) / WAVES for n, m in zip(null, many)],
    }
    page = (Path(__file__).parents[2] / "bench/README.md").read_text(encoding="utf-8")
    good = True
    for name, cost in costs.items():
        row = f"| {name} | {cost[0]:g} | {cost[1]:g} |\n"
        good = good and row in page
        print(f"{'ok' if row in page else 'not ok'} - the page has the row: {row.strip()}")
    print(f"# a plain wave: {many[0] / WAVES:g} instructions, {many[1] / WAVES:g} of them access memory")
    return 0 if good else 1


sys.exit(main())
