# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A kernel as its compiler sees it: Triton's IR (TTIR) of a launch, read in SSA form."""
