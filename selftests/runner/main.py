# SPDX-License-Identifier: MIT
"""The command line of selftests/run."""

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Callable

from . import boots, builds, hip, interrupts, report, suites
from .boots import Boot
from .costs import Costs
from .engine import Engine
from .errors import Refusal
from .jobs import Job
from .keeper import Keeper
from .passed import Store
from .paths import REPO, VM
from .progress import Display
from .results import count

SUITES = REPO / "selftests" / "suites.toml"


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="selftests/run",
        description="Builds what the tests need and runs them: suites of programs, and boots of a virtual machine"
        " with the software GPU in which programs test the real driver. The last line counts the tests.",
        epilog="Exit status: 0 all passed, 1 a test failed, 64 usage. Environment: BUILD_DIR (build/test), LOG_DIR,"
        " PROGRESS_INTERVAL, SEED (for the programs in the guest that draw numbers), ROTATION (a date: runs the slice"
        " of that day), CI (repeats a few kept parts).",
    )
    parser.add_argument("suite", nargs="*", help="suites, and boots as BOOT or SUITE/BOOT (default: all)")
    parser.add_argument("--list", action="store_true", help="name the suites, boots and commands, and run nothing")
    parser.add_argument("--filter", metavar="REGEX", help="only what matches: SUITE, or SUITE/BOOT: COMMAND")
    parser.add_argument("--rerun-failed", action="store_true", help="only what failed in the last run")
    parser.add_argument("--again", action="store_true", help="run also what passed before with the same inputs")
    parser.add_argument("--budget", action="store_true", help="write the costs of the parts to selftests/budget.toml; implies --again")
    parser.add_argument("--suites", metavar="FILE", default=SUITES, type=Path, help="the suites of another table")
    parser.add_argument("--results", metavar="DIR", type=Path, help="take and keep results in DIR only, also those of another table or kernel")
    parser.add_argument("--kernel", metavar="NAME|DIR", help="boot a kernel of selftests/kernels, or of a directory")
    parser.add_argument("--jobs", metavar="N", type=int, help="so many beside each other (default: one a CPU)")
    parser.add_argument("--no-build", action="store_true", help="test what the last build made")
    parser.add_argument("--tap", action="store_true", help="print the results as TAP, and progress on stderr")
    parser.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML, too")
    parser.add_argument("--seconds", action="store_true", help="end with what each part cost")
    return parser


def main(words: list[str]) -> int:
    parser = arguments()
    try:
        options = parser.parse_args(words)
    except SystemExit as end:  # argparse's own status of a wrong option is 2
        return 64 if end.code else 0
    try:
        status = Run(options).run()
        sys.stdout.flush()
        return status
    except Refusal as refusal:
        print(f"selftests/run: {refusal}", file=sys.stderr)
        return 64
    except BrokenPipeError:
        return reader_is_gone()


