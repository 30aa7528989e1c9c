// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// As much of HIP as the hunt's programs use, on the CPU: one workgroup after the other, in the order
// HUNT_ORDER; with a line for its grid in HUNT_TILES each computes the workgroup that stands there.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <vector>

#define __global__
#define __device__
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) \
  hunt_launch(grid, block, [&] { kernel(__VA_ARGS__); })

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
inline dim3 blockIdx, threadIdx, gridDim, blockDim;

enum hipError_t { hipSuccess };
enum hipMemcpyKind { hipMemcpyHostToDevice, hipMemcpyDeviceToHost };
inline hipError_t hipMalloc(void** at, size_t bytes) {
  *at = malloc(bytes);
  return hipSuccess;
}
inline hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind) {
  memcpy(to, from, bytes);
  return hipSuccess;
}

template <typename T, typename Change>
T hunt_update(T* at, Change change) {
  const T before = *at;
  *at = change(before);
  return before;
}
#define HUNT_ATOMIC(name, result)             \
  template <typename T>                       \
  T name(T* at, T v) {                        \
    return hunt_update(at, [=](T a) -> T { return result; }); \
  }
HUNT_ATOMIC(atomicAdd, a + v)
HUNT_ATOMIC(atomicMax, std::max(a, v))
HUNT_ATOMIC(atomicMin, std::min(a, v))
HUNT_ATOMIC(atomicOr, a | v)
HUNT_ATOMIC(atomicXor, a ^ v)
HUNT_ATOMIC(atomicExch, v)
inline unsigned atomicInc(unsigned* at, unsigned v) {
  return hunt_update(at, [=](unsigned a) { return a >= v ? 0 : a + 1; });
}
inline unsigned atomicDec(unsigned* at, unsigned v) {
  return hunt_update(at, [=](unsigned a) { return a == 0 || a > v ? v : a - 1; });
}
inline int atomicCAS(int* at, int wanted, int v) {
  return hunt_update(at, [=](int a) { return a == wanted ? v : a; });
}

template <typename Kernel>
void hunt_launch(dim3 grid, dim3 block, Kernel kernel) {
  gridDim = grid, blockDim = block;
  std::vector<unsigned> order(grid.x * grid.y), tiles(order.size());
  std::iota(order.begin(), order.end(), 0u);
  tiles = order;
  std::ifstream file(getenv("HUNT_TILES") ? getenv("HUNT_TILES") : "");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    unsigned x = 0, y = 0;
    words >> x >> y;
    if (x == grid.x && y == grid.y)
      for (unsigned& tile : tiles) words >> tile;
  }
  const std::string how = getenv("HUNT_ORDER") ? getenv("HUNT_ORDER") : "launch";
  if (how == "reversed") std::reverse(order.begin(), order.end());
  if (how == "shuffled") std::shuffle(order.begin(), order.end(), std::mt19937(order.size()));
  for (unsigned group : order)
    for (threadIdx = dim3(0, 0, 0); threadIdx.x < block.x; threadIdx.x++) {
      blockIdx = dim3(tiles[group] % grid.x, tiles[group] / grid.x, 0);
      kernel();
    }
}
