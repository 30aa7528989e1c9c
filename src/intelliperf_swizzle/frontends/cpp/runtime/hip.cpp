// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// The stand-in for the HIP runtime: names, and what HIP alone has.
#include <hip/hip_runtime_api.h>

#include <cstdint>

#define API(name) hip##name
#define REGISTER(name) __hip##name
constexpr uint32_t kWave = 64;
constexpr int kVersion = HIP_VERSION;
#include "standin.h"

EXPORT void __hipRegisterManagedVar(void*, void** host, void* initial, const char* name,
                                    size_t bytes, unsigned) {
  if (!globals_.count(name) && allocate(host, bytes) == hipSuccess)
    memcpy(*host, initial, bytes);
  else if (globals_.count(name))
    memcpy(*host = (void*)globals_[name], initial, bytes);
}
EXPORT hipError_t hipExtLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                                     size_t shared, hipStream_t stream, hipEvent_t, hipEvent_t,
                                     int) {
  return hipLaunchKernel(host, grid, block, arguments, shared, stream);
}
EXPORT hipError_t hipLaunchCooperativeKernel(const void*, dim3, dim3, void**, unsigned,
                                             hipStream_t) {
  return refuse("a cooperative launch was refused: its workgroups wait for each other");
}
EXPORT hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* how, const void* host,
                                     void** arguments) {
  return hipLaunchKernel(host, how->gridDim, how->blockDim, arguments, how->dynamicSmemBytes,
                         how->stream);
}
EXPORT hipError_t hipModuleLoad(hipModule_t* module, const char*) {
  begin();
  return made(module);
}
EXPORT hipError_t hipModuleLoadData(hipModule_t* module, const void*) {
  begin();
  return made(module);
}
EXPORT hipError_t hipModuleLoadDataEx(hipModule_t* module, const void*, unsigned, hipJitOption*,
                                      void**) {
  begin();
  return made(module);
}
EXPORT hipError_t hipModuleUnload(hipModule_t module) { return freed(module); }
EXPORT hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t, const char* name) {
  auto it = table_.find(name);
  if (it == table_.end()) return failed(hipErrorNotFound);
  *function = (hipFunction_t)&it->second;
  return hipSuccess;
}
EXPORT hipError_t hipModuleGetGlobal(hipDeviceptr_t* at, size_t* bytes, hipModule_t,
                                     const char* name) {
  auto it = globals_.find(name);
  if (it == globals_.end()) return failed(hipErrorNotFound);
  if (at) *at = (hipDeviceptr_t)it->second;
  if (bytes) *bytes = live_[it->second].bytes;
  return hipSuccess;
}
EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy,
                                        unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                        unsigned shared, hipStream_t stream, void** arguments,
                                        void** extra) {
  return launch(((Kernel*)function)->symbol, {dim3(gx, gy, gz), dim3(bx, by, bz), shared, stream},
                arguments, extra);
}
EXPORT hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t x, uint32_t y,
                                           uint32_t z, uint32_t bx, uint32_t by, uint32_t bz,
                                           size_t shared, hipStream_t stream, void** arguments,
                                           void** extra, hipEvent_t, hipEvent_t, uint32_t) {
  if (!bx || !by || !bz || x % bx || y % by || z % bz) {
    return refuse("a launch whose last workgroups are smaller than the others was refused");
  }
  return hipModuleLaunchKernel(function, x / bx, y / by, z / bz, bx, by, bz, shared, stream,
                               arguments, extra);
}
EXPORT hipError_t hipFuncSetCacheConfig(const void*, hipFuncCache_t) { return hipSuccess; }
EXPORT hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void*, size_t,
                                                    int limit) {
  *block = limit ? std::min(limit, 256) : 256;
  *grid = 304 * 8;
  return hipSuccess;
}
EXPORT hipError_t hipExtMallocWithFlags(void** out, size_t bytes, unsigned) {
  return allocate(out, bytes);
}
EXPORT hipError_t hipHostMalloc(void** out, size_t bytes, unsigned) { return allocate(out, bytes); }
EXPORT hipError_t hipHostFree(void* at) { return release(at); }
EXPORT hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind,
                                      hipStream_t) {
  memmove(to, from, bytes);
  return hipSuccess;
}
EXPORT hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void* from, size_t bytes) {
  memmove((void*)to, from, bytes);
  return hipSuccess;
}
EXPORT hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t bytes) {
  memmove(to, (void*)from, bytes);
  return hipSuccess;
}
EXPORT hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
  memmove((void*)to, (void*)from, bytes);
  return hipSuccess;
}
EXPORT hipError_t hipMemsetD8(hipDeviceptr_t at, unsigned char value, size_t count) {
  return fill<uint8_t>((void*)at, value, count);
}
EXPORT hipError_t hipMemsetD16(hipDeviceptr_t at, unsigned short value, size_t count) {
  return fill<uint16_t>((void*)at, value, count);
}
EXPORT hipError_t hipMemsetD32(hipDeviceptr_t at, int value, size_t count) {
  return fill<uint32_t>((void*)at, value, count);
}
EXPORT hipError_t hipMemPrefetchAsync(const void*, size_t, int, hipStream_t) { return hipSuccess; }
EXPORT hipError_t hipMemAdvise(const void*, size_t, hipMemoryAdvise, int) { return hipSuccess; }
EXPORT hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* p, int device) {
  if (device) return failed(hipErrorInvalidDevice);
  memset(p, 0, sizeof *p);
  strcpy(p->name, "AMD Instinct MI300X (stand-in)");
  strcpy(p->gcnArchName, "gfx942:sramecc+:xnack-");
  p->totalGlobalMem = 192ull << 30;
  p->sharedMemPerBlock = p->sharedMemPerMultiprocessor = p->maxSharedMemoryPerMultiProcessor =
      65536;
  p->regsPerBlock = 65536;
  p->warpSize = kWave;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->multiProcessorCount = 304;
  p->major = 9, p->minor = 4;
  p->l2CacheSize = 4 << 20;
  p->clockRate = 2100000, p->memoryClockRate = 1300000, p->memoryBusWidth = 8192;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = p->maxThreadsDim[2] = 1024;
  p->maxGridSize[0] = 2147483647, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->concurrentKernels = p->managedMemory = p->unifiedAddressing = p->canMapHostMemory = 1;
  return hipSuccess;
}
EXPORT hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t which, int) {
  switch (which) {
    case hipDeviceAttributeMultiprocessorCount: *value = 304; break;
    case hipDeviceAttributeWarpSize: *value = kWave; break;
    case hipDeviceAttributeMaxThreadsPerBlock: *value = 1024; break;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor: *value = 2048; break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock: *value = 65536; break;
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor: *value = 65536; break;
    case hipDeviceAttributeL2CacheSize: *value = 4 << 20; break;
    case hipDeviceAttributeClockRate:
    case hipDeviceAttributeWallClockRate: *value = 2100000; break;
    case hipDeviceAttributeMemoryClockRate: *value = 1300000; break;
    case hipDeviceAttributeMemoryBusWidth: *value = 8192; break;
    case hipDeviceAttributeComputeCapabilityMajor: *value = 9; break;
    case hipDeviceAttributeComputeCapabilityMinor: *value = 4; break;
    case hipDeviceAttributeMaxGridDimX: *value = 2147483647; break;
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ: *value = 65535; break;
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ: *value = 1024; break;
    case hipDeviceAttributeManagedMemory:
    case hipDeviceAttributeConcurrentManagedAccess: *value = 1; break;
    default: *value = 0;
  }
  return hipSuccess;
}
EXPORT hipError_t hipInit(unsigned) { return hipSuccess; }
EXPORT hipError_t hipDeviceGet(hipDevice_t* device, int) {
  *device = 0;
  return hipSuccess;
}
EXPORT hipError_t hipDeviceGetName(char* name, int length, hipDevice_t) {
  snprintf(name, length, "AMD Instinct MI300X (stand-in)");
  return hipSuccess;
}
EXPORT hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t) {
  *bytes = 192ull << 30;
  return hipSuccess;
}
EXPORT hipError_t hipDeviceSetCacheConfig(hipFuncCache_t) { return hipSuccess; }
EXPORT hipError_t hipDeviceSetLimit(hipLimit_t, size_t) { return hipSuccess; }
EXPORT hipError_t hipCtxCreate(hipCtx_t* context, unsigned, hipDevice_t) { return made(context); }
EXPORT hipError_t hipCtxDestroy(hipCtx_t context) { return freed(context); }
