# SPDX-License-Identifier: MIT
# The HIP programs of the guest. Sourced by build, after common.sh.
# shellcheck shell=bash disable=SC2154 # variables of common.sh and build

hip_output=/opt/kfd-preempt/build/rocm-$rocm_suite/hip

# hip_names: those that this suite can compile, of these the ones that HIP_PROGRAMS names if it is set.
hip_names() {
	local name names=(libwalk_kernels.so scratch_O0) without=''
	case $rocm_suite in
	bookworm) without='reclaim device_printf sort_scan' ;; # HIP 5 knows no limit of scratch and no strings to print
	forky+libraries) without='random_numbers sparse solver collective' ;;
	esac
	for name in "$repo_dir"/selftests/hip/*.hip; do names+=("$(basename "$name" .hip)"); done
	[ "$rocm_suite" != experimental ] || names+=(registers)
	if [[ $rocm_suite = *+libraries ]]; then
		for name in "$repo_dir"/selftests/hip/libraries/*.hip; do names+=("$(basename "$name" .hip)"); done
	fi
	[ "$demo" = no ] || names=(server batch)
	for name in "${names[@]}"; do
		[[ " $without " = *" $name "* ]] || [[ -n ${HIP_PROGRAMS+set} && " $HIP_PROGRAMS " != *" $name "* ]] || echo "$name"
	done
}

# The GPUs that they are compiled for.
hip_archs() {
	local archs=" ${HIP_ARCHS:-gfx942} "
	[ "$rocm_suite" != bookworm ] || archs=${archs/ gfx942 / } # HIP 5 does not know that one
	[[ $archs = *gfx* ]] || archs='gfx90a gfx908'
	xargs <<<"$archs"
}

hip_source() { # hip_source NAME
	case $1 in
	scratch_O0) echo scratch.hip ;;
	libwalk_kernels.so) echo wheel/walk_kernels.hip ;;
	*) (cd "$repo_dir/selftests/hip" && find . -name "$1.hip") ;;
	esac
}

# hip_programs ROCM_ROOT NAME...: prints a line of NAME and FILE for each. hipcc takes up to a minute for
# one and ccache knows no program that is compiled and linked at once, so they are in the cache, each
# named by all that it is compiled of.
hip_programs() {
	local rocm_root=$1 archs common name key missing=() lines=() lock
	shift
	archs=$(hip_archs)
	common=$({
		echo "$rocm_root $archs"
		cat "$rocm_root/versions"
		cd "$repo_dir" || exit
		find selftests/hip '(' -name '*.hpp' -o -name Makefile ')' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
	} | sha256sum)
	mkdir -p "$cache_dir/hip"
	exec {lock}>"$cache_dir/hip.lock"
	flock "$lock"
	for name in "$@"; do
		key=$({ echo "$common"; cat "$repo_dir/selftests/hip/$(hip_source "$name")"; } | sha256sum | cut -c 1-16)
		lines+=("$name $cache_dir/hip/$rocm_suite-$key-$name")
		[ -e "$cache_dir/hip/$rocm_suite-$key-$name" ] || missing+=("$name $cache_dir/hip/$rocm_suite-$key-$name")
	done
	[ ${#missing[@]} = 0 ] || compile_hip "$archs" "${missing[@]}"
	exec {lock}>&-
	[ ${#lines[@]} = 0 ] || printf '%s\n' "${lines[@]}"
}

# compile_hip ARCHS LINE...: a LINE has the name of a program and the file where it goes. Nothing that an earlier build
# has left may get there: make does not notice another compiler or other flags.
compile_hip() {
	local archs=$1 built=$build_dir/rocm-$rocm_suite/hip name file targets=()
	shift
	rm -rf "$built"
	while read -r name _; do targets+=("$hip_output/$name"); done < <(printf '%s\n' "$@")
	"$vm_dir/in-rocm" make --no-print-directory -j"$(nproc)" -C selftests/hip OUTPUT="$hip_output" \
		HIP_ARCHS="$archs" "${targets[@]}" >&2
	while read -r name file; do
		cp "$built/$name" "$file.new"
		mv "$file.new" "$file"
	done < <(printf '%s\n' "$@")
}

make_models() { # make_models DIR
	local name
	for name in f32 q8_0; do
		"$repo_dir/selftests/hip/llama/make-model" $name "$1/$name.gguf"
	done
}

# Prints the path of preempt_storm, which needs no compiler for GPUs.
preempt_storm() {
	local output=$build_dir/rocm-$rocm_suite/hip
	if [ "$rocm_suite" = bookworm ]; then # its C library is older than our compiler's
		output=$build_dir/rocm-$rocm_suite/storm
		CPPFLAGS=-I$build_dir/kfd_preempt/include make --no-print-directory -C "$repo_dir/selftests/hip" \
			OUTPUT="$output" "$output/preempt_storm" >&2
	else
		"$vm_dir/in-rocm" make --no-print-directory -C selftests/hip OUTPUT="$hip_output" \
			"$hip_output/preempt_storm" >&2
	fi
	echo "$output/preempt_storm"
}

# Prints the path of dbgapi_client, which needs the suite's debugger library and no compiler for GPUs either.
dbgapi_client() {
	"$vm_dir/in-rocm" make --no-print-directory -C selftests/hip OUTPUT="$hip_output" "$hip_output/dbgapi_client" >&2
	echo "$build_dir/rocm-$rocm_suite/hip/dbgapi_client"
}

# Lines for `image programs` of the HIP programs and what tests them. They are compiled in the ROCm root.
programs_of_rocm() { # programs_of_rocm ROCM_ROOT
	local rocm_root=$1 name file kind names
	mapfile -t names < <(hip_names)
	mkdir -p "$build_dir/rocm-$rocm_suite"
	hip_programs "$rocm_root" "${names[@]}" >"$work/hip"
	while read -r name file; do
		kind=hip
		[[ $name != *.so ]] || kind=''
		in_guest "$file" "/opt/kfd-preempt/hip/$name" "$kind"
	done <"$work/hip"
	[ "$demo" = no ] || return 0
	in_guest "$(preempt_storm)" /opt/kfd-preempt/hip/preempt_storm
	in_guest "$repo_dir/selftests/hip/hip_test.py" /usr/bin/hip_test.py
	in_guest "$repo_dir/selftests/hip/wheel/wheel" /opt/kfd-preempt/hip/wheel hip
	if [ "$rocm_suite" = experimental ]; then
		in_guest "$(dbgapi_client)" /opt/kfd-preempt/hip/dbgapi_client
		in_guest "$repo_dir/selftests/hip/debugger/debugger_test.py" /usr/bin/debugger_test.py
	fi
}

# rocm_layers TREE ROCM_ROOT: prints the layers that every ROCm guest has. The programs of this machine run there too, with its
# newer C library; the layer has those of their libraries that Debian's ROCm suite has no more.
rocm_layers() {
	local tree=$1 rocm_root=$2 library name
	mkdir -p "$tree/opt/kfd-preempt"/{hip,lib}
	case $rocm_suite in
	forky+libraries) make_models "$tree/opt/kfd-preempt/hip" ;;
	experimental+llama)
		make_models "$tree/opt/kfd-preempt/hip"
		cp -a "$("$repo_dir/selftests/hip/llama/build-llama")"/bin/* "$tree/opt/kfd-preempt/hip"
		;;
	esac
	add_modules "$kernel_tree" "$tree/modules/order-rocm" virtio_blk ext4
	programs_of_guest | "$vm_dir/image" libraries | while read -r library; do
		name=${library##*/}
		[ -e "$rocm_root/root/usr/lib/x86_64-linux-gnu/$name" ] || [ -e "$rocm_root/root/usr/lib64/$name" ] ||
			cp "$library" "$tree/opt/kfd-preempt/lib/$name"
	done
	"$vm_dir/image" layer "$tree"
}

build_rocm() {
	local rocm_root
	rocm_root=$("$vm_dir/rocm-root")
	programs_of_rocm "$rocm_root" >"$work/rocm-programs"
	"$vm_dir/image" programs "$guest_dir/rocm-$rocm_suite.json" <"$work/rocm-programs"
	rocm_layers "$work/rocm" "$rocm_root" >"$guest_dir/rocm-$rocm_suite"
	hip_archs >"$guest_dir/rocm-$rocm_suite.archs"
	ln -sfn "$rocm_root/image.ext4" "$guest_dir/rocm-$rocm_suite.ext4"
}
