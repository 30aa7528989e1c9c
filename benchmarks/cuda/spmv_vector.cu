// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A sparse matrix (CSR) by a vector, a warp a row: half in a band, half near it. SIZE rows.
#include "problem.cuh"

constexpr int EACH = 32, WIDE = 16, WARPS = 8;

__global__ void spmv_vector(const int* __restrict__ begin, const int* __restrict__ column,
                            const double* __restrict__ value, const double* __restrict__ x,
                            double* __restrict__ y, int rows) {
  const int row = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  double sum = 0;
  for (int i = begin[row] + lane; i < begin[row + 1]; i += 32) sum += value[i] * x[column[i]];
  for (int other = 16; other > 0; other /= 2) sum += __shfl_down_sync(~0u, sum, other);
  if (lane == 0) y[row] = sum;
}

void prepare(int size, Buffers* b) {  // WIDE columns a row: the vector is WIDE times as long
  std::vector<int> begin, column;
  const int columns = size * WIDE, window = columns / 8;
  uint32_t state = 7;
  begin.reserve(size + 1);
  column.reserve((size_t)size * EACH);
  for (int row = 0; row < size; row++) {
    begin.push_back(column.size());
    for (int i = 0; i < EACH / 2; i++) column.push_back((row * WIDE + i) % columns);
    for (int i = 0; i < EACH / 2; i++) {
      state = state * 1664525u + 1013904223u;
      const int offset = (int)((state >> 8) % window) - window / 2;
      column.push_back((int)(((int64_t)row * WIDE + offset + columns) % columns));
    }
  }
  begin.push_back(column.size());
  b->in[0] = copied(begin);
  b->in[1] = copied(column);
  b->in[2] = filled<double>(column.size());
  b->in[3] = filled<double>(columns);
  b->out = allocated(b->out_bytes = size * sizeof(double));
}

void launch(int size, const Buffers* b) {
  spmv_vector<<<(size + WARPS - 1) / WARPS, WARPS * 32>>>(
      (const int*)b->in[0], (const int*)b->in[1], (const double*)b->in[2], (const double*)b->in[3],
      (double*)b->out, size);
}
