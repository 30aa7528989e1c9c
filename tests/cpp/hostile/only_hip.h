// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdio>
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>

#define SHUFFLE __shfl
#define SHUFFLE_XOR __shfl_xor
#define BALLOT __ballot
#define NUMBER_BY_INTRINSIC __builtin_amdgcn_workgroup_id_x

__global__ void by_group(int* out) {
  const auto block = cooperative_groups::this_thread_block();
  out[block.group_index().x * 64 + threadIdx.x] = blockIdx.x;
}

// What a terminal shows is in the order of the workgroups.
__global__ void told(int* out) {
  out[blockIdx.x * 64 + threadIdx.x] = 1;
  if (threadIdx.x == 0) printf("workgroup %d\n", (int)blockIdx.x);
}

void launch_own(int* a, int*) {
  by_group<<<12, 64>>>(a);
  told<<<12, 64>>>(a);
}
