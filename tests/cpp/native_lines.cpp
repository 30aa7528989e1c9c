// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
// Preloaded into a program that runs on the stand-in: writes the lines that each workgroup of each
// launch touches into the file NATIVE_LINES, as rows of 64-bit numbers: the launch, the workgroup,
// how many there are, and these, each with its kind in the lowest two bits.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace {
using Groups = std::map<int64_t, std::set<int64_t>>;
std::map<int64_t, Groups> touched;
Groups current;  // of the launch that is executed

struct AtEnd {
  ~AtEnd() {
    if (touched.empty()) return;
    FILE* file = fopen(getenv("NATIVE_LINES"), "wb");
    for (const auto& [launch, groups] : touched)
      for (const auto& [group, lines] : groups) {
        const int64_t head[] = {launch, group, (int64_t)lines.size()};
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
  auto& lines = current[number];
  for (uint64_t line = at >> 7; line <= (at + bytes - 1) >> 7; line++)
    lines.insert(line << 2 | kind);
}

// The stand-in says that a launch is over, and its number: `{"event": "ran", "id": "123-4", …`.
ssize_t write(int file, const void* data, size_t bytes) {
  static const auto real = next("write", write);
  static const char begins[] = "{\"event\": \"ran\", \"id\": \"";
  if (bytes > sizeof begins && !memcmp(data, begins, sizeof begins - 1)) {
    const std::string text((const char*)data + sizeof begins - 1, bytes - sizeof begins + 1);
    auto& over = touched[std::stoll(text.substr(text.find('-') + 1))];
    for (auto& [group, lines] : current) over[group] = std::move(lines);
    current.clear();
  }
  return real(file, data, bytes);
}
}
