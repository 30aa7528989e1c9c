// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// A variable of its own, by the name of another file's.
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif

static __device__ int base[64] = {100, 200, 300};
__global__ void reads_its_own(int* out) { out[blockIdx.x * 64 + threadIdx.x] += base[blockIdx.x]; }
template <typename T>
__global__ void made_nowhere(T* out) { out[T::row_of_others()] = 1; }
void launch_other(int* a) { reads_its_own<<<12, 64>>>(a); }
