# SPDX-License-Identifier: MIT
"""Explores every state of the models, and finds each mutant. TRAIL=1 shows the way to a failure."""

import os
import re

from explore import HERE, Explored
from runner.testing.commands import CommandTest, cases

MODELS = ["no_hws", "hws", "watch", "memory", "release", "deadline", "process"]
# MODEL:MUTANT: the assertion that it must violate, as the verifier prints it.
VIOLATED = dict(line.split(" ", 1) for line in (HERE / "violated").read_text().splitlines() if not line.startswith("#"))


def mutants(model):
    return sorted(set(re.findall(r"MUTANT_([A-Z_]+)", (HERE / f"{model}.pml").read_text())))


class Model(CommandTest):
    def explore(self, model, define=""):
        return Explored(self.work, model, define, trail=bool(os.environ.get("TRAIL")))

    @cases(*((f"{model}: no error in any state", model) for model in MODELS))
    def whole(self, model):
        explored = self.explore(model)
        self.assertTrue(explored.is_complete_without_error(), explored.output)
        print(f"# {model}: {explored.states()} states")

    @cases(*((f"{model}: a driver that is wrong in this way is found: {mutant.lower()}", model, mutant)
             for model in MODELS for mutant in mutants(model)))
    def mutant(self, model, mutant):
        explored = self.explore(model, f"MUTANT_{mutant}")
        self.assertTrue(explored.violates(VIOLATED[f"{model}:{mutant}"]), explored.output)
