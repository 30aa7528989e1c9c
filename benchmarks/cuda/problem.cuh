// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// What the measured kernels share: their buffers, and a program that launches one once. ./NAME SIZE
// With -DSHARED they are libraries for timing.cu, which needs `prepare` and `launch` alone.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Buffers {
  void* in[4];
  void* out;
  size_t out_bytes;
};

extern "C" void prepare(int size, Buffers* buffers);
extern "C" void launch(int size, const Buffers* buffers);

inline void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(status));
  exit(1);
}

inline void* allocated(size_t bytes) {
  void* found = nullptr;
  check(cudaMalloc(&found, bytes));
  check(cudaMemset(found, 0, bytes));
  return found;
}

template <typename T>
T* copied(const std::vector<T>& values) {
  void* found = allocated(values.size() * sizeof(T));
  check(cudaMemcpy(found, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return static_cast<T*>(found);
}

// Numbers from 0 to 1 that repeat after a length that no power of two divides.
template <typename T = float>
T* filled(size_t count) {
  std::vector<T> values(count < 1000003 ? count : 1000003);
  uint32_t state = 1;
  for (T& value : values) value = T((state = state * 1664525u + 1013904223u) >> 8) / T(1 << 24);
  T* found = static_cast<T*>(allocated(count * sizeof(T)));
  for (size_t at = 0; at < count; at += values.size()) {
    const size_t left = count - at < values.size() ? count - at : values.size();
    check(cudaMemcpy(found + at, values.data(), left * sizeof(T), cudaMemcpyHostToDevice));
  }
  return found;
}

#ifndef SHARED
int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "usage: %s SIZE\n", argv[0]), 2;
  Buffers buffers{};
  prepare(atoi(argv[1]), &buffers);
  launch(atoi(argv[1]), &buffers);
  check(cudaGetLastError());
  std::vector<uint32_t> words(buffers.out_bytes / sizeof(uint32_t));
  check(cudaMemcpy(words.data(), buffers.out, buffers.out_bytes, cudaMemcpyDeviceToHost));
  uint64_t digest = 0;
  for (uint32_t word : words) digest = (digest ^ word) * 0x100000001b3u;
  printf("%016llx\n", static_cast<unsigned long long>(digest));
  return 0;
}
#endif
