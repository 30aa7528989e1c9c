# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the pictures of a run are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from intelliperf_swizzle.codec import Between, Matching

Raster: TypeAlias = tuple[Annotated[str, Matching("[0-9a-z.]+")], ...]
"""A small picture in characters, row after row: a base-36 digit a cell, `.` where nothing is."""


@dataclass(frozen=True)
class Placement:
    """Where and when the tiles of a picture run.

    Attributes:
        domain: of each cell, the domain that runs most of its tiles.
        share: the share of the cell's tiles that this domain runs, in 35ths.
        time: when the cell's tiles are launched on average, in 35ths of the time from the first to
            the last tile of the picture.
        neighbours_together: of the tiles that are neighbours across and down the whole picture,
            the share that run on one domain; 0 to 1, None where the picture is one tile wide.
    """

    domain: Raster
    share: Raster
    time: Raster
    neighbours_together: tuple[float | None, float | None]


@dataclass(frozen=True)
class TilePicture:
    """One slice of the tiles, before and after.

    Attributes:
        title: which slice, and where in it a tile is drawn.
        tiles: across and down.
        tiles_per_cell: across and down; (1, 1) = each cell is a tile.
        before: unmodified.
        after: with the best swizzle, None where there is none.
    """

    title: str
    tiles: tuple[int, int]
    tiles_per_cell: tuple[int, int]
    before: Placement
    after: Placement | None


@dataclass(frozen=True)
class TensorAccess:
    """Who uses the lines of a tensor in one order.

    Attributes:
        domains_per_line: on how many domains a line is used, on average.
        wave_bytes: bytes that the first wave of domain 0, its first resident workgroups, uses.
        domains: cells in the order of the memory, row by row of the tensor: domains per line.
        wave: likewise, the share of the cell's lines that this wave uses, in 35ths.
    """

    domains_per_line: float
    wave_bytes: int
    domains: Raster
    wave: Raster


@dataclass(frozen=True)
class TensorPicture:
    """The access map of one tensor, before and after.

    Attributes:
        names: the tensor arguments that lie in this memory.
        shape: of the first of them, in words (`4096 × 512 fp16`).
        bytes: of the memory.
        use: `read`, `written`, or `read and written`.
        tiles_per_line: how many tiles use a line, on average.
        before: unmodified.
        after: with the best swizzle, None where there is none.
        shared: what share of a tile's lines its neighbours across and down the pictures of tiles
            touch, too; 0 to 1, None where those are one tile wide or show no neighbours.
    """

    names: tuple[str, ...]
    shape: str
    bytes: int
    use: str
    tiles_per_line: float
    before: TensorAccess
    after: TensorAccess | None
    shared: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True)
class Picture:
    """What the pictures of a run are drawn from, small enough for its result file.

    Attributes:
        domains: of the target.
        workgroups_per_domain: resident at once.
        l2_bytes_per_domain: what the L2 of one holds.
        tiles: slices of the kernel's largest launch.
        tensors: what that launch touches, most lines first.
        sampled: whether the numbers of tensors are estimates, from some of the lines.
    """

    domains: Annotated[int, Between(1)]
    workgroups_per_domain: int
    l2_bytes_per_domain: int
    tiles: tuple[TilePicture, ...]
    tensors: tuple[TensorPicture, ...]
    sampled: bool = False
