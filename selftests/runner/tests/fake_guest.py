# SPDX-License-Identifier: MIT
"""A build directory, a vgpu and a QEMU for tests of the runner. The fake guest prints the lines that its programs echo."""

import json
import subprocess
from pathlib import Path

VGPU = """#!/usr/bin/python3 -IS
import json, socket, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
server = socket.socket(socket.AF_UNIX)
server.bind(words["--socket"])
server.listen()
connection, _ = server.accept()
while connection.recv(1):
    pass
open(words["--summary"], "w").write(json.dumps({"mmio": 1}))
"""

# Everything that the guest does depends on the bytes of its initramfs.
QEMU = """#!/bin/sh
# Two questions of selftests/vm/qemu and of the identity; otherwise it is a program for Python.
case $*:$# in
"-device help:2") echo 'name "vfio-user-pci"'; exit ;;
"-L help:2") echo {firmware}; exit ;;
esac
exec /usr/bin/python3 -ISx - "$@" <<'END'
import re, socket, sys
words = sys.argv[1:]
open({starts!r}, "a").write("started\\n")
ports = dict(each.groups() for each in map(re.compile("file,id=(.*),path=(.*)").fullmatch, words) if each)
gpus = [socket.socket(socket.AF_UNIX) for _ in re.findall(r'"path":"([^"]*)"', " ".join(words))]
for gpu, path in zip(gpus, re.findall(r'"path":"([^"]*)"', " ".join(words))):
    gpu.connect(path)
initrd = open(words[words.index("-initrd") + 1], "rb").read().decode(errors="replace")
open(ports["log"], "w").write("[    0.000000] Linux\\n")
output = open(ports["output"], "w")
events = open(ports["events"], "w")
events.write("ready\\n")
output.write("".join(line + "\\n" for line in re.findall("echo '(.*)'", initrd)))
output.close()
events.write("exit 0\\n")
events.close()
END
"""

PROGRAM = "#!/bin/sh\necho '@run one'\necho 'ok 1 - a'\necho '@exit 0'\n"


class FakeGuest:
    def __init__(self, directory: Path):
        self.directory, self.build = directory, directory / "build"
        self.guest = self.build / "guest"
        self.starts = directory / "starts"
        self.program = directory / "one"
        self.firmware = directory / "firmware"
        self.layers = directory / "cache/kfd-preempt/layers"
        for each in (self.guest, self.layers, self.firmware):
            each.mkdir(parents=True)
        (self.firmware / "bios.bin").write_text("BIOS")
        for name in ("kernel", "rocm-forky.ext4"):
            (self.guest / name).write_text(f"{name}\n")
        for name in ("base", "one", "other", "rocm"):
            (self.layers / f"{name}.cpio").write_text(f"{name}\n")
        (self.guest / "base").write_text("base.cpio\n")
        (self.guest / "rocm-forky").write_text("rocm.cpio\n")
        (self.guest / "rocm-forky.archs").write_text("gfx942\n")
        (self.guest / "rocm-forky.json").write_text("{}")
        (self.guest / "programs.json").write_text(json.dumps({name: {"layers": [f"{name}.cpio"]} for name in ("one", "other")}))
        for name, code in (("patched", "nop"), ("stock", "ret")):
            module(self.guest / f"{name}.ko", code)
            (self.guest / f"{name}-module").write_text(f"{self.guest / name}.ko\n")
        (self.guest / "kfd_probes.ko").write_bytes(b"\0traced\0")
        self.executable(directory / "qemu", QEMU.format(firmware=str(self.firmware), starts=str(self.starts)))
        self.executable(directory / "vgpu", VGPU)
        self.executable(directory / "vgpu-firmware", '#!/bin/sh\nmkdir -p "$3"\necho "$2" >"$3/version"\n')
        self.executable(self.program, PROGRAM)
        self.environment = {
            "BUILD_DIR": str(self.build),
            "QEMU": str(directory / "qemu"),
            "VGPU": str(directory / "vgpu"),
            "VGPU_FIRMWARE": str(directory / "vgpu-firmware"),
            "XDG_CACHE_HOME": str(directory / "cache"),
        }

    @staticmethod
    def executable(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def started(self) -> int:
        """How often QEMU has run."""
        return len(self.starts.read_text().splitlines()) if self.starts.exists() else 0


def module(path: Path, code: str) -> None:
    """A relocatable file with a function that the function tracer may patch."""
    text = f'.text; .type traced, @function; traced: {code}; .size traced, . - traced; .section __mcount_loc, "a"; .quad traced'
    assemble = ["gcc", "-c", "-x", "assembler", "-o", path, "-"]
    subprocess.run(assemble, input=text.replace("; ", "\n") + "\n", text=True, check=True)
