#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Compares the waves that the software GPU saved in each case of preemption_matrix with what it said.
#
# usage: waves_saved.py TAP VGPU_JSON; prints TAP lines, fails when one is not ok or none is there
import json
import re
import sys


def main():
    tap, summary = sys.argv[1:]
    with open(summary, encoding="utf-8") as file:
        gpu = json.load(file)
    snapshots = {s["label"]: s["counters"] for s in gpu["snapshots"]}
    good = gpu["failed_waves"] == 0
    seen = 0
    with open(tap, encoding="utf-8", errors="replace") as file:
        for line in file:
            told = re.fullmatch(r"# counters (\d+) (\d+) (-?\d+) (.*)\n", line)
            if told is None:
                continue
            seen += 1
            before, after, expected, name = told.groups()
            saved, restored = (
                snapshots[int(after)].get(key, 0) - snapshots[int(before)].get(key, 0)
                for key in ("sq.waves_saved", "sq.waves_restored")
            )
            right = int(expected) in (-1, saved) and saved == restored
            good = good and right
            print(f"{'ok' if right else 'not ok'} - {name}: {saved} waves saved, {restored} restored")
    return 0 if good and seen > 0 else 1


sys.exit(main())
