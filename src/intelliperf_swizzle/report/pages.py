# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A run as one HTML page that needs no network and no other file; and as short Markdown.

`page/` holds the template and the style sheet.
"""

from __future__ import annotations

import base64
import functools
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from intelliperf_swizzle import __version__
from intelliperf_swizzle.mapping import describe
from intelliperf_swizzle.readers import count, milliseconds, percent, size
from intelliperf_swizzle.records import Picture, Placement, Run, TilePicture
from intelliperf_swizzle.report import causes, sentences
from intelliperf_swizzle.report.establish import permutation, validation

if TYPE_CHECKING:
    import jinja2
    import markupsafe

PAGE = Path(__file__).parent / "page"

MOSTLY = 0.5
"""Part of a cell's tiles that one domain runs, for the cell to have its colour."""


Colour: TypeAlias = tuple[int, int, int]

DOMAIN_COLOURS: tuple[Colour, ...] = (
    (0x33, 0x22, 0x88), (0x88, 0xCC, 0xEE), (0x44, 0xAA, 0x99), (0x11, 0x77, 0x33),
    (0x99, 0x99, 0x33), (0xDD, 0xCC, 0x77), (0xCC, 0x66, 0x77), (0x88, 0x22, 0x55),
)  # fmt: skip
"""Paul Tol's `muted` scheme (personal.sron.nl/~pault), in its order; more domains take them again
and are distinguished by their digits."""

MIXED: Colour = (0xB8, 0xB8, 0xB8)
"""A cell whose tiles run on all domains alike."""

MOST_LABELLED = 32
"""Cells across up to which each one carries the digit of its domain."""


def render(run: Run) -> str:
    """The whole page."""
    return _template().render(**_view(run))


@functools.cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, size=size, milliseconds=milliseconds, code=_code)
    environment.globals.update(
        describe=describe, domain_colour=lambda domain: hexadecimal(domain_colour(domain)),
        domains_image=domains_image, mixed=hexadecimal(MIXED), labels=_labels, version=__version__,
        causes=causes, sentences=sentences, permutation=permutation, validation=validation,
    )  # fmt: skip
    return environment.get_template("page.html")


def _code(text: str) -> markupsafe.Markup:
    """Text as HTML: backticks as code, and no line break before a percent sign."""
    import markupsafe

    escaped = str(markupsafe.escape(text)).replace(" %", "&nbsp;%")
    return markupsafe.Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", escaped))


def _view(run: Run) -> dict[str, Any]:
    """All that the templates show."""
    picture, diff = run.picture, run.best.diff if run.best else None
    return {
        "run": run,
        "source": "modelled" if run.modelled else "measured",
        "style": (PAGE / "style.css").read_text(encoding="utf-8"),
        "rows": sentences.numbers(run),
        "shown": _visible(picture) if picture else None,
        "bands": _bands(picture) if picture else None,
        "patch_link": _link("text/x-diff", diff.encode()) if diff else "",
        "timed": any(a.measurement and a.measurement.time_ms for a in run.attempts),
    }


def _visible(picture: Picture) -> TilePicture | None:
    """The tiles that show something, before or after; those that are drawn one by one first."""
    for shown in sorted(picture.tiles, key=lambda tile: tile.tiles_per_cell != (1, 1)):
        if picture.domains == 1 or any(map(_tells, filter(None, (shown.before, shown.after)))):
            return shown
    return None


def _bands(picture: Picture) -> Placement | None:
    """All tiles with the swizzle, a cell for several, if that shows something."""
    after = picture.tiles[0].after if len(picture.tiles) > 1 else None
    return after if after and _tells(after) else None


def _tells(placement: Placement) -> bool:
    """Whether some cell is mostly one domain's; else the picture is grey all over."""
    shares = (digit for row in placement.share for digit in row if digit != ".")
    return any(int(share, 36) > 35 * MOSTLY for share in shares)


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
            pairs = zip(MIXED, domain_colour(int(domain, 36)), strict=True)
            colour = (round(grey + (own - grey) * max(0.0, purity)) for grey, own in pairs)
            rows.append(bytes((*colour, 255)))
    size = len(placement.domain[0]), len(placement.domain)
    header = struct.pack(">IIBBBBB", *size, 8, 6, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b"")
    return _link("image/png", b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks))


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


def _chunk(kind: bytes, content: bytes) -> bytes:
    body = kind + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def _link(kind: str, content: bytes) -> str:
    """A file that is part of the page."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _labels(placement: Placement) -> Iterator[tuple[int, str, list[int], str]]:
    """Row, ink, columns and digits of cells that are tiles, if there is room: their domains."""
    most = max(len(placement.domain), len(placement.domain[0]))
    if most > MOST_LABELLED or any(set(row) - {"z", "."} for row in placement.share):
        return
    for number, row in enumerate(placement.domain):
        by_ink: dict[str, list[int]] = {}
        for column, digit in enumerate(row):
            if digit != ".":
                colour = ink(domain_colour(int(digit, 36)))
                by_ink.setdefault(colour, []).append(column)
        for colour, columns in by_ink.items():
            yield number, colour, columns, "".join(row[column] for column in columns)


_TEMPLATE = """\
# {{ run.kernel }}: {{ sentences.verdict(run) }}
{% for line in sentences.outcome(run) + sentences.cautions(run.cautions) %}
{{ line }}
{% endfor %}
| | {{ "before | after |" if run.best else "unmodified |" }}
|---|---|{{ "---|" if run.best }}
{% for row in sentences.numbers(run) -%}
| {{ row.name }} | {{ row.texts()[: 2 if run.best else 1] | join(" | ") }} |
{% endfor %}{% if run.best and run.best.diff %}
```diff
{{ run.best.diff.rstrip() }}
```
{% endif %}
{% set attempts = count(run.attempts | length, "attempt") if run.attempts -%}
<details><summary>Why, what else would help{{ ", and " ~ attempts if attempts }}</summary>
{% for line in causes.reasons(run) %}
{{ line }}
{% endfor %}
Ceiling: {{ percent(run.ceiling.l2_hit_rate) }} ({{ run.ceiling.derivation }}).
{% if sentences.by_hand(run) %}
| by hand | time | L2 hit rate | verdict |
|---|---|---|---|
{% for row in sentences.by_hand(run) -%}
| {{ row | join(" | ") }} |
{% endfor %}{% endif %}{% if run.best %}
`{{ run.best.candidate.name }}`:

```python
{{ run.best.candidate.text.strip() }}
```
{% endif %}
{% if attempts %}{{ attempts }}: {{ sentences.outcomes(run) }}{% endif %}

{% for note in run.notes -%}
- {{ note }}
{% endfor %}
</details>
"""


def markdown(run: Run) -> str:
    """The run as a Markdown page."""
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    environment.globals.update(sentences=sentences, causes=causes, count=count, percent=percent)
    return environment.from_string(_TEMPLATE).render(run=run)
