# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The block orders that were measured, by name.

An order says which block the program at each launch index works on. Blocks are numbered row by row
on a `slow` by `fast` rectangle.
"""

from math import gcd

import numpy as np

LARGEST_HILBERT_SIDE = 1024
"""The curve's square is cut to the rectangle; a larger square takes too long to walk."""


def mappings(slow, fast):
    """Every order that exists on `slow` by `fast` blocks: name -> int32[slow * fast]."""
    blocks = slow * fast
    index = np.arange(blocks, dtype=np.int32)
    row, column = np.divmod(index, fast)
    orders = {
        "identity": index,
        "swapaxes": index % slow * fast + index // slow,
        "random": np.random.default_rng(0).permutation(blocks).astype(np.int32),
    }
    for domains in (2, 8):
        if blocks % domains == 0:
            orders[f"xcd{domains}"] = index.reshape(domains, -1).T.ravel()
    for rows in (2, 8, 32):
        if rows < slow:
            orders[f"group{rows}"] = grouped(slow, fast, rows)
    if slow > 1 and fast > 1:
        if hilbert_side(slow, fast) <= LARGEST_HILBERT_SIDE:
            orders["hilbert"] = hilbert(slow, fast)
        orders["snake"] = row * fast + np.where(row % 2, fast - 1 - column, column)
    far = index.astype(np.int64) * 97 % blocks if gcd(97, blocks) == 1 else index[::-1]
    orders["stride97"] = far.astype(np.int32)
    return orders


def grouped(slow, fast, rows):
    """Groups of `rows` rows, each walked column by column."""
    block = np.arange(slow * fast, dtype=np.int32).reshape(slow, fast)
    return np.concatenate([block[r : r + rows].T.ravel() for r in range(0, slow, rows)])


def hilbert_side(slow, fast):
    """Side of the least square with a power of two as side that holds the rectangle."""
    return 1 << (max(slow, fast) - 1).bit_length()


def hilbert(slow, fast):
    """The Hilbert curve of that square, what lies outside of the rectangle left out."""
    side = hilbert_side(slow, fast)
    place = np.arange(side * side)
    x, y = np.zeros_like(place), np.zeros_like(place)
    size = 1
    while size < side:
        right = place // 2 & 1
        up = (place ^ right) & 1
        turned = up == 0
        flipped = turned & (right == 1)
        x, y = np.where(flipped, size - 1 - x, x), np.where(flipped, size - 1 - y, y)
        x, y = np.where(turned, y, x), np.where(turned, x, y)
        x, y = x + size * right, y + size * up
        place, size = place // 4, size * 2
    inside = (x < slow) & (y < fast)
    return (x * fast + y)[inside].astype(np.int32)
