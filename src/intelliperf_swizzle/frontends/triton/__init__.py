# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Triton: all that knows its kernels, its IR and its compiler (`language.TRITON`)."""
