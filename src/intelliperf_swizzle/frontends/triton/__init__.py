# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Triton: all that knows its kernels, its interpreter and its compiler (`language.TRITON`)."""
