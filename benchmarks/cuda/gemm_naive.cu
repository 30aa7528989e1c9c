// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A GEMM, a thread an element: SIZE x SIZE / 8 times SIZE / 8 x SIZE, an eighth of the rows.
#include "problem.cuh"

__global__ void gemm_naive(const float* __restrict__ a, const float* __restrict__ b,
                           float* __restrict__ c, int columns, int inner) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < inner; k++) sum += a[(size_t)y * inner + k] * b[(size_t)k * columns + x];
  c[(size_t)y * columns + x] = sum;
}

void prepare(int size, Buffers* b) {
  const size_t inner = size / 8, rows = size / 8;
  b->in[0] = filled(rows * inner);
  b->in[1] = filled(inner * size);
  b->out = allocated(b->out_bytes = rows * size * sizeof(float));
}

void launch(int size, const Buffers* b) {
  gemm_naive<<<dim3(size / 32, size / 8 / 8), dim3(32, 8)>>>(
      (const float*)b->in[0], (const float*)b->in[1], (float*)b->out, size, size / 8);
}
