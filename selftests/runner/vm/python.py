# SPDX-License-Identifier: MIT
"""The Python of the guest's tests: Debian's interpreter, and the modules that they import, compiled."""

import subprocess
import tempfile
from pathlib import Path

from ..paths import REPO
from .layers import Store

# Those of tests in the guest import others.
NAMES = ("json", "random", "runner.testing.tap", "shlex", "shutil", "signal", "site", "socket")
# Optional for shutil, and each with a library of its own.
LEFT_OUT = ("bz2", "lzma", "_compression", "_bz2", "_lzma")
# Run by that interpreter, for the format of compiled modules is its own.
COPY = """
import importlib, os, pathlib, py_compile, shutil, sys

tree, ours, names, left_out = sys.argv[1], pathlib.Path(sys.argv[2]), *(word.split() for word in sys.argv[3:])
library = pathlib.Path(os.__file__).parent
sys.path.append(str(ours))
sys.modules |= dict.fromkeys(left_out)
for name in names:
    importlib.import_module(name)
for source in sorted({pathlib.Path(each.__file__) for each in sys.modules.values() if getattr(each, "__file__", None)}):
    place = library / source.relative_to(ours) if source.is_relative_to(ours) else source
    target = pathlib.Path(f"{tree}{place}")
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".py":
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(source, f"{target}c", str(place), doraise=True, invalidation_mode=mode)
    else:
        shutil.copyfile(source, target)
"""


def module_layer(store: Store, interpreter: Path) -> str:
    """The layer with the modules, where the interpreter looks for them."""
    ours = REPO / "selftests"

    def make() -> list[str]:
        with tempfile.TemporaryDirectory(prefix="kfd-preempt-layer.") as tree:
            words = [tree, ours, " ".join(NAMES), " ".join(LEFT_OUT)]
            # Equal bytes: the order of a set in a compiled module depends on the seed.
            subprocess.run([interpreter, "-S", "-B", "-c", COPY, *words], check=True, env={"PYTHONHASHSEED": "0"})
            return [store.pack(Path(tree)).name]

    files = sorted((ours / "runner/testing").glob("*.py"))
    (layer,) = store.remembered(make, "python", COPY, NAMES, LEFT_OUT, interpreter, *files)
    return layer
