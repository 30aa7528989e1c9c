# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A program compiled by the user's command, in a copy, so that its bitcode is kept."""
