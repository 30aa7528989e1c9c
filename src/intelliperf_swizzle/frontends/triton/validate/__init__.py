# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether a swizzled kernel does what the original does: the same IR with proved numbers."""
