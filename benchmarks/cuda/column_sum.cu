// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Sums of a matrix's columns: a block per 8 columns and a sixteenth of the rows. SIZE x SIZE.
#include "problem.cuh"

constexpr int COLUMNS = 8, LANES = 32, SHARES = 16;

__global__ void column_sum(const float* __restrict__ in, float* __restrict__ out, int size) {
  __shared__ float sums[LANES][COLUMNS];
  const int column = blockIdx.x * COLUMNS + threadIdx.x;
  const int rows = size / SHARES, begin = blockIdx.y * rows;
  float sum = 0;
  for (int row = begin + threadIdx.y; row < begin + rows; row += LANES)
    sum += in[(size_t)row * size + column];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0) {
    for (int lane = 1; lane < LANES; lane++) sum += sums[lane][threadIdx.x];
    out[(size_t)blockIdx.y * size + column] = sum;
  }
}

void prepare(int size, Buffers* b) {
  b->in[0] = filled((size_t)size * size);
  b->out = allocated(b->out_bytes = (size_t)SHARES * size * sizeof(float));
}

void launch(int size, const Buffers* b) {
  column_sum<<<dim3(size / COLUMNS, SHARES), dim3(COLUMNS, LANES)>>>((const float*)b->in[0], (float*)b->out, size);
}
