# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verb that needs no application: is a swizzle a permutation?"""

from __future__ import annotations

from collections.abc import Sequence

from intelliperf_swizzle import mapping
from intelliperf_swizzle.api.given import (
    AnySwizzle,
    AnyTarget,
    close_swizzle,
    loaded_target,
    refuse_unread,
)
from intelliperf_swizzle.language import INPUTS, parse
from intelliperf_swizzle.options import DEFAULT_TARGET
from intelliperf_swizzle.readers import grid_of, refuse_reserved
from intelliperf_swizzle.records import Proof, Witness


def prove(
    swizzle: AnySwizzle,
    grid: int | Sequence[int],
    *,
    target: AnyTarget = DEFAULT_TARGET,
    sizes: bool = True,
    **constants: int,
) -> Proof | Witness:
    """Is a swizzle a permutation of a launch's tiles?

    Args:
        swizzle: its text, the name of a pattern, or a parsed swizzle.
        grid: programs of the launch, along up to three axes.
        target: gives the number of XCDs.
        sizes: also prove it for other sizes, up to some seconds: for the proof's `extent`.
        constants: integer arguments of the kernel, and parameters of the pattern, by name.

    Returns:
        A proof, or a witness against it. `witness.failure` is set where the text has no value on
        this grid.

    Raises:
        LanguageError: the text is no swizzle, or reads a name that is not given.
        UsageError: there is no such pattern or target, or no such grid.
    """
    name, text, parameters = close_swizzle(swizzle, constants)
    parsed = parse(text)
    refuse_unread(name, constants, parameters | parsed.names)
    gpu = loaded_target(target)
    refuse_reserved(constants, INPUTS)
    extents = grid_of(grid)
    own = {one: value for one, value in constants.items() if one not in parameters}
    xcds, cus = gpu.num_xcds, gpu.cus_per_xcd
    proof = mapping.prove(parsed, extents, own, num_xcds=xcds, cus_per_xcd=cus)
    if isinstance(proof, Witness) or not sizes:
        return proof
    return mapping.extend(proof, parsed, num_xcds=xcds, cus_per_xcd=cus)
