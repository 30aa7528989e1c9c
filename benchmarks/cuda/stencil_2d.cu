// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A star of four neighbours on each side, a thread a point. SIZE x SIZE.
#include "problem.cuh"

constexpr int REACH = 4;

__global__ void stencil_2d(const float* __restrict__ in, float* __restrict__ out, int size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < REACH || y < REACH || x >= size - REACH || y >= size - REACH) return;
  const float* own = in + (size_t)y * size + x;
  float sum = 0.5f * *own;
#pragma unroll
  for (int i = 1; i <= REACH; i++)
    sum += (own[-i] + own[i] + own[-(ptrdiff_t)i * size] + own[(ptrdiff_t)i * size]) / (16 * i);
  out[(size_t)y * size + x] = sum;
}

void prepare(int size, Buffers* b) {
  b->in[0] = filled((size_t)size * size);
  b->out = allocated(b->out_bytes = (size_t)size * size * sizeof(float));
}

void launch(int size, const Buffers* b) {
  stencil_2d<<<dim3(size / 32, size / 8), dim3(32, 8)>>>((const float*)b->in[0], (float*)b->out, size);
}
