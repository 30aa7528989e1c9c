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

EXPORT void __hipRegisterManagedVar(void* module, void** host, void* initial, const char* name,
                                    size_t bytes, unsigned) {
  auto it = find(globals_, {name, (const Module*)module});
  if (it != globals_.end())
    *host = (void*)it->second;
  else if (allocate(host, bytes) != kSuccess)
    return;
  memcpy(*host, initial, bytes);
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
// Attributes, the fields of the properties that say the same, and what they are.
#define DEVICE(SAYS)                                                              \
  SAYS(MultiprocessorCount, multiProcessorCount, 304)                             \
  SAYS(WarpSize, warpSize, kWave)                                                 \
  SAYS(MaxThreadsPerBlock, maxThreadsPerBlock, 1024)                              \
  SAYS(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor, 2048)            \
  SAYS(MaxSharedMemoryPerBlock, sharedMemPerBlock, 65536)                         \
  SAYS(MaxSharedMemoryPerMultiprocessor, maxSharedMemoryPerMultiProcessor, 65536) \
  SAYS(L2CacheSize, l2CacheSize, 4 << 20)                                         \
  SAYS(ClockRate, clockRate, 2100000)                                             \
  SAYS(MemoryClockRate, memoryClockRate, 1300000)                                 \
  SAYS(MemoryBusWidth, memoryBusWidth, 8192)                                      \
  SAYS(ComputeCapabilityMajor, major, 9)                                          \
  SAYS(ComputeCapabilityMinor, minor, 4)                                          \
  SAYS(MaxGridDimX, maxGridSize[0], 2147483647)                                   \
  SAYS(MaxGridDimY, maxGridSize[1], 65535)                                        \
  SAYS(MaxGridDimZ, maxGridSize[2], 65535)                                        \
  SAYS(MaxBlockDimX, maxThreadsDim[0], 1024)                                      \
  SAYS(MaxBlockDimY, maxThreadsDim[1], 1024)                                      \
  SAYS(MaxBlockDimZ, maxThreadsDim[2], 1024)                                      \
  SAYS(MaxRegistersPerBlock, regsPerBlock, 65536)                                 \
  SAYS(ConcurrentKernels, concurrentKernels, 1)                                   \
  SAYS(UnifiedAddressing, unifiedAddressing, 1)                                   \
  SAYS(CanMapHostMemory, canMapHostMemory, 1)                                     \
  SAYS(ManagedMemory, managedMemory, 1)                                           \
  SAYS(ConcurrentManagedAccess, concurrentManagedAccess, 1)
CALL(GetDevicePropertiesR0600)(hipDeviceProp_tR0600* p, int device) {
  if (device) return failed(hipErrorInvalidDevice);
  memset(p, 0, sizeof *p);
  strcpy(p->name, kName);
  strcpy(p->gcnArchName, "gfx942:sramecc+:xnack-");
  p->totalGlobalMem = kMemory, p->sharedMemPerMultiprocessor = 65536;
#define FIELD(name, field, is) p->field = is;
  DEVICE(FIELD)
  return kSuccess;
}
CALL(DeviceGetAttribute)(int* value, hipDeviceAttribute_t which, int) {
#define ATTRIBUTE(name, field, is) \
  if (which == hipDeviceAttribute##name) return put(value, is);
  DEVICE(ATTRIBUTE)
  return put(value, which == hipDeviceAttributeWallClockRate ? 2100000 : 0);
}
CALL(DeviceSetCacheConfig)(hipFuncCache_t) { return kSuccess; }
CALL(DeviceSetLimit)(hipLimit_t, size_t) { return kSuccess; }
CALL(CtxCreate)(hipCtx_t* context, unsigned, hipDevice_t) { return made(context); }
