// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
// Preloaded into a program that runs on the stand-in: writes the lines that each workgroup of each
// launch touches into the file NATIVE_LINES, as rows of 64-bit numbers: the launch, the workgroup,
// how many there are, and these, each with its kind in the lowest two bits.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

namespace {
std::map<std::pair<int64_t, int64_t>, std::set<int64_t>> touched;
int64_t launches = 0;

struct AtEnd {
  ~AtEnd() {
    if (touched.empty()) return;
    FILE* file = fopen(getenv("NATIVE_LINES"), "wb");
    for (const auto& [where, lines] : touched) {
      const int64_t head[] = {where.first, where.second, (int64_t)lines.size()};
      fwrite(head, 8, 3, file);
      for (int64_t line : lines) fwrite(&line, 8, 1, file);
    }
    fclose(file);
  }
} at_end;

template <class Function>
Function next(const char* name, Function) {
  return (Function)dlsym(RTLD_NEXT, name);
}
}  // namespace

extern "C" {
void sw_move(const void* address, int64_t bytes, int32_t kind) {
  static const auto real = next("sw_move", sw_move);
  static const auto group = (const uint32_t*)dlsym(RTLD_DEFAULT, "sw_group");
  static const auto grid = (const uint32_t*)dlsym(RTLD_DEFAULT, "sw_implicit");
  real(address, bytes, kind);
  const auto at = (uint64_t)address;
  if (at < 15ull << 30 || at >= 256ull << 30 || bytes <= 0) return;  // of the workgroup alone
  const int64_t number = group[0] + (int64_t)grid[0] * (group[1] + (int64_t)grid[1] * group[2]);
  auto& lines = touched[{launches, number}];
  for (uint64_t line = at >> 7; line <= (at + bytes - 1) >> 7; line++)
    lines.insert(line << 2 | kind);
}

struct Extent {
  uint32_t x, y, z;
};
#define LAUNCH(name)                                                                      \
  int name(const void* kernel, Extent grid, Extent block, void** arguments, size_t shared, \
           void* stream) {                                                                \
    const int error = next(#name, name)(kernel, grid, block, arguments, shared, stream);  \
    launches += !error;                                                                   \
    return error;                                                                         \
  }
LAUNCH(hipLaunchKernel)
LAUNCH(cudaLaunchKernel)
}
