# SPDX-License-Identifier: MIT
"""The command line of selftests/vm/run, and what is wrong with one."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import Refusal

USAGE = """\
usage: run [OPTION]... -- COMMAND

COMMAND is given to sh -c in the guest. Its output is on stdout, its exit status is ours.

  --param NAME=VALUE   amdgpu module parameter (may be repeated)
  --no-gpu             boot without the device: amdgpu is loaded but finds no hardware
  --rocm               run COMMAND in Debian's ROCm (HIP runtime, rocminfo, our HIP programs)
  --system DIR         boot an installed system: DIR has vmlinuz, initrd and root.ext4, whose
                       /sbin/init-for-tests runs COMMAND (selftests/packages)
  --keep-changes       what COMMAND writes stays in root.ext4 of --system; without, it is forgotten
  --module PATH        another amdgpu.ko; "stock" is the kernel package's own
  --function-tracer    amdgpu.ko of which the function tracer can patch what kfd_probes.ko probes
  --kernel DIR         another kernel: DIR has vmlinuz and lib/modules/RELEASE, with the amdgpu.ko
                       that is loaded (selftests/kernels/build makes one)
  --kernel-param WORD  a word of the kernel's command line (may be repeated)
  --cpus N             CPUs of the guest, 1 (default) to 4
  --icount             the guest's clock counts its instructions, one a nanosecond: times that no
                       load of the host changes, in which the device answers at once; slower
  --gpu NAME           mi300x (default), mi250 or mi100: other driver paths, with one XCC
  --xccs N             accelerator dies of the GPU: 1 (default), 4 or 8
  --vram GIB           VRAM of each GPU: 1 (default), 2, 4, 8 or 16; the host provides what is used
  --memory GIB         memory of the guest: 2 (default) to 64; the same
  --gpus N             1 (default) to 8 GPUs alike; logs of the second are vgpu-2.*
  --mec VERSION        of the GPU's MEC firmware, 185 (default): driver, ROCr and vgpu turn features
                       on by it
  --vgpu WORD          a word of the vgpu's command line, such as --slot-seed=7 (may be repeated;
                       see vgpu --help)
  --fault SPEC         give the vgpu a fault to inject (may be repeated; see vgpu --help)
  --schedule SEED      let this seed choose when the vgpu does what it may do at any time: fences,
                       interrupts, dequeues, the order of waves
  --named              a smaller guest, with only the programs that COMMAND names, and what these need
  --with NAME          the same, and this program of the guest (may be repeated)
  --add SRC[:DEST]     put a host file into the guest, with the libraries it needs (repeatable)
  --allow-dmesg REGEX  a kernel error that COMMAND provokes on purpose (may be repeated)
  --allow-unmodelled   do not fail when the driver accessed registers that the vgpu does not model;
                       fail as always when something else is unmodelled, because it may change a
                       result: an instruction, a packet, a queue that stopped
  --expect-exit N      succeed when COMMAND exits with N, fail when it does not
  --timeout SECONDS    for the whole run (default 600)
  --out DIR            where the logs go (default: a new directory in the cache)
  --no-build           boot what the last build made

