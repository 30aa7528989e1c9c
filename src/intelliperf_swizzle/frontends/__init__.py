# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The languages that kernels are written in: `base` says what one must offer, a folder each."""
