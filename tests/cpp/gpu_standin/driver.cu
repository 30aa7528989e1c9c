// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// Launches of a kernel that the driver loads from a file; prints sums of what they leave.
#ifndef __CUDA__
#include "fake_cuda.h"
#else
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#endif

int main() {
  const int most = 1 << 16;
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction scale;
  CUdeviceptr in, out;
  cuInit(0);
  cuDeviceGet(&device, 0);
  cuDevicePrimaryCtxRetain(&context, device);
  cuCtxSetCurrent(context);
  if (cuModuleLoad(&module, "scale.fatbin")) return 3;
  if (cuModuleGetFunction(&scale, module, "_Z5scalePfPKfi")) return 4;
  float* host = (float*)malloc(most * sizeof(float));
  for (int i = 0; i < most; i++) host[i] = i;
  cuMemAlloc(&in, most * sizeof(float));
  cuMemAlloc(&out, most * sizeof(float));
  cuMemcpyHtoD(in, host, most * sizeof(float));
  for (int n : {most, most / 2, most / 2}) {
    void* arguments[] = {&out, &in, (void*)&n};
    if (cuLaunchKernel(scale, n / 32, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr)) return 5;
    cuMemcpyDtoH(host, out, most * sizeof(float));
    double sum = 0;
    for (int i = 0; i < most; i++) sum += host[i];
    printf("%.0f\n", sum);
  }
  return 0;
}
