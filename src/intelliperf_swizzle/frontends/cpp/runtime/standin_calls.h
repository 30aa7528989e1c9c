// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// The calls of the runtime that HIP and CUDA have alike.
#pragma once

// --- registration and launches
// --------------------------------------------------------------------------------------

EXPORT void** REGISTER(RegisterFatBinary)(const void* wrapper) {
  std::lock_guard<std::recursive_mutex> guard(lock_);
  begin();
  Dl_info place = {};
  dladdr(wrapper, &place);
  std::string file = basename(place.dli_fname);
  for (char& letter : file) letter = isalnum(letter) ? letter : '_';
  auto found = modules_.insert({file, ((const void* const*)wrapper)[1]}).first;
  return (void**)&*found;
}
EXPORT void REGISTER(UnregisterFatBinary)(void**) {}
EXPORT void REGISTER(RegisterFunction)(void** module, const void* host, char*, const char* name,
                                       unsigned, void*, void*, void*, void*, int*) {
  by_host_[host] = {name, (const Module*)module};
}
EXPORT void REGISTER(RegisterVar)(void** module, void* host, char*, char* name, int, size_t, int,
                                  int) {
  global_of_host_[host] = {name, (const Module*)module};
}
EXPORT Error REGISTER(PushCallConfiguration)(dim3 grid, dim3 block, size_t shared, Stream stream) {
  configurations_.push_back({grid, block, shared, stream});
  return kSuccess;
}
EXPORT Error REGISTER(PopCallConfiguration)(dim3* grid, dim3* block, size_t* shared,
                                            Stream* stream) {
  Configuration last = configurations_.back();
  configurations_.pop_back();
  *grid = last.grid, *block = last.block, *shared = last.shared, *stream = last.stream;
  return kSuccess;
}
CALL(LaunchKernel)(const void* host, dim3 grid, dim3 block, void** arguments, size_t shared,
                   Stream stream) {
  auto it = by_host_.find(host);
  if (it == by_host_.end()) return failed(API(ErrorInvalidDeviceFunction));
  return launch(it->second, {grid, block, shared, stream}, arguments);
}
EXPORT Error sw_cooperative() {
  return refuse("a cooperative launch was refused: its workgroups wait for each other");
}
CALL(LaunchKernelExC)(const API(LaunchConfig_t) * how, const void* host, void** arguments) {
  for (auto attr = how->attrs; attr < how->attrs + how->numAttrs; attr++) {
    if (attr->id == API(LaunchAttributeCooperative) && attr->val.cooperative)
      return sw_cooperative();
    if (IN_CLUSTERS(attr))
      return refuse("a launch of clusters was refused: their workgroups stay together");
  }
  return API(LaunchKernel)(host, how->gridDim, how->blockDim, arguments, how->dynamicSmemBytes,
                           how->stream);
}
CALL(FuncGetAttributes)(API(FuncAttributes) * out, const void*) {
  memset(out, 0, sizeof *out);
  out->maxThreadsPerBlock = 1024;
  out->numRegs = 32;
  return kSuccess;
}
CALL(OccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, const void*, int threads, size_t) {
  return put(blocks, std::max(1, 2048 / std::max(1, threads)));
}

// --- calls that are as others here: all is over when a call returns, and nothing is cached

EXPORT Error sw_nothing() { return kSuccess; }
// clang-format off
SAME(DeviceReset, sw_nothing); SAME(DeviceSetCacheConfig, sw_nothing);
SAME(DeviceSetLimit, sw_nothing); SAME(DeviceSynchronize, sw_nothing);
SAME(EventQuery, sw_nothing); SAME(EventRecord, sw_nothing); SAME(EventSynchronize, sw_nothing);
SAME(FuncSetAttribute, sw_nothing); SAME(FuncSetCacheConfig, sw_nothing);
SAME(HostRegister, sw_nothing); SAME(HostUnregister, sw_nothing); SAME(MemAdvise, sw_nothing);
SAME(MemPrefetchAsync, sw_nothing); SAME(SetDeviceFlags, sw_nothing);
SAME(StreamQuery, sw_nothing); SAME(StreamSynchronize, sw_nothing);
SAME(StreamWaitEvent, sw_nothing); SAME(MallocManaged, API(Malloc)); SAME(HostAlloc, API(Malloc));
SAME(MallocHost, API(Malloc)); SAME(FreeAsync, API(Free)); SAME(FreeHost, API(Free));
SAME(MemcpyAsync, API(Memcpy)); SAME(Memcpy2DAsync, API(Memcpy2D)); SAME(MemsetAsync, API(Memset));
SAME(StreamCreateWithFlags, API(StreamCreate)); SAME(StreamCreateWithPriority, API(StreamCreate));
SAME(EventCreateWithFlags, API(StreamCreate)); SAME(RuntimeGetVersion, API(DriverGetVersion));
SAME(Memset2DAsync, API(Memset2D)); SAME(DeviceCanAccessPeer, API(GetDevice));
SAME(StreamAttachMemAsync, sw_nothing); SAME(MallocAsync, API(Malloc));
SAME(MemcpyToSymbolAsync, API(MemcpyToSymbol));
SAME(MemcpyFromSymbolAsync, API(MemcpyFromSymbol)); SAME(EventDestroy, API(StreamDestroy));
SAME(LaunchCooperativeKernel, sw_cooperative); SAME(EventCreate, API(StreamCreate));
// clang-format on

// --- memory: calls
// ----------------------------------------------------------------------------------------------------

