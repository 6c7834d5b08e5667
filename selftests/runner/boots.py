# SPDX-License-Identifier: MIT
"""Boots of the guest, as the tables say: which options, and which commands run in it."""

import os
import re
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path

from . import provoked
from .errors import Refusal
from .paths import REPO, ROCM_SUITE, VM


@dataclass
class Boot:
    """One table of a boots.toml. Lists of the same boot in several files are put together."""

    name: str
    # Options of selftests/vm/run that are given once for each value.
    param: list[str]
    kernel_param: list[str]
    fault: list[str]
    vgpu: list[str]
    schedule: list[int]
    allow_dmesg: list[str]
    add: list[str]
    vram: list[int]
    memory: list[int]
    xccs: list[int]
    gpus: list[int]
    mec: list[int]
    cpus: list[int]
    # Shell text before the commands; each command is one test program.
    prelude: list[str]
    run: list[str]
    # Programs of libxpreempt/tests/guest, which get the library beside them.
    programs: list[str]
    # Programs that the commands call without naming them.
    with_: list[str]
    # Commands of this machine that print TAP about the boot; $OUTPUT is what the guest printed,
    # $SUMMARY the vgpu's.
    check: list[str]
    module: str = ""
    rocm: bool = False
    function_tracer: bool = False
    icount: bool = False
    gpu: str = "mi300x"  # or mi250, or none
    must_fail: bool = False
    timeout: int = 1200  # seconds
    # Commands that the suite `rotation` runs in one day; 0: it never runs this boot.
    slice: int = 3

    REPEATED = ("param", "kernel_param", "fault", "vgpu", "schedule", "vram", "memory", "allow_dmesg", "add", "xccs", "gpus", "cpus", "mec", "with_")


def load(paths: list[Path], rotation: list[Path] | None = None) -> list[Boot]:
    """All boots of the tables, in their order. With a rotation, only the commands of its tables."""
    boots: dict[str, Boot] = {}
    read(paths, boots)
    if rotation:
        for boot in boots.values():
            boot.run, boot.check = [], []
        read(rotation, boots)
        boots = {name: boot for name, boot in boots.items() if boot.run}
    for boot in boots.values():
        if not boot.run:
            raise Refusal(f"boot {boot.name}: no table says what it runs (run = [...])")
        if boot.slice < 0:
            raise Refusal(f"boot {boot.name}: slice is {boot.slice}, not a number of commands")
        for command in boot.run:
            if boot.must_fail and not re.search(r" -[tf] \S", command):
                raise Refusal(f"boot {boot.name}: must-fail: {command} does not name its test with -t")
    return list(boots.values())


def read(paths: list[Path], boots: dict[str, Boot]) -> None:
    for path in paths:
        try:
            tables = tomllib.loads(path.read_text())
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise Refusal(f"{path}: {error}") from error
        for name, table in tables.items():
            if "like" in table:
                boots[name] = another(path, boots, name, table.pop("like"))
            boot = boots.setdefault(name, empty(name))
            for key, value in table.items():
                put(path, boot, key, value)


def another(path: Path, boots: dict[str, Boot], name: str, like: object) -> Boot:
    """A boot with all that the other one has, but for its commands and checks."""
    if name in boots:
        raise Refusal(f"{path}: boot {name}: like = {like!r} must stand in its first table")
    if like not in boots:
        raise Refusal(f"{path}: boot {name}: like = {like!r} names no boot above it")
    lists = {each.name: list(getattr(boots[like], each.name)) for each in fields(Boot) if str(each.type).startswith("list")}
    return replace(boots[like], **lists | {"name": name, "run": [], "check": []})


def empty(name: str) -> Boot:
    return Boot(name, **{each.name: [] for each in fields(Boot) if str(each.type).startswith("list")})


def put(path: Path, boot: Boot, key: str, value: object) -> None:
    name = key.replace("-", "_") + ("_" if key == "with" else "")
    old = getattr(boot, name, None) if name in {each.name for each in fields(Boot)} - {"name"} else None
    if old is None:
        raise Refusal(f"{path}: boot {boot.name}: no field is named {key}")
    if isinstance(old, list):
        setattr(boot, name, old + (value if isinstance(value, list) else [value]))
    elif isinstance(value, type(old)):
        setattr(boot, name, value)
    else:
        raise Refusal(f"{path}: boot {boot.name}: {key} is {value!r}, not of the type {type(old).__name__}")


