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
out() { grep -Eq -e "$1" "$work/stdout"; }
err() { grep -Eq -e "$1" "$work/stderr"; }
