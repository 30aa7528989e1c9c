// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// The stand-in for the CUDA runtime: names, and what CUDA alone has.
#include <cuda_runtime_api.h>

#include <cstdint>

#define API(name) cuda##name
#define REGISTER(name) __cuda##name
#define ATTRIBUTE_OF(name) cudaDevAttr##name
#define IN_CLUSTERS(attribute)                             \
  (attribute->id == cudaLaunchAttributeClusterDimension && \
   attribute->val.clusterDim.x * attribute->val.clusterDim.y * attribute->val.clusterDim.z > 1)
#define cudaErrorOutOfMemory cudaErrorMemoryAllocation
constexpr uint32_t kWave = 32;
constexpr int kVersion = CUDART_VERSION;
#include "standin.h"

// --- launches
// --------------------------------------------------------------------------------------

EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
EXPORT decltype(cudaLaunchKernel) __cudaLaunchKernel __attribute__((alias("cudaLaunchKernel")));
EXPORT Error __cudaGetKernel(const void** kernel, const void* host) { return put(kernel, host); }
CALL(GetFuncBySymbol)(cudaFunction_t* function, const void* host) {
  auto it = by_host_.find(host);
  auto kernel = it == by_host_.end() ? table_.end() : find(table_, it->second);
  if (kernel == table_.end()) return failed(cudaErrorInvalidDeviceFunction);
  *function = (cudaFunction_t)&kernel->second;
  return kSuccess;
}

// --- what is refused by name
// ---------------------------------------------------------------------------

#define REFUSED(name, what) \
  EXPORT Error name() { return refuse(what " is not recorded"); }
REFUSED(sw_texture, "a texture")
REFUSED(sw_surface, "a surface")
REFUSED(sw_array, "memory of a texture")
REFUSED(sw_graph, "a graph")
// clang-format off
SAME(CreateTextureObject, sw_texture); SAME(CreateSurfaceObject, sw_surface);
SAME(MallocArray, sw_array); SAME(Malloc3DArray, sw_array); SAME(StreamBeginCapture, sw_graph);
SAME(GraphCreate, sw_graph); SAME(ProfilerStart, sw_nothing); SAME(ProfilerStop, sw_nothing);
SAME(OccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cudaOccupancyMaxActiveBlocksPerMultiprocessor);
// clang-format on
EXPORT cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

// --- the device
// ------------------------------------------------------------------------------------------

// Attributes, the fields of the properties that say the same, and what they are.
#define OWN(SAYS)                                                            \
  SAYS(MaxBlockDimZ, maxThreadsDim[2], 64)                                   \
  SAYS(MaxSharedMemoryPerBlock, sharedMemPerBlock, 49152)                    \
  SAYS(MaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin, 232448)         \
  SAYS(MaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor, 233472) \
  SAYS(ReservedSharedMemoryPerBlock, reservedSharedMemPerBlock, 1024)        \
  SAYS(TotalConstantMemory, totalConstMem, 65536)                            \
  SAYS(MaxRegistersPerMultiprocessor, regsPerMultiprocessor, 65536)          \
  SAYS(GlobalMemoryBusWidth, memoryBusWidth, 6144)                           \
  SAYS(MultiProcessorCount, multiProcessorCount, 132)                        \
  SAYS(MaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor, 32)           \
  SAYS(L2CacheSize, l2CacheSize, 60 << 20)                                   \
  SAYS(StreamPrioritiesSupported, streamPrioritiesSupported, 1)
CALL(DeviceGetAttribute)(int* value, enum cudaDeviceAttr which, int) {
  DEVICE(ATTRIBUTE)
  if (which == cudaDevAttrClockRate) return put(value, 1980000);
  return put(value, which == cudaDevAttrMemoryClockRate ? 3201000 : 0);
}
CALL(GetDeviceProperties)(cudaDeviceProp* p, int device) {
  DESCRIBE("NVIDIA H200 (stand-in)", 141ull << 30)
#if CUDART_VERSION < 13000
  p->clockRate = 1980000, p->memoryClockRate = 3201000;
#endif
  return kSuccess;
}
CALL(PointerGetAttributes)(cudaPointerAttributes* out, const void* at) {
  memset(out, 0, sizeof *out);
  auto it = buffer_at((uintptr_t)at);
  out->type = it == live_.end() ? cudaMemoryTypeUnregistered : cudaMemoryTypeDevice;
  out->devicePointer = out->hostPointer = (void*)at;
  return kSuccess;
}
