// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
#include "second.h"

#include <hip/hip_runtime.h>

// Tiles of a matrix, transposed through shared memory; the last ones are cut off.
__global__ void transposed(const float* in, float* out, int width, int height) {
  extern __shared__ float tile[];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < width && y + j < height) tile[(threadIdx.y + j) * 33 + threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x * 33 + threadIdx.y + j];
}

static __device__ float mark = 0;
static __global__ void twin(float* out) { out[blockIdx.x] = mark; }

void launch_second(const float* in, float* out) {
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) return;
  hipLaunchKernelGGL(transposed, dim3(4, 3), dim3(32, 8), 33 * 32 * sizeof(float), stream, in, out, 110, 70);
  (void)hipStreamDestroy(stream);
  float two = 2;
  (void)hipMemcpyToSymbol(HIP_SYMBOL(mark), &two, sizeof two);
  twin<<<2, 1>>>(out);
}
