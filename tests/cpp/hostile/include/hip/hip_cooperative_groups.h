// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// What a kernel asks cooperative groups for, as ROCm's header answers it: by the builtin, in a
// function of the header.
#pragma once

namespace cooperative_groups {
struct thread_block {
  __device__ dim3 group_index() const { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
};
__device__ inline thread_block this_thread_block() { return {}; }
}  // namespace cooperative_groups
