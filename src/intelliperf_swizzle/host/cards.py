# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the host's profilers report of a kernel, in whichever shape, as one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.profile.readings import plain_name


@dataclass(frozen=True)
class KernelReading:
    """What was measured of one kernel. None = not collected.

    Attributes:
        kernel: its plain name.
        time_ns: mean over its dispatches.
        l2_hit_rate: 0 to 1.
    """

    kernel: str
    time_ns: float | None
    l2_hit_rate: float | None


def readings(profiled: object) -> tuple[KernelReading, ...]:
    """The kernels of a profile, in its order.

    Args:
        profiled: a list of report cards (GT), or an object with `kernels`: the host's
            `KernelMetrics`, or what Metrix itself returns.

    Raises:
        ProfileError: it is neither.
    """
    if isinstance(profiled, Sequence) and not isinstance(profiled, str):
        return tuple(_card(card) for card in profiled)
    kernels = getattr(profiled, "kernels", None)
    if kernels is None:
        raise ProfileError(f"IntelliPerf's profile is no report: {type(profiled).__name__}")
    return tuple(_metrics(kernel) for kernel in kernels)


def reading_of(kernel: str, profile: Sequence[KernelReading]) -> KernelReading:
    """The kernel's reading; of several launched under its name the one that takes longest.

    Raises:
        ProfileError: the kernel is not in the profile.
    """
    found = [reading for reading in profile if reading.kernel == kernel]
    if not found:
        names = ", ".join(reading.kernel for reading in profile) or "no kernel"
        raise ProfileError(f"the profile does not show `{kernel}`", details=(f"it shows: {names}",))
    return max(found, key=lambda reading: reading.time_ns or 0.0)


def _card(card: object) -> KernelReading:
    if not isinstance(card, Mapping) or "kernel" not in card:
        raise ProfileError("IntelliPerf's report card names no kernel")
    return KernelReading(
        kernel=plain_name(card["kernel"]),
        time_ns=_number((card.get("durations") or {}).get("ns")),
        l2_hit_rate=_rate((card.get("l2") or {}).get("hr")),
    )


def _metrics(kernel: Any) -> KernelReading:
    if hasattr(kernel, "kernel_name"):
        return KernelReading(
            kernel=plain_name(kernel.kernel_name),
            time_ns=_number(getattr(kernel, "duration_ns", None)),
            l2_hit_rate=_rate(getattr(kernel, "l2_hit_rate", None)),
        )
    microseconds = _number(getattr(getattr(kernel, "duration_us", None), "avg", None))
    rate = getattr(kernel, "metrics", {}).get("memory.l2_hit_rate")
    return KernelReading(
        kernel=plain_name(kernel.name),
        time_ns=None if microseconds is None else 1000 * microseconds,
        l2_hit_rate=_rate(getattr(rate, "avg", None)),
    )


def _rate(percent: object) -> float | None:
    number = _number(percent)
    return None if number is None or not 0 <= number <= 100 else number / 100


def _number(value: object) -> float | None:
    """A finite number, or None: a counter that was not collected is missing, NaN or a text."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return None
    return float(value)
