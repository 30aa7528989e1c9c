// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
__global__ void NAME(int* out, int limit) {
  if (threadIdx.x < limit) out[own_row(64) + threadIdx.x] = VALUE;
}
