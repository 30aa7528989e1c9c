// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// The tables of a recording's folder, and what buffers hold by its hash; on stand-in and GPU.
#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define TEXT(name) #name
#define QUOTED(name) TEXT(name)

namespace {

constexpr uintptr_t kBegin = 16ull << 30;  // of buffers, as recorded: a line's number fits 31 bits
constexpr size_t kGranule = 2ull << 20;

uint64_t hash_of(const void* data, size_t bytes) {
  uint64_t hash = 0x9E3779B97F4A7C15ull ^ bytes, word;
  auto at = (const uint8_t*)data;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    memcpy(&word, at, 8);
    hash = (hash ^ word) * 0xD6E8FEB86659FD93ull;
    hash ^= hash >> 32;
  }
  for (; bytes; bytes--, at++) hash = (hash ^ *at) * 0xD6E8FEB86659FD93ull, hash ^= hash >> 32;
  return hash;
}

std::string hexadecimal(const uint8_t* at, size_t bytes) {
  std::string text;
  char digits[3];
  for (; bytes--; at++) snprintf(digits, sizeof digits, "%02x", *at), text += digits;
  return text;
}

// Keeps what a buffer holds, once; returns the name of its file.
std::string keep(const std::string& folder, const void* at, size_t bytes) {
  char name[64];
  snprintf(name, sizeof name, "%016" PRIx64 "-%zu.npy", hash_of(at, bytes), bytes);
  std::string path = folder + "/contents/" + name;
  if (access(path.c_str(), F_OK)) {
    std::string partial = path + "." + std::to_string(getpid());
    FILE* file = fopen(partial.c_str(), "wb");
    char header[129];  // of NumPy's format, version 1
    snprintf(header, sizeof header,
             "\x93NUMPY\x01%c\x76%c{'descr': '|u1', 'fortran_order': False, 'shape': (%zu,), }", 0,
             0, bytes);
    size_t used = 10 + strlen(header + 10);
    memset(header + used, ' ', sizeof header - 1 - used);
    header[127] = '\n';
    bool whole = file && fwrite(header, 1, 128, file) == 128 && fwrite(at, 1, bytes, file) == bytes;
    if (file && fclose(file)) whole = false;
    if (!whole || rename(partial.c_str(), path.c_str())) {
      unlink(partial.c_str());
      return "";
    }
  }
  return name;
}

struct Kernel {
  std::string symbol, plain, contents;  // plain: as in the source; "-" if that is not known
  std::vector<size_t> parameters;       // bytes of each
};
std::vector<Kernel> read_kernels(const std::string& folder) {
  std::vector<Kernel> found;
  std::ifstream lines(folder + "/kernels.txt");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Kernel kernel;
    words >> kernel.symbol >> kernel.plain >> kernel.contents;
    for (size_t bytes; words >> bytes;) kernel.parameters.push_back(bytes);
    found.push_back(kernel);
  }
  return found;
}

// Where the device variables of a recording lie: address and bytes.
typedef std::map<std::string, std::pair<uintptr_t, size_t>> Variables;
Variables read_variables(const std::string& folder) {
  Variables found;
  std::ifstream lines(folder + "/globals.txt");
  for (std::string name; lines >> name;) lines >> found[name].first >> found[name].second;
  return found;
}

// Whether what a parameter points to decides addresses, by the words of `kernels.txt`.
bool contents_decide(const std::string& contents, size_t parameter) {
  if (contents == "*") return true;
  std::istringstream numbers(contents);
  for (std::string number; std::getline(numbers, number, ',');)
    if (isdigit(number[0]) && strtoul(number.c_str(), nullptr, 10) == parameter) return true;
  return false;
}

}  // namespace
