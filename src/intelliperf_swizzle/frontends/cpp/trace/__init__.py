# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The memory that each workgroup touches: slices, interpreted or executed."""
