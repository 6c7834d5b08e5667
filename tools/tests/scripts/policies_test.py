# SPDX-License-Identifier: MIT
"""Whether every page and message that lists policies lists those that the code has, and none denies one of them."""

import re
import unittest

from runner.paths import REPO

PAGES = ["*.md", "ci/*.md", "kernel/*.md", "selftests/**/*.md", "libxpreempt/**/*.md", "tools/**/*.md"]
MANUALS = ["libxpreempt/man/*.scd", "tools/man/*.scd"]
HEADERS = ["libxpreempt/include/xpreempt/*.h", "libxpreempt/compat/**/*.h"]
SOURCES = [
    "libxpreempt/src/**/*.[ch]pp", "libxpreempt/python/**/*.py", "tools/xpreemptd/*.toml",
    "tools/xpreemptd/**/*.[ch]pp", "tools/kfd-preempt/**/*.[ch]pp",
]
LONG = 6  # fewer names are an example

# NAME is the name of a policy.
DENIAL = re.compile(
    r"\bno counterparts?\b|\b(is|are) not (implemented|available|supported|there)\b|\b(do|does) not exist\b"
    r"|\bNAME (is|are) (missing|absent)\b|\b(no|only|lacks) NAME\b"
)
DENIAL_OF_ALL = re.compile(
    r"\bno (other )?polic(y|ies) (yet )?(use|read|know|need|exist)s?\b|\bpolic(y|ies) that (do|does) not exist\b"
    r"|\bpolic(y|ies) (do|does) not exist\b"
)
NEAR = 120  # characters between the words of a denial and a name


def names_in(path: str, pattern: str) -> set[str]:
    """Names of policies in quotes in the part of a file of the code that the pattern finds."""
    (part,) = re.findall(pattern, (REPO / path).read_text(), re.DOTALL)
    return {spelled(name) for name in re.findall(r'"([A-Z-]+)"', part)}


def names_of_turns() -> set[str]:
    """Those under which runs of one unit share a turn."""
    text = (REPO / "libxpreempt/src/sched/policy.hpp").read_text()
    (classes,) = re.findall(r"std::variant<(.*?)>;", text, re.DOTALL)
    (names,) = re.findall(r"policy_names[^;]*?\{(.*?)\};", text, re.DOTALL)
    by_class = dict(zip(re.findall(r"\w+", classes), re.findall(r'"([A-Z-]+)"', names)))
    return {spelled(by_class[name]) for name in re.findall(r"divides_time<(\w+)> = true;", text)}


def spelled(name: str) -> str:
    return name.replace("-", "")  # XSched's variable has KEDF


def words_of(text: str) -> str:
    """The text without markup and without the marks of comments."""
    return re.sub(r'[`*"_\\]|\n[ \t]*(//|#|\*)?', " ", text)


def lists_in(text: str, known: set[str]) -> list[set[str]]:
    """Names of policies with nothing between them but commas, "and" or "or"."""
    name = r"\b[A-Z][A-Z-]*[A-Z]\b"
    found = re.findall(rf"{name}(?:(?:\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+){name}){{{LONG - 1},}}", words_of(text))
    lists = [{spelled(word) for word in re.findall(name, one)} for one in found]
    return [names for names in lists if len(names & known) >= LONG]


def denials_in(text: str, known: set[str]) -> list[str]:
    """The words that say of a policy near them, or of all policies, that there is none."""
    spellings = {*known, "EDF", "K-EDF", "kPolicyHighestPriorityFirst"}
    found = []
    # A paragraph, or a row of a table with all of its cells.
    for part in re.split(r"\n[ \t]*(?:\*?[ \t]*\n|(?=\|))", text):
        words = re.sub(r"\s+", " ", words_of(part))
        found += [words[max(0, hit.start() - NEAR):hit.end() + NEAR] for hit in DENIAL_OF_ALL.finditer(words)]
        named = re.sub(rf"(?<![\w-])({'|'.join(sorted(spellings, key=len, reverse=True))})(?![\w-])", "NAME", words)
        for hit in DENIAL.finditer(named):
            near = named[max(0, hit.start() - NEAR):hit.end() + NEAR]
            if "NAME" in near:
                found.append(near)
    return found


class Policies(unittest.TestCase):
    def setUp(self):
        self.of_daemon = names_in("libxpreempt/src/sched/policy.hpp", r"policy_names[^;]*?\{(.*?)\};")
        self.of_process = names_in("libxpreempt/src/capi/policies.cpp", r"(known_policies\{\{.*?\};)")
        self.assertIn("BAND", self.of_daemon)
        self.assertLess(self.of_process, self.of_daemon)

    def test_each_list_has_those_of_the_daemon_or_of_a_process(self):
        allowed = [self.of_daemon, self.of_daemon - {"BAND"}, self.of_process, names_of_turns()]
        found = 0
        for place in [*PAGES, *MANUALS, *HEADERS, *SOURCES]:
            for path in sorted(REPO.glob(place)):
                for names in lists_in(path.read_text(), self.of_daemon):
                    found += 1
                    with self.subTest(path=str(path.relative_to(REPO))):
                        nearest = min(allowed, key=lambda policies: len(policies ^ names))
                        self.assertEqual(sorted(names), sorted(nearest))
        self.assertGreater(found, LONG)

    def test_no_page_denies_a_policy(self):
        read = 0
        for place in [*PAGES, *MANUALS, *HEADERS]:
            for path in sorted(REPO.glob(place)):
                read += 1
                with self.subTest(path=str(path.relative_to(REPO))):
                    self.assertEqual(denials_in(path.read_text(), self.of_daemon), [])
        self.assertGreater(read, 50)

    def test_a_denial_is_found_across_lines_and_cells(self):
        for text in (
            "The administrator chooses the policy: xserver's AWF, EDF, LAX, UP and PUP have no counterpart, so\n"
            "XSched's examples that need a window's focus run, but are not scheduled by it.\n",
            "/*\n * For policies that do not exist yet: a value in range is stored, and nothing uses it.\n */\n",
            "at most an hour; 0 is none. The daemon stores the deadline, but\nno policy uses it yet.\n",
            "kSchedulerLocal has\nonly HPF.\n",
            "|  AWF\n:  has no counterpart\n|  CFS\n:  CFS\n",
            "There is no *K-EDF* here.\n",
        ):
            with self.subTest(text=text):
                self.assertEqual(len(denials_in(text, self.of_daemon)), 1)

    def test_a_limit_of_a_policy_is_no_denial(self):
        for text in (
            "|  XHintSetScheduler(Local, CHPF, SPUP or AWF)\n:  accepted\n:  NotSupported: they schedule processes\n",
            "An attribute that the policy in force does not read has no effect. FIFO and LAX have none.\n",
            "|  AWF\n:  AWF\n|  a window\n:  has no counterpart\n",
        ):
            with self.subTest(text=text):
                self.assertEqual(denials_in(text, self.of_daemon), [])

    def test_each_policy_of_the_daemon_but_the_default_has_an_entry_in_its_page(self):
        page = (REPO / "tools/man/xpreemptd-policies.5.scd").read_text()
        entries = {spelled(name) for name in re.findall(r"^\*([A-Z-]+)\*$", page, re.MULTILINE)}
        self.assertEqual(sorted(entries & self.of_daemon), sorted(self.of_daemon - {"BAND"}))
