// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// What a swizzle's own divisions cost: a copy whose blocks first renumber themselves `levels` times,
// each time by a quotient and a remainder of a number that only the launch tells.
//
//     nvcc -O3 -arch=sm_90 divisions.cu -o divisions && ./divisions > divisions.csv
//
// A round is as many blocks as there are places on the GPU. Each block copies `bytes`, which it
// reads from memory; shared memory that nobody uses sets how many are resident.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                            \
  do {                                                                         \
    cudaError_t error = (call);                                                \
    if (error != cudaSuccess) {                                                \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));           \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

constexpr int THREADS = 128, ROUNDS = 64, REPEATS = 41;

template <int levels>
__global__ void copy(const float4* from, float4* to, int steps, int rows, int columns) {
  extern __shared__ char unused[];
  int block = blockIdx.x;
#pragma unroll
  for (int level = 0; level < levels; ++level) {  // transposed, and back where levels are even
    int wide = level % 2 ? rows : columns, tall = level % 2 ? columns : rows;
    block = block % wide * tall + block / wide;
  }
  size_t first = size_t(block) * steps * THREADS + threadIdx.x;
  for (int step = 0; step < steps; ++step) to[first + step * THREADS] = from[first + step * THREADS];
}

using Kernel = void (*)(const float4*, float4*, int, int, int);

float median_us(Kernel kernel, int blocks, int shared, const float4* from, float4* to, int steps,
                int rows) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> times;
  for (int n = 0; n < REPEATS; ++n) {
    CHECK(cudaEventRecord(begin));
    kernel<<<blocks, THREADS, shared>>>(from, to, steps, rows, blocks / rows);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    times.push_back(1e3f * ms);
  }
  CHECK(cudaGetLastError());
  std::nth_element(times.begin(), times.begin() + REPEATS / 2, times.end());
  return times[REPEATS / 2];
}

int main() {
  cudaDeviceProp gpu;
  CHECK(cudaGetDeviceProperties(&gpu, 0));
  const int levels[] = {0, 2, 4, 8};
  const Kernel kernels[] = {copy<0>, copy<2>, copy<4>, copy<8>};
  printf("gpu,residents,bytes,levels,rounds,us\n");
  for (int residents : {1, 2, 4, 8, 16})
    for (int steps : {1, 4, 16}) {
      int blocks = gpu.multiProcessorCount * residents * ROUNDS;
      size_t bytes = size_t(blocks) * steps * THREADS * sizeof(float4);
      float4 *from, *to;
      CHECK(cudaMalloc(&from, bytes));
      CHECK(cudaMalloc(&to, bytes));
      CHECK(cudaMemset(from, 0, bytes));
      int shared = residents == 16 ? 0 : (227 * 1024 / residents - 1024) / 128 * 128;
      for (int n = 0; n < 4; ++n) {
        CHECK(cudaFuncSetAttribute((const void*)kernels[n],
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
        float us = median_us(kernels[n], blocks, shared, from, to, steps, 64);
        printf("%s,%d,%d,%d,%d,%.2f\n", gpu.name, residents, steps * THREADS * 16, levels[n],
               ROUNDS, us);
      }
      CHECK(cudaFree(from));
      CHECK(cudaFree(to));
    }
}
