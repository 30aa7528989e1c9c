// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Seven points, a thread a point. SIZE x SIZE, a 64th as deep.
#include "problem.cuh"

__global__ void stencil_3d(const float* __restrict__ in, float* __restrict__ out, int size, int depth) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= size - 1 || y >= size - 1 || z >= depth - 1) return;
  const ptrdiff_t plane = (ptrdiff_t)size * size;
  const float* own = in + z * plane + (ptrdiff_t)y * size + x;
  const float sum = own[-1] + own[1] + own[-size] + own[size] + own[-plane] + own[plane];
  out[z * plane + (ptrdiff_t)y * size + x] = 0.4f * *own + 0.1f * sum;
}

void prepare(int size, Buffers* b) {
  const size_t count = (size_t)size * size * (size / 64);
  b->in[0] = filled(count);
  b->out = allocated(b->out_bytes = count * sizeof(float));
}

void launch(int size, const Buffers* b) {
  stencil_3d<<<dim3(size / 32, size / 8, size / 64), dim3(32, 8)>>>((const float*)b->in[0], (float*)b->out, size, size / 64);
}
