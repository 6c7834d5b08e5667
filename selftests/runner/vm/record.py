# SPDX-License-Identifier: MIT
"""A run of the guest as it is kept: the output of the guest and of the vgpus, and the status of each process."""

import json
import resource
import shutil
import sys
from pathlib import Path

FILES = [
    *("output.log", "dmesg.log", "qemu.log"),
    *(f"vgpu{number}.{kind}" for number in ("", *(f"-{n}" for n in range(2, 9))) for kind in ("json", "log")),
]


def is_whole(machine) -> bool:
    """Whether the guest ran its command to the end. Nothing else is worth keeping."""
    return machine.command_status is not None and not machine.failure and not machine.timed_out


def save(machine, path: Path) -> dict:
    for name in FILES:
        if (machine.out / name).exists():
            shutil.copy(machine.out / name, path / name)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "status": machine.command_status,
        "gpus": machine.gpu_statuses,
        "wall_s": machine.seconds(),
        "cpu_s": used.ru_utime + used.ru_stime,
    }


def load(machine, path: Path) -> None:
    """Puts the machine into its state at the end of that run, and prints the output."""
    for name in FILES:
        (machine.out / name).unlink(missing_ok=True)
        if (path / name).exists():
            shutil.copy(path / name, machine.out / name)
    facts = json.loads((path / "run.json").read_text())
    machine.command_status, machine.ended = int(facts["status"]), True
    machine.gpu_statuses = {name: int(status) for name, status in facts["gpus"].items()}
    sys.stdout.buffer.write((path / "output.log").read_bytes())
    sys.stdout.buffer.flush()
