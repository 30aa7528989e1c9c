# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Where in an L2 a line may lie."""

from __future__ import annotations

import numpy as np

from intelliperf_swizzle.cache.stream import ReferenceStream
from intelliperf_swizzle.hardware import BitRule, Target
from intelliperf_swizzle.records import Int32Array, Int64Array


def l2_sets(stream: ReferenceStream, target: Target) -> Int32Array:
    """The set of each line of `stream.unit_line`, counted over all channels: int32[lines].

    Computed once for each layout of sets and kept with the stream, 4 bytes a line.
    """
    from intelliperf_swizzle.cache.compiled.lines import sets_of

    channel_bits, set_bits = target.l2_channel_bits, target.l2_set_bits
    counts = target.l2_channels_per_xcd, target.l2_sets_per_channel
    layout = channel_bits, set_bits, *counts
    if layout not in stream.sets:
        masks = _masks(channel_bits), _masks(set_bits)
        stream.sets[layout] = sets_of(stream.unit_line, *masks, *counts)
    return stream.sets[layout]


def l2_parts(stream: ReferenceStream, target: Target) -> tuple[Int32Array, int]:
    """The part of the L2 of each line of `stream.unit_line`, and how many there are.

    Sets where the target does not hash them, else channels; one where it hashes these, too.
    """
    if target.l2_channel_bits is None:
        return np.zeros(len(stream.unit_line), np.int32), 1
    sets = l2_sets(stream, target)
    if target.l2_set_bits is None:
        return sets // np.int32(target.l2_sets_per_channel), target.l2_channels_per_xcd
    return sets, target.l2_channels_per_xcd * target.l2_sets_per_channel


def _masks(rule: BitRule | None) -> Int64Array:
    return np.array([sum(1 << bit for bit in bits) for bits in rule or ()], np.int64)
