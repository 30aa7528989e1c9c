// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// The stand-in for the HIP runtime: names, and what HIP alone has.
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>

#include <cstdint>

#define API(name) hip##name
#define REGISTER(name) __hip##name
#define ATTRIBUTE_OF(name) hipDeviceAttribute##name
#define IN_CLUSTERS(attribute) false
constexpr uint32_t kWave = 64;
constexpr int kVersion = HIP_VERSION;
#include "standin.h"

EXPORT void __hipRegisterManagedVar(void* module, void** host, void* initial, const char* name,
                                    size_t bytes, unsigned) {
  if (allocate(host, bytes) != kSuccess) return;
  memcpy(*host, initial, bytes);
  auto it = find(globals_, {name, (const Module*)module});  // where the GPU has its address
  if (it != globals_.end()) memcpy((void*)it->second, host, sizeof *host);
}
// clang-format off
SAME(ExtLaunchKernel, hipLaunchKernel); SAME(ExtMallocWithFlags, hipMalloc);
SAME(HostMalloc, hipMalloc); SAME(HostFree, hipFree); SAME(MemcpyWithStream, hipMemcpy);
SAME(MemcpyHtoD, hipMemcpy); SAME(MemcpyDtoH, hipMemcpy); SAME(MemcpyDtoD, hipMemcpy);
SAME(Init, sw_nothing); SAME(CtxDestroy, sw_nothing); SAME(DeviceGet, hipGetDevice);
SAME(CtxCreate, hipStreamCreate);
// clang-format on

CALL(OccupancyMaxPotentialBlockSize)(int* grid, int* block, const void*, size_t, int limit) {
  *block = limit ? std::min(limit, 256) : 256;
  return put(grid, 304 * 8);
}
CALL(MemsetD16)(hipDeviceptr_t at, unsigned short value, size_t count) {
  return fill<uint16_t>((void*)at, value, count);
}
// Attributes, the fields of the properties that say the same, and what they are.
#define OWN(SAYS)                                                                 \
  SAYS(MultiprocessorCount, multiProcessorCount, 304)                             \
  SAYS(MaxSharedMemoryPerBlock, sharedMemPerBlock, 65536)                         \
  SAYS(MaxSharedMemoryPerMultiprocessor, maxSharedMemoryPerMultiProcessor, 65536) \
  SAYS(L2CacheSize, l2CacheSize, 4 << 20)                                         \
  SAYS(ClockRate, clockRate, 2100000)                                             \
  SAYS(MemoryClockRate, memoryClockRate, 1300000)                                 \
  SAYS(MemoryBusWidth, memoryBusWidth, 8192)                                      \
  SAYS(ComputeCapabilityMinor, minor, 4)                                          \
  SAYS(MaxBlockDimZ, maxThreadsDim[2], 1024)
CALL(GetDevicePropertiesR0600)(hipDeviceProp_tR0600* p, int device) {
  DESCRIBE("AMD Instinct MI300X (stand-in)", 192ull << 30)
  strcpy(p->gcnArchName, "gfx942:sramecc+:xnack-");
  p->sharedMemPerMultiprocessor = 65536;
  return kSuccess;
}
CALL(DeviceGetAttribute)(int* value, hipDeviceAttribute_t which, int) {
  DEVICE(ATTRIBUTE)
  return put(value, which == hipDeviceAttributeWallClockRate ? 2100000 : 0);
}
