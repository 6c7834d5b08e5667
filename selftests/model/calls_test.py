# SPDX-License-Identifier: MIT
"""The KUnit suite of the driver has the calls that the models make."""

import difflib

from explore import table_of_calls
from runner.paths import REPO
from runner.testing.commands import CommandTest

HEADER = "kernel/amdkfd/kfd_preempt_model_test.h"


class Calls(CommandTest):
    def test_kunit_suite_has_the_calls_that_the_models_make(self):
        has, makes = (REPO / HEADER).read_text().splitlines(), table_of_calls(self.work).splitlines()
        difference = "\n".join(difflib.unified_diff(has, makes, HEADER, "the models", lineterm=""))
        self.assertFalse(difference, f"{difference}\nselftests/model/transitions > {HEADER}")
