#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the machine code of one of amdkfd's trap handlers as C initialisers: HEADER ARRAY OUTPUT.
# HEADER is cwsr_trap_handler.h of a kernel source.
set -eu

header=$1
array=$2
output=$3

words=$(sed -n "/${array}\[\]/,/};/p" "$header" | grep -o '0x[0-9a-fA-F]\{8\}' || true)
if [ -z "$words" ]; then
    echo "$0: no array $array in $header" >&2
    exit 1
fi

printf '%s\n' "$words" | sed 's/$/,/' >"$output.tmp"
mv "$output.tmp" "$output"
