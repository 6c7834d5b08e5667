# SPDX-License-Identifier: MIT
# TAP output of shell tests; sourced.
# shellcheck shell=sh

tap_count=0
tap_failed=0

# ok DESCRIPTION STATUS [FILE]: one test; the end of FILE is shown when it failed.
ok() {
    tap_count=$((tap_count + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $tap_count - $1"
        return
    fi
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_count - $1"
    [ $# -lt 3 ] || tail -n 30 "$3" | sed 's/^/# /'
}

# holds DESCRIPTION COMMAND...: one test, which passes if COMMAND does. $out is a file for its output.
# shellcheck disable=SC2154 # out
holds() {
    tap_description=$1
    tap_status=0
    shift
    "$@" > "$out" 2>&1 || tap_status=1
    ok "$tap_description" $tap_status "$out"
}

# prints_no PATTERN COMMAND...: COMMAND ends with status 0, and no line that it prints matches. Shows these lines.
prints_no() {
    tap_pattern=$1
    tap_status=0
    shift
    tap_printed=$("$@") || tap_status=$?
    printf '%s\n' "$tap_printed"
    [ "$tap_status" -eq 0 ] || echo "$1: ended with status $tap_status"
    # grep -c reads to the end, so that pipefail sees no broken pipe.
    [ "$tap_status" -eq 0 ] && [ "$(printf '%s\n' "$tap_printed" | grep -c -e "$tap_pattern")" = 0 ]
}

# Ends the test: the plan, and a status that says whether anything failed.
tap_done() {
    echo "1..$tap_count"
    exit $((tap_failed > 0))
}
