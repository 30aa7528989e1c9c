# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Device code: bitcode, line tables, and CUDA's intrinsics expressed in those of AMD."""
