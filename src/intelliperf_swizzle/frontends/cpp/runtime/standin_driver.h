// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// The calls of the driver that CUDA has, and HIP's runtime by almost the same names.
#pragma once

template <typename T>
Error loaded(T* module) {
  begin();
  return made(module);
}

DRIVER_CALL(Init)(unsigned) {
  begin();
  return driver(kSuccess);
}
DRIVER_CALL(DeviceGet)(Device* device, int) { return driver(put(device, 0)); }
DRIVER_CALL(DeviceGetName)(char* name, int length, Device) {
  snprintf(name, length, "%s", kName);
  return driver(kSuccess);
}
DRIVER_CALL(DeviceTotalMem)(size_t* bytes, Device) { return driver(put(bytes, kMemory)); }
DRIVER_CALL(CtxDestroy)(Context context) { return driver(freed(context)); }
DRIVER_CALL(ModuleLoad)(Module* module, const char*) { return driver(loaded(module)); }
DRIVER_CALL(ModuleLoadData)(Module* module, const void*) { return driver(loaded(module)); }
DRIVER_CALL(ModuleLoadDataEx)(Module* module, const void*, unsigned, JitOption*, void**) {
  return driver(loaded(module));
}
DRIVER_CALL(ModuleUnload)(Module module) { return driver(freed(module)); }
DRIVER_CALL(ModuleGetFunction)(Function* function, Module, const char* name) {
  auto it = table_.find(name);
  return driver(it == table_.end() ? kNotFound : put(function, (Function)&it->second));
}
DRIVER_CALL(ModuleGetGlobal)(DevicePointer* at, size_t* bytes, Module, const char* name) {
  auto it = globals_.find(name);
  if (it == globals_.end()) return driver(kNotFound);
  if (at) *at = (DevicePointer)it->second;
  if (bytes) *bytes = live_[it->second].bytes;
  return driver(kSuccess);
}
DRIVER_CALL(MemcpyHtoD)(DevicePointer to, const void* from, size_t bytes) {
  return driver(move((void*)to, from, bytes));
}
DRIVER_CALL(MemcpyDtoH)(void* to, DevicePointer from, size_t bytes) {
  return driver(move(to, (void*)from, bytes));
}
DRIVER_CALL(MemcpyDtoD)(DevicePointer to, DevicePointer from, size_t bytes) {
  return driver(move((void*)to, (void*)from, bytes));
}
DRIVER_CALL(MemsetD8)(DevicePointer at, unsigned char value, size_t count) {
  return driver(fill<uint8_t>((void*)at, value, count));
}
DRIVER_CALL(MemsetD32)(DevicePointer at, MemsetWord value, size_t count) {
  return driver(fill<uint32_t>((void*)at, value, count));
}
