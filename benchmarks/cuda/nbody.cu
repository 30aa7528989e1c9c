// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Bodies in cells, 64 a cell: a block pulls its own by those of 27 cells. SIZE cells along x.
#include "problem.cuh"

constexpr int BODIES = 64;

__global__ void nbody(const float4* __restrict__ position, float4* __restrict__ pull) {
  __shared__ float4 others[BODIES];
  const int nx = gridDim.x, ny = gridDim.y, nz = gridDim.z;
  const int cx = blockIdx.x, cy = blockIdx.y, cz = blockIdx.z;
  const size_t own = ((size_t)(cz * ny + cy) * nx + cx) * BODIES + threadIdx.x;
  const float4 me = position[own];
  float4 sum = make_float4(0, 0, 0, 0);
  for (int z = -1; z <= 1; z++)
    for (int y = -1; y <= 1; y++)
      for (int x = -1; x <= 1; x++) {
        const int ox = (cx + x + nx) % nx, oy = (cy + y + ny) % ny, oz = (cz + z + nz) % nz;
        others[threadIdx.x] = position[((size_t)(oz * ny + oy) * nx + ox) * BODIES + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int i = 0; i < BODIES; i++) {
          const float4 other = others[i];
          const float dx = other.x - me.x + x, dy = other.y - me.y + y, dz = other.z - me.z + z;
          const float one = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
          const float by = other.w * one * one * one;
          sum.x += dx * by;
          sum.y += dy * by;
          sum.z += dz * by;
          sum.w -= other.w * one;
        }
        __syncthreads();
      }
  pull[own] = sum;
}

void prepare(int size, Buffers* b) {
  const size_t bodies = (size_t)size * (size / 2) * (size / 2) * BODIES;
  b->in[0] = filled(bodies * 4);
  b->out = allocated(b->out_bytes = bodies * sizeof(float4));
}

void launch(int size, const Buffers* b) {
  nbody<<<dim3(size, size / 2, size / 2), BODIES>>>((const float4*)b->in[0], (float4*)b->out);
}
