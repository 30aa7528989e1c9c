// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A stand-in for libcudart and libcuda of a machine with a GPU: what the preloaded library and the
// application of these tests call. Kernels are host code with the arguments (float*, const float*,
// int); a fat binary holds a shared library.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "fake_cuda.h"

extern "C" {
uint3 blockIdx, threadIdx;
dim3 gridDim, blockDim;

typedef void Kernel(float*, const float*, int);
static void run(const void* kernel, dim3 grid, dim3 block, void** arguments) {
  gridDim = grid, blockDim = block;
  for (unsigned b = 0; b < grid.x; b++)
    for (unsigned t = 0; t < block.x; t++) {
      blockIdx = {b, 0, 0}, threadIdx = {t, 0, 0};
      ((Kernel*)kernel)(*(float**)arguments[0], *(const float**)arguments[1], *(int*)arguments[2]);
    }
}
int cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments, size_t, void*) { run(host, grid, block, arguments); return 0; }
int cuLaunchKernel(void* kernel, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned, void*, void** arguments, void**) {
  if (!kernel) return 1;
  run(kernel, dim3(x, y, z), dim3(bx, by, bz), arguments);
  return 0;
}
int cudaGetFuncBySymbol(void** function, const void* host) { *function = (void*)host; return getenv("FAKE_OLD") ? 1 : 0; }
void __cudaRegisterFunction(void**, const void*, char*, const char*, int, void*, void*, void*, void*, int*) {}
void __cudaRegisterVar(void**, void*, char*, const char*, int, size_t, int, int) {}
int cudaGetSymbolAddress(void** at, const void* host) { *at = (void*)host; return 0; }

int cudaMalloc(void** at, size_t bytes) {
  *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return *at == MAP_FAILED ? 2 : 0;
}
int cudaFree(void*) { return 0; }
int cudaHostAlloc(void** at, size_t bytes, unsigned) { *at = malloc(bytes); return 0; }
int cudaFreeHost(void* at) { free(at); return 0; }
int cudaMemcpy(void* to, const void* from, size_t bytes, int) { memmove(to, from, bytes); return 0; }
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int, void*) { memmove(to, from, bytes); return 0; }
int cudaMemsetAsync(void* at, int value, size_t bytes, void*) { memset(at, value, bytes); return 0; }
int cudaDeviceSynchronize() { return 0; }
int cudaStreamIsCapturing(void*, int* status) { *status = 0; return 0; }
int cudaGetLastError() { return 0; }
const char* cudaGetErrorString(int error) { return error ? "an error of the stand-in" : "no error"; }

int cudaEventCreate(void** event) { *event = new double(0); return 0; }
int cudaEventDestroy(void* event) { delete (double*)event; return 0; }
int cudaEventRecord(void* event, void*) {
  *(double*)event = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return 0;
}
int cudaEventElapsedTime(float* ms, void* from, void* to) { *ms = *(double*)to - *(double*)from; return 0; }

int cuModuleLoadData(void** module, const void* fatbin) {
  const bool bundle = !memcmp(fatbin, "__CLANG_OFFLOAD_BUNDLE__", 24);
  const char* at = (const char*)fatbin + (bundle ? 24 : 8);
  uint64_t bytes;
  memcpy(&bytes, at, 8);
  int file = memfd_create("module", 0);
  if (write(file, at + 8, bytes) != (ssize_t)bytes) return 1;
  *module = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!*module) fprintf(stderr, "%s\n", dlerror());
  return *module ? 0 : 200;
}
int cuModuleGetFunction(void** function, void* module, const char* name) { return (*function = dlsym(module, name)) ? 0 : 500; }
int cuModuleGetGlobal_v2(void** at, size_t* bytes, void* module, const char* name) {
  *bytes = sizeof(float);
  return (*at = dlsym(module, name)) ? 0 : 500;
}
int cuMemGetAddressRange_v2(uintptr_t*, size_t*, uintptr_t) { return 1; }
}
