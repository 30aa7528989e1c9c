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
[ $# = 0 ] && { echo 'hipcc: no input files' >&2; exit 1; }
case "$*" in --version | -v) exec "$clang" "$@" ;; esac
for word do
  shift
  case $prior in
    -o | -I | -L | -D | -MF | -MT | -include) prior= ;;
    *)
      prior=$word
      case $word in
        -c | -S | -E | -M | -MM | -fsyntax-only | --cuda-device-only) link=0 ;;
        --genco) link=0 word=--cuda-device-only ;;
        -O*) level= ;;
        --offload-arch=* | --amdgpu-target=*) arch= ;;
        *.cpp | *.cxx | *.cc | *.cu | *.hip) sources=1; set -- "$@" -x hip "$word" -x none; continue ;;
      esac ;;
  esac
  set -- "$@" "$word"
done
[ "$sources" = 1 ] && set -- ${arch:+"$arch"} $level --rocm-path="$root" -include string.h "$@"
[ "$link" = 1 ] && set -- "$@" --hip-link --rocm-path="$root" ${arch:+"$arch"} -L"$root/lib" -lamdhip64
exec "$clang" -Wno-unused-command-line-argument "$@"
