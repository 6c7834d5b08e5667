# SPDX-License-Identifier: MIT
# A Debian system with the patched driver and our packages in which other programs are tested beside
# them; sourced by tests that set top and here, after root.sh.
# shellcheck shell=bash disable=SC2034,SC2154

# make_system NAME PACKAGE...: sets `system`, a directory for selftests/vm/run --system. Remembered by the
# content of all that is in it: the first time takes minutes.
make_system() {
	local name=$1 debs module key
	shift
	debs=$("$here/debs") || return
	module=$("$top/kernel/build-module" --kernelver "$release") || return
	key=$({
		apt-cache show --no-all-versions "linux-image-$release" "$@" | grep -E '^(Package|Version):'
		[ -z "${suite:-}" ] || date "+$suite %G-%V"
		sha256sum "$debs"/*.deb "$module" "$here"/{root.sh,system.sh,init-for-tests} "$top/selftests/vm/demo.sh" \
			"$build_dir/selftests/vgpu/vgpu-firmware" | cut -d ' ' -f 1
	} | sha256sum | cut -c 1-16)
	system=$cache/systems/$name-$key
	mkdir -p "$cache/systems"
	exec 8>"$cache/systems/$name.lock"
	flock 8
	if [ ! -d "$system" ]; then
		bootstrapped "$name" "$@" && install_ours "$debs" "$module" && for_vm || return
		rm -rf "$system.new"
		make_image "$system.new" "$release" || return
		find "$cache/systems" -mindepth 1 -maxdepth 1 -name "$name-*" -mtime +7 -exec rm -rf {} +
		mv "$system.new" "$system"
	fi
	exec 8>&-
}

# bootstrapped NAME PACKAGE...: an archive of Debian's packages alone; they change less often than ours. The archive
# of a $suite is made anew each week, because this machine's apt knows nothing of its packages.
bootstrapped() {
	local name=$1 key archive
	shift
	key=$({
		apt-cache show --no-all-versions "linux-image-$release" "$@"
		[ -z "${suite:-}" ] || date "+$suite %G-%V"
	} | sha256sum | cut -c 1-16)
	archive=$cache/systems/$name-debian-$key.tar
	if [ ! -e "$archive" ]; then
		rm -f "${archive%.tar}.new.tar"
		bootstrap "${archive%.tar}.new.tar" "linux-image-$release" systemd systemd-sysv dbus "$@" || return
		mv "${archive%.tar}.new.tar" "$archive"
	fi
	mkdir -p "$root/debs"
	tar -x -C "$root" --numeric-owner -f "$archive" || return
	mount -t proc proc "$root/proc"
}

# install_ours DEBS MODULE: the command and the daemon, and the module as DKMS builds it.
install_ours() {
	local updates=$root/lib/modules/$release/updates/dkms
	cp "$1"/{kfd-preempt,xpreemptd}_*.deb "$root/debs" || return
	in_root sh -c 'dpkg -i /debs/*.deb' || return
	cp "$root/usr/share/doc/kfd-preempt/examples"/*.service "$root/etc/systemd/system" || return
	mkdir -p "$updates"
	# Loads seconds faster, see selftests/vm/common.sh.
	objcopy --strip-debug -R .BTF -R .BTF_ids -R __mcount_loc -R .rela__mcount_loc "$2" "$updates/amdgpu.ko" ||
		return
	in_root depmod "$release" || return
	install -m 0755 "$build_dir/kfd_preempt/queue_owner" "$root/usr/local/bin" || return
	in_root useradd --create-home --groups render user
}

# for_run FILE...: `system` becomes a copy that has the files in /root, and may be written.
for_run() {
	local file
	mkdir -p "$work/system"
	cp --sparse=always "$system"/* "$work/system" || return
	system=$work/system
	for file in "$@"; do
		printf 'write %s /root/%s\nset_inode_field /root/%s mode 0%o\n' "$file" "${file##*/}" \
			"${file##*/}" $((0100000 | 0$(stat -c %a "$file")))
	done >"$work/debugfs"
	debugfs -w -f "$work/debugfs" "$system/root.ext4"
}

# booted_here NAME OPTION... -- COMMAND: a boot of `system`; its output is in $work/said.
booted_here() {
	local name=$1 status=0
	shift
	BUILD_DIR=$build_dir "$top/selftests/vm/run" --system "$system" --out "$cache/systems/boot-$name" "$@" \
		>"$work/said" 2>&1 || status=1
	ok "the system boots: $name" $status "$work/said"
}

# told: the tests that the command printed are ours; one that did not reach its end is told by its plan.
told() {
	local line count=0
	grep -E '^(not )?ok ' "$work/said" >"$work/tests" || :
	while read -r line; do
		case $line in
		'ok '*) ok "${line#* - }" 0 ;;
		*) ok "${line#* - }" 1 "$work/said" ;;
		esac
		count=$((count + 1))
	done <"$work/tests"
	if [ $count = 0 ] || ! grep -qx "1\.\.$count" "$work/said"; then
		ok "the test in it came to its end" 1 "$work/said"
	fi
}

# begin_system_test: what these tests need and set alike.
begin_system_test() {
	begin_root_test mmdebstrap mke2fs debugfs objcopy
	need_built selftests/vgpu/vgpu selftests/vgpu/vgpu-firmware kfd_preempt/queue_owner
	release=$("$top/selftests/vm/kernel-version")
	mkdir "$root"
}
