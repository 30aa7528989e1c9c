// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
#pragma once
#ifdef __HIP__
#include "only_hip.h"
#else
#include "only_cuda.h"
#endif

template <typename T>
__device__ T row_of(T rows) { return blockIdx.x % rows; }

__device__ inline int own_row(int width) { return blockIdx.x * width; }
__device__ inline int row_of_others() { return blockIdx.x; }
