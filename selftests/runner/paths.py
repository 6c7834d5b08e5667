# SPDX-License-Identifier: MIT
"""Where things are."""

import os
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
VM = REPO / "selftests" / "vm"


def cache() -> Path:
    """What outlives a checkout."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kfd-preempt"
