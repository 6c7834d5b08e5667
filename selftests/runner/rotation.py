# SPDX-License-Identifier: MIT
"""The rotation: each day another slice of the boots that only ci/soak runs as a whole."""

import os
from dataclasses import replace
from datetime import date, datetime, timezone

from .boots import Boot
from .errors import Refusal


def day() -> date:
    """ROTATION of the environment, or today's date in UTC."""
    text = os.environ.get("ROTATION", "")
    try:
        return date.fromisoformat(text) if text else datetime.now(timezone.utc).date()
    except ValueError as error:
        raise Refusal(f"ROTATION={text}: not a date as 2026-11-28") from error


def slices(boots: list[Boot]) -> list[Boot]:
    """Each boot in parts of at most as many commands as its slice; together they run every command once. A boot
    whose slice is 0 has no part."""
    return [
        replace(boot, run=boot.run[begin : begin + boot.slice])
        for boot in boots
        if boot.slice
        for begin in range(0, len(boot.run), boot.slice)
    ]


def of_day(boots: list[Boot], when: date) -> tuple[Boot, str]:
    """The slice of that day, and a line that names it. Days that follow each other have slices that do."""
    every = slices(boots)
    number = when.toordinal() % len(every)
    text = f"slice {number + 1} of {len(every)}, that of {when}; ROTATION={when} repeats it"
    return every[number], text
