#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints what one pair of PREEMPT and RESUME cost, from summaries of the vgpu."""
import json
import sys


def flatten(counters):
    """Groups, such as hiq_packets with one counter for each opcode, as group/name."""
    flat = {}
    for name, value in counters.items():
        members = value.items() if isinstance(value, dict) else [(None, value)]
        flat.update({f"{name}/{member}" if member else name: count for member, count in members})
    return flat


def pair_rows(snapshots):
    """(queues, pairs, counters before, counters after) of each run of bench_preempt."""
    before = {}
    for snapshot in snapshots:
        label, counters = snapshot["label"], snapshot["counters"]
        if label % 10 == 0:
            before[label] = counters
        elif label - 1 in before:
            yield label // 100000, label // 10 % 10000, before.pop(label - 1), counters


def print_summary(path):
    with open(path, encoding="utf-8") as file:
        snapshots = json.load(file).get("snapshots", [])
    rows = list(pair_rows(snapshots))
    if not rows:
        sys.exit(f"{path}: no marks of bench_preempt in it; run bench_preempt in that boot")
    for queues, pairs, before, after in rows:
        old, new = flatten(before), flatten(after)
        cost = {name: (count - old.get(name, 0)) / pairs for name, count in new.items()}
        packets = {name.split("/")[1]: count for name, count in cost.items()
                   if name.startswith("hiq_packets/") and count}
        kinds = ", ".join(f"{count:g} {name}" for name, count in sorted(packets.items()))
        # The bench creates the queue that it stops before the others that have something to save, so
        # its doorbell is the lowest.
        saves = {int(name.split("/")[1], 16): count for name, count in cost.items()
                 if name.startswith("saves_by_doorbell/") and count}
        print(f"{path}: one pair among {queues} queues and an idle one: "
              f"{cost['mmio_reads']:g} MMIO reads, {cost['mmio_writes']:g} MMIO writes, "
              f"{sum(packets.values()):g} HIQ packets{f' ({kinds})' if kinds else ''}, "
              f"{sum(saves.values()) - saves.get(min(saves, default=None), 0):g} saves of other queues, "
              f"{cost.get('time_slices', 0):g} turns of the scheduler")


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: pair_counts.py VGPU_SUMMARY.json...")
    for path in sys.argv[1:]:
        try:
            print_summary(path)
        except (OSError, ValueError) as error:
            sys.exit(f"{path}: {error}")


main()
