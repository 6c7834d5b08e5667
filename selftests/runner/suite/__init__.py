# SPDX-License-Identifier: MIT
"""A suite of this machine: selftests/runner/run-suite."""
