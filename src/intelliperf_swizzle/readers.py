# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Readers of what people type and name: numbers, grids, settings, text and files; and numbers as
people read them.

Readers of one value raise `argparse.ArgumentTypeError` with fact and value, so that they serve as
types of options; whoever reads an environment variable adds its name.
"""

import math
import os
import re
import stat
from argparse import ArgumentTypeError
from collections.abc import Collection, Sequence
from pathlib import Path

from intelliperf_swizzle.errors import UsageError

LARGEST = 2**31 - 1
"""Integers of the command line and extents of a grid; what a launch has."""
LONGEST_SECONDS = 1_000_000.0
"""Eleven days; the system's calls take no time-out of a month."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


def integer(text: str) -> int:
    """A whole number of 32 bits, of either sign."""
    if not _INTEGER.fullmatch(text.strip()) or abs(int(text)) > LARGEST:
        raise ArgumentTypeError(f"{shown(text)} is not a whole number up to {LARGEST}")
    return int(text)


def natural(text: str) -> int:
    """A whole number from 0."""
    return _from(0, "negative", text)


def positive(text: str) -> int:
    """A whole number from 1."""
    return _from(1, "not positive", text)


def _from(least: int, wrong: str, text: str) -> int:
    if (value := integer(text)) < least:
        raise ArgumentTypeError(f"{value} is {wrong}")
    return value


def seconds(text: str) -> float:
    """A time from 0."""
    value = _finite(text, "a number of seconds")
    if value > LONGEST_SECONDS:
        raise ArgumentTypeError(f"{shown(text)} seconds are more than {LONGEST_SECONDS:.0f}")
    return value


def tolerance(text: str) -> float:
    """A finite number from 0."""
    return _finite(text, "a tolerance")


def _finite(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentTypeError(f"{shown(text)} is not {what}")
    if value < 0:
        raise ArgumentTypeError(f"{shown(text)} is negative")
    return value


def grid(texts: Sequence[str]) -> tuple[int, int, int]:
    """`4096`, `64 64`, `64x64` or `1024,1024,2` as a grid of three axes; raises UsageError."""
    parts = [part for text in texts for part in text.replace(",", " ").replace("x", " ").split()]
    try:
        extents = [natural(part) for part in parts]
    except ArgumentTypeError:
        extents = []
    return grid_of(extents, " ".join(texts))


def grid_of(extents: int | Sequence[int], text: str | None = None) -> tuple[int, int, int]:
    """One to three extents as a grid of three axes; raises UsageError."""
    extents = (extents,) if isinstance(extents, int) else tuple(extents)
    right = all(type(extent) is int and 0 <= extent <= LARGEST for extent in extents)
    if not right or not 1 <= len(extents) <= 3:
        written = shown(" ".join(map(str, extents)) if text is None else text)
        raise UsageError(
            f"{written} is not a grid of one to three extents up to {LARGEST}",
            hint="--grid 4096 or --grid 64 64",
        )
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def bindings(settings: Sequence[str], reserved: Collection[str]) -> dict[str, int]:
    """`NAME=VALUE` options by name; raises UsageError.

    Args:
        settings: the options; values may be hexadecimal.
        reserved: names that a launch binds itself.
    """
    bound = {}
    for setting in settings:
        name, equals, value = (part.strip() for part in setting.partition("="))
        try:
            number = int(value, 0) if len(value) < 20 and value.isascii() else LARGEST + 1
        except ValueError:
            number = LARGEST + 1
        if not equals or not name.isidentifier() or abs(number) > LARGEST:
            raise UsageError(
                f"`--set` {shown(setting)} is not a name and a number up to {LARGEST}",
                hint="--set cols=64",
            )
        bound[name] = number
    refuse_reserved(bound, reserved)
    return bound


def refuse_reserved(names: Collection[str], reserved: Collection[str]) -> None:
    """Refuses names that a launch binds itself, and that would be ignored."""
    for name in names:
        if name in reserved:
            raise UsageError(
                f"`{name}` cannot be set: the launch binds it",
                hint="--grid and --target give the grid and the number of XCDs",
            )


def utf8(text: str, what: str) -> str:
    """The text, where it can be written down; raises UsageError.

    Python reads a byte of a file name that is not UTF-8 as a lone surrogate, which no report,
    result file or patch can hold.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"{what} is not UTF-8: {text[-200:]!a}",
            hint="rename it, or use a link with another name",
        ) from None
    return text


def read_regular(path: Path, largest_bytes: int) -> bytes:
    """The content of a regular file; raises UsageError at once for anything else.

    Args:
        path: of the file.
        largest_bytes: a longer one is refused unread.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{path} is not a regular file", hint="name a file")
            if status.st_size > largest_bytes:
                raise UsageError(
                    f"{path} has {status.st_size} bytes, and at most {largest_bytes} are read"
                )
            return file.read(largest_bytes)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read {shown(str(path))}: {reason}") from None


def shown(text: str) -> str:
    """A text of unknown content in a message: clipped, in ASCII where it must be."""
    clipped = text if len(text) <= 60 else f"{text[:60]}… ({len(text)} characters)"
    return f"`{clipped}`" if clipped.isprintable() else ascii(clipped)


def percent(rate: float | None) -> str:
    """`0.4123` as `41.2 %`; None as `not measured`."""
    return "not measured" if rate is None else f"{100 * rate:.1f} %"


def points(before: float, after: float) -> str:
    """The difference of two rates in percentage points, signed: `+12.3 points`."""
    return f"{100 * (after - before):+.1f} points"


def size(count: float | None) -> str:
    """Bytes with a binary prefix: `4.0 MiB`; None as `not measured`."""
    if count is None:
        return "not measured"
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def average(value: float) -> str:
    """With a decimal, unless that is 0: `2.1`, `8`."""
    return f"{value:.1f}".removesuffix(".0")


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 launch`, `2 launches`."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def factor(value: float | None) -> str:
    """A ratio with three decimals: `1.043`; None as `not known`."""
    return "not known" if value is None else f"{value:.3f}"


def milliseconds(time_ms: float | None) -> str:
    """Three significant digits in s, ms, µs or ns; None as `not measured`.

    >>> milliseconds(0.0000619), milliseconds(0.841), milliseconds(2.5), milliseconds(12000.0)
    ('61.9 ns', '841 µs', '2.50 ms', '12.0 s')
    """
    if time_ms is None:
        return "not measured"
    for unit, scale in (("s", 1e-3), ("ms", 1.0), ("µs", 1e3), ("ns", 1e6)):
        digits = f"{time_ms * scale:#.3g}".rstrip(".")
        if float(digits) >= 1 or unit == "ns":
            break
    return f"{digits} {unit}"
