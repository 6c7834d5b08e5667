# SPDX-License-Identifier: MIT
# GPU jobs of the tests in the guest: each is a queue_owner of one queue whose progress is in
# $work/NAME.progress. Sourced after checks.sh by scripts that have set $work and have a function
# owner_of NAME, which prints the pid of that queue_owner.
# shellcheck shell=bash disable=SC2154 # work

# Up to five minutes: the guest is slow, the machine may be busy, and Slurm polls every few seconds.
# shellcheck disable=SC2034 # of until_true
most_polls=3000
started() { until_true exists "$work/$1.progress" && moves "$1"; }

queues_are() { # queues_are NAME STATE NOT-STATE
	kfd-preempt list "$(owner_of "$1")" >"$work/stdout" 2>>"$work/stderr" &&
		grep -q "$2" "$work/stdout" && ! grep -q "$3" "$work/stdout"
}
held() { queues_are "$1" ' HELD .*STICKY' RUNNING; }
held_by_daemon() { queues_are "$1" ' HELD ' 'RUNNING\|STICKY'; }
running() { queues_are "$1" RUNNING HELD; }
# Waves on the control stack of its queue, see saved_queues of tools/tests/guest/guest.py.
saved_mid_kernel() {
	local pid
	pid=$(owner_of "$1")
	awk -v pid="$pid" '
		/^Process / { here = $2 == pid }
		/Compute queue/ { dword = 0 }
		here && /^ *[0-9a-f]+: / {
			for (i = 2; i <= NF; i++) {
				if (dword == 174) offset = $i
				if (dword == 175 && offset != $i) saved++
				dword++
			}
		}
		END { exit !saved }' /sys/kernel/debug/kfd/mqds
}
cgroup_of() { sed -n 's/^0:://p' "/proc/$(owner_of "$1")/cgroup"; }
nothing_uses_the_gpu() { [ -z "$(ls /sys/class/kfd/kfd/proc)" ]; }
