# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""HIP and CUDA C++: built with its bitcode kept, recorded and traced with no GPU."""
