# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Numbers as people read them."""

from __future__ import annotations


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


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 launch`, `2 launches`."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def factor(value: float | None) -> str:
    """A ratio with three decimals: `1.043`; None as `not known`."""
    return "not known" if value is None else f"{value:.3f}"


def milliseconds(time_ms: float | None) -> str:
    """Three significant digits in s, ms or µs; None as `not measured`.

    >>> milliseconds(0.0000619), milliseconds(0.841), milliseconds(2.5), milliseconds(12000.0)
    ('0.0619 µs', '841 µs', '2.5 ms', '12 s')
    """
    if time_ms is None:
        return "not measured"
    for unit, scale in (("s", 1e-3), ("ms", 1.0)):
        if float(f"{time_ms * scale:.3g}") >= 1:
            return f"{time_ms * scale:.3g} {unit}"
    return f"{time_ms * 1e3:.3g} µs"
