// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Two launches of one kernel with other arguments; prints sums of what they leave.
#ifndef __CUDA__
#include "fake_cuda.h"
#else
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#endif

__device__ float factor = 2;

__global__ void scale(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * factor;
}

#if !defined(__CUDA__) && !defined(DEVICE)
REGISTERED(scale, "_Z5scalePfPKfi", factor)
#endif

int main() {
  const int most = 1 << 16;
  float *in, *out, *host = (float*)malloc(most * sizeof(float));
  for (int i = 0; i < most; i++) host[i] = i;
  cudaMalloc((void**)&in, most * sizeof(float));
  cudaMalloc((void**)&out, most * sizeof(float));
  cudaMemcpy(in, host, most * sizeof(float), cudaMemcpyHostToDevice);
  for (int n : {most, most / 2, most / 2}) {
    void* arguments[] = {&out, &in, (void*)&n};
    cudaLaunchKernel((const void*)scale, dim3(n / 32), dim3(32), arguments, 0, 0);
    cudaDeviceSynchronize();
    cudaMemcpy(host, out, most * sizeof(float), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < most; i++) sum += host[i];
    printf("%.0f\n", sum);
  }
  return 0;
}
