// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
#pragma once
#include <hip/hip_runtime.h>

template <typename T>
__device__ T row_of(T rows) { return blockIdx.x % rows; }
