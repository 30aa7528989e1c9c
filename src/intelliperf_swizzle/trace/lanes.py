# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The lanes of a batch's access, from the terms that they are sums of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.records import Int64Array

_MOST_LANES = 1 << 22
"""Lanes that are spread out at once where programs are irregular (32 MB of addresses)."""


def lanes_in_pieces(
    addresses: Sequence[npt.NDArray[np.int64]],
    mask: Sequence[npt.NDArray[np.bool_]],
    rows: Int64Array,
) -> Iterator[tuple[Int64Array, Int64Array, npt.NDArray[np.bool_]]]:
    """All lanes of some rows of a batch's access, as many rows at a time as memory is meant for.

    Yields:
        rows int64[n], addresses int64[n, lanes], which are active bool[n, lanes].
    """
    extents = np.broadcast_shapes(*(term.shape[1:] for term in (*addresses, *mask)))
    step = max(1, _MOST_LANES // max(1, int(np.prod(extents))))
    for start in range(0, len(rows), step):
        at = rows[start : start + step]
        lanes: Any = sum(_rows(term, at) for term in addresses)
        active: Any = np.ones((1,) * (1 + len(extents)), np.bool_)
        for term in mask:
            active = active & _rows(term, at)
        common = (len(at), *extents)
        yield (
            at,
            np.ascontiguousarray(np.broadcast_to(lanes, common)).reshape(len(at), -1),
            np.ascontiguousarray(np.broadcast_to(active, common)).reshape(len(at), -1),
        )


def _rows(term: npt.NDArray[Any], at: Int64Array) -> npt.NDArray[Any]:
    return term if len(term) == 1 else term[at]
