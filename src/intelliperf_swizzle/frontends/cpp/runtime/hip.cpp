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
  if (!globals_.count(name) && allocate(host, bytes) == kSuccess)
    memcpy(*host, initial, bytes);
  else if (globals_.count(name))
    memcpy(*host = (void*)globals_[name], initial, bytes);
}
CALL(ExtLaunchKernel)(const void* host, dim3 grid, dim3 block, void** arguments, size_t shared,
                      Stream stream, hipEvent_t, hipEvent_t, int) {
  return hipLaunchKernel(host, grid, block, arguments, shared, stream);
}
CALL(LaunchCooperativeKernel)(const void*, dim3, dim3, void**, unsigned, Stream) {
  return refuse("a cooperative launch was refused: its workgroups wait for each other");
}
CALL(LaunchKernelExC)(const hipLaunchConfig_t* how, const void* host, void** arguments) {
  return hipLaunchKernel(host, how->gridDim, how->blockDim, arguments, how->dynamicSmemBytes,
                         how->stream);
}

namespace {
constexpr const char* kName = "AMD Instinct MI300X (stand-in)";
constexpr size_t kMemory = 192ull << 30;
}  // namespace
CALL(FuncSetCacheConfig)(const void*, hipFuncCache_t) { return kSuccess; }
CALL(OccupancyMaxPotentialBlockSize)(int* grid, int* block, const void*, size_t, int limit) {
  *block = limit ? std::min(limit, 256) : 256;
  *grid = 304 * 8;
  return kSuccess;
}
CALL(ExtMallocWithFlags)(void** out, size_t bytes, unsigned) { return allocate(out, bytes); }
CALL(HostMalloc)(void** out, size_t bytes, unsigned) { return allocate(out, bytes); }
CALL(HostFree)(void* at) { return release(at); }
CALL(MemcpyWithStream)(void* to, const void* from, size_t bytes, hipMemcpyKind, Stream) {
  return move(to, from, bytes);
}
CALL(MemsetD16)(hipDeviceptr_t at, unsigned short value, size_t count) {
  return fill<uint16_t>((void*)at, value, count);
}
CALL(MemPrefetchAsync)(const void*, size_t, int, Stream) { return kSuccess; }
CALL(MemAdvise)(const void*, size_t, hipMemoryAdvise, int) { return kSuccess; }
CALL(GetDevicePropertiesR0600)(hipDeviceProp_tR0600* p, int device) {
  if (device) return failed(hipErrorInvalidDevice);
  memset(p, 0, sizeof *p);
  strcpy(p->name, kName);
  strcpy(p->gcnArchName, "gfx942:sramecc+:xnack-");
  p->totalGlobalMem = kMemory;
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
  return kSuccess;
}
CALL(DeviceGetAttribute)(int* value, hipDeviceAttribute_t which, int) {
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
  return kSuccess;
}
CALL(DeviceSetCacheConfig)(hipFuncCache_t) { return kSuccess; }
CALL(DeviceSetLimit)(hipLimit_t, size_t) { return kSuccess; }
CALL(CtxCreate)(hipCtx_t* context, unsigned, hipDevice_t) { return made(context); }