CALL(Malloc)(void** out, size_t bytes) { return allocate(out, bytes); }
CALL(MallocPitch)(void** out, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 255) / 256 * 256;
  return allocate(out, *pitch * height);
}
CALL(Free)(void* at) { return release(at); }
CALL(HostGetDevicePointer)(void** out, void* host, unsigned) { return put(out, host); }
CALL(Memcpy)(void* to, const void* from, size_t bytes, Direction) { return move(to, from, bytes); }
CALL(Memcpy2D)(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
               size_t height, Direction) {
  for (size_t row = 0; row < height; row++)
    memmove((char*)to + row * to_pitch, (const char*)from + row * from_pitch, width);
  return kSuccess;
}
CALL(Memset)(void* at, int value, size_t bytes) { return fill<uint8_t>(at, value, bytes); }
CALL(Memset2D)(void* at, size_t pitch, int value, size_t width, size_t height) {
  for (size_t row = 0; row < height; row++) memset((char*)at + row * pitch, value, width);
  return kSuccess;
}
CALL(MemGetInfo)(size_t* available, size_t* total) {
  *total = 192ull << 30;
  return put(available, *total - (next_ - kBegin));
}
CALL(GetSymbolAddress)(void** out, const void* variable) {
  *out = address_of(variable);
  return *out ? kSuccess : failed(API(ErrorInvalidSymbol));
}
CALL(GetSymbolSize)(size_t* bytes, const void* variable) {
  auto at = (uintptr_t)address_of(variable);
  return at ? put(bytes, live_[at].bytes) : failed(API(ErrorInvalidSymbol));
}
CALL(MemcpyToSymbol)(const void* variable, const void* from, size_t bytes, size_t offset,
                     Direction) {
  auto at = (char*)address_of(variable);
  return at ? move(at + offset, from, bytes) : failed(API(ErrorInvalidSymbol));
}
CALL(MemcpyFromSymbol)(void* to, const void* variable, size_t bytes, size_t offset, Direction) {
  auto at = (char*)address_of(variable);
  return at ? move(to, at + offset, bytes) : failed(API(ErrorInvalidSymbol));
}

// --- the device
// ---------------------------------------------------------------------------------------------------------

// Attributes, as of `OWN`, that are named and are alike.
#define DEVICE(SAYS)                                                   \
  OWN(SAYS)                                                            \
  SAYS(MaxThreadsPerBlock, maxThreadsPerBlock, 1024)                   \
  SAYS(MaxBlockDimX, maxThreadsDim[0], 1024)                           \
  SAYS(MaxBlockDimY, maxThreadsDim[1], 1024)                           \
  SAYS(MaxGridDimX, maxGridSize[0], 2147483647)                        \
  SAYS(MaxGridDimY, maxGridSize[1], 65535)                             \
  SAYS(MaxGridDimZ, maxGridSize[2], 65535)                             \
  SAYS(WarpSize, warpSize, kWave)                                      \
  SAYS(MaxRegistersPerBlock, regsPerBlock, 65536)                      \
  SAYS(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor, 2048) \
  SAYS(ComputeCapabilityMajor, major, 9)                               \
  SAYS(ConcurrentKernels, concurrentKernels, 1)                        \
  SAYS(UnifiedAddressing, unifiedAddressing, 1)                        \
  SAYS(ManagedMemory, managedMemory, 1)                                \
  SAYS(ConcurrentManagedAccess, concurrentManagedAccess, 1)            \
  SAYS(CanMapHostMemory, canMapHostMemory, 1)
#define ATTRIBUTE(name, field, is) \
  if (which == ATTRIBUTE_OF(name)) return put(value, is);
#define FIELD(name, field, is) p->field = is;
#define DESCRIBE(name_is, memory_is)                  \
  if (device) return failed(API(ErrorInvalidDevice)); \
  memset((void*)p, 0, sizeof *p);                     \
  strcpy(p->name, name_is);                           \
  p->totalGlobalMem = memory_is;                      \
  DEVICE(FIELD)
CALL(GetDeviceCount)(int* count) { return put(count, 1); }
CALL(GetDevice)(int* device) { return put(device, 0); }
CALL(SetDevice)(int device) { return device ? failed(API(ErrorInvalidDevice)) : kSuccess; }
CALL(DriverGetVersion)(int* version) { return put(version, kVersion); }
CALL(GetLastError)() { return std::exchange(last_, kSuccess); }
CALL(PeekAtLastError)() { return last_; }
EXPORT const char* API(GetErrorString)(Error error) {
  return error ? "an error of the stand-in" : "no error";
}
EXPORT const char* API(GetErrorName)(Error error) {
  static thread_local char name[32];
  snprintf(name, sizeof name, error ? "error %d" : "success", (int)error);
  return name;
}

// --- streams and events: everything is over when it returns
// ------------------------------------------------------------------

CALL(StreamCreate)(Stream* stream) { return put(stream, (Stream)calloc(1, 8)); }
CALL(StreamDestroy)(Stream stream) {
  free((void*)stream);
  return kSuccess;
}
CALL(StreamAddCallback)(Stream stream, API(StreamCallback_t) call, void* with, unsigned) {
  call(stream, kSuccess, with);
  return kSuccess;
}
CALL(LaunchHostFunc)(Stream, API(HostFn_t) call, void* with) {
  call(with);
  return kSuccess;
}
CALL(DeviceGetStreamPriorityRange)(int* least, int* greatest) { return put(least, *greatest = 0); }
CALL(EventElapsedTime)(float* ms, Event, Event) { return put(ms, 1.0f); }
