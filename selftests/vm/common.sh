# SPDX-License-Identifier: MIT
# Paths and messages shared by the scripts of selftests/vm; sourced, never run.
# shellcheck shell=bash disable=SC2034

vm_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo_dir=$(cd "$vm_dir/../.." && pwd)
cache_dir=${XDG_CACHE_HOME:-$HOME/.cache}/kfd-preempt
build_dir=${BUILD_DIR:-$repo_dir/build/test}
guest_dir=$build_dir/guest
rocm_suite=${ROCM_SUITE:-forky} # whose ROCm: see rocm-root

note() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# die STATUS MESSAGE...
die() {
	local status=$1
	shift
	note "$@"
	exit "$status"
}

# kernel_release DIR: the release of a kernel as --kernel takes it.
kernel_release() {
	local releases
	[ -r "$1/vmlinuz" ] || die 64 "--kernel $1: has no readable vmlinuz"
	releases=$(find "$1/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' 2>/dev/null || true)
	[ "$(wc -w <<<"$releases")" = 1 ] ||
		die 64 "--kernel $1: has not one directory in lib/modules, but: ${releases:-none}"
	[ -r "$1/lib/modules/$releases/modules.dep" ] ||
		die 64 "--kernel $1: lib/modules/$releases has no modules.dep; depmod -b $1 $releases makes it"
	modinfo -b "$1" -k "$releases" -F filename amdgpu >/dev/null 2>&1 ||
		die 64 "--kernel $1: has no amdgpu.ko among its modules"
	echo "$releases"
}

# guest_dir_of DIR: what is built for another kernel does not replace what is built for Debian's.
guest_dir_of() { echo "$guest_dir-$(readlink -f "$1" | sha256sum | cut -c 1-8)"; }

# The Debian archive that this machine's apt uses.
debian_mirror() {
	local site
	# shellcheck disable=SC2016 # apt's variables, not ours
	site=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(SITE) $(ORIGIN) $(CODENAME)' |
		awk '$2 == "Debian" && $3 !~ /-/ { print $1; exit }')}
	[ -n "$site" ] || die 1 "no Debian archive in the apt sources of this machine;" \
		"run apt-get update, or set DEBIAN_MIRROR to one"
	echo "$site"
}
