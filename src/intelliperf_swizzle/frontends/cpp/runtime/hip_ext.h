// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// hip/hip_ext.h if there is no ROCm: launches between two events.
#pragma once
#include <hip/hip_runtime.h>

template <typename... Parameters, typename... Arguments>
void hipExtLaunchKernelGGL(void (*kernel)(Parameters...), dim3 grid, dim3 block, unsigned shared,
                           hipStream_t stream, hipEvent_t begin, hipEvent_t end, unsigned,
                           Arguments... arguments) {
  if (begin) (void)hipEventRecord(begin, stream);
  kernel<<<grid, block, shared, stream>>>(arguments...);
  if (end) (void)hipEventRecord(end, stream);
}
