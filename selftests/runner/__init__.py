# SPDX-License-Identifier: MIT
"""The test runner: selftests/run."""
