// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
void launch_second(const float* in, float* out);
