# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# How ci/test and ci/soak count; to be sourced.
set -eu

# tap_lines LOG: sets good and bad to the tests that passed and failed so far. A test that is skipped
# has failed.
tap_lines() {
	good=$(grep -E '^ok ' "$1" | grep -cv '# SKIP' || true)
	bad=$(grep -cE '^not ok |^ok .*# SKIP' "$1" || true)
}

# tap_count LOG STATUS: sets good and bad. An end without a failed line, or without any, counts as one
# failure.
tap_count() {
	tap_lines "$1"
	if [ "$bad" = 0 ] && { [ "$2" -ne 0 ] || [ "$good" = 0 ]; }; then
		bad=1
	fi
}
