#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Groups the sources of each target, so that the compiler reads one group as one file.

Reads lines `TARGET SOURCE` and writes lines `TARGET GROUP SOURCE` for the sources that are in a
group. No file of a group uses a name that another one declares for itself. A group has neighbours by path. The
hash of a file's name decides where a group ends, so a new file changes its own group and at most the next ones.

usage: unity_groups.py ALONE LIST OUTPUT   (ALONE: lines `SOURCE: reason`, sources that are in no group)

The script does not touch OUTPUT if its text is the same, because ninja runs CMake when OUTPUT is newer.
"""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from cpp_names import Names, names_of  # noqa: E402

LEAST, MOST = 7, 12  # files of a group


def clash(first: Names, second: Names) -> set[str]:
    """Returns the names by which two files would change each other. The same alias in both is allowed."""
    same = {name for name, text in first.aliases.items() if second.aliases.get(name) == text}
    return (first.local & second.local) - same | taken(first, second) | taken(second, first)


def taken(names: Names, other: Names) -> set[str]:
    """Returns the names that the other file uses for something else; a function can only hide a call."""
    return names.things & other.used | names.functions & other.called


def mark(source: Path) -> bytes:
    """Decides where a run of neighbours ends. It does not depend on the place in the list, which a new file changes."""
    return hashlib.sha256(source.name.encode()).digest()


def runs(sources: list[Path]) -> list[list[Path]]:
    """Cuts a sorted list into runs of LEAST to MOST files, each after the file with the least mark."""
    made = []
    while len(sources) > MOST:
        end = min(range(LEAST, MOST + 1), key=lambda count: mark(sources[count - 1]))
        made.append(sources[:end])
        sources = sources[end:]
    return [*made, sources]


def groups(sources: list[Path], names: Callable[[Path], Names]) -> list[list[Path]]:
    """Makes a group of each run, and moves the files that clash in it to the first group that can take them."""
    made: list[list[Path]] = []
    rest = []

    def fits(source: Path, group: list[Path]) -> bool:
        return len(group) < MOST and not any(clash(names(source), names(other)) for other in group)

    for run in runs(sorted(source for source in sources if not names(source).changes_headers)):
        group: list[Path] = []
        for source in run:
            (group if fits(source, group) else rest).append(source)
        made.append(group)
    for source in rest:
        group = next((group for group in made if fits(source, group)), None)
        if group is None:
            made.append(group := [])
        group.append(source)
    return [sorted(group) for group in made if len(group) > 1]


def read_alone(lines: list[str]) -> set[str]:
    alone = set()
    for line in lines:
        if line.strip() and not line.startswith("#"):
            source, colon, reason = line.partition(":")
            if not colon or not reason.strip():
                raise SystemExit(f"unity_groups.py: '{line}' has no reason: write SOURCE: reason")
            alone.add(source.strip())
    return alone


def main() -> None:
    root = Path(__file__).resolve().parents[1]
    alone = {root / name for name in read_alone(Path(sys.argv[1]).read_text().splitlines())}
    if missing := [str(each) for each in alone if not each.is_file()]:
        raise SystemExit(f"unity_groups.py: {sys.argv[1]} names files that do not exist: {' '.join(missing)}")
    known: dict[Path, Names] = {}

    def names(source: Path) -> Names:
        if source not in known:
            known[source] = names_of(source)
        return known[source]

    targets: dict[str, list[Path]] = {}
    for line in Path(sys.argv[2]).read_text().splitlines():
        target, source = line.split(maxsplit=1)
        targets.setdefault(target, []).append(Path(source))
    lines = []
    for target, sources in targets.items():
        for group in groups([source for source in sources if source not in alone and source.exists()], names):
            label = hashlib.sha256(group[0].name.encode()).hexdigest()[:6]
            lines += [f"{target} {target}_{label} {source}\n" for source in group]
    output, text = Path(sys.argv[3]), "".join(lines)
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


if __name__ == "__main__":
    main()
