// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A transpose through a tile of 32 x 32 in shared memory. SIZE x SIZE.
#include "problem.cuh"

constexpr int TILE = 32, ROWS = 8;

__global__ void transpose(const float* __restrict__ in, float* __restrict__ out, int size) {
  __shared__ float tile[TILE][TILE + 1];
  const int x = blockIdx.x * TILE, y = blockIdx.y * TILE;
  for (int i = threadIdx.y; i < TILE; i += ROWS)
    tile[i][threadIdx.x] = in[(size_t)(y + i) * size + x + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < TILE; i += ROWS)
    out[(size_t)(x + i) * size + y + threadIdx.x] = tile[threadIdx.x][i];
}

void prepare(int size, Buffers* b) {
  b->in[0] = filled((size_t)size * size);
  b->out = allocated(b->out_bytes = (size_t)size * size * sizeof(float));
}

void launch(int size, const Buffers* b) {
  transpose<<<dim3(size / TILE, size / TILE), dim3(TILE, ROWS)>>>((const float*)b->in[0], (float*)b->out, size);
}
