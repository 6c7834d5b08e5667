# SPDX-License-Identifier: MIT
# A clean Debian root in which packages are installed, and which can be booted; sourced by the tests
# of this directory, which set top, here and release.
# shellcheck shell=bash disable=SC2034,SC2154

die() { echo "${0##*/}: $*" >&2; exit 1; }

# begin_root_test TOOL...: what these tests need, and set alike.
begin_root_test() {
	local tool
	[ "$(id -u)" -eq 0 ] || die "must run as root: it makes a Debian root and mounts in it"
	for tool; do
		command -v "$tool" >/dev/null || die "$tool is missing; run ci/deps"
	done
	build_dir=${BUILD_DIR:-$top/build/test}
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/kfd-preempt
	work=$(mktemp -d)
	root=$work/root out=$work/out
	trap clean EXIT
	trap 'exit 1' INT TERM
}
need_built() { # need_built PROGRAM...: of the build
	local program
	for program; do
		[ -x "$build_dir/$program" ] ||
			die "$build_dir/$program is not built; run selftests/vm/build, or set BUILD_DIR"
	done
}

clean() {
	umount "$root/proc" "$root$cache/ccache" 2>/dev/null || :
	rm -rf --one-file-system "$work"
}

in_root() {
	chroot "$root" env -u TMPDIR PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive \
		DEBIAN_KERNEL_USE_CCACHE=1 CCACHE_DIR="$cache/ccache" CCACHE_NOHASHDIR=1 "$@"
}
# The compiler's cache of this machine, in the root.
share_ccache() {
	mkdir -p "$cache/ccache" "$root$cache/ccache"
	mount --bind "$cache/ccache" "$root$cache/ccache"
}
# ccache hashes absolute paths: building where kernel/build-module does shares its objects.
share_builds() {
	share_ccache && mkdir -p "$root$cache/dkms" || return
	mv "$root/var/lib/dkms" "$root$cache/dkms/tree"
	ln -s "$cache/dkms/tree" "$root/var/lib/dkms" # dkms' prerm for kernels looks there
	echo "dkms_tree=$cache/dkms/tree" >>"$root/etc/dkms/framework.conf"
}
# dkms_package DEB: builds kfd-preempt-dkms of this tree.
dkms_package() {
	mkdir -p "$work/source"
	(cd "$top" && git ls-files --cached --others --exclude-standard -- debian dkms.conf kernel uapi | tar -c -T -) |
		tar -x -C "$work/source" || return
	(cd "$work/source" && debian/rules dkms-package) && mv "$work"/kfd-preempt-dkms_*.deb "$1"
}
# step DESCRIPTION COMMAND...: without it nothing behind it makes sense. (A function that is called
# so does not stop at an error by itself: hence its returns.)
step() {
	local description=$1 status=0
	shift
	"$@" >"$out" 2>&1 || status=1
	ok "$description" $status "$out"
	[ $status = 0 ] || tap_done
}

