# SPDX-License-Identifier: MIT
# Trees laid out as AMD's packages of ROCm's driver lay them out, made from Debian's source, whose module is
# of one file; sourced by the tests of this directory, which set work, and root: a directory for /.
# shellcheck shell=sh disable=SC2154

amd=drivers/gpu/drm/amd

unpack_base() { # unpack_base TARBALL: Debian's source in $work/base
    mkdir "$work/base"
    xz -T0 -dc "$1" | tar -x -C "$work/base" --strip-components=1 --wildcards "*/$amd/amdkfd/*" "*/$amd/amdgpu/*"
}

lay_out() { # lay_out VERSION [VERSION_OF_DRIVER]
    dir=$root/usr/src/amdgpu-$1
    mkdir -p "$dir/amd/dkms" "$dir/amd/amdgpu" "$dir/include" "$dir/scheduler" "$dir/ttm" "$dir/amd/tiny"
    cp -r "$work/base/$amd/amdkfd" "$dir/amd"
    # Of the 13 MB of amdgpu those that we edit or rely on.
    for file in "$work/base/$amd/amdgpu"/amdgpu.h "$work/base/$amd/amdgpu"/amdgpu_[adg]*.[ch]; do
        cp "$file" "$dir/amd/amdgpu"
    done
    echo "AC_INIT(amdgpu-dkms, ${2:-6.12.12})" > "$dir/amd/dkms/configure.ac"
    cat > "$dir/dkms.conf" <<END
PACKAGE_NAME="amdgpu"
PACKAGE_VERSION="$1"
AUTOINSTALL="yes"
NO_WEAK_MODULES="yes"
BUILT_MODULE_NAME[0]="amdgpu"
BUILT_MODULE_LOCATION[0]="amd/tiny"
DEST_MODULE_LOCATION[0]="/kernel/drivers/gpu/drm/amd/amdgpu"
PRE_BUILD="amd/dkms/pre-build.sh \$kernelver"
MAKE[0]="make -C \$kernel_source_dir M=\$dkms_tree/\$PACKAGE_NAME/\$PACKAGE_VERSION/build/amd/tiny modules"
END
    # shellcheck disable=SC2016 # of the script that is written
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
