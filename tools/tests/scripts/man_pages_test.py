# SPDX-License-Identifier: MIT
"""Manual pages lack no verb, no option, no attribute of a job and no part of the driver's interface."""

import re

from runner.paths import REPO
from runner.testing.commands import CommandTest, program

PAGES = REPO / "tools/man"
ATTRIBUTE = re.compile(r"^(JOB_)?ATTRIBUTE\(\w*, (\w+),.*\n *(\w*), (\w+),", re.MULTILINE)


class ManPages(CommandTest):
    def lacks_none(self, page, patterns):
        text = page.read_text()
        self.assertTrue(patterns)
        self.assertEqual([pattern for pattern in patterns if not re.search(pattern, text, re.MULTILINE)], [], page.name)

    def completions(self, *words):
        return self.succeeds(program("kfd-preempt"), "complete", *words).stdout.split()

    def test_page_of_the_command_has_every_verb_and_option(self):
        verbs = self.completions("")
        options = {option for verb in verbs for option in self.completions(verb, "--")} - {"--help", "--version"}
        patterns = [*(rf"^\*{verb}\*" for verb in verbs), *(rf"\*{option}\*" for option in sorted(options))]
        self.lacks_none(PAGES / "kfd-preempt.8.scd", patterns)

    def test_pages_of_rules_scenarios_and_library_have_every_attribute(self):
        rows = ATTRIBUTE.findall((REPO / "libxpreempt/src/base/attributes.def").read_text())
        self.lacks_none(PAGES / "xpreemptd.toml.5.scd", [rf"^\*{name}\*" for _, name, _, _ in rows])
        self.lacks_none(PAGES / "kfd-preempt-sim.1.scd", [rf"\*{name}\*" for _, name, _, _ in rows])
        self.lacks_none(PAGES / "kfd-preempt.8.scd", [rf"\*--{name}\*" for _, name, _, _ in rows])
        fields = [field for of_jobs_alone, _, _, field in rows if not of_jobs_alone]
        self.lacks_none(REPO / "libxpreempt/man/xp_xqueue_set_attributes.3.scd", fields)

    def test_page_of_the_driver_has_every_call_constant_and_error(self):
        header = (REPO / "uapi/kfd_preempt.h").read_text()
        names = re.findall(r"^#define (AMDKFD_IOC_[A-Z_]+|KFD_PREEMPT_[A-Z_]+) ", header, re.MULTILINE)
        names = [name for name in names if "_ABI_M" not in name and "_MAX_" not in name]
        whole = re.compile("AMDKFD_|KFD_PREEMPT_WATCH_(ADD|REMOVE|ARM|ANSWER)$")
        names = [name if whole.match(name) else name.removeprefix("KFD_PREEMPT_") for name in names]
        table = re.search(r"^ \* Errors, one meaning each:.*?^ \* No call returns", header, re.MULTILINE | re.DOTALL)
        errors = re.findall(r"^ \* (E[A-Z0-9]*)  ", table[0], re.MULTILINE)
        self.assertTrue(errors)
        self.lacks_none(PAGES / "kfd_preempt.4.scd", [rf"\b{name}\b" for name in names + errors])
