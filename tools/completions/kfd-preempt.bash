# SPDX-License-Identifier: MIT
# Completion of kfd-preempt for bash: the command itself knows what there is now.
# shellcheck shell=bash
_kfd_preempt() {
	local word
	COMPREPLY=()
	while IFS= read -r word; do
		# A name may hold what the shell would take apart.
		COMPREPLY+=("$(printf '%q' "$word")")
	done < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
# Without candidates the names of files, as for --output.
complete -o default -F _kfd_preempt kfd-preempt
