# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The way of an attempt: `run` is the whole, `loop` the search on a kernel, `stages` its steps,
`evaluators` who judges."""
