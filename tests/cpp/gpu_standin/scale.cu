// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// The kernel that `driver.cu` loads.
#ifndef __CUDA__
#include "fake_cuda.h"
#endif

__device__ float factor = 2;

__global__ void scale(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * factor;
}
