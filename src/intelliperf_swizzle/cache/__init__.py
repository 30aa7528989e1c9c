# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The cache model: screening (`screen`), full replay (`replay`) and the bound (`bound`)."""
