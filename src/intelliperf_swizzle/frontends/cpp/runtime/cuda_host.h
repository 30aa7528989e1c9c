// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// What nvcc declares for host code in every CUDA source, and clang for device code alone.
#pragma once
#include <math.h>
#define EXTREMES(type) \
  __attribute__((host)) inline type min(type a, type b) { return b < a ? b : a; } \
  __attribute__((host)) inline type max(type a, type b) { return a < b ? b : a; }
EXTREMES(int)
EXTREMES(unsigned)
EXTREMES(long)
EXTREMES(unsigned long)
EXTREMES(long long)
EXTREMES(unsigned long long)
EXTREMES(float)
EXTREMES(double)
#undef EXTREMES
