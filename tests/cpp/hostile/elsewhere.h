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
