# SPDX-License-Identifier: MIT
# Jobs on the GPU and xpreemptd beside them, for tests in the guest. Makes $work, a directory of its
# own, and ends all of it with the script. Sourced after `set -eu`; sources checks.sh.
# shellcheck shell=sh disable=SC2034 # pid, status: for the scripts

work=$(mktemp -d /tmp/daemon.XXXXXX)
chmod 755 "$work"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$(command -v "$0")")/checks.sh"
jobs='' daemon='' daemon_options=--verbose log=$work/daemon.log
: >"$work/stdout"
: >"$work/stderr"

# shellcheck disable=SC2329 # called by the trap
cleanup() {
	[ "$failed" = 0 ] || [ ! -f "$work/daemon.log" ] || tail "$work/daemon.log" | sed 's/^/# daemon: /'
	for pid in $jobs $daemon; do
		kill -9 "$pid" 2>/dev/null || :
	done
	# A program that runs next starts a daemon of its own.
	# shellcheck disable=SC2086 # none or several
	wait $jobs $daemon 2>/dev/null || :
	rm -rf "$work"
}
trap cleanup EXIT

# write_rules FLOOR [LINE]...: a program called server is important. Lines of BAND's parameters. The
# turns of a floor are short, so that a test does not wait for one.
write_rules() {
	{
		printf '[policy.BAND]\nfloor = "%s"\nfloor_turn = "10ms"\n' "$1"
		shift
		[ $# = 0 ] || printf '%s\n' "$@"
		printf '[[rule]]\nexecutable = "*/server"\nband = "high"\n'
	} >"$work/rules.toml"
}
cp "$(command -v queue_owner)" "$work/batch"
cp "$(command -v queue_owner)" "$work/server"
mkdir "$work/requests"
cp "$(command -v request_loop)" "$work/requests/server"

# All of its queues.
are() { kfd-preempt list "$1" >"$work/list" && grep -q "$2" "$work/list" && ! grep -q "$3" "$work/list"; }
is_held() { are "$1" HELD RUNNING; }
is_running() { are "$1" RUNNING HELD; }

start() { # start NAME COMMAND...: sets pid
	name=$1
	shift
	rm -f "$work/$name.progress"
	"$@" >"$work/$name.out" 2>&1 &
	pid=$!
	jobs="$jobs $pid"
	if ! starts "$name" "$pid"; then
		bail "$name did not start: $(cat "$work/$name.out")"
	fi
}
end_of() { # end_of PID: ends it and keeps its exit status
	kill -TERM "$1" 2>/dev/null || :
	status=0
	wait "$1" || status=$?
	return $status
}

# Its file of /dev/kfd makes it a process of KFD.
daemon_is_ready() { [ -e "/sys/class/kfd/kfd/proc/$daemon" ] && kfd-preempt policy >/dev/null 2>&1; }
start_daemon() {
	# shellcheck disable=SC2086 # none or several
	xpreemptd $daemon_options --config "$work/rules.toml" >"$log" 2>&1 &
	daemon=$!
	until_true daemon_is_ready || bail "xpreemptd did not start: $(cat "$work/daemon.log")"
}
kill_daemon() { # as the kernel does: nothing is cleaned up
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null || :
}

job_value() { # job_value NAME KEY: of the daemon's report
	kfd-preempt -j jobs | awk -v name="\"$1\"" -v key="\"$2\":" '
		$1 == "\"name\":" { found = index($0, name) }
		found && $1 == key { gsub(/[",]/, "", $2); print $2 }'
}
job_number() { job_value "$@" | tr -cd '0-9\n'; }
# How often the daemon has moved memory.
moves_of_memory() { kfd-preempt -j policy | sed -n 's/^ *"moves": \([0-9]*\).*/\1/p'; }
