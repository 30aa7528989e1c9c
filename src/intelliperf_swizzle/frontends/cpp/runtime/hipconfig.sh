#!/bin/sh
# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
#
# hipconfig where there is none: what builds ask it for.
root=$(cd "$(dirname "$0")/.." && pwd)
case $1 in
  -l | --hipclangpath) printf %s "$root/llvm/bin" ;;
  -R | --rocmpath | -p | --path) printf %s "$root" ;;
  -P | --platform) printf amd ;;
  -c | --compiler) printf clang ;;
  -C | --cpp_config) printf %s "-D__HIP_PLATFORM_AMD__= -I$root/include" ;;
  *) sed -n 's/^HIP_VERSION_[A-Z]*=//p' "$root/share/hip/version" | paste -sd. ;;
esac
