# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Orders of the small kernels' blocks, some of them none."""

import numpy as np

SIDE = 32


def mappings(slow, fast):
    """By name; `twice` and `short` are no permutations, `words` no array of numbers."""
    index = np.arange(slow * fast)
    return {
        "identity": index,
        "random": np.random.default_rng(1).permutation(slow * fast),
        "listed": [int(i) for i in index[::-1]],
        "twice": index // 2 * 2,
        "short": index[1:],
        "words": np.array(["first", "second"]),
    }
