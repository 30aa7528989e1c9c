#!/bin/sh
# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
#
# hipcc where there is none: clang++ with the language, the GPU and the runtime that a hipcc adds.
root=$(cd "$(dirname "$0")/.." && pwd)
clang=${HIP_CLANG:-clang++}
arch=--offload-arch=${HIP_ARCH:-gfx942}
level=-O3
link=1
sources=0
prior=
for word in "$@"; do
  case $prior in -o | -I | -L | -D | -MF | -MT | -include) prior=; continue ;; esac
  case $word in
    -c | -S | -E | -M | -MM | --genco | -fsyntax-only | --cuda-device-only) link=0 ;;
    -O*) level= ;;
    --offload-arch=* | --amdgpu-target=*) arch= ;;
    *.cpp | *.cxx | *.cc | *.cu | *.hip) sources=1 ;;
  esac
  prior=$word
done
[ $# = 0 ] && { echo 'hipcc: no input files' >&2; exit 1; }
case "$*" in --version | -v) exec "$clang" "$@" ;; esac
count=$#
while [ "$count" -gt 0 ]; do
  word=$1
  shift
  count=$((count - 1))
  case $word in
    *.cpp | *.cxx | *.cc | *.cu | *.hip) set -- "$@" -x hip "$word" -x none ;;
    --genco) set -- "$@" --cuda-device-only ;;
    *) set -- "$@" "$word" ;;
  esac
done
[ "$sources" = 1 ] && set -- ${arch:+"$arch"} $level --rocm-path="$root" -include string.h "$@"
[ "$link" = 1 ] && set -- "$@" --hip-link --rocm-path="$root" ${arch:+"$arch"} -L"$root/lib" -lamdhip64
exec "$clang" -Wno-unused-command-line-argument "$@"
