#!/bin/sh
# SPDX-License-Identifier: MIT
# In the guest with ROCm: a server alone, beside a batch job, and beside it under xpreemptd. Both are
# ordinary HIP programs. Lines that begin with @ are measurements for `ci/demo two-jobs`.
# usage: two-jobs [alone|free|xpreemptd]...   (environment: REQUESTS, PAUSE_MS, ELEMENTS, STEPS, and RATE:
#	wave instructions of the GPU in a millisecond of the guest's time, see vgpu's README.md, "Pace")
set -eu
requests=${REQUESTS:-40} pause_ms=${PAUSE_MS:-400} elements=${ELEMENTS:-1024} steps=${STEPS:-6000} rate=${RATE:-10000}
work=$(mktemp -d)
server='' batch='' daemon=''
# HIP compiles its own copy kernels whenever a program starts; once is enough here.
export AMD_COMGR_CACHE=1 AMD_COMGR_CACHE_DIR="$work/comgr"

clean_up() {
	for pid in $server $batch $daemon; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap clean_up EXIT

give_up() {
	echo "FAIL: $*"
	exit 1
}

# pasid_of PID: waits until the process has opened /dev/kfd.
pasid_of() {
	until cat "/sys/class/kfd/kfd/proc/$1/pasid" 2>/dev/null; do
		kill -0 "$1" 2>/dev/null || return 1
		sleep 0.05
	done
}

counters() {
	echo gpu_clock
	[ -z "$batch" ] ||
		echo "wave_instructions_by_pasid/$batch_pasid wave_instructions_after_stop/$batch_pasid:$server_pasid"
}

# read_counters FILE: those of the vgpu that belong to the jobs. A PASID may be that of an earlier
# process, so only differences mean something.
read_counters() {
	for name in $(counters); do
		echo "$name $(vgpu-fault counter "$name")"
	done >"$1"
}

start_batch() {
	batch --until-told --verbose >"$work/batch.log" 2>&1 &
	batch=$!
	until grep -q '^batch: round' "$work/batch.log"; do
		kill -0 "$batch" 2>/dev/null || give_up "batch ended early: $(cat "$work/batch.log")"
		sleep 0.1
	done
	batch_pasid=$(pasid_of "$batch")
}

end_batch() {
	kill -RTMIN "$batch"
	wait "$batch" || give_up "batch ended with status $?: $(tail -n 3 "$work/batch.log")"
	batch=''
	grep '^batch: right:' "$work/batch.log" || give_up "batch did not report its results"
}

# Before and after: the requests that the server measures. It sleeps before each of them.
run_server() {
	server --requests "$requests" --pause-ms "$pause_ms" --elements "$elements" --steps "$steps" >"$work/server.log" 2>&1 &
	server=$!
	server_pasid=$(pasid_of "$server") || give_up "server ended early: $(cat "$work/server.log")"
	until grep -q '^server: ready' "$work/server.log"; do
		kill -0 "$server" 2>/dev/null || give_up "server ended early: $(cat "$work/server.log")"
		sleep 0.02
	done
	read_counters "$work/before"
	wait "$server" || give_up "server ended with status $?: $(tail -n 3 "$work/server.log")"
	server=''
	read_counters "$work/after"
	echo "@pasid server $server_pasid"
	[ -z "$batch" ] || echo "@pasid batch $batch_pasid"
	grep '^server: right:' "$work/server.log" || give_up "server did not report its results"
}

report() {
	paste -d ' ' "$work/before" "$work/after" | while read -r name before _ after; do
		echo "@count $name $before $after"
	done
}

run_mode() {
	echo "@mode $1"
	echo "== $1"
	if [ "$1" = xpreemptd ]; then
		# The CPU of the guest is slow: between the kernels of a request it needs longer than 5 ms.
		GRACE=50ms start-xpreemptd "$work/daemon.pid" || give_up "xpreemptd did not start"
		daemon=$(cat "$work/daemon.pid")
	fi
	[ "$1" = alone ] || start_batch
	vgpu-fault pace "$rate" || give_up "the vgpu keeps no pace"
	run_server
	vgpu-fault pace 0
	report
	[ -z "$batch" ] || end_batch
	if [ -n "$daemon" ]; then
		kill -TERM "$daemon"
		while kill -0 "$daemon" 2>/dev/null; do sleep 0.1; done
		daemon=''
	fi
	echo "@end $1"
}

[ $# -gt 0 ] || set -- alone free xpreemptd
# Every guest has the driver check the HQDs after each stop, by 32 reads a queue. Users do not.
echo 0 >/sys/module/amdgpu/parameters/preempt_verify
for mode in "$@"; do
	case $mode in
	alone | free | xpreemptd) run_mode "$mode" ;;
	*)
		echo "two-jobs: no mode is called '$mode'; there are alone, free and xpreemptd" >&2
		exit 64
		;;
	esac
done
