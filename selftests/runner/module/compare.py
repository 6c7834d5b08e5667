# SPDX-License-Identifier: MIT
"""Whether two builds of a module are equal but for the objects that the patches change.

Both have been linked from objects in the same order. The functions of our objects are runs of those of
`whole`; those between them have to be in `stock` in the same order, with the same bytes, and each relocation
has to refer to the same thing. A variable that one of them refers to is compared in the same way.
"""

from collections.abc import Iterable

from .elf import Definition, Object


class Comparison:
    def __init__(self, stock: Object, whole: Object, ours: Iterable[Object]):
        self.stock, self.whole = stock, whole
        self.differences: list[str] = []
        # Both directions of each pair: Debian's definition, and the other module's.
        self.copy_of: dict[Definition, Definition] = {}
        self.original_of: dict[Definition, Definition] = {}
        self.waiting: list[Definition] = []
        ours = list(ours)
        self.pair_functions(ours)
        self.pair_global_variables(ours)
        while self.waiting:
            theirs = self.waiting.pop()
            if why := self.difference(theirs, self.copy_of[theirs]):
                self.differences.append(f"{'/'.join(theirs.names)}: {why}")
        self.check_order()

    @property
    def functions(self) -> int:
        return sum(each.is_function for each in self.copy_of)

    @property
    def variables(self) -> int:
        return len(self.copy_of) - self.functions

    def pair(self, theirs: Definition, copy: Definition) -> bool:
        """Returns false if either is paired with another, or if they have other names or sizes."""
        if theirs in self.copy_of or copy in self.original_of:
            return self.copy_of.get(theirs) == copy
        # A function that is not paired by now is one of ours.
        if theirs.shape != copy.shape or theirs.is_function:
            return False
        self.add(theirs, copy)
        return True

    def add(self, theirs: Definition, copy: Definition) -> None:
        self.copy_of[theirs] = copy
        self.original_of[copy] = theirs
        self.waiting.append(theirs)

    def pair_functions(self, ours: list[Object]) -> None:
        for section in sorted(self.stock.definitions.keys() | self.whole.definitions.keys()):
            theirs, all_copies = (functions(each, section) for each in (self.stock, self.whole))
            runs = [run for each in ours if (run := functions(each, section))]
            position = 0
            for run in self.without(all_copies, runs):
                place = find(theirs, run, position)
                if place is None:
                    self.differences.append(f"{section}: {explained(theirs, run, position)}")
                    continue
                for original, copy in zip(theirs[place : place + len(run)], run):
                    self.add(original, copy)
                position = place + len(run)

    def without(self, definitions: list[Definition], runs: list[list[Definition]]) -> list[list[Definition]]:
        """Returns what is between the runs, which follow each other in the definitions."""
        rest, position = [], 0
        for run in runs:
            place = find(definitions, run, position)
            if place is None:
                self.differences.append(f"{run[0].names[0]} and what follows in our object is not in the module ({run[0].section})")
                continue
            rest.append(definitions[position:place])
            position = place + len(run)
        rest.append(definitions[position:])
        return [run for run in rest if run]

    def pair_global_variables(self, ours: list[Object]) -> None:
        known = {name for each in ours for name in each.global_variables}
        for name, theirs in self.stock.global_variables.items():
            copy = self.whole.global_variables.get(name)
            if name not in known and (copy is None or not self.pair(theirs, copy)):
                self.differences.append(f"{name}: " + ("it is another" if copy else "it is missing"))

    def difference(self, theirs: Definition, copy: Definition) -> str:
        if self.stock.bytes_of(theirs) != self.whole.bytes_of(copy):
            return "its bytes differ"
        one, other = self.stock.relocations_of(theirs), self.whole.relocations_of(copy)
        if len(one) != len(other):
            return f"it has {len(other)} relocations instead of {len(one)}"
        for expected, actual in zip(one, other):
            where = expected.offset - theirs.start
            if where != actual.offset - copy.start or expected.kind != actual.kind:
                return f"the relocation at {where:#x} is another"
            wanted, found = self.stock.target(theirs.section, expected), self.whole.target(copy.section, actual)
            if not self.same(wanted, found):
                return f"{where:#x} refers to {shown(found)} instead of {shown(wanted)}"
        return ""

    def same(self, theirs: tuple, copy: tuple) -> bool:
        if isinstance(theirs[0], Definition) and isinstance(copy[0], Definition):
            return theirs[1:] == copy[1:] and self.pair(theirs[0], copy[0])
        if len(theirs) != len(copy) or len(theirs) < 3:
            return theirs == copy
        # A constant with addresses.
        return theirs[:2] == copy[:2] and all(self.same(*pair) for pair in zip(theirs[2:], copy[2:]))

    def check_order(self) -> None:
        """Pairs are in the same order in both, so no two of the same name are exchanged."""
        last: dict[str, Definition] = {}
        for theirs in sorted(self.copy_of, key=lambda each: (each.section, each.start)):
            copy = self.copy_of[theirs]
            before = last.get(theirs.section)
            if before and (copy.section != before.section or copy.start < before.start):
                self.differences.append(f"{'/'.join(theirs.names)}: it is at another place in {theirs.section}")
            last[theirs.section] = copy


def functions(module: Object, section: str) -> list[Definition]:
    return [each for each in module.definitions.get(section, []) if each.is_function]


def find(definitions: list[Definition], run: list[Definition], position: int) -> int | None:
    shapes = [each.shape for each in run]
    for place in range(position, len(definitions) - len(run) + 1):
        if definitions[place].shape == shapes[0] and [each.shape for each in definitions[place : place + len(run)]] == shapes:
            return place
    return None


def explained(theirs: list[Definition], run: list[Definition], position: int) -> str:
    """The first definition at which Debian's are others."""
    begin = next((place for place in range(position, len(theirs)) if theirs[place].shape == run[0].shape), None)
    if begin is None:
        return f"Debian's has no {run[0].names[0]} of {run[0].size} bytes there"
    for expected, actual in zip(theirs[begin:], run):
        if expected.shape != actual.shape:
            return f"{actual.names[0]} of {actual.size} bytes is {expected.names[0]} of {expected.size} bytes in Debian's"
    return f"Debian's ends before {run[-1].names[0]}"


def shown(target: tuple) -> str:
    first, *rest = target
    name = f"{'/'.join(first.names)} of {first.size} bytes +" if isinstance(first, Definition) else first
    return " ".join(map(str, (name, *rest)))[:200]
