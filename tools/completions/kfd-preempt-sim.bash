# SPDX-License-Identifier: MIT
# Completion of kfd-preempt-sim for bash: the program itself knows its commands, options and scenarios.
# shellcheck shell=bash
_kfd_preempt_sim() {
	mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
# Without candidates the names of files, as for --csv.
complete -o default -F _kfd_preempt_sim kfd-preempt-sim
