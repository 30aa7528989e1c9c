# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Rasters as small images, in colours that colour-blind eyes tell apart.

An image is a PNG in a `data:` address: 64 × 64 cells take 1 kB, as drawn shapes they would take 50.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import TypeAlias

from intelliperf_swizzle.records import Placement, Raster

Colour: TypeAlias = tuple[int, int, int]

DOMAIN_COLOURS: tuple[Colour, ...] = (
    (0x33, 0x22, 0x88), (0x88, 0xCC, 0xEE), (0x44, 0xAA, 0x99), (0x11, 0x77, 0x33),
    (0x99, 0x99, 0x33), (0xDD, 0xCC, 0x77), (0xCC, 0x66, 0x77), (0x88, 0x22, 0x55),
)  # fmt: skip
"""Paul Tol's `muted` scheme (personal.sron.nl/~pault), in its order; more domains take them again
and are told apart by their digits."""

MIXED: Colour = (0xB8, 0xB8, 0xB8)
"""A cell whose tiles run on all domains alike."""

TIME_COLOURS: tuple[Colour, ...] = (
    (0x44, 0x01, 0x54), (0x47, 0x2D, 0x7B), (0x3B, 0x52, 0x8B), (0x2C, 0x72, 0x8E),
    (0x21, 0x91, 0x8C), (0x28, 0xAE, 0x80), (0x5E, 0xC9, 0x62), (0xAD, 0xDC, 0x30),
    (0xFD, 0xE7, 0x25),
)  # fmt: skip
"""matplotlib's viridis: early is dark, late is light, in grey too."""

REACH_COLOURS: tuple[Colour, ...] = (
    (0xFF, 0xF7, 0xBC), (0xFE, 0xC4, 0x4F), (0xEC, 0x70, 0x14), (0x99, 0x34, 0x04),
    (0x4A, 0x15, 0x04),
)  # fmt: skip
"""ColorBrewer's YlOrBr: one domain is light, all domains are dark."""

USE_COLOURS: tuple[Colour, ...] = ((0xF7, 0xFB, 0xFF), (0x6B, 0xAE, 0xD6), (0x08, 0x30, 0x6B))
"""ColorBrewer's Blues: unused is light, used is dark."""

MOST_LABELLED = 32
"""Cells across up to which each one carries the digit of its domain."""


def domain_colour(domain: int) -> Colour:
    """The colour of a domain."""
    return DOMAIN_COLOURS[domain % len(DOMAIN_COLOURS)]


def domains_image(placement: Placement, num_domains: int) -> str:
    """Cells in the colour of their domain, the greyer the more domains share them."""
    least = 1 / num_domains

    def colour(domain: int, share: int) -> Colour:
        purity = max(0.0, (share / 35 - least) / (1 - least)) if num_domains > 1 else 1.0
        return _between(MIXED, domain_colour(domain), purity)

    return _image(placement.domain, colour, placement.share)


def time_image(placement: Placement) -> str:
    """Cells from dark (launched first) to light (launched last)."""
    return _image(placement.time, lambda value, _: along(TIME_COLOURS, value / 35))


def reach_image(raster: Raster, num_domains: int) -> str:
    """Cells from light (lines used on one domain) to dark (on all)."""
    return _image(raster, lambda value, _: reach_colour(value, num_domains))


def reach_colour(reach: int, num_domains: int) -> Colour:
    """The colour of lines that so many domains use."""
    return along(REACH_COLOURS, (reach - 1) / max(1, num_domains - 1))


def use_image(raster: Raster) -> str:
    """Cells from light (no line is used) to dark (every line is)."""
    return _image(raster, lambda value, _: along(USE_COLOURS, value / 35))


def along(colours: Sequence[Colour], place: float) -> Colour:
    """The colour at a place from 0 to 1 of a scale."""
    at = min(max(place, 0.0), 1.0) * (len(colours) - 1)
    first = min(int(at), len(colours) - 2)
    return _between(colours[first], colours[first + 1], at - first)


def hexadecimal(colour: Colour) -> str:
    """`#rrggbb`."""
    return "#" + "".join(f"{part:02x}" for part in colour)


def ink(colour: Colour) -> str:
    """Black or white, whichever is easier to read on a colour (WCAG's relative luminance)."""
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in (channel / 255 for channel in colour)
    )
    return "#000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "#fff"


def _between(one: Colour, other: Colour, place: float) -> Colour:
    red, green, blue = (round(a + (b - a) * place) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _image(
    raster: Raster, colour: Callable[[int, int], Colour], second: Raster | None = None
) -> str:
    """A PNG, one pixel a cell, as a `data:` address; `.` is transparent."""
    rows = []
    for row, other in zip(raster, second or raster, strict=True):
        pixels = (
            (0, 0, 0, 0) if a == "." else (*colour(int(a, 36), int(b, 36)), 255)
            for a, b in zip(row, other, strict=True)
        )
        rows.append(b"\0" + bytes(channel for pixel in pixels for channel in pixel))
    header = struct.pack(">IIBBBBB", len(raster[0]), len(raster), 8, 6, 0, 0, 0)
    png = b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(b"".join(rows), 9)),
            _chunk(b"IEND", b""),
        )
    )
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _chunk(kind: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )
