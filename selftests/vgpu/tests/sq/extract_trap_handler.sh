#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the machine code of one of amdkfd's trap handlers as C initialisers:
# SOURCE ARRAY OUTPUT.
# SOURCE is a kernel tree or the tarball of Debian's linux-source package.
set -eu

source=$1
array=$2
output=$3
header=drivers/gpu/drm/amd/amdkfd/cwsr_trap_handler.h

if [ -d "$source" ]; then
    text=$(cat "$source/$header")
elif [ -f "$source" ]; then
    top=$(basename "$source" | sed 's/\.tar.*//')
    text=$(tar -xOf "$source" --occurrence=1 "$top/$header")
else
    echo "$0: no kernel source at $source: install linux-source-6.12 or set -DLINUX_SOURCE" >&2
    exit 1
fi

words=$(printf '%s\n' "$text" |
    sed -n "/${array}\[\]/,/};/p" | grep -o '0x[0-9a-fA-F]\{8\}' || true)
if [ -z "$words" ]; then
    echo "$0: no array $array in $header of $source" >&2
    exit 1
fi

printf '%s\n' "$words" | sed 's/$/,/' >"$output.tmp"
mv "$output.tmp" "$output"
