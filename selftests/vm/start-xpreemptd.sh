#!/bin/sh
# SPDX-License-Identifier: MIT
# In the guest: starts xpreemptd with rules for two jobs and returns once it schedules.
# usage: start-xpreemptd PID-FILE	(environment: GRACE, the resume_grace; default 5ms)
set -eu
rules=/run/xpreemptd.toml
log=/tmp/xpreemptd.log

command -v xpreemptd >/dev/null || {
	echo "start-xpreemptd: xpreemptd is not in this guest" >&2
	exit 1
}
mkdir -p /run/xpreempt
# No floor: a batch job that gets its share while the server works would count as one that was not
# stopped. A grace that is longer than the gaps between the kernels of a request, which a software GPU
# makes longer than a GPU does.
cat >"$rules" <<END
[policy.BAND]
floor = "0%"
resume_grace = "${GRACE:-5ms}"

[[rule]]
executable = "*/server"
band = "high"
END
xpreemptd --config "$rules" >"$log" 2>&1 &
echo $! >"$1"
tries=100
until [ -S /run/xpreempt/xpreemptd.sock ]; do
	if ! kill -0 "$(cat "$1")" 2>/dev/null || [ $tries -eq 0 ]; then
		echo "start-xpreemptd: xpreemptd did not start; it said:" >&2
		cat "$log" >&2
		exit 1
	fi
	tries=$((tries - 1))
	sleep 0.1
done
