# SPDX-License-Identifier: MIT
"""The error that ends a run before it begins."""


class Refusal(Exception):
    """Wrong input: the message names it; the exit status is 64."""
