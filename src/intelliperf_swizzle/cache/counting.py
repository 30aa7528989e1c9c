# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How a target's counters count a line: in requests, of which some or all can miss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from intelliperf_swizzle.cache.stream import ReferenceStream, stream_of
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import LINE_BYTES, SECTOR_BYTES, Access, Int64Array, Trace

CODES = np.arange(64)
"""Every reference code, `kind << 4 | sectors`."""
_KIND = CODES >> 4
_SECTORS_A_LINE = LINE_BYTES // SECTOR_BYTES


def as_stored(stream: ReferenceStream, target: Target) -> Target:
    """The target, whose writes are as wide as the layout of what a launch stores makes them."""
    of_products = target.l2_product_write_request_bytes
    if of_products is None or not stream.multiplies:
        return target
    return replace(target, l2_write_request_bytes=of_products)


def requests_per_line(target: Target) -> Int64Array:
    """L2 requests that touching a line takes, by reference code: int64[64].

    A read takes one request for each piece of `l2_read_request_bytes` that it touches; a write or
    an atomic one for each of `l2_write_request_bytes`.
    """
    read = _pieces(target.l2_read_request_bytes)
    write = _pieces(target.l2_write_request_bytes)
    return np.where(_KIND == Access.READ, read, write)


def misses_per_line(target: Target) -> Int64Array:
    """Of those requests, how many are counted as misses if the line is not there: int64[64].

    Where one request covers a line, or where a write allocates (AMD), the first request of the
    line misses and brings it, and the others hit. Where the counter counts sectors (NVIDIA), each
    one misses, and a plain write may count as a hit whatever happens.
    """
    requests = requests_per_line(target)
    sectored = target.l2_read_request_bytes == SECTOR_BYTES
    misses = requests if sectored else np.minimum(requests, 1)
    if target.l2_writes_always_hit:
        misses = np.where(_KIND == Access.WRITE, 0, misses)
    return misses


def bytes_per_line(target: Target) -> Int64Array:
    """Bytes that the L2 moves for a line, by reference code: int64[64]."""
    size = np.where(
        _KIND == Access.READ, target.l2_read_request_bytes, target.l2_write_request_bytes
    )
    return requests_per_line(target) * size


def requests(trace: Trace, target: Target) -> int:
    """L2 requests of a launch whose L1s save none; the same for every order of its programs."""
    return stream_requests(stream_of(trace), target)


def stream_requests(stream: ReferenceStream, target: Target) -> int:
    """`requests` of a launch that is a stream already."""
    lines = stream.unit_lines[stream.plain_units].astype(np.int64)
    per_line = requests_per_line(as_stored(stream, target))
    return int((lines * per_line[stream.ref_code]).sum())


def _pieces(request_bytes: int) -> Int64Array:
    """Aligned pieces of this size with a sector of the mask in them, by reference code."""
    sectors_a_piece = max(1, request_bytes // SECTOR_BYTES)
    piece = (1 << sectors_a_piece) - 1
    pieces: Int64Array = np.sum(
        [(CODES >> first & piece) > 0 for first in range(0, _SECTORS_A_LINE, sectors_a_piece)],
        axis=0,
        dtype=np.int64,
    )
    return pieces
