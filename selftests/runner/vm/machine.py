# SPDX-License-Identifier: MIT
"""A guest with its GPUs: the processes of one run, what they say, and how they end."""

import os
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from pathlib import Path

from .. import interrupts
from ..paths import VM
from .options import Options
from .tree import Build

# A child must not outlive us, not even when we are killed outright.
BOUND = ["setpriv", "--pdeathsig", "KILL", "--"]


class StartError(Exception):
    """The machine cannot be started; the exit status is 125."""


def note(text: str) -> None:
    print(f"run: {text}", file=sys.stderr, flush=True)


class Machine:
    # How long a process that is about to end may take.
    PATIENCE_S = 20

    def __init__(self, options: Options, build: Build, out: Path):
        self.options, self.build, self.out = options, build, out
        # The archives of the initramfs, in their order.
        self.layers: list[Path] = []
        # Sockets and pipes are not in out: the path of a socket may have no more than 107 bytes.
        self.work = Path(tempfile.mkdtemp(prefix="kfd-preempt-vm."))
        self.gpus: dict[str, subprocess.Popen] = {}
        self.gpu_statuses: dict[str, int] = {}
        self.qemu: subprocess.Popen | None = None
        self.began = time.monotonic()
        self.selector = selectors.DefaultSelector()
        self.line = b""
        # Reported by the guest, if it got that far; timed_out is ours.
        self.command_status: int | None = None
        self.failure = ""
        self.ended = False
        self.timed_out = False

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def prepare(self) -> None:
        """Makes everything that the processes are given; afterwards their command lines are known."""
        if not self.options.system:
            self.layers = self.build.layers(self.options, self.work)

    def run(self) -> None:
        """Until the guest has told how the command ended, has ended, or the time is over."""
        if self.layers:
            self.build.initrd(self.layers, self.work)
        for name in self.gpu_names():
            self.start_gpu(name)
        self.began = time.monotonic()
        with (self.out / "output.log").open("wb") as output:
            self.start_qemu(output)
            self.follow()
            if self.timed_out:
                self.show_blocked()
            if self.timed_out or not self.ended:
                self.qemu.terminate()
            self.finish()

    def close(self) -> None:
        """Ends what still runs, and forgets the sockets."""
        for process in [self.qemu, *self.gpus.values()]:
            if process and process.poll() is None:
                process.terminate()
        for process in [self.qemu, *self.gpus.values()]:
            if process:
                self.wait(process)
        shutil.rmtree(self.work, ignore_errors=True)

    def gpu_names(self) -> list[str]:
        names = ["vgpu", *(f"vgpu-{number}" for number in range(2, int(self.options.gpus) + 1))]
        return [] if self.options.no_gpu else names

    @staticmethod
    def environment() -> dict[str, str]:
        """Returns that of QEMU and the vgpus. No other variable reaches them, so none can change a result."""
        sanitizers = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
        return {"PATH": os.defpath, **sanitizers}

    def gpu_command(self, name: str) -> list[str]:
        """Its logs and its socket have that name."""
        options = self.options
        return [
            str(self.build.vgpu),
            *("--socket", str(self.work / f"{name}.sock")),
            *("--trace", str(self.out / f"{name}.trace")),
            *("--summary", str(self.out / f"{name}.json")),
            *("--gpu", options.gpu, "--xccs", options.xccs, "--vram", options.vram, *options.vgpu),
            *(word for fault in options.fault for word in ("--fault", fault)),
            *(("--schedule", options.schedule) if options.schedule else ()),
        ]

    def start_gpu(self, name: str) -> None:
        log = self.out / f"{name}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*BOUND, *self.gpu_command(name)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=self.environment(),
            )
        self.gpus[name] = process
        while not (self.work / f"{name}.sock").is_socket():
            if process.poll() is not None:
                sys.stderr.write(log.read_text(errors="replace"))
                raise StartError("vgpu did not start; its message is above")
            interrupts.check()
            time.sleep(0.02)

    @staticmethod
    def qemu_program() -> list[str]:
        """QEMU without options, as selftests/vm/qemu finds it."""
        found = subprocess.run([VM / "qemu", "--words"], stdout=subprocess.PIPE, text=True, check=False)
        if found.returncode:
            raise StartError("there is no QEMU; the message is above")
        return found.stdout.splitlines()

    def start_qemu(self, output) -> None:
        command = [*BOUND, *self.qemu_program(), *self.qemu_options()]
        for name in ("output", "events"):
            os.mkfifo(self.work / name)
            # Open before QEMU opens it; an end of the file is one only when QEMU has ended.
            file = os.open(self.work / name, os.O_RDONLY | os.O_NONBLOCK)
            self.selector.register(file, selectors.EVENT_READ, output if name == "output" else None)
        with (self.out / "qemu.log").open("wb") as log:
            self.qemu = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment()
            )

    def show_blocked(self) -> None:
        """Has the kernel log say where each process waits. By key: no process may be able to run."""
        try:
            with socket.socket(socket.AF_UNIX) as monitor:
                monitor.connect(str(self.work / "monitor"))
                monitor.sendall(b"sendkey alt-sysrq-w\n")
                log, before = self.out / "dmesg.log", -1
                deadline = time.monotonic() + self.PATIENCE_S
                while time.monotonic() < deadline and log.stat().st_size != before:
                    before = log.stat().st_size
                    time.sleep(2)
        except OSError as error:
            note(f"QEMU does not take the key that shows who waits: {error.strerror}")

    def qemu_options(self) -> list[str]:
        options, build = self.options, self.build
        kernel, initrd = build.kernel, self.work / "initrd"
        append = ["console=ttyS0", "ignore_loglevel", "panic=-1", "pci=realloc", "sysrq_always_enabled"]
        # On a busy host the timer interrupt can come too late for the kernel's check, which then panics.
        append += ["no_timer_check", "watchdog_thresh=60", *options.kernel_param]
        devices: list[str] = []
        for name in self.gpu_names():
            devices += ["-device", self.gpu_device(name)]
        if options.rocm:
            image = f"if=none,id=rocm,format=raw,readonly=on,file={build.rocm_image}"
            devices += ["-drive", image, "-device", "virtio-blk-pci,drive=rocm"]
        if options.system:
            system = Path(options.system)
            kernel, initrd = system / "vmlinuz", system / "initrd"
            snapshot = "off" if options.keep_changes else "on"
            image = f"if=none,id=root,format=raw,snapshot={snapshot},file={system / 'root.ext4'}"
            devices += ["-drive", image, "-device", "virtio-blk-pci,drive=root"]
            append += ["root=/dev/vda", "rw", "init=/sbin/init-for-tests"]
            append += [f"command={b64encode(options.command.encode()).decode()}"]
        # Each port has an interrupt of its own: edge-triggered ISA lines cannot be shared.
        ports = (("log", self.out / "dmesg.log", 4), ("output", self.work / "output", 3))
        for index, (name, path, irq) in enumerate((*ports, ("events", self.work / "events", 5))):
            devices += ["-chardev", f"file,id={name},path={path}"]
            devices += ["-device", f"isa-serial,chardev={name},index={index},irq={irq}"]
        monitor = f"socket,id=monitor,path={self.work / 'monitor'},server=on,wait=off"
        devices += ["-chardev", monitor, "-mon", "chardev=monitor"]
        threads = ["-accel", "tcg,thread=multi"]
        if options.icount:
            threads = ["-accel", "tcg,thread=single", "-icount", "shift=0"]
        # Two CPUs are possible, if not present: with one, QEMU makes a locked instruction of the guest a
        # load and a store, and what the GPU writes between them is lost. So it does with --icount.
        memory = f"{options.memory}G"
        cpus = f"{options.cpus},maxcpus={max(2, int(options.cpus))}"
        # The kernel and the C library clear and copy with one string instruction where the CPU is said to be fast at
        # it. QEMU emulates that byte by byte; moves of words take a quarter off a boot that fills memory.
        # On a MI250 in a virtual machine the driver asks the SMU, which is not modelled, for one thing more.
        cpu = "max,-erms,-fsrm" if options.gpu == "mi300x" else "max,-erms,-fsrm,-hypervisor"
        return [
            *("-machine", "q35,memory-backend=ram", *threads, "-cpu", cpu, "-smp", cpus),
            # Shared, so that the vgpu can map it: it does DMA by itself.
            *("-m", memory, "-object", f"memory-backend-memfd,id=ram,size={memory},share=on"),
            *("-nodefaults", "-display", "none", "-vga", "none", "-no-reboot", *devices),
            *("-kernel", str(kernel), "-initrd", str(initrd), "-append", " ".join(append)),
        ]

    def gpu_device(self, name: str) -> str:
        """A minute instead of 5 s for an answer: a busy host must not take the device away.

        On the root bus: no root port of QEMU's completes atomics, and without one Linux believes the
        endpoint that they work. HIP needs them for printf and assert.
        """
        socket = f'"socket":{{"type":"unix","path":"{self.work / name}.sock"}}'
        return f'{{"driver":"vfio-user-pci","bus":"pcie.0",{socket},"x-msg-timeout":60000}}'

    def follow(self) -> None:
        deadline = self.began + int(self.options.timeout)
        while not self.ended:
            interrupts.check()
            if time.monotonic() > deadline:
                self.timed_out = True
                return
            # A short wait: the end of QEMU is not an event of a pipe.
            self.read(1)
            if self.qemu.poll() is not None:
                self.read(0)
                return

    def read(self, timeout_s: float) -> bool:
        """Takes what has come from the guest's ports. Returns true if anything has."""
        some = False
        for key, _ in self.selector.select(timeout_s):
            data = os.read(key.fd, 1 << 16)
            some |= bool(data)
            if key.data is None:
                self.events(data)
            elif data:
                key.data.write(data)
                key.data.flush()
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
        return some

    def events(self, data: bytes) -> None:
        *lines, self.line = (self.line + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").strip("\r").partition(" ")
            if word == "ready":
                note(f"amdgpu ready {self.seconds():.1f} s after QEMU start (limit of the project: 30 s)")
            elif word == "exit":
                self.command_status, self.ended = int(rest), True
            elif word == "failed":
                self.failure, self.ended = rest, True

    def finish(self) -> None:
        """The end of QEMU, its last output, the end of the GPUs."""
        deadline = time.monotonic() + self.PATIENCE_S
        while self.qemu.poll() is None and time.monotonic() < deadline:
            self.read(0.05)
        self.reap("QEMU", self.qemu)
        while self.read(0):
            pass
        for name, process in self.gpus.items():
            self.reap(name, process)
            self.gpu_statuses[name] = self.status_of(process)

    def reap(self, name: str, process: subprocess.Popen) -> None:
        if self.wait(process):
            return
        note(f"{name} did not end by itself within {self.PATIENCE_S} s")
        process.kill()
        process.wait()

    def wait(self, process: subprocess.Popen) -> bool:
        try:
            process.wait(self.PATIENCE_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def gpu_status(self) -> int:
        """Returns the worst of the GPUs: 4 is the only status that may be permitted."""
        return max((status for status in self.gpu_statuses.values() if status), key=lambda each: each != 4, default=0)

    @staticmethod
    def status_of(process: subprocess.Popen) -> int:
        code = process.returncode
        return code if code >= 0 else 128 - code
