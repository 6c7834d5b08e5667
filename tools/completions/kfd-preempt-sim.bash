# SPDX-License-Identifier: MIT
# Completion of kfd-preempt-sim for bash: commands, options, and what the program lists.
# shellcheck shell=bash
_kfd_preempt_sim() {
	local words word=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		words='run compare sweep replay list bench'
	elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = --policy ]; then
		words=$("${COMP_WORDS[0]}" list 2>/dev/null | sed -n '/^### Policies/,/^###/s/, / /gp')
	elif [[ $word == -* ]]; then
		words='--policy --seed --set --csv --svg --measure --threads --jobs --progress --vary --suite --switches'
	elif [ "${COMP_WORDS[1]}" != replay ]; then
		words=$("${COMP_WORDS[0]}" list 2>/dev/null | sed -n '/^### Policies/q; s/^| \([a-z][a-z0-9-]*\) .*/\1/p' |
			grep -v '^name$')
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _kfd_preempt_sim kfd-preempt-sim
