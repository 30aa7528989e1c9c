# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Triton's interpreter made usable: its faults fixed, a launch revived, programs run in batches.

`render` needs no Triton. All other modules import it and are for child processes in which
`TRITON_INTERPRET=1` was set before the start.
"""

CHILD_ENVIRONMENT = {"TRITON_INTERPRET": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Products of tiles are small: on a busy machine with 2 cores, threads made one 10 times slower."""
