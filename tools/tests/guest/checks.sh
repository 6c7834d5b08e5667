# SPDX-License-Identifier: MIT
# TAP for tests of commands in the guest: each check shows what the last command printed. Sourced by
# scripts that have set $work, a directory of their own.
# shellcheck shell=sh disable=SC2154 # work

count=0 failed=0

bail() {
	echo "Bail out! $*"
	exit 1
}

result() { # NAME STATUS-OF-THE-CHECK
	count=$((count + 1))
	if [ "$2" = 0 ]; then
		echo "ok $count - $1"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $count - $1"
	sed 's/^/# stdout: /' "$work/stdout"
	sed 's/^/# stderr: /' "$work/stderr"
}

# check NAME CONDITION-COMMAND...
check() {
	name=$1
	shift
	status=0
	"$@" || status=$?
	result "$name" "$status"
}

# run EXIT COMMAND...: the exit status must be as said; output is kept for the checks after it.
run() {
	want=$1
	shift
	got=0
	"$@" >"$work/stdout" 2>"$work/stderr" </dev/null || got=$?
	[ "$got" = "$want" ] && return 0
	echo "# $*: exit $got, expected $want" >>"$work/stderr"
	return 1
}
# Up to 60 s, or most_polls tenths of one: the GPU may be slow, and the machine busy.
until_true() {
	polls=0
	until "$@"; do
		[ $polls -lt "${most_polls:-600}" ] || return 1
		sleep 0.1
		polls=$((polls + 1))
	done
}
exists() { [ -s "$1" ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }
out() { grep -Eq -e "$1" "$work/stdout"; }
err() { grep -Eq -e "$1" "$work/stderr"; }

# skipped_stages REPORT_JSON: the names of the stages that `kfd-preempt verify` skipped, on one line.
skipped_stages() {
	awk -F '"' '$2 == "stage" { stage = $4 }
		$2 == "verdict" && stage {
			if ($4 == "skip") { printf "%s%s", separator, stage; separator = " " }
			stage = ""
		}' "$1"
}

# A GPU program of these tests keeps in $work/NAME.progress how far each of its queues has come.
progress() { awk -v i="${2:-0}" '{ print $(i + 1) }' "$work/$1.progress"; }
got_further() { [ "$(progress "$1" "$2")" != "$was" ]; }
began() { exists "$work/$1.progress" || gone "$2"; }
starts() { # NAME PID
	until_true began "$1" "$2" && exists "$work/$1.progress"
}
moves() { # NAME [QUEUE]
	was=$(progress "$1" "${2:-0}")
	until_true got_further "$1" "${2:-0}" && return
	echo "# $1: queue ${2:-0} stands at $was" >>"$work/stderr"
	return 1
}
# No queue of these programs gets further while the running one does, three times.
stand() { # RUNNING NAME...
	running=$1
	shift
	# Meanwhile a stopped one writes what it had read before the stop.
	moves "$running" && moves "$running" || return 1
	for each in "$@"; do cp "$work/$each.progress" "$work/$each.was"; done
	moves "$running" && moves "$running" && moves "$running" || return 1
	for each in "$@"; do
		cmp -s "$work/$each.progress" "$work/$each.was" && continue
		echo "# $each went on" >>"$work/stderr"
		return 1
	done
}
