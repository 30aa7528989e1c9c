# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Triton's interpreter made usable: its faults fixed, a launch revived, programs run in batches.

`render` needs no Triton. All other modules import it and are for child processes in which
`TRITON_INTERPRET=1` was set before the start.
"""