def script(boot: Boot) -> str:
    """The script of the guest's shell: one command after the other, with marks that BootReader knows."""
    seed = os.environ.get("SEED", "")
    lines = [f"export SEED={quoted(seed)}"] if seed else []
    lines += [*library_path(boot), *boot.prelude, "worst=0"]
    for command in boot.run:
        lines += [
            f"echo {quoted('@run ' + command)}",
            f'{command}; status=$?; echo "@exit $status"; [ $status = 0 ] || worst=1',
            f'read -r now rest </proc/uptime; echo "# $now s: "{quoted(command + " ended")}',
        ]
    return "\n".join([*lines, "exit $worst"])


def library_path(boot: Boot) -> list[str]:
    if not boot.programs:
        return []
    return ["cd /opt/kfd-preempt/bin", "export LD_LIBRARY_PATH=$PWD:$LD_LIBRARY_PATH"]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def command(boot: Boot, out: Path, build: Path, kernel: list[str], rocm_suite: str = ROCM_SUITE) -> list[str]:
    """The command line that boots it; kernel: options of a kernel that is not Debian's."""
    timeout = max(boot.timeout, 3600 if kernel else 0)
    compiled = build / f"rocm-{rocm_suite}" / "xpreempt"
    options = [str(VM / "run"), "--no-build", "--named", "--timeout", str(timeout), "--out", str(out), *kernel]
    for name in Boot.REPEATED:
        for value in getattr(boot, name):
            options += [f"--{name.rstrip('_').replace('_', '-')}", expanded(str(value), build)]
    for expression in provoked.errors(boot.run):
        options += ["--allow-dmesg", expression]
    for name in ("rocm", "function_tracer", "icount"):
        options += [f"--{name.replace('_', '-')}"] if getattr(boot, name) else []
    if boot.gpu == "none":
        options += ["--no-gpu"]
    elif boot.gpu != "mi300x":
        options += ["--gpu", boot.gpu]
    for program in boot.programs:
        options += ["--add", str(compiled / program)]
    if boot.programs:
        for library in ("libxpreempt.so.0", "libxpreempt-hook.so"):
            options += ["--add", f"{build}/libxpreempt/{library}:/usr/bin/{library}"]
    options += ["--module", "stock"] if boot.module == "stock" else []
    options += ["--", script(boot)]
    if boot.module in ("", "stock"):
        return options
    module = WHOLE if boot.module == "whole" else f"{VM}/test-module --mutant {boot.module}"
    return ["/bin/bash", "-euc", WITH_MODULE.replace("MODULE", module), "with-module", *options]


WHOLE = f'{REPO}/kernel/build-module --kernelver "$({VM}/kernel-version)"'

# The module is built, or comes from the cache, before its boot.
WITH_MODULE = """
module=$(MODULE | tail -n 1)
run=$1; shift
exec "$run" --module "$module" "$@"
"""


def expanded(value: str, build: Path) -> str:
    """$BUILD and $REPO, for files that a boot adds."""
    return re.sub(r"\$(BUILD|REPO)\b", lambda found: str(build if found[1] == "BUILD" else REPO), value)



def checked(boot: Boot, command: list[str]) -> list[str]:
    """The command, and then the checks of what the boot left; these have marks as the guest's own."""
    if not boot.check:
        return command
    lines = ["status=0", '"$@" || status=$?']
    for check in boot.check:
        lines += [f"echo {quoted('@run ' + check)}", f'code=0; {check} || code=$?; echo "@exit $code"']
    return ["/bin/bash", "-uc", "\n".join([*lines, "exit $status"]), "checked", *command]


def selected(boot: Boot, suite: str, wanted: re.Pattern[str]) -> Boot | None:
    """The boot with the commands that are wanted, if there are any. A check is for all of them."""
    run = [command for command in boot.run if wanted.search(f"{suite}/{boot.name}: {command}")]
    if not run:
        return None
    return replace(boot, run=run, check=boot.check if run == boot.run else [])
