# SPDX-License-Identifier: MIT
"""The virtual machine: selftests/vm/run."""
