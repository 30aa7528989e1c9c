// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A GEMM in tiles of shared memory, 64 x 64 a block, 4 x 4 a thread. SIZE cubed.
#include "problem.cuh"

constexpr int TILE = 64, INNER = 16, EACH = 4;

__global__ void gemm_tiled(const float* __restrict__ a, const float* __restrict__ b,
                           float* __restrict__ c, int size) {
  __shared__ float tile_a[TILE][INNER + 1], tile_b[INNER][TILE];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const size_t row = (size_t)blockIdx.y * TILE, column = (size_t)blockIdx.x * TILE;
  float sum[EACH][EACH] = {};
  for (int first = 0; first < size; first += INNER) {
    for (int i = threadIdx.x; i < TILE * INNER; i += 256) {
      tile_a[i / INNER][i % INNER] = a[(row + i / INNER) * size + first + i % INNER];
      tile_b[i / TILE][i % TILE] = b[(size_t)(first + i / TILE) * size + column + i % TILE];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < INNER; k++)
#pragma unroll
      for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) sum[i][j] += tile_a[y + 16 * i][k] * tile_b[k][x + 16 * j];
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < EACH; i++)
#pragma unroll
    for (int j = 0; j < EACH; j++) c[(row + y + 16 * i) * size + column + x + 16 * j] = sum[i][j];
}

void prepare(int size, Buffers* b) {
  for (int i = 0; i < 2; i++) b->in[i] = filled((size_t)size * size);
  b->out = allocated(b->out_bytes = (size_t)size * size * sizeof(float));
}

void launch(int size, const Buffers* b) {
  gemm_tiled<<<dim3(size / TILE, size / TILE), 256>>>((const float*)b->in[0], (const float*)b->in[1], (float*)b->out, size);
}
