# SPDX-License-Identifier: MIT
"""Tests in Python: run-tests prints their results as TAP; `commands` has the fixtures of tests that run commands."""
