#!/bin/sh
# SPDX-License-Identifier: MIT
# In the guest: one job has 75 % of the VRAM, another needs as much. kfd-preempt suspends the first
# with its memory, and lets it go on when the second is done.
set -eu
first=/tmp/first.log second=/tmp/second.log first_pid='' second_pid=''

give_up() {
	echo "FAIL: $*"
	kill -KILL $first_pid $second_pid 2>/dev/null || true
	exit 1
}

# shown COMMAND...: as at a terminal; it must succeed.
shown() {
	echo "\$ $*"
	"$@" || give_up "$* ended with status $?"
}

# ready PID LOG: until that job has its memory and runs.
ready() {
	until grep -q '^ready' "$2"; do
		kill -0 "$1" 2>/dev/null || give_up "a job did not begin: $(cat "$2")"
		sleep 0.1
	done
}

mib_of() { sed -n 's/^ready: .*MiB=//p' "$1"; }

echo '$ vram_job 75 &'
vram_job 75 >"$first" &
first_pid=$!
ready $first_pid "$first"
cat "$first"
echo '$ vram_job 75 &          # three quarters of what is left'
vram_job 75 >"$second" &
second_pid=$!
ready $second_pid "$second"
cat "$second"
[ "$(mib_of "$second")" -lt "$(mib_of "$first")" ] || give_up 'the VRAM is not full'
kill -TERM $second_pid
wait $second_pid || give_up "the second job: $(tail -n 1 "$second")"

shown kfd-preempt suspend --yield-memory $first_pid
shown kfd-preempt status $first_pid
echo '$ vram_job 75 3'
: >"$second" # of the one before
vram_job 75 3 >"$second" &
second_pid=$!
ready $second_pid "$second"
[ "$(mib_of "$second")" -ge "$(mib_of "$first")" ] || give_up 'the second job did not get the memory'
echo "\$ kfd-preempt resume $first_pid          # too early"
status=0
kfd-preempt resume $first_pid 2>/tmp/resume.log || status=$?
cat /tmp/resume.log
if [ $status != 1 ] || ! grep -q 'no room in VRAM of GPU' /tmp/resume.log; then
	give_up "the resume without VRAM ended with status $status, and not for want of VRAM"
fi
wait $second_pid || give_up "the second job: $(tail -n 1 "$second")"
cat "$second"
# KFD frees the memory of a process after its end.
tries=0
until kfd-preempt resume $first_pid >/tmp/resume.log 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || give_up "the first job does not go on: $(cat /tmp/resume.log)"
	sleep 0.1
done
echo "\$ kfd-preempt resume $first_pid"
cat /tmp/resume.log
sleep 1
kill -TERM $first_pid
wait $first_pid || give_up "the first job: $(tail -n 1 "$first")"
sed -n 's/^PASS: /the first job: /p' "$first"
echo "PASS: two jobs of $(mib_of "$first") and $(mib_of "$second") MiB of VRAM took turns, every word of both is right"
