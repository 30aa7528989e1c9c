# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The tiles by domain as a small image, in colours that colour-blind eyes tell apart.

An image is a PNG in a `data:` address: 64 × 64 cells take 1 kB, as drawn shapes they would take 50.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TypeAlias

from intelliperf_swizzle.records import Placement

Colour: TypeAlias = tuple[int, int, int]

DOMAIN_COLOURS: tuple[Colour, ...] = (
    (0x33, 0x22, 0x88), (0x88, 0xCC, 0xEE), (0x44, 0xAA, 0x99), (0x11, 0x77, 0x33),
    (0x99, 0x99, 0x33), (0xDD, 0xCC, 0x77), (0xCC, 0x66, 0x77), (0x88, 0x22, 0x55),
)  # fmt: skip
"""Paul Tol's `muted` scheme (personal.sron.nl/~pault), in its order; more domains take them again
and are told apart by their digits."""

MIXED: Colour = (0xB8, 0xB8, 0xB8)
"""A cell whose tiles run on all domains alike."""

MOST_LABELLED = 32
"""Cells across up to which each one carries the digit of its domain."""


def domain_colour(domain: int) -> Colour:
    """The colour of a domain."""
    return DOMAIN_COLOURS[domain % len(DOMAIN_COLOURS)]


def domains_image(placement: Placement, num_domains: int) -> str:
    """Cells in the colour of their domain, the greyer the more domains share them."""
    least = 1 / num_domains
    rows = []
    for domains, shares in zip(placement.domain, placement.share, strict=True):
        rows.append(b"\0")
        for domain, share in zip(domains, shares, strict=True):
            if domain == ".":
                rows.append(bytes(4))
                continue
            purity = (int(share, 36) / 35 - least) / (1 - least) if num_domains > 1 else 1.0
            colour = _between(MIXED, domain_colour(int(domain, 36)), max(0.0, purity))
            rows.append(bytes((*colour, 255)))
    size = len(placement.domain[0]), len(placement.domain)
    png = b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, 6, 0, 0, 0)),
            _chunk(b"IDAT", zlib.compress(b"".join(rows), 9)),
            _chunk(b"IEND", b""),
        )
    )
    return "data:image/png;base64," + base64.b64encode(png).decode()


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


def _chunk(kind: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )
