// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// What the stand-in's `nvcc` includes in a source: device code is host code.
#pragma once
#include <cstdio>
#include <initializer_list>
#include <cstdlib>
#include <cstring>
#define __global__
#define __device__
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct uint3 { unsigned x, y, z; };
extern "C" {
extern uint3 blockIdx, threadIdx;
extern dim3 gridDim, blockDim;
int cudaMalloc(void**, size_t);
int cudaMemcpy(void*, const void*, size_t, int);
int cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, void*);
int cudaDeviceSynchronize();
void __cudaRegisterFunction(void**, const void*, char*, const char*, int, void*, void*, void*, void*, int*);
void __cudaRegisterVar(void**, void*, char*, const char*, int, size_t, int, int);
}
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
#define REGISTERED(kernel, name, variable) \
  static struct Registration { \
    Registration() { \
      __cudaRegisterFunction(nullptr, (const void*)kernel, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr); \
      __cudaRegisterVar(nullptr, &variable, nullptr, #variable, 0, sizeof variable, 0, 0); \
    } \
  } registration;