# The Debian archives of this machine's apt, and before them that of $suite, if it is set: the kernel is here alone.
sources_list() {
	local archives
	# shellcheck disable=SC2016 # apt's own variables
	archives=$(apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' 'Origin: Debian' | sort -u)
	{
		[ -z "${suite:-}" ] || sed -n "s/ $(codename) main\$/ $suite main/p" <<<"$archives"
		echo "$archives"
	} >"$work/sources.list"
}
codename() { (. /etc/os-release && echo "$VERSION_CODENAME"); }

# bootstrap TARGET PACKAGE...: $suite, or the suite of this machine, into a directory or a tar archive.
bootstrap() {
	local target=$1 packages
	shift
	packages=$(IFS=,; echo "$*")
	sources_list || return
	# A snapshot of a suite that is no release is always old; its signature is checked.
	# The initramfs holds what is named, not all drivers there are: made in seconds, not minutes.
	# shellcheck disable=SC2016 # mmdebstrap's own $1
	mmdebstrap --quiet --variant=minbase ${suite:+--aptopt='Acquire::Check-Valid-Until "false"'} \
		--essential-hook='mkdir -p "$1/etc/initramfs-tools/conf.d"' \
		--essential-hook='echo MODULES=list >"$1/etc/initramfs-tools/conf.d/tests"' \
		--include="initramfs-tools,zstd,udev,kmod,$packages" \
		"${suite:-$(codename)}" "$target" "$work/sources.list"
}

# make_root PACKAGE...: a root with these and dkms; /debs in it is for packages.
make_root() {
	bootstrap "$root" dkms libc6-dev xz-utils "$@" || return
	mkdir "$root/debs"
	mount -t proc proc "$root/proc"
}

# The machine the root is for: a virtio disk, and a GPU without PSP and SMU (selftests/vm/run), whose
# driver is in the initramfs, as it is where the console is on that GPU.
for_vm() {
	mkdir -p "$root/lib/firmware/amdgpu" || return
	"$build_dir/selftests/vgpu/vgpu-firmware" "$root/lib/firmware" || return
	printf '%s\n' virtio_pci virtio_blk ext4 amdgpu >>"$root/etc/initramfs-tools/modules"
	echo 'options amdgpu fw_load_type=0 ip_block_mask=0xdf dpm=0 ppfeaturemask=0' \
		>"$root/etc/modprobe.d/vgpu.conf"
	install -m 0755 "$here/init-for-tests" "$root/sbin/init-for-tests"
	install -m 0755 "$top/selftests/vm/demo.sh" "$root/root/demo"
	[ ! -x "$root/lib/systemd/systemd" ] || start_tests_by_systemd || return
	in_root update-initramfs -u -k "$release"
}

start_tests_by_systemd() {
	install -d "$root/etc/systemd/system/multi-user.target.wants"
	printf '%s\n' '[Unit]' 'After=multi-user.target' '[Service]' 'Type=idle' \
		'ExecStart=/sbin/init-for-tests' 'TimeoutStopSec=1' \
		>"$root/etc/systemd/system/tests.service"
	ln -s ../tests.service "$root/etc/systemd/system/multi-user.target.wants"
	ln -sf /lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
}

# The amdgpu that an initramfs brings: in_initramfs PATH_IN_MODULES [RELEASE]
in_initramfs() { in_root lsinitramfs "/boot/initrd.img-${2:-$release}" | grep "/$1/amdgpu\.ko"; }
# amdgpu_is FILE [RELEASE]: what modprobe would load.
# correct_rules: xpreemptd reads the installed file, accepts it, and rejects a copy with an error.
correct_rules() {
	in_root xpreemptd --check >"$work/checked" 2>&1 || { cat "$work/checked"; return 1; }
	cat "$work/checked"
	grep -qx '/etc/xpreemptd\.toml: correct, 0 rules' "$work/checked" || return
	sed '$a floor = 3' "$root/etc/xpreemptd.toml" >"$root/tmp/spoiled.toml"
	in_root xpreemptd --check --config /tmp/spoiled.toml >"$work/checked" 2>&1 && return 1
	grep '/tmp/spoiled\.toml:.*floor' "$work/checked"
}
amdgpu_is() { [ "$(in_root modinfo -k "${2:-$release}" -F filename amdgpu)" = "$1" ]; }
audited() { prints_no . in_root dpkg --audit; }

# make_image SYSTEM RELEASE: into that directory what selftests/vm/run --system boots: the root as it is
# now, without what only builds need.
make_image() {
	mkdir -p "$1"
	cp "$root/boot/vmlinuz-$2" "$1/vmlinuz" || return
	cp "$root/boot/initrd.img-$2" "$1/initrd" || return
	umount "$root/proc" "$root$cache/ccache" 2>/dev/null || umount "$root/proc"
	cp -al "$root" "$work/slim" || return
	mount -t proc proc "$root/proc"
	rm -rf "$work/slim"/{usr/src,usr/include,usr/lib/gcc,debs,var/cache,var/lib/apt,usr/share/doc} \
		"$work/slim$cache"
	mke2fs -q -t ext4 -d "$work/slim" "$1/root.ext4" 2500M || return
	rm -rf "$work/slim"
}

# boot NAME RELEASE COMMAND [OPTION...]: options of selftests/vm/run
boot() {
	make_image "$work/$1" "$2" || return
	BUILD_DIR=$build_dir "$top/selftests/vm/run" --system "$work/$1" --timeout 900 \
		--out "$cache/packages/boot-$1" "${@:4}" -- "$3"
}

booted() {
	local status=0
	boot "$@" >"$work/said" 2>&1 || status=1
	ok "the root boots: $1" $status "$work/said"
}
said() { grep -E -e "$1" "$work/said"; }
