# SPDX-License-Identifier: MIT
"""Where things are, and whose they are."""

import os
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
VM = REPO / "selftests" / "vm"

# The default ROCm suite; a suite of tests may name another as rocm_suite. See selftests/vm/rocm-root.
ROCM_SUITE = os.environ.get("ROCM_SUITE") or "forky"


def cache() -> Path:
    """Returns the directory of what outlives a checkout."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kfd-preempt"
