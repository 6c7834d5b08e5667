# SPDX-License-Identifier: MIT
"""The output of a run: TAP, JUnit XML, the failed parts, the cost of each part."""

import json
import time
from pathlib import Path
from typing import Iterable, TextIO
from xml.etree import ElementTree

from .costs import Costs
from .errors import Refusal
from .jobs import Job, Process
from .passed import age, date
from .results import Result


def tap(file: TextIO, parts: Iterable[Process], failed_build: Job | None, more: Iterable[Result] = ()) -> None:
    results = [(result, process.before) for process in parts for result in process.job.reader.results]
    results += [(result, None) for result in more]
    for number, (result, before) in enumerate(results, 1):
        why = f" # {result.why}" if result.why else f" # passed before, {date(before)}" if before else ""
        print(f"{'ok' if result.passed else 'not ok'} {number} - {result.name}{why}", file=file)
    if failed_build:
        print(f"Bail out! the build '{failed_build.name}' failed; its log is {failed_build.log}", file=file)
    print(f"1..{len(results)}", file=file, flush=True)


def junit(path: Path, parts: Iterable[Process]) -> None:
    root = ElementTree.Element("testsuites")
    for process in parts:
        results = process.job.reader.results
        failed = sum(not result.passed for result in results)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=process.job.name,
            tests=str(len(results)),
            failures=str(failed),
            time=f"{process.wall_s:.1f}",
        )
        if process.before:
            properties = ElementTree.SubElement(suite, "properties")
            ElementTree.SubElement(properties, "property", name="passed before", value=date(process.before))
        for result in results:
            case = ElementTree.SubElement(suite, "testcase", classname=process.job.name, name=result.name)
            if not result.passed:
                ElementTree.SubElement(case, "failure", message=result.why or "failed")
    ElementTree.indent(root)
    try:
        ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise Refusal(f"--junit {path}: {error.strerror}") from error


def memory(logs: Path) -> Path:
    return logs / "failed.json"


def remember_failed(logs: Path, parts: Iterable[Process]) -> None:
    failed = [
        process.job.name
        for process in parts
        if any(not result.passed for result in process.job.reader.results)
    ]
    logs.mkdir(parents=True, exist_ok=True)
    memory(logs).write_text(json.dumps(failed) + "\n")


def failed_before(logs: Path) -> list[str]:
    try:
        return json.loads(memory(logs).read_text())
    except FileNotFoundError:
        raise Refusal(f"--rerun-failed: there was no run before ({memory(logs)} is missing)") from None


def costs(processes: Iterable[Process], costs: Costs | None) -> None:
    """The longest first: what to shorten. CPU seconds count what a part has waited for."""
    for process in sorted(processes, key=lambda each: -each.wall_s):
        tests = len(process.job.reader.results)
        allowed = costs.text(process) if costs else ""
        print(f"{process.wall_s:7.1f} s {process.cpu_s:7.1f} CPU s {tests:5} tests  {process.job.name}{allowed and f': {allowed}'}")
    for line in costs.lines() if costs else []:
        print(line)


def kept(parts: Iterable[Process]) -> None:
    before = [process for process in parts if process.before]
    if before:
        tests = sum(len(process.job.reader.results) for process in before)
        oldest_s = time.time() - min(process.before for process in before)
        print(f"{tests} of them passed before with the same inputs, the oldest {age(oldest_s)} ago")
