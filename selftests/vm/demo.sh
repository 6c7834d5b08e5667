#!/bin/sh
# SPDX-License-Identifier: MIT
# In the guest: a GPU program runs, kfd-preempt stops it mid-kernel and resumes it.
# The verdict is the program's own last line, PASS or FAIL.
set -eu
log=/tmp/demo.log

preempt_demo >"$log" &
pid=$!
# The verdict is shown once, at the end.
tail -f "$log" | grep -v -e '^PASS: ' -e '^FAIL: ' &

# wait_for PATTERN: until the program has said it; fails when the program ends first.
wait_for() {
	until grep -q "$1" "$log"; do
		kill -0 "$pid" 2>/dev/null || return 1
		sleep 0.1
	done
}

give_up() {
	echo "FAIL: $*"
	kill -KILL "$pid" 2>/dev/null || true
	exit 1
}

if wait_for '^iteration [1-9]'; then
	# Not at once: the program shows that it makes progress.
	sleep 2
	echo "\$ kfd-preempt suspend $pid"
	kfd-preempt suspend "$pid" || give_up "kfd-preempt suspend $pid ended with status $?"
	if wait_for '^stopped at'; then
		echo "\$ kfd-preempt status $pid"
		kfd-preempt status "$pid" || give_up "kfd-preempt status $pid ended with status $?"
		echo "\$ kfd-preempt resume $pid"
		kfd-preempt resume "$pid" || give_up "kfd-preempt resume $pid ended with status $?"
	fi
fi
status=0
wait "$pid" || status=$?
sleep 1.1 # tail -f looks once a second
grep -q '^PASS: ' "$log" || [ $status -ne 0 ] || status=1
sed -n '/^PASS: /p; /^FAIL: /p' "$log"
exit $status
