# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The memory that each workgroup touches: slices, interpreted or executed."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from intelliperf_swizzle.frontends.child_processes import ChildTracer
from intelliperf_swizzle.frontends.cpp.record.device_code import read_kernel
from intelliperf_swizzle.frontends.resizing import scale_launch
from intelliperf_swizzle.records import Launch, Storage

_TRACER = ChildTracer(f"{__name__}.trace_slices", {})
trace, trace_each, find_dependences = _TRACER.trace, _TRACER.trace_each, _TRACER.find_dependences


# --- at other sizes, in memory that a launch was not recorded with

_GRANULE = 1 << 21
"""Between allocations, as the stand-in has them."""
_TILES = (2, 4, 8, 16)
"""What a thread may compute along an axis."""


def resize(launch: Launch, counts: Callable[[int], Iterable[int]]) -> list[Launch]:
    """A launch at other sizes; as of `frontends.ports.Resizer`.

    None if it is traced by execution, or a structure that is passed by value decides.
    """
    kernel = read_kernel(launch)
    passed = [number for number, kind in enumerate(kernel.types) if kind == "byref"]
    if kernel.slice.executed is not None or kernel.slice.decisive.intersection(passed):
        return []
    block = launch.options["block"]
    own = dict.fromkeys((*block, math.prod(block)))
    literals = re.findall(r"(?<![\w.])\d+(?![\w.])", kernel.instance + launch.source.entry.text)
    more = [extent * tiles for tiles in _TILES for extent in own]
    blocks = dict.fromkeys((*own, *map(int, literals), *more))
    made = scale_launch(launch, counts, [n for n in blocks if n > 1])
    return [_with_memory(resized, launch) for resized in made]


def _with_memory(made: Launch, launch: Launch) -> Launch:
    """A launch of another size with room for its buffers; variables stay where they are."""
    pairs = [(made.constants[name], old) for name, old in launch.constants.items() if old > 0]
    growth = max(1, *(-(-new // old) for new, old in pairs)) * -(-made.programs // launch.programs)
    passed = {view.storage for _, view in launch.tensors()}
    addresses, storages = [*launch.options["addresses"]], dict(launch.storages)
    stay = [addresses[n] + storages[n].bytes for n in storages if n not in passed]
    free = max((min(addresses[number] for number in passed), *stay)) if passed else 0
    for number in sorted(passed, key=addresses.__getitem__):
        free = -(-free // _GRANULE) * _GRANULE
        addresses[number], size = free, storages[number].bytes * growth
        storages[number] = Storage(size)
        free += size + _GRANULE
    options = {**launch.options, "addresses": tuple(addresses)}
    return replace(made, storages=storages, options=options)
