# SPDX-License-Identifier: MIT
# Completion of kfd-preempt and kfd-preempt-sim for bash: the program itself knows what there is now.
# shellcheck shell=bash

# Sets `words` to the words of a line as the shell reads them, and `quote` to the quote that is open.
# Nothing is expanded: the line may have a command substitution.
_kfd_preempt_words() {
	local line=$1 text='' in_word='' c i
	words=() quote=''
	for ((i = 0; i < ${#line}; i++)); do
		c=${line:i:1}
		if [[ $quote ]]; then
			case $c in
			"$quote") quote='' ;;
			\\) [[ $quote == '"' && ${line:i+1:1} == [\\\"\$\`] ]] && c=${line:i+1:1} i=$((i + 1)); text+=$c ;;
			*) text+=$c ;;
			esac
		elif [[ $c == \$ && ${line:i+1:1} == [\'\"] ]]; then
			in_word=1
		elif [[ $c == [\'\"] ]]; then
			quote=$c in_word=1
		elif [[ $c == \\ ]]; then
			i=$((i + 1)) in_word=1
			text+=${line:i:1}
		elif [[ $c == [[:space:]] ]]; then
			[[ $in_word ]] && words+=("$text")
			text='' in_word=''
		else
			text+=$c in_word=1
		fi
	done
	words+=("$text")
}

# The program with ~ or one variable in front, as it may be typed; else the one in PATH.
_kfd_preempt_command() {
	local -r variable='^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?(/.*)?$'
	case $1 in
	\~/*) command=$HOME${1#\~} ;;
	*) command=$1 ;;
	esac
	[[ $command =~ $variable ]] && command=${!BASH_REMATCH[1]}${BASH_REMATCH[2]}
	type -P -- "$command" >/dev/null && return
	case $1 in
	*-sim) command=kfd-preempt-sim ;;
	*) command=kfd-preempt ;;
	esac
}

_kfd_preempt() {
	local -a words
	local quote word last piece command
	# readline replaces only what is behind the last of its break characters, such as =, or from an @ on.
	piece=${COMP_WORDS[COMP_CWORD]}
	[[ $piece == [=:] ]] && piece=''
	[[ $COMP_CWORD -gt 0 && ${COMP_WORDS[COMP_CWORD - 1]} == @ ]] && piece=@$piece
	_kfd_preempt_words "$piece"
	[[ $quote ]] && _kfd_preempt_words "$quote${piece#*"$quote"}"
	piece=${words[0]}
	_kfd_preempt_words "${COMP_LINE:0:COMP_POINT}"
	_kfd_preempt_command "${words[0]}"
	last=${words[${#words[@]} - 1]}
	[[ $last == *"$piece" ]] || piece=${piece#@} # another word was a lone @
	COMPREPLY=()
	while IFS= read -r word; do
		word=${word#"${last%"$piece"}"}
		# A name may hold what the shell would take apart.
		case $quote in
		'') word=$(printf '%q' "$word") ;;
		'"')
			word=${word//\\/\\\\} word=${word//\"/\\\"}
			word=${word//\$/\\\$} word=${word//\`/\\\`}
			;;
		esac
		COMPREPLY+=("$word")
	done < <("$command" complete "${words[@]:1}" 2>/dev/null)
}
# Without candidates the names of files, as for --output or --csv.
complete -o default -F _kfd_preempt kfd-preempt kfd-preempt-sim
