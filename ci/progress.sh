# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Runs steps in the background and shows how far they are; sourced by bash scripts.
#
# A terminal gets one line that is rewritten. A log gets at most one line every PROGRESS_INTERVAL
# seconds (60). Each step that ends prints one line that stays.
#
# Sets the traps of EXIT, INT, TERM, HUP and PIPE, so that no step outlives the script.
set -eu

# One entry per running step.
progress_pids=() progress_names=() progress_logs=() progress_texts=() progress_starts=()
progress_live=no progress_drawn=no progress_terminal='' progress_next=${PROGRESS_INTERVAL:-60}
progress_followed='' progress_partial=''
progress_status=0 progress_failed_log=''
if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ]; then
	progress_live=yes
	exec {progress_terminal}>&1
fi

progress_clear() {
	[ $progress_drawn = no ] || printf '\r\033[K'
	progress_drawn=no
}

# progress_say TEXT...: a line that stays.
progress_say() {
	progress_clear
	printf '[%2d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"
}

# progress_start NAME LOG TEXT COMMAND...: runs COMMAND in the background, its output goes to LOG.
# TEXT is a function that gets LOG and prints how far COMMAND is, in a few words or none.
progress_start() {
	local name=$1 log=$2 text=$3
	shift 3
	: >"$log"
	# A process group per step: one signal reaches every process of it.
	set -m
	"$@" >"$log" 2>&1 </dev/null &
	set +m
	progress_pids+=($!)
	progress_names+=("$name")
	progress_logs+=("$log")
	progress_texts+=("$text")
	progress_starts+=("$SECONDS")
}

# progress_follow LOG: also shows the lines of LOG, as they are written, until progress_wait returns.
progress_follow() { exec {progress_followed}<"$1"; }

progress_new_lines() {
	local line
	[ -n "$progress_followed" ] || return 0
	while IFS= read -r -u "$progress_followed" line; do
		progress_clear
		printf '%s\n' "$progress_partial$line"
		progress_partial=''
	done
	progress_partial+=$line
}

progress_text() { "${progress_texts[$1]}" "${progress_logs[$1]}" 2>/dev/null || true; }

progress_draw() {
	local i text line='' width
	[ $progress_live = yes ] || [ $SECONDS -ge "$progress_next" ] || return 0
	for i in "${!progress_pids[@]}"; do
		text=$(progress_text "$i")
		line+="${line:+; }${progress_names[i]} ... ${text:+$text, }$((SECONDS - progress_starts[i])) s"
	done
	if [ $progress_live = no ]; then
		progress_next=$((SECONDS + ${PROGRESS_INTERVAL:-60}))
		progress_say "$line"
		return
	fi
	width=$(stty size <&"$progress_terminal" 2>/dev/null | cut -d' ' -f2) || true
	[ "${width:-0}" -gt 8 ] || width=80
	printf -v line '[%2d:%02d] %s' $((SECONDS / 60)) $((SECONDS % 60)) "$line"
	printf '\r%s\033[K' "${line:0:width-1}"
	progress_drawn=yes
}

# progress_end INDEX: prints the line of an ended step and forgets it, or sets progress_status: what a
# failed step has started may still run, and is ended by progress_stop.
progress_end() {
	local i=$1 text took
	wait "${progress_pids[i]}" 2>/dev/null || progress_status=$?
	progress_new_lines
	text=$(progress_text "$i")
	took="${text:+$text, }$((SECONDS - progress_starts[i])) s"
	if [ $progress_status != 0 ]; then
		progress_say "${progress_names[i]}: $took, failed with status $progress_status"
		progress_failed_log=${progress_logs[i]}
		return
	fi
	progress_say "${progress_names[i]}: $took"
	unset "progress_pids[i]" "progress_names[i]" "progress_logs[i]" "progress_texts[i]" "progress_starts[i]"
}

# progress_wait: waits until all steps have succeeded, or one fails and the others are stopped. Sets
# progress_status, and always returns 0: after "||" bash would ignore errors inside a step.
progress_wait() {
	local i
	progress_status=0
	while [ $progress_status = 0 ] && [ ${#progress_pids[@]} -gt 0 ]; do
		for i in "${!progress_pids[@]}"; do
			kill -0 "${progress_pids[i]}" 2>/dev/null || progress_end "$i"
			[ $progress_status = 0 ] || break 2
		done
		progress_new_lines
		[ ${#progress_pids[@]} = 0 ] || { progress_draw; sleep 0.5; }
	done
	progress_stop
	[ -z "$progress_followed" ] || exec {progress_followed}<&-
	progress_followed='' progress_partial=''
}

# progress_alive PGID: whether a process of the group runs. Zombies do not count: some containers
# never reap them.
progress_alive() {
	{ cat /proc/[0-9]*/stat 2>/dev/null || true; } |
		awk -v group="$1" '{ sub(/^.*\) /, "") } $1 != "Z" && $3 == group { found = 1 } END { exit !found }'
}

# progress_stop: ends all steps: SIGTERM, after ten seconds SIGKILL.
progress_stop() {
	local i pid deadline=$((SECONDS + 10))
	progress_clear 2>/dev/null || true
	for i in "${!progress_pids[@]}"; do
		pid=${progress_pids[i]}
		kill -TERM -- "-$pid" 2>/dev/null || true
	done
	for i in "${!progress_pids[@]}"; do
		pid=${progress_pids[i]}
		while progress_alive "$pid"; do
			if [ $SECONDS -ge $deadline ]; then
				kill -KILL -- "-$pid" 2>/dev/null || true
				break
			fi
			sleep 0.1
		done
		wait "$pid" 2>/dev/null || true
	done
	progress_pids=() progress_names=() progress_logs=() progress_texts=() progress_starts=()
}

# progress_show_failed: the end of the log of the step that failed in progress_wait.
progress_show_failed() {
	echo "--- the end of $progress_failed_log"
	tail -n 40 "$progress_failed_log"
	echo "---"
}

# progress_interrupt STATUS SIGNAL
progress_interrupt() {
	trap - EXIT
	trap '' PIPE
	progress_stop
	progress_say "stopped by SIG$2" 2>/dev/null || true
	exit "$1"
}

trap progress_stop EXIT
trap 'progress_interrupt 130 INT' INT
trap 'progress_interrupt 143 TERM' TERM
trap 'progress_interrupt 129 HUP' HUP
trap 'progress_interrupt 141 PIPE' PIPE
