# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Swizzles applied when Triton compiles a kernel: `rules` writes them, `runtime` applies them.

The recorder, inside applications, imports `runtime`; of `rules` it knows nothing.
"""
