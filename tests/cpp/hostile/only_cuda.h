// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
#pragma once
#include <cassert>
#include <cstdio>

#define SHUFFLE(...) __shfl_sync(~0u, __VA_ARGS__)
#define SHUFFLE_XOR(...) __shfl_xor_sync(~0u, __VA_ARGS__)
#define BALLOT(vote) __ballot_sync(~0u, vote)
#define NUMBER_BY_INTRINSIC __nvvm_read_ptx_sreg_ctaid_x
#define hipBlockIdx_x blockIdx.x
#define hipMalloc cudaMalloc
#define hipMemcpy cudaMemcpy
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipSuccess cudaSuccess

__global__ void by_register(int* out) {
  int number;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(number));
  out[number * 64 + threadIdx.x] = blockIdx.x;
}

__global__ void by_value_in_assembly(int* out) {
  int number;
  asm volatile("{ .reg .b32 t; mov.b32 t, %%ctaid.x; add.s32 %0, t, 1; }" : "=r"(number));
  out[blockIdx.x * 64 + threadIdx.x] = number;
}

// Which multiprocessor a workgroup runs on, and when, follows from its number.
__global__ void by_processor(int* out) {
  int processor;
  asm("mov.u32 %0, %%smid;" : "=r"(processor));
  out[blockIdx.x * 64 + threadIdx.x] = processor;
}
__global__ void by_clock(long long* out) { out[blockIdx.x * 32 + threadIdx.x] = clock64(); }

// What a terminal shows is in the order of the workgroups.
__global__ void told(int* out) {
  out[blockIdx.x * 64 + threadIdx.x] = 1;
  if (threadIdx.x == 0) printf("workgroup %d\n", (int)blockIdx.x);
}

__global__ void asserted(const int* in, int* out) {
  assert(in[blockIdx.x * 64 + threadIdx.x] >= 0);
  out[blockIdx.x * 64 + threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x] + 1;
}

// Where a workgroup writes follows from votes of all its threads.
__global__ void voted(const int* in, int* out) {
  const int key = in[blockIdx.x * 64 + threadIdx.x];
  const int odd = __syncthreads_count(key & 1), all = __syncthreads_and(key >= 0), any = __syncthreads_or(key == 7);
  out[blockIdx.x * 128 + threadIdx.x + odd % 32 + all * 16 + any] = key;
}

void launch_own(int* a, int* b) {
  by_register<<<12, 64>>>(a);
  by_value_in_assembly<<<12, 64>>>(a);
  by_processor<<<12, 64>>>(a);
  by_clock<<<12, 32>>>((long long*)a);
  told<<<12, 64>>>(a);
  asserted<<<12, 64>>>(b, a);
  voted<<<12, 64>>>(b, a);
}
