# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From the accesses of programs to a trace: for each tile, the cache lines that it touches."""