def reader_is_gone() -> int:
    """Whoever read our lines has ended; Python would complain once more at its own end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 128 + signal.SIGPIPE


def follow(engine: Engine, run: Callable[[], None] | None = None) -> int:
    """Runs the jobs, or calls run(); the status of a run that was stopped, or 0."""
    interrupts.watch()
    try:
        (run or engine.run)()
    except interrupts.Stopped as stopped:
        number = stopped.args[0]
        engine.display.say(f"stopped by {signal.Signals(number).name}")
        return 128 + number
    except BrokenPipeError:
        return reader_is_gone()
    return 0


def listed(jobs: list[Job]) -> None:
    for job in jobs:
        print(f"{job.name}  # {job.note}" if job.note else job.name)
        for command in getattr(job.reader, "asked", []):
            print(f"    {command}")


def is_whole(engine: Engine, status: int) -> bool:
    """Whether all parts have run to their end."""
    return not status and not engine.failed_build


class Run:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.build = Path(os.environ.get("BUILD_DIR", REPO / "build/test")).absolute()
        self.logs = Path(os.environ.get("LOG_DIR", self.build / "logs")).absolute()
        # All parts of the suites, chosen or not.
        self.every: list[Job] = []

    def run(self) -> int:
        options = self.options
        chosen, tables = self.chosen([])
        if options.kernel and not options.list:
            # Now that all words are known to be right: it takes long where there is none yet.
            chosen, tables = self.chosen(self.kernel_options())
        if options.list:
            listed(chosen)
            return 0
        if options.tap:
            sys.stdout.flush()
            results = os.fdopen(os.dup(1), "w")
            os.dup2(2, 1)
        jobs = chosen if options.no_build or options.kernel else [*self.builds(chosen), *chosen]
        for job in chosen if options.no_build or options.kernel else []:
            job.needs = set()
        display = Display()
        for job in chosen:
            if job.note:
                display.say(f"{job.name}: {job.note}")
        costs = Costs(self.logs, options.budget) if self.keeps() and not options.results else None
        keeper = Keeper(Store(options.results), options.again or options.budget, self.keeps())
        engine = Engine(jobs, options.jobs or places(), display, keeper, costs.yardstick if costs else None)
        status = self.follow(engine, costs)
        parts = [process for process in engine.done.values() if not process.job.is_build]
        after(tables, parts, self.logs)
        above = costs.judge(engine.done.values(), self.every, self.build) if costs and is_whole(engine, status) else []
        if options.tap:
            report.tap(results, parts, engine.failed_build, above)
        if options.junit:
            report.junit(Path(options.junit), parts)
        report.remember_failed(self.logs, parts)
        if options.seconds:
            report.costs(engine.done.values(), costs)
        for result in above:
            print(f"not ok - {result.name} ({result.why})")
        passed, failed = count([*engine.results(), *above])
        failed += bool(status and not failed)
        report.kept(parts)
        print(f"{passed} passed, {failed} failed")
        return status or int(failed > 0)

    @staticmethod
    def follow(engine: Engine, costs: Costs | None) -> int:
        """All parts, and then once more those that are checked today or cost too much."""
        status = follow(engine)
        if is_whole(engine, status) and (some := engine.keeper.to_check()):
            engine.display.say(f"passed before, and checked once more today: {', '.join(some)}")
            status = follow(engine, lambda: engine.again(some, engine.slots))
        if costs and is_whole(engine, status) and (some := costs.to_repeat(engine.done.values())):
            engine.display.say(f"above the budget, run alone once more: {', '.join(some)}")
            status = follow(engine, lambda: costs.alone(engine, some))
        engine.keeper.save()
        return status

    def keeps(self) -> bool:
        """Whether results are kept and taken: not those of a part of a part, or after a failure; those of ci/soak
        only in a directory of their own.
        """
        options = self.options
        usual = options.suites == SUITES and not options.kernel
        return bool(usual or options.results) and not (options.filter or options.rerun_failed)

    def kernel_options(self) -> list[str]:
        """Builds a kernel of selftests/kernels if it is not there, and what the guest needs with it."""
        name = directory = self.options.kernel
        if not Path(name).is_dir():
            built = subprocess.run([REPO / "selftests/kernels/build", name], stdout=subprocess.PIPE, text=True)
            if built.returncode:
                raise Refusal(f"--kernel {name}: selftests/kernels/build cannot make it (status {built.returncode})")
            directory = built.stdout.strip()
        options = ["--kernel", directory]
        # A driver from 7.2 on asks the SMU for bad pages, though the guest has none.
        options += ["--param", "ras_enable=0"] if name == directory else []
        # Races need somebody to race with.
        options += ["--cpus", "2"] if name == "kcsan" else []
        # The tests' own module, where its headers are elsewhere.
        for module in Path(directory).glob("lib/modules/*/updates/dkms/kfd_probes.ko"):
            options += ["--add", f"{module}:/modules/kfd_probes.ko"]
        subprocess.run([VM / "build", "--kernel", directory], stdout=sys.stderr, check=True)
        return options

    def chosen(self, kernel: list[str]) -> tuple[list[Job], dict[str, dict]]:
        options = self.options
        made = suites.Suites(self.build, self.logs, kernel, self.keeps())
        tables = made.read(options.suites)
        if options.kernel:
            tables = self.on_kernel(tables)
        wanted = [*options.suite, *(report.failed_before(self.logs) if options.rerun_failed else [])]
        if options.rerun_failed and not wanted:
            raise Refusal(f"--rerun-failed: nothing failed in the last run ({self.logs})")
        jobs = [job for name, table in tables.items() for job in made.jobs(name, table, self.wanted_boot)]
        self.every = jobs
        known = {word for job in jobs for word in words_of(job)}
        for word in wanted:
            if word not in known:
                raise Refusal(f"no suite '{word}'; there are: {' '.join(tables)}; --list names the boots")
        jobs = [job for job in jobs if not wanted or words_of(job) & set(wanted)]
        if options.filter:
            jobs = [job for job in jobs if getattr(job.reader, "asked", None) or self.filter().search(job.name)]
        if not jobs:
            raise Refusal("nothing to run; --list names what there is")
        return jobs, tables

    def on_kernel(self, tables: dict[str, dict]) -> dict[str, dict]:
        """The boots of --suites, or those of the driver's tests. The name tells the logs of several kernels apart."""
        name = Path(self.options.kernel).name
        if self.options.suites == SUITES:
            driver = ["selftests/kfd_preempt/boots.toml", "selftests/kfd_preempt/matrix.toml"]
            return {name: {"boots": ["selftests/kernels/boots.toml", *driver]}}
        return {f"{name}-{suite}": table for suite, table in tables.items() if "boots" in table}

    def filter(self) -> re.Pattern[str]:
        try:
            return re.compile(self.options.filter or "")
        except re.error as error:
            raise Refusal(f"--filter {self.options.filter}: {error}") from error

    def wanted_boot(self, suite: str, boot: Boot) -> Boot | None:
        # A kernel has one driver: a boot with a module of its own is for Debian's.
        if self.options.kernel and boot.module:
            return None
        return boots.selected(boot, suite, self.filter()) if self.options.filter else boot

    def builds(self, chosen: list[Job]) -> list[Job]:
        """The builds that the chosen jobs need, and those that these need."""
        needs = hip.needs_of(job.rocm for job in chosen if job.rocm)
        every = {job.name: job for job in builds.jobs(self.logs, self.build, hip=needs)}
        needed: set[str] = set()
        more = {need for job in chosen for need in job.needs}
        while more:
            needed |= more
            more = {need for name in more for need in every[name].needs} - needed
        return [job for name, job in every.items() if name in needed]


def words_of(job: Job) -> set[str]:
    """The names by which a person may choose it: SUITE/BOOT, its suite, or the boot alone."""
    return {job.name, *job.name.split("/")}


def places() -> int:
    """A guest needs a little more than a CPU, and 3 GiB."""
    memory_kb = next(
        int(line.split()[1])
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemAvailable:")
    )
    return max(1, min(os.cpu_count() or 1, memory_kb // (3 << 20)))


def after(tables: dict[str, dict], parts: list, logs: Path) -> None:
    """Shows the output of the field `after` of each suite that has run."""
    names = {process.job.name.split("/")[0] for process in parts}
    for name, table in tables.items():
        if name in names and "after" in table:
            subprocess.run(table["after"].replace("$REPO", str(REPO)), shell=True, cwd=logs, check=False)
