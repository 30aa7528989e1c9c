// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// hip/hip_cooperative_groups.h if there is no ROCm: the threads of a block, and of tiles of it.
#pragma once
#include <hip/hip_runtime.h>

// clang-format off
namespace cooperative_groups {
struct thread_block {
  static __device__ void sync() { __syncthreads(); }
  static __device__ unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static __device__ unsigned num_threads() { return size(); }
  static __device__ unsigned thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  static __device__ dim3 group_index() { return blockIdx; }
  static __device__ dim3 thread_index() { return threadIdx; }
};

template <unsigned N, typename Parent = thread_block>
struct thread_block_tile {
  static __device__ void sync() { __builtin_amdgcn_wave_barrier(); }
  static constexpr __device__ unsigned size() { return N; }
  static constexpr __device__ unsigned num_threads() { return N; }
  static __device__ unsigned thread_rank() { return thread_block::thread_rank() % N; }
  static __device__ unsigned meta_group_rank() { return thread_block::thread_rank() / N; }
  static __device__ unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
  template <typename T> __device__ T shfl(T one, int lane) const { return __shfl(one, lane, N); }
  template <typename T> __device__ T shfl_down(T one, unsigned by) const { return __shfl_down(one, by, N); }
  template <typename T> __device__ T shfl_up(T one, unsigned by) const { return __shfl_up(one, by, N); }
  template <typename T> __device__ T shfl_xor(T one, unsigned by) const { return __shfl_xor(one, by, N); }
  static __device__ unsigned long long ballot(int is) {
    return __ballot(is) >> __lane_id() / N * N & ~0ull >> (64 - N);
  }
  static __device__ int any(int is) { return ballot(is) != 0; }
  static __device__ int all(int is) { return ballot(!is) == 0; }
};

inline __device__ thread_block this_thread_block() { return {}; }
template <unsigned N, typename Parent> __device__ thread_block_tile<N, Parent> tiled_partition(Parent) { return {}; }
template <typename Group> __device__ void sync(Group group) { group.sync(); }
template <typename Group> __device__ unsigned thread_rank(Group group) { return group.thread_rank(); }
}  // namespace cooperative_groups
// clang-format on
