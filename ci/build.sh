# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Builds what a virtual machine boots and shows how far it is; sourced.
set -eu
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/progress.sh"

# The lines that apt-get prints, as a count.
packages_text() {
	awk '/newly installed/ { total = $3 }
		/^Get:/ && total { fetched++ }
		/^Setting up / { ready++ }
		END { if (total) printf "%d of %d packages downloaded, %d installed", fetched, total, ready }' "$1"
}

download_text() { sed -n 's/^[a-z-]*: \(downloading [^ ]*\|unpacking [^ ]*\).*/\1/p' "$1" | tail -n 1; }

# ninja's [N/M]
programs_text() { sed -n 's,^\[\([0-9]*\)/\([0-9]*\)\] .*,\1 of \2 steps,p' "$1" | tail -n 1; }

no_text() { :; }

# The objects that DKMS has compiled. The total is that of 6.12; only the build itself knows better.
driver_objects=870
driver_text() {
	local log count
	! grep -q ' cached$' "$1" || return 0 # what is there is of a build that was interrupted
	for log in "${XDG_CACHE_HOME:-$HOME/.cache}"/kfd-preempt/dkms/tree/kfd-preempt/*/build/make.log; do
		count=$(grep -cs '^ *CC ' "$log") || continue
		echo "$count of $((count > driver_objects ? count : driver_objects)) objects"
	done
}

# build_all PROGRAMS OPTION...: the stages of selftests/vm/build with OPTION..., logs in LOG_DIR.
# PROGRAMS is the command that builds the programs. Sets progress_status, as progress_wait does.
build_all() {
	local programs=$1
	shift
	progress_start download "$LOG_DIR/download.log" download_text selftests/vm/build "$@" download
	progress_start driver "$LOG_DIR/driver.log" driver_text selftests/vm/build "$@" driver
	progress_start programs "$LOG_DIR/programs.log" programs_text "$programs" "$@"
	progress_wait
	[ $progress_status = 0 ] || return 0
	progress_start guest "$LOG_DIR/guest.log" no_text selftests/vm/build "$@" guest
	progress_wait
}
