# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The hardware-aware context: what a performance engineer would want to know of a kernel.

Everything is computed from the launch, its trace, the target and the measurements; nothing is
guessed. Structured first (`hardware_context`), as text second (`render`).
"""

from dataclasses import dataclass

from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Ceiling, Launch, Measurement, Trace


@dataclass(frozen=True)
class NextTile:
    """How far away, in launch order, the next tile lies that touches the same line.

    Attributes:
        distance: tiles further on.
        share: of the lines that have a next tile, how many have it there; 0 to 1.
    """

    distance: int
    share: float


@dataclass(frozen=True)
class TensorUse:
    """What a launch does with one piece of memory.

    Attributes:
        names: the tensor arguments that lie in it.
        touched_bytes: bytes of the distinct lines that are touched.
        tile_bytes: bytes of the lines that one tile touches, on average.
        reads: line reads of all tiles.
        writes: line writes.
        atomics: line updates by atomics.
        traffic_share: of the line accesses of all tensors; 0 to 1.
        passes: how often a tile accesses each of its lines, on average.
        tiles_per_line: how many tiles touch a line, on average.
        domains_per_line: on how many domains they run, on average.
        most_tiles_per_line: the greatest number of tiles that touch one line.
        shared_with_neighbour: along each axis of the grid, what share of a tile's lines the next
            tile touches too; 0 to 1; None along an axis of one tile.
        next_tiles: where the next tile on the same line lies, the commonest distances first.
    """

    names: tuple[str, ...]
    touched_bytes: int
    tile_bytes: float
    reads: int
    writes: int
    atomics: int
    passes: float
    traffic_share: float
    tiles_per_line: float
    domains_per_line: float
    most_tiles_per_line: int
    shared_with_neighbour: tuple[float | None, ...]
    next_tiles: tuple[NextTile, ...]


@dataclass(frozen=True)
class Reuse:
    """Where a tile finds the lines that it needs, in launch order; shares from 0 to 1.

    Attributes:
        first: no tile has touched the line before.
        other_domain: tiles have, but only on other XCDs: it is fetched once more.
        same_wave: a tile of the same XCD and the same wave touches it.
        earlier_wave: a tile of the same XCD has, in an earlier wave.
        distance_bytes: median of what the XCD touches between that wave and this one; None if
            nothing is used again in a later wave.
        distance_fits: of `earlier_wave`, the share whose distance is within the XCD's L2.
        domains_per_shared_line: on how many XCDs a line is fetched that more than one tile touches.
    """

    first: float
    other_domain: float
    same_wave: float
    earlier_wave: float
    distance_bytes: float | None
    distance_fits: float
    domains_per_shared_line: float


@dataclass(frozen=True)
class Wave:
    """The workgroups that are resident at once.

    Attributes:
        occupancy: workgroups on one CU.
        workgroups_per_domain: on one XCD.
        waves: how many follow each other on the most-loaded XCD.
        domain_bytes: distinct bytes that one XCD's workgroups of one wave touch, on average.
        device_bytes: the same of all XCDs together.
    """

    occupancy: int
    workgroups_per_domain: int
    waves: int
    domain_bytes: float
    device_bytes: float


@dataclass(frozen=True)
class HardwareContext:
    """All that is known of a kernel, its memory and the GPU before anything is tried.

    Attributes:
        launch: the kernel's largest launch.
        launches: all distinct launches; a swizzle must be a permutation on each.
        target: the GPU.
        baseline: the measurement of the unmodified kernel.
        ceiling: a bound on any permutation's L2 hit rate.
        tensors: by traffic, most first.
        reuse: in launch order.
        wave: what is resident at once.
        trace: of the largest launch.
        sampled: of how many units one was examined; 1 = all.
    """

    launch: Launch
    launches: tuple[Launch, ...]
    target: Target
    baseline: Measurement
    ceiling: Ceiling
    tensors: tuple[TensorUse, ...]
    reuse: Reuse
    wave: Wave
    trace: Trace
    sampled: int
