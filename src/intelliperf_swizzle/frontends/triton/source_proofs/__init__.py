# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The remap that a kernel's own source computes from its program ids: is it a permutation?

`observe` executes the kernel's IR in a child process and notes who stores each element; `judge`
draws the verdict and words it.
"""
