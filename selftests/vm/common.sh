# SPDX-License-Identifier: MIT
# Paths and messages shared by the scripts of selftests/vm; sourced, never run.
# shellcheck shell=bash disable=SC2034

vm_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo_dir=$(cd "$vm_dir/../.." && pwd)
cache_dir=${XDG_CACHE_HOME:-$HOME/.cache}/kfd-preempt
build_dir=${BUILD_DIR:-$repo_dir/build/test}
rocm_suite=${ROCM_SUITE:-forky} # whose ROCm: see rocm-root

note() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# die STATUS MESSAGE...
die() {
	local status=$1
	shift
	note "$@"
	exit "$status"
}

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

# debian_sources SUITE: sources.list lines of a suite and of the release it belongs to.
debian_sources() {
	local site
	site=$(debian_mirror)
	echo "deb $site ${1%%-*} main"
	case $1 in
	*-security) echo "deb $site-security $1 main" ;;
	*-*) echo "deb $site $1 main" ;;
	esac
}
