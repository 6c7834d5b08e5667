# SPDX-License-Identifier: MIT
"""Compiles the objects that the patches change, and links them into Debian's amdgpu.ko."""

import lzma
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ..paths import cache
from . import sources
from .elf import OF_OBJTOOL, Object
from .sources import AMD, KERNEL

HERE = Path(__file__).resolve().parent

# Sections of Debian's module that the final link makes anew, or that are true of Debian's module alone:
# .ibt_endbr_seal lists functions to which nothing in it points, but something of ours may.
DROPPED = (".BTF", "__versions", ".orc_header", ".ibt_endbr_seal", ".rela.ibt_endbr_seal", ".note.*")
# Sections that the kernel reads as arrays.
TABLES = (".altinstructions", "__bug_table", "__ex_table", "__jump_table", ".static_call_sites", ".smp_locks")
TABLES += (".retpoline_sites", ".return_sites", ".call_sites", ".orc_unwind", ".orc_unwind_ip", "__mcount_loc", "__param")
# Fields of .modinfo that modpost writes.
MODPOST_FIELDS = (b"name=", b"vermagic=", b"depends=", b"retpoline=", b"intree=")


def note(text: str) -> None:
    print(f"test-module: {text}", file=sys.stderr, flush=True)


def quiet(command: list, **options) -> str:
    """Its stdout. A failure shows the errors that the command printed, or the end of its output."""
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if ran.returncode:
        lines = (ran.stdout + ran.stderr).splitlines()
        errors = [line for line in lines if re.search(r"\berror\b", line)]
        said = "\n".join(errors[:40] or lines[-40:])
        raise SystemExit(f"test-module: {command[0]} failed ({ran.returncode}):\n{said}")
    return ran.stdout


def make(directory: Path, *words: str) -> str:
    environment = dict(os.environ)
    if shutil.which("ccache"):
        # As kernel/build-module, whose objects these are.
        environment |= {"DEBIAN_KERNEL_USE_CCACHE": "1", "CCACHE_NOHASHDIR": "1", "CCACHE_DEPEND": "1"}
        environment.setdefault("CCACHE_DIR", str(cache() / "ccache"))
    # A make that started us would pass its own options on.
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        environment.pop(name, None)
    return quiet(["make", f"-j{os.cpu_count()}", "-C", directory, *words], env=environment)


def compile_ours(work: Path, headers: Path, reached: list[Path]) -> list[Path]:
    """Compiles the objects of amdkfd, of its interface to amdgpu, and of the other files that a change reaches;
    returns them in the order in which kbuild links them."""
    (work / "kernel").mkdir(exist_ok=True)
    shutil.copy2(KERNEL / "Makefile", work / "kernel")
    shutil.copy2(KERNEL.parent / "dkms.conf", work)
    (work / "prepared").touch()
    kbuild = (f"KERNELDIR={headers}", "W=0")
    amdgpu = work / "tree" / AMD / "amdgpu"
    make(work / "kernel", "objects", *kbuild, "OBJECTS=amdgpu.mod")
    every = list(dict.fromkeys((amdgpu / "amdgpu.mod").read_text().split()))
    more = {os.path.join(amdgpu.parent, path) for path in reached}
    # The list has both /amdgpu/../amdkfd/x.o and /amdgpu/x.o.
    ours = [
        path
        for path in every
        if re.search(r"/amdgpu/(\.\./amdkfd/|amdgpu_amdkfd)", path) or os.path.normpath(path)[:-2] + ".c" in more
    ]
    note(f"compiling {len(ours)} objects")
    make(work / "kernel", "objects", *kbuild, "OBJECTS=" + " ".join(os.path.relpath(path, amdgpu) for path in ours))
    return [Path(path) for path in ours]


def global_names(files: list[Path]) -> set[str]:
    lines = quiet(["nm", "--defined-only", "--extern-only", "--format=just-symbols", *files]).split()
    return {line for line in lines if not line.endswith(":")}  # which is the name of a file


def replaced_names(stock: Object, ours: list[Object]) -> set[str]:
    """Local functions of Debian's that are named as one of ours. The kernel finds the first function of a name,
    which would be the one that nothing calls."""
    names = set().union(*(each.function_names(is_global) for each in ours for is_global in (False, True)))
    # A global name of another object has to stay, for what refers to it.
    return names & stock.function_names(is_global=False) - stock.function_names(is_global=True)


def link(work: Path, headers: Path, stock: Path, ours: list[Path]) -> Path:
    """The module. A file of ours keeps its predecessor in it as dead code with other names: only that file's own
    local references lead there."""
    place = work / "link"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    whole = place / "stock.ko"
    whole.write_bytes(lzma.decompress(stock.read_bytes()) if stock.suffix == ".xz" else stock.read_bytes())
    stock_object = Object.load(whole)
    replaced = replaced_names(stock_object, [Object.load(path) for path in ours])
    (place / "renamed").write_text("".join(f"{name} {name}.replaced\n" for name in sorted(replaced)))
    fields = stock_object.by_name[".modinfo"].data.split(b"\0")
    kept = [field for field in fields if field and not field.startswith(MODPOST_FIELDS)]
    (place / "modinfo").write_bytes(b"".join(field + b"\0" for field in kept))
    names = global_names(ours) | {"__this_module"}
    names |= {f"{OF_OBJTOOL}{name}" for name in names}
    (place / "weak").write_text("".join(f"{name}\n" for name in sorted(names & global_names([whole]))))
    quiet(
        ["objcopy", "--strip-debug", *(f"--remove-section={name}" for name in DROPPED)]
        # modpost makes the module's own structure; references to Debian's go there, too.
        + ["--rename-section", ".gnu.linkonce.this_module=.debian.this_module"]
        + ["--update-section", f".modinfo={place / 'modinfo'}", f"--weaken-symbols={place / 'weak'}"]
        + [f"--redefine-syms={place / 'renamed'}", whole, place / "debian.o"]
    )
    shutil.copy2(HERE / "Kbuild", place)
    make(headers, f"M={place}", "CONFIG_DEBUG_INFO_BTF_MODULES=", "OURS=" + " ".join(map(str, ours)), "modules")
    theirs, together, module = (Object.load(place / name) for name in ("debian.o", "ours.o", "amdgpu.ko"))
    check_tables(theirs, together, module)
    if names := replaced_names(theirs, [together]):
        raise SystemExit(f"test-module: Debian's part still has functions of ours: {' '.join(sorted(names)[:10])}")
    return place / "amdgpu.ko"


def check_tables(theirs: Object, ours: Object, module: Object) -> None:
    """Exits if there is padding between the tables of both parts."""
    for name in TABLES:
        size, *parts = (each.by_name[name].size if name in each.by_name else 0 for each in (module, theirs, ours))
        if size != sum(parts):
            raise SystemExit(f"test-module: {name} has {size} bytes, which are not the {parts[0]} of Debian's and our {parts[1]}")
