# SPDX-License-Identifier: MIT
"""Explores the states of a model with spin, and the calls of the driver that it makes."""

import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Explored:
    """What the verifier found in one model, with a mutant or another macro defined. `output` is its report.

    Depth and memory bound a mistake in a model, not its states.
    """

    def __init__(self, work: Path, model: str, define: str = "", trail: bool = False):
        self.work, options = work, [f"-D{define}"] if define else []
        (work / f"{model}.pml").write_bytes((HERE / f"{model}.pml").read_bytes())
        self.output = self.ran("spin", "-a", *options, f"{model}.pml")
        self.ran("gcc", "-w", "-O2", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=4096", "-o", "pan", "pan.c")
        self.output = self.ran("./pan", "-m2000000")
        if trail and (work / f"{model}.pml.trail").exists():
            self.output += self.ran("spin", "-t", "-p", "-g", "-l", *options, f"{model}.pml")

    def ran(self, *command: str) -> str:
        done = subprocess.run(command, cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        # The verifier's own status says nothing of errors in the model.
        if done.returncode and command[0] != "./pan":
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}")
        return done.stdout

    def is_complete_without_error(self) -> bool:
        """A search that stopped early has not seen all states."""
        return "errors: 0\n" in self.output and not any(
            text in self.output for text in ("Search not completed", "max search depth")
        )

    def states(self) -> str:
        return next((line.split()[0] for line in self.output.splitlines() if "states, stored" in line), "no")

    def violates(self, assertion: str) -> bool:
        return f"assertion violated {assertion} (at depth" in self.output


TABLE = """/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Calls that the models make of the driver. Written by selftests/model/transitions. */
#ifndef KFD_PREEMPT_MODEL_TEST_H
#define KFD_PREEMPT_MODEL_TEST_H

static const struct model_no_hws_row {
	u8 op, who;
	u8 holds, evicted, active, pending;
	u8 asked, late;
	u8 err, holds_after, active_after, pending_after, loaded;
} model_no_hws[] = {
%s};

static const struct model_hws_row {
	u8 op, who;
	u8 holds, evicted, suspended, active, runlist, remap;
	u8 unmap, map_failed;
	u8 err, holds_after, active_after, runlist_after, remap_after;
} model_hws[] = {
%s};

#endif /* KFD_PREEMPT_MODEL_TEST_H */
"""


def calls_of(work: Path, model: str) -> list[list[str]]:
    explored = Explored(work, model, "TRACE")
    if not explored.is_complete_without_error():
        raise RuntimeError(f"{model} was not explored to its end:\n{explored.output}")
    return [line[2:].split(" ") for line in sorted({line for line in explored.output.splitlines() if line.startswith("@ ")})]


def no_hws_row(call: list[str]) -> list[str]:
    """The answer of the hardware is two columns: it was asked, and it was late."""
    return [*call[:6], str(int(call[6] > "0")), str(int(call[6] == "2")), *call[7:12]]


def table_of_calls(work: Path) -> str:
    """The tables that the KUnit suite of the driver is built with: what it finds, what the hardware answers, what results."""
    tables = [map(no_hws_row, calls_of(work, "no_hws")), calls_of(work, "hws")]
    return TABLE % tuple("".join(f"\t{{ {', '.join(row)} }},\n" for row in rows) for rows in tables)
