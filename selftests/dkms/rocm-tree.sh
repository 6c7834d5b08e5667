# SPDX-License-Identifier: MIT
# Trees laid out as AMD's packages of ROCm's driver lay them out, made from Debian's source; sourced by tests
# that set top, work, and root: a directory for /.
# shellcheck shell=sh disable=SC2154

amd=drivers/gpu/drm/amd

unpack_base() { # unpack_base TARBALL: Debian's source in $work/base
    unpacked=$("$top/kernel/source-tree" "$1") || return
    mkdir -p "$work/base/$amd"
    cp -r "$unpacked/$amd/amdkfd" "$unpacked/$amd/amdgpu" "$work/base/$amd"
}

made_for_dkms() { # made_for_dkms VERSION VERSION_OF_DRIVER WHERE_BUILT DESTINATION MAKE: what is in $dir
    mkdir -p "$dir/amd/dkms"
    echo "AC_INIT(amdgpu-dkms, $2)" > "$dir/amd/dkms/configure.ac"
    cat > "$dir/dkms.conf" <<END
PACKAGE_NAME="amdgpu"
PACKAGE_VERSION="$1"
AUTOINSTALL="yes"
NO_WEAK_MODULES="yes"
BUILT_MODULE_NAME[0]="amdgpu"
BUILT_MODULE_LOCATION[0]="$3"
DEST_MODULE_LOCATION[0]="$4"
MAKE[0]="$5"
END
}

# shellcheck disable=SC2016 # of dkms.conf and of a script
lay_out() { # lay_out VERSION [VERSION_OF_DRIVER]: one whose module is of one file
    dir=$root/usr/src/amdgpu-$1
    mkdir -p "$dir/amd/amdgpu" "$dir/include" "$dir/scheduler" "$dir/ttm" "$dir/amd/tiny"
    cp -r "$work/base/$amd/amdkfd" "$dir/amd"
    # amdgpu has 13 MB: copy only the files that we edit or rely on.
    for file in "$work/base/$amd/amdgpu"/amdgpu.h "$work/base/$amd/amdgpu"/amdgpu_[adgjov]*.[ch] \
        "$work/base/$amd/amdgpu"/amdgpu_res_cursor.h \
        "$work/base/$amd/amdgpu"/gfx_v9_0.c "$work/base/$amd/amdgpu"/gfx_v9_4_3.c; do
        cp "$file" "$dir/amd/amdgpu"
    done
    made_for_dkms "$1" "${2:-6.12.12}" amd/tiny /kernel/drivers/gpu/drm/amd/amdgpu \
        'make -C $kernel_source_dir M=$dkms_tree/$PACKAGE_NAME/$PACKAGE_VERSION/build/amd/tiny modules'
    echo 'PRE_BUILD="amd/dkms/pre-build.sh $kernelver"' >> "$dir/dkms.conf"
    printf '#!/bin/sh\necho "$1" >> "${PRE_BUILD_RAN:-/dev/null}"\n' > "$dir/amd/dkms/pre-build.sh"
    chmod +x "$dir/amd/dkms/pre-build.sh"
    echo 'obj-m := amdgpu.o' > "$dir/amd/tiny/Makefile"
    cat > "$dir/amd/tiny/amdgpu.c" <<END
#include <linux/module.h>
#if __has_include("../amdkfd/kfd_preempt_version.h")
#include <linux/version.h>
#include "../amdkfd/kfd_preempt_version.h"
#include "../amdkfd/kfd_preempt_kernel.h"
MODULE_INFO(kfd_preempt, KFD_PREEMPT_VERSION);
#endif
MODULE_LICENSE("GPL");
MODULE_VERSION("$1");
END
}

# One whose module is the whole driver, without AMD's own TTM and scheduler.
lay_out_whole() { # lay_out_whole TARBALL VERSION
    dir=$root/usr/src/amdgpu-$2
    unpacked=$("$top/kernel/source-tree" "$1") || return
    mkdir -p "$dir/include/x" "$dir/drivers/gpu/drm"
    cp -r "$unpacked/$amd" "$dir" || return
    # Where Debian's amdgpu_trace.h looks for itself, from a directory two levels down.
    ln -s ../../../amd "$dir/drivers/gpu/drm/amd"
    # Our source uses this variable of AMD's driver. Debian's driver lacks it.
    echo 'extern bool keep_idle_process_evicted;' >> "$dir/amd/amdkfd/kfd_priv.h"
    echo 'bool keep_idle_process_evicted;' >> "$dir/amd/amdgpu/amdgpu_drv.c"
    # shellcheck disable=SC2016 # of dkms.conf
    build='$dkms_tree/$PACKAGE_NAME/$PACKAGE_VERSION/build'
    made_for_dkms "$2" 6.12.12 amd/amdgpu /updates/dkms "make -j$(nproc) -C \$kernel_source_dir \
M=$build/amd/amdgpu KCFLAGS='-g0 -I$build/include/x' CONFIG_DEBUG_INFO_BTF_MODULES= modules"
}
