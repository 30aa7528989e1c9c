# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The way of an attempt: `loop` is the whole, `stages` its steps, `evaluator` who judges."""
