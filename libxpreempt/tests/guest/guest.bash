# SPDX-License-Identifier: MIT
# What the runners beside it share: TAP, compiling with HIP, a guest with the library in it.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
build=${BUILD_DIR:-$root/build/dev}
number=0 failed=0

result() { # result STATUS DESCRIPTION
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
	else
		failed=$((failed + 1))
		echo "not ok $number - $2"
	fi
}

# results PREFIX FILE: each line of a program's TAP is one of ours.
results() {
	local line
	while IFS= read -r line; do
		case $line in
		"ok "*) result 0 "$1${line#*- }" ;;
		"not ok "*) result 1 "$1${line#*- }" ;;
		*) echo "# $line" ;;
		esac
	done <"$2"
}

# To end with: the plan, and whether all was well.
finish() {
	echo "1..$number"
	[ $failed = 0 ]
}

build_all() {
	[ -n "${NO_BUILD:-}" ] || "$root/selftests/vm/build" --rocm >&2
	mkdir -p "$build/xpreempt"
}

# compile NAME [OPTION...]: NAME.hip beside the runners, into the build directory.
compile() {
	local name=$1
	shift
	"$root/selftests/vm/in-rocm" hipcc --offload-arch=gfx942 -O2 -Wall -std=c++20 -Ilibxpreempt/include \
		-o "/opt/kfd-preempt/build/xpreempt/$name" "libxpreempt/tests/guest/$name.hip" \
		-L/opt/kfd-preempt/build/libxpreempt -lxpreempt "$@" >&2
}

# compile_alone NAME: a program that is not linked with the library.
compile_alone() {
	"$root/selftests/vm/in-rocm" hipcc --offload-arch=gfx942 -O2 -Wall -std=c++20 \
		-o "/opt/kfd-preempt/build/xpreempt/$1" "libxpreempt/tests/guest/$1.hip" >&2
}

compile_examples() {
	"$root/selftests/vm/in-rocm" make --no-print-directory -C libxpreempt/examples \
		OUTPUT=/opt/kfd-preempt/build/xpreempt XPREEMPT_LIB=/opt/kfd-preempt/build/libxpreempt >&2
}

# module_of DRIVER: the options of selftests/vm/run for it, as the array module.
module_of() {
	case $1 in
	patched) module=() ;;
	stock) module=(--module stock) ;;
	*) echo "$(basename "$0"): '$1' is neither patched nor stock" >&2; exit 64 ;;
	esac
}

# guest COMMANDS [OPTION...] [-- PROGRAM...]: runs them in the guest's shell, beside the library and
# those programs of the build directory; the options are those of selftests/vm/run.
guest() {
	local commands=$1 options=() program
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	[ $# = 0 ] || shift
	for program in "$@"; do options+=(--add "$build/xpreempt/$program"); done
	# shellcheck disable=SC2016 # variables of the guest
	"$root/selftests/vm/run" --rocm --no-build --timeout "${TIMEOUT:-600}" "${options[@]}" \
		--add "$build/libxpreempt/libxpreempt.so.0:/usr/bin/libxpreempt.so.0" \
		--add "$build/libxpreempt/libxpreempt-hook.so:/usr/bin/libxpreempt-hook.so" \
		-- 'cd /opt/kfd-preempt/bin
		export LD_LIBRARY_PATH=$PWD:$LD_LIBRARY_PATH
		'"$commands"
}
