# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a language model that sees is shown: maps of tiles and tensors as PNG, with a key."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from intelliperf_swizzle import drawing
from intelliperf_swizzle.errors import ModelError
from intelliperf_swizzle.propose.llm.signature import Image
from intelliperf_swizzle.records import Picture, Placement, Raster, TensorPicture, TilePicture

MAP_PIXELS = 384
"""Across and down of a map of tiles; 6 a cell at least."""

TENSOR_PIXELS = 256

MOST_MAPS = 3
MOST_TENSORS = 4
"""Slices and tensors that are shown, the first and largest; a GEMM has two and three."""

WIDEST = 2 * MAP_PIXELS + 36
GAP = 12
LETTER = 14
"""Pixels of a sheet, between its parts, and of its letters."""

Key: TypeAlias = "list[tuple[str, drawing.Colour]]"


@dataclass(frozen=True)
class _Map:
    """A small image, a pixel a cell, that is drawn large.

    Attributes:
        title: above it.
        address: `data:` address of a PNG.
        pixels: across or down, whichever is more.
        digits: written into the cells; none = nothing is.
    """

    title: str
    address: str
    pixels: int = MAP_PIXELS
    digits: Raster = ()


@dataclass(frozen=True)
class _Strip:
    """A heading and its maps side by side."""

    heading: str
    maps: tuple[_Map, ...]


def images(picture: Picture, domain_name: str) -> dict[str, Image]:
    """The pictures by name; the best attempt is beside the unmodified kernel if there is one.

    Raises:
        ModelError: Pillow is not installed.
    """
    count = picture.domains
    steps = range(9)
    tiles, tensors = picture.tiles[:MOST_MAPS], picture.tensors[:MOST_TENSORS]
    return {
        "tile_map": _sheet(
            [(f"{domain_name} {number}", drawing.domain_colour(number)) for number in range(count)]
            + [(f"several {domain_name}s", drawing.MIXED)],
            [_tile_row(shown, count, by_time=False) for shown in tiles],
        ),
        "launch_order": _sheet(
            [
                ({0: "launched first", 8: "launched last"}.get(step, ""), colour)
                for step, colour in zip(steps, drawing.TIME_COLOURS, strict=True)
            ],
            [_tile_row(shown, count, by_time=True) for shown in tiles],
        ),
        "tensor_lines": _sheet(
            [
                (
                    f"{number} {domain_name}{'s' if number > 1 else ''}",
                    drawing.reach_colour(number, count),
                )
                for number in range(1, count + 1)
            ],
            [_tensor_row(shown, count, domain_name) for shown in tensors],
        ),
    }


def _tile_row(shown: TilePicture, num_domains: int, *, by_time: bool) -> _Strip:
    across, down = shown.tiles
    cells = "x".join(map(str, shown.tiles_per_cell))
    cell = f"a cell is {cells} tiles" if cells != "1x1" else "a cell is a tile"

    def of(title: str, placement: Placement) -> _Map:
        if by_time:
            return _Map(title, drawing.time_image(placement))
        exact = all(set(row) <= {"z", "."} for row in placement.share)
        small = max(len(placement.domain), len(placement.domain[0])) <= drawing.MOST_LABELLED
        digits = placement.domain if exact and small else ()
        return _Map(title, drawing.domains_image(placement, num_domains), digits=digits)

    maps = [of("unmodified", shown.before)]
    maps += [of("the attempt to beat", shown.after)] if shown.after else []
    return _Strip(f"{shown.title}; {across} x {down} tiles, {cell}", tuple(maps))


def _tensor_row(shown: TensorPicture, num_domains: int, domain_name: str) -> _Strip:
    uses = [("unmodified", shown.before)]
    uses += [("the attempt to beat", shown.after)] if shown.after else []
    maps = [
        _Map(
            f"{title}: a line on {used.domains_per_line:.1f} {domain_name}s",
            drawing.reach_image(used.domains, num_domains),
            TENSOR_PIXELS,
        )
        for title, used in uses
    ]
    return _Strip(f"{', '.join(shown.names)}, {shown.shape}, {shown.use}", tuple(maps))


# --- drawing ------------------------------------------------------------------------------------


def _sheet(key: Key, rows: Sequence[_Strip]) -> Image:
    """Key and rows one below the other, as a PNG."""
    try:
        from PIL import Image as Pillow
        from PIL import ImageDraw, ImageFont
    except ImportError:
        raise ModelError(
            "pictures for a language model need Pillow, which is not installed",
            hint="pip install 'intelliperf-swizzle[llm]', or `pictures: false` in the formula",
        ) from None
    letters = ImageFont.load_default(size=LETTER)
    line = LETTER + GAP // 2
    sheet = Pillow.new("RGB", (WIDEST, 8192), "white")
    draw = ImageDraw.Draw(sheet)

    def write(x: int, y: int, text: str) -> int:
        """Writes a line; returns where it ends."""
        plain = text.replace("×", "x").encode("ascii", "replace").decode()
        draw.text((x, y), plain, "black", letters)
        return x + int(letters.getlength(plain))

    x, y = GAP, GAP
    for label, colour in key:
        if x + 2 * line + int(letters.getlength(label)) > WIDEST:
            x, y = GAP, y + line
        draw.rectangle((x, y, x + LETTER, y + LETTER), drawing.hexadecimal(colour), "black")
        x = write(x + line, y, label) + GAP // 2
    y += line + GAP
    for row in rows:
        write(GAP, y, row.heading)
        y += line
        x, below = GAP, y
        for one in row.maps:
            write(x, y, one.title)
            drawn = _enlarged(one, Pillow)
            sheet.paste(drawn, (x, y + line))
            for at, digit, ink in _digits(one.digits, drawn.width):
                draw.text((x + at[0], y + line + at[1]), digit, ink, letters, anchor="mm")
            below = max(below, y + line + drawn.height)
            x += one.pixels + GAP
        y = below + GAP
    written = io.BytesIO()
    whole = sheet.crop((0, 0, WIDEST, y))
    whole.save(written, "PNG", optimize=True)
    return Image(written.getvalue(), whole.width, whole.height)


def _enlarged(one: _Map, pillow: Any) -> Any:
    """The image with cells of several pixels, white where nothing is."""
    small = pillow.open(io.BytesIO(base64.b64decode(one.address.partition(",")[2])))
    scale = max(1, one.pixels // max(small.size))
    large = small.resize((small.width * scale, small.height * scale), pillow.Resampling.NEAREST)
    drawn = pillow.new("RGB", large.size, "white")
    drawn.paste(large, (0, 0), large)
    return drawn


def _digits(digits: Raster, width: int) -> Iterator[tuple[tuple[int, int], str, str]]:
    """Where the middle of each cell is, with its digit and a colour to write it in."""
    for row, text in enumerate(digits):
        cell = width // len(text)
        for column, digit in enumerate(text):
            if digit != ".":
                ink = drawing.ink(drawing.domain_colour(int(digit, 36)))
                yield (column * cell + cell // 2, row * cell + cell // 2), digit, ink
