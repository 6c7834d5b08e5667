# SPDX-License-Identifier: MIT
# Two jobs that compute until they are told to end, $first and $second, and one that works when it is
# told, $served, each a program with a name of its own for rules. Sourced after `set -eu` and
# daemon-jobs.sh.
# shellcheck shell=sh disable=SC2034,SC2154 # for the scripts; work, jobs, pid: of daemon-jobs.sh

for each in first second; do
	cp "$(command -v queue_owner)" "$work/$each"
done
cp "$(command -v hinting)" "$work/served"
first='' second='' served='' # pids

start_one() { # start_one first|second
	start "$1" "$work/$1" 1 "$work/$1.progress"
	eval "$1=$pid"
}
both_run() { until_true is_running "$first" && until_true is_running "$second"; }

start_served() {
	mkfifo "$work/lines"
	"$work/served" /run/xpreempt/xpreemptd.sock "$work/answers" <"$work/lines" >"$work/served.out" 2>&1 &
	served=$!
	jobs="$jobs $served"
	exec 3>"$work/lines"
	until_true exists "$work/answers" || bail "served did not start: $(cat "$work/served.out")"
}
answers() { grep -c . "$work/answers"; }
is_answered() { [ "$(answers)" -gt "$asked" ]; }
# submit work|begin|end: until it is done, and right.
submit() {
	asked=$(answers) && echo "$1" >&3
	until_true is_answered && [ "$(tail -n 1 "$work/answers")" = "$1" ]
}

# The daemon gives its clients a tenth of a CPU: after a slow switch a reply takes longer than
# kfd-preempt waits for it.
request() { check "kfd-preempt $*" until_true run 0 kfd-preempt "$@"; }
