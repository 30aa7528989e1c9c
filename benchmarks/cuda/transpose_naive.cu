// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A transpose, a thread an element: it reads along a row and writes down a column. SIZE x SIZE.
#include "problem.cuh"

__global__ void transpose_naive(const float* __restrict__ in, float* __restrict__ out, int size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  out[(size_t)x * size + y] = in[(size_t)y * size + x];
}

void prepare(int size, Buffers* b) {
  b->in[0] = filled((size_t)size * size);
  b->out = allocated(b->out_bytes = (size_t)size * size * sizeof(float));
}

void launch(int size, const Buffers* b) {
  transpose_naive<<<dim3(size / 32, size / 8), dim3(32, 8)>>>((const float*)b->in[0], (float*)b->out, size);
}