Own exit status: 64 usage, 121 COMMAND did not finish, 122 kernel log has an error,
123 vgpu met something unmodelled, 124 timeout, 125 could not start.
"""

# Without PSP and SMU firmware, which the model does not have: the driver loads microcode itself
# (fw_load_type=0), skips the SMU block (ip_block_mask) and what would need it.
PARAMETERS = ["fw_load_type=0", "dpm=0", "ppfeaturemask=0"]
# Its blocks in the driver's order: common, GMC, IH, GFX, SDMA, SMU, and with a MI250 video decoders.
IP_BLOCK_MASKS = {"mi300x": "0xdf", "mi250": "0x1f", "mi100": "0x1f"}
# Their names for hipcc.
HIP_ARCHS = {"mi300x": "gfx942", "mi250": "gfx90a", "mi100": "gfx908"}


@dataclass
class Options:
    """The fields are named as the options; those of a list may be repeated."""

    param: list[str] = field(default_factory=list)
    kernel_param: list[str] = field(default_factory=list)
    fault: list[str] = field(default_factory=list)
    vgpu: list[str] = field(default_factory=list)
    add: list[str] = field(default_factory=list)
    with_: list[str] = field(default_factory=list)
    allow_dmesg: list[str] = field(default_factory=list)
    system: str = ""
    keep_changes: bool = False
    module: str = ""
    kernel: str = ""
    out: str = ""
    cpus: str = "1"
    gpu: str = "mi300x"
    xccs: str = "1"
    gpus: str = "1"
    mec: str = ""
    vram: str = "1"
    memory: str = "2"
    schedule: str = ""
    timeout: str = "600"
    expect_exit: str = "0"
    no_gpu: bool = False
    rocm: bool = False
    function_tracer: bool = False
    named: bool = False
    icount: bool = False
    allow_unmodelled: bool = False
    no_build: bool = False
    command: str = ""


def parse(words: list[str]) -> Options:
    """--help raises SystemExit, anything wrong a Refusal that names it."""
    options = Options()
    left = list(words)
    while left:
        word = left.pop(0)
        name = word.removeprefix("--").replace("-", "_")
        name += "_" if name == "with" else ""
        if word == "--":
            break
        if word in ("--help", "-h"):
            print(USAGE, end="")
            raise SystemExit(0)
        old = getattr(options, name, None) if word.startswith("--") and name != "command" else None
        if old is None or word != f"--{name.rstrip('_').replace('_', '-')}":
            raise Refusal(f"unknown option or word '{word}'; the command comes after --, see --help")
        if isinstance(old, bool):
            setattr(options, name, True)
            continue
        if not left:
            raise Refusal(f"{word} needs a value; see --help")
        value = left.pop(0)
        setattr(options, name, [*old, value] if isinstance(old, list) else value)
    if not left:
        raise Refusal("no command given; usage: run [OPTION]... -- COMMAND")
    options.command = " ".join(left)
    check(options)
    return options


def need(good: object, text: str) -> None:
    if not good:
        raise Refusal(text)


def check(options: Options) -> None:
    check_numbers(options)
    for item in options.param:
        form = re.fullmatch(r"[a-z0-9_]+=[A-Za-z0-9_,.:-]+", item)
        need(form, f"--param {item}: not of the form NAME=VALUE")
    for item in options.allow_dmesg:
        need(item and compiles(item), f"--allow-dmesg {item}: not a useful regular expression")
    for item in options.add:
        source = item.split(":")[0]
        need(readable(Path(source)), f"--add {source}: no such readable file")
    check_module(options.module)
    check_combinations(options)
    if options.system:
        check_system(options)


def check_numbers(options: Options) -> None:
    need(re.fullmatch(r"0*[1-9]\d*", options.timeout), f"--timeout {options.timeout}: not a number of seconds")
    status = options.expect_exit
    need(status.isdigit() and int(status) <= 255, f"--expect-exit {status}: not an exit status (0 to 255)")
    need(options.gpu in IP_BLOCK_MASKS, f"--gpu {options.gpu}: is none of {', '.join(IP_BLOCK_MASKS)}")
    need(options.xccs == "1" or options.gpu == "mi300x", f"--xccs {options.xccs}: a {options.gpu} has one")
    need(options.xccs in ("1", "4", "8"), f"--xccs {options.xccs}: the vgpu has 1, 4 or 8")
    need(options.cpus in ("1", "2", "3", "4"), f"--cpus {options.cpus}: the guest has 1 to 4")
    need(options.vram in ("1", "2", "4", "8", "16"), f"--vram {options.vram}: the vgpu has 1, 2, 4, 8 or 16 GiB")
    memory = options.memory
    need(memory.isdigit() and 2 <= int(memory) <= 64, f"--memory {memory}: not a number of GiB (2 to 64)")
    seed = re.fullmatch(r"\d{0,18}", options.schedule)
    need(seed, f"--schedule {options.schedule}: not a seed, a number of at most 18 digits")
    need(re.fullmatch("[1-8]", options.gpus), f"--gpus {options.gpus}: the guest has room for 1 to 8")
    mec = options.mec or "1"
    need(mec.isdigit() and 1 <= int(mec) <= 65535, f"--mec {mec}: not a version of the firmware (1 to 65535)")


def check_combinations(options: Options) -> None:
    need(not options.icount or options.cpus == "1", "--icount: QEMU counts those of one CPU; drop --cpus")
    need(
        not (options.icount and options.rocm),
        "--icount: atomics of a counted CPU are not atomic to the GPU, which ROCm needs; drop --rocm",
    )
    need(not options.no_gpu or options.gpus == "1", "--gpus needs the device; drop --no-gpu")
    need(not (options.system and options.mec), "--system: what is installed decides; drop --mec")
    need(options.system or not options.keep_changes, "--keep-changes is of --system; drop it")
    need(not (options.no_gpu and options.fault), "--fault needs the device; drop --no-gpu")
    need(not (options.no_gpu and options.schedule), "--schedule needs the device; drop --no-gpu")


def check_module(module: str) -> None:
    if module in ("", "stock"):
        return
    need(readable(Path(module)), f"--module {module}: no such readable file; selftests/vm/test-module makes one")
    name = subprocess.run(["modinfo", "-F", "name", module], capture_output=True, text=True, check=False).stdout
    need(name.strip() == "amdgpu", f"--module {module}: not an amdgpu kernel module")


def check_system(options: Options) -> None:
    for file in ("vmlinuz", "initrd", "root.ext4"):
        path = Path(options.system) / file
        need(os.access(path, os.R_OK), f"--system {options.system}: has no readable {file}")
    if options.keep_changes:
        image = Path(options.system) / "root.ext4"
        need(os.access(image, os.W_OK), f"--keep-changes: {image} cannot be written")
    need(
        not (options.kernel or options.module or options.rocm or options.add),
        "--system: what is installed decides; drop --module, --kernel, --rocm, --add",
    )
    need(not options.param, "--system: its modprobe.d has the options of amdgpu; drop --param")


def compiles(expression: str) -> bool:
    try:
        re.compile(expression)
    except re.error:
        return False
    return True


def readable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.R_OK)
