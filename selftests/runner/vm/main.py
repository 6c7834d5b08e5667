# SPDX-License-Identifier: MIT
"""selftests/vm/run: boots the guest with the software MI300X under QEMU TCG, runs one command in it."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .. import identity, interrupts
from ..errors import Refusal
from ..passed import Records
from ..paths import cache
from . import kernel_log, options, record
from .machine import Machine, StartError, note
from .tree import Build

NOT_FINISHED, BAD_LOG, BAD_GPU, TIMEOUT, NO_START = 121, 122, 123, 124, 125


def main(words: list[str]) -> int:
    try:
        chosen = options.parse(words)
        build = Build(chosen)
        if not chosen.no_build and not chosen.system:
            build.make(chosen)
        out = directory(chosen.out)
        check_built(chosen, build)
        return boot(chosen, build, out)
    except Refusal as refusal:
        note(str(refusal))
        return 64
    except StartError as error:
        note(str(error))
        return NO_START


def check_built(chosen: options.Options, build: Build) -> None:
    def need(path: Path, text: str) -> None:
        if not os.access(path, os.R_OK):
            raise StartError(text)

    if not chosen.system:
        for name in ("kernel", "base", "programs.json"):
            need(build.guest / name, f"{build.guest}: nothing built; run without --no-build")
    if chosen.rocm:
        need(build.rocm_image, f"{build.guest}: nothing built for --rocm; run without --no-build")
        arch = options.HIP_ARCHS[chosen.gpu]
        if arch not in " ".join(build.lines(f"rocm-{build.suite}.archs")).split():
            raise StartError(f"{build.guest}: no HIP program is built for {arch}; run without --no-build")
    if not chosen.system:
        for layer in build.built(chosen):
            need(layer, f"{layer}: this part of {build.guest} is gone; run without --no-build")
    if not chosen.no_gpu:
        need(build.vgpu, f"{build.vgpu}: no such program; run selftests/vm/build, or set VGPU")


def directory(out: str) -> Path:
    """Where the logs go. Those without a name stay in the cache for a day."""
    try:
        if out:
            Path(out).mkdir(parents=True, exist_ok=True)
            return Path(out).absolute()
        runs = cache() / "runs"
        runs.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["find", runs, "-mindepth", "1", "-maxdepth", "1", "-mtime", "+0", "-exec", "rm", "-rf", "{}", "+"],
            check=False,
        )
        return Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=runs))
    except OSError as error:
        raise StartError(f"--out {error.filename}: cannot make the directory: {error.strerror}") from error


def boot(chosen: options.Options, build: Build, out: Path) -> int:
    note(f"logs in {out}")
    interrupts.watch()
    machine = Machine(chosen, build, out)
    try:
        run_or_take(machine)
    except interrupts.Stopped as stopped:
        return 128 + stopped.args[0]
    except BrokenPipeError:
        # The reader of our output is gone; Python would report that once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    finally:
        machine.close()
    status = verdict(machine)
    if status and chosen.schedule:
        note(f"--schedule {chosen.schedule} with this command makes the same choices again")
    note(f"run took {machine.seconds():.1f} s, status {status}")
    return status


def run_or_take(machine: Machine) -> None:
    """Runs it, or takes the output of a run with the same inputs if the runner asks for that."""
    machine.prepare()
    records = Records.asked()
    its = records.identity(lambda digests: identity.of_boot(machine, digests), note) if records else None
    if records and its and (entry := records.find(its)):
        record.load(machine, entry.path)
        note(f"passed before ({entry.date}, the same inputs)")
        return
    machine.run()
    if records and its and record.is_whole(machine):
        records.leave(its, lambda path: record.save(machine, path))


def verdict(machine: Machine) -> int:
    """Names everything that went wrong, returns the first one's status."""
    return next((status for status in [of_command(machine), of_log(machine), of_gpu(machine)] if status), 0)


def of_command(machine: Machine) -> int:
    expected, log = int(machine.options.expect_exit), machine.out / "dmesg.log"
    if machine.failure:
        note(f"the guest failed before the command: {machine.failure}")
        return NOT_FINISHED
    if machine.timed_out:
        note(f"timeout: nothing finished within {machine.options.timeout} s (--timeout); kernel log: {log}")
        for task in kernel_log.blocked(log):
            note(f"waits: {task}")
        return TIMEOUT
    if machine.command_status is None:
        note("the guest ended before the command finished; the last lines of its kernel log:")
        for each in (log, machine.out / "qemu.log"):
            show(each, slice(-8, None))
        return NOT_FINISHED
    if machine.command_status == expected:
        return 0
    if expected:
        note(f"expected exit status {expected}, the command exited with {machine.command_status}")
    return machine.command_status or 1


def of_log(machine: Machine) -> int:
    log = machine.out / "dmesg.log"
    errors = kernel_log.errors(log, machine.options.allow_dmesg) if log.exists() else []
    if not errors:
        return 0
    note(f"the kernel log ({log}) has errors:")
    print("\n".join(errors[:20]), file=sys.stderr)
    return BAD_LOG


def of_gpu(machine: Machine) -> int:
    status = machine.gpu_status()
    if not status or (status == 4 and machine.options.allow_unmodelled):
        return 0
    causes = {
        3: "it met something unmodelled that may change a result",
        4: "the driver accessed unmodelled registers; --allow-unmodelled permits that",
    }
    cause = causes.get(status, "a failure of its own")
    note(f"vgpu ended with status {status} ({cause}); see {machine.out}/vgpu.json, {machine.out}/vgpu.trace:")
    for name in machine.gpu_statuses:
        show(machine.out / f"{name}.log", slice(20))
    return BAD_GPU


def show(log: Path, lines: slice) -> None:
    if log.exists():
        print("\n".join(log.read_text(errors="replace").splitlines()[lines]), file=sys.stderr)
