# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# How ci/test and ci/soak count; to be sourced.
set -eu

# tap_count LOG STATUS: sets good and bad. A test that is skipped has failed, and an end without a
# failed line, or without any, counts as one failure.
tap_count() {
	good=$(grep -E '^ok ' "$1" | grep -cv '# SKIP' || true)
	bad=$(grep -cE '^not ok |^ok .*# SKIP' "$1" || true)
	if [ "$bad" = 0 ] && { [ "$2" -ne 0 ] || [ "$good" = 0 ]; }; then
		bad=1
	fi
}
