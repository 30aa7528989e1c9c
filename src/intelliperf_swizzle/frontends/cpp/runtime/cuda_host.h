// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// What nvcc declares in every CUDA source and clang does not: for host code, accesses with hints
// for the caches, which change nothing but the time, and what older headers had.
#pragma once
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#if CUDA_VERSION >= 13000
#define cudaThreadSynchronize cudaDeviceSynchronize
#define cudaThreadExit cudaDeviceReset
// clang-format off
#define ON(n) cudaMemLocation{n < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, n}
// clang-format on
inline cudaError_t cudaMemAdvise(const void* at, size_t bytes, cudaMemoryAdvise advice, int gpu) {
  return cudaMemAdvise(at, bytes, advice, ON(gpu));
}
inline cudaError_t cudaMemPrefetchAsync(const void* at, size_t n, int gpu, cudaStream_t s = 0) {
  return cudaMemPrefetchAsync(at, n, ON(gpu), 0, s);
}
#undef ON
#endif
#define EXTREMES(type)                                                            \
  __attribute__((host)) inline type min(type a, type b) { return b < a ? b : a; } \
  __attribute__((host)) inline type max(type a, type b) { return a < b ? b : a; }
EXTREMES(int)
EXTREMES(unsigned)
EXTREMES(long)
EXTREMES(unsigned long)
EXTREMES(long long)
EXTREMES(unsigned long long)
EXTREMES(float)
EXTREMES(double)
#undef EXTREMES

#define LOAD(name)                                     \
  template <typename T>                                \
  __attribute__((device)) inline T name(const T* at) { \
    return *at;                                        \
  }
#define STORE(name)                                                       \
  template <typename T>                                                   \
  __attribute__((device)) inline void name(T* at, __remove_cv(T) value) { \
    *at = value;                                                          \
  }
LOAD(__ldca)
LOAD(__ldlu)
STORE(__stwb)
STORE(__stcg)
STORE(__stcs)
#undef LOAD
#undef STORE
