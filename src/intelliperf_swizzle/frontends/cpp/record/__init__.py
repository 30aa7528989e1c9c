# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A program run on a stand-in for the runtime, which writes down its launches."""
