// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A sparse matrix (CSR) by a vector, a thread a row: five in a band, three near it. SIZE rows.
#include "problem.cuh"

constexpr int BAND = 5, NEAR = 3, THREADS = 256;

__global__ void spmv_scalar(const int* __restrict__ begin, const int* __restrict__ column,
                            const double* __restrict__ value, const double* __restrict__ x,
                            double* __restrict__ y, int rows) {
  const int row = blockIdx.x * THREADS + threadIdx.x;
  if (row >= rows) return;
  double sum = 0;
  for (int i = begin[row]; i < begin[row + 1]; i++) sum += value[i] * x[column[i]];
  y[row] = sum;
}

void prepare(int size, Buffers* b) {
  std::vector<int> begin, column;
  const int window = size / 4;
  uint32_t state = 7;
  begin.reserve(size + 1);
  column.reserve((size_t)size * (BAND + NEAR));
  for (int row = 0; row < size; row++) {
    begin.push_back(column.size());
    for (int i = 0; i < BAND; i++) column.push_back((row + i - BAND / 2 + size) % size);
    for (int i = 0; i < NEAR; i++) {
      state = state * 1664525u + 1013904223u;
      column.push_back((row + (int)((state >> 8) % window) - window / 2 + size) % size);
    }
  }
  begin.push_back(column.size());
  b->in[0] = copied(begin);
  b->in[1] = copied(column);
  b->in[2] = filled<double>(column.size());
  b->in[3] = filled<double>(size);
  b->out = allocated(b->out_bytes = size * sizeof(double));
}

void launch(int size, const Buffers* b) {
  spmv_scalar<<<(size + THREADS - 1) / THREADS, THREADS>>>(
      (const int*)b->in[0], (const int*)b->in[1], (const double*)b->in[2], (const double*)b->in[3],
      (double*)b->out, size);
}
