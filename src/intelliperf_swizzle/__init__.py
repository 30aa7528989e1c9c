# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Proved workgroup swizzles for chiplet GPUs: the formula `swizzle` for IntelliPerf."""

__version__ = "0.1.0"
