// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Softmax of each row, a block a row, in three passes. SIZE columns, half as many rows.
#include "problem.cuh"

constexpr int THREADS = 256;

template <typename Join>
__device__ float joined(float own, float* parts, Join join) {
  for (int lane = 16; lane > 0; lane /= 2) own = join(own, __shfl_xor_sync(~0u, own, lane));
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = own;
  __syncthreads();
  for (int warp = 0; warp < THREADS / 32; warp++) own = warp ? join(own, parts[warp]) : parts[0];
  return own;
}

__global__ void softmax(const float* __restrict__ in, float* __restrict__ out, int columns) {
  __shared__ float parts[THREADS / 32];
  const size_t row = (size_t)blockIdx.x * columns;
  float most = -1e30f, sum = 0;
  for (int i = threadIdx.x; i < columns; i += THREADS) most = fmaxf(most, in[row + i]);
  most = joined(most, parts, [](float a, float b) { return fmaxf(a, b); });
  for (int i = threadIdx.x; i < columns; i += THREADS) sum += __expf(in[row + i] - most);
  sum = joined(sum, parts, [](float a, float b) { return a + b; });
  for (int i = threadIdx.x; i < columns; i += THREADS) out[row + i] = __expf(in[row + i] - most) / sum;
}

void prepare(int size, Buffers* b) {
  const size_t count = (size_t)size * (size / 2);
  b->in[0] = filled(count);
  b->out = allocated(b->out_bytes = count * sizeof(float));
}

void launch(int size, const Buffers* b) {
  softmax<<<size / 2, THREADS>>>((const float*)b->in[0], (float*)b->out, size);
}
