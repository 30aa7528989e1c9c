# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Executes Triton's IR on NumPy arrays, for many programs at once; imports no Triton."""

CHILD_ENVIRONMENT = {"TRITON_INTERPRET": "0", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Products of tiles are small: on a busy machine with 2 cores, threads made one 10 times slower."""
