# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How far predictions lie from measurements, and whether they rank alike (pure)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Numbers = Sequence[float]


def errors_points(predicted: Numbers, measured: Numbers) -> npt.NDArray[np.float64]:
    """Signed differences of rates (0 to 1), in percentage points."""
    errors: npt.NDArray[np.float64]
    errors = 100 * (np.asarray(predicted, float) - np.asarray(measured, float))
    return errors


def spread_points(rates: Numbers) -> float:
    """Between the least and the greatest rate, in percentage points."""
    return 100 * (max(rates) - min(rates))


def kendall_tau_b(first: Numbers, other: Numbers) -> float | None:
    """Kendall's rank correlation with his correction for ties; None if all of one are tied.

    Source: M. G. Kendall, The treatment of ties in ranking problems, Biometrika 33 (1945).
    """
    a, b = _signs(first), _signs(other)
    pairs = np.sqrt(float((a != 0).sum()) * float((b != 0).sum()))
    return float((a * b).sum() / pairs) if pairs else None


def regret_points(predicted: Numbers, measured: Numbers) -> float:
    """What is lost by trusting the model: best measured rate less that of the one it prefers."""
    return 100 * (max(measured) - measured[int(np.argmax(predicted))])


def order_agreement(
    modelled: Numbers, measured: Numbers, noise_fraction: float = 0.0, again: Numbers | None = None
) -> tuple[int, int]:
    """Pairs that both put in the same order, and pairs that the measurement tells apart.

    Args:
        modelled: times, in any unit.
        measured: times of the same mappings.
        noise_fraction: measured times that differ by no more than this are not distinguished.
        again: a second reading of them, which must tell a pair apart in the same direction.
    """
    apart = _apart(measured, noise_fraction)
    if again is not None:
        apart &= _apart(again, noise_fraction) & (_signs(measured) * _signs(again) > 0)
    agree = _signs(modelled) * _signs(measured) > 0
    return int((agree & apart).sum()), int(apart.sum())


def _apart(times: Numbers, noise_fraction: float) -> npt.NDArray[np.bool_]:
    """Of all pairs: whether their times differ by more than this."""
    ratios = np.abs(np.log(np.divide.outer(times, times)))
    apart: npt.NDArray[np.bool_] = ratios[np.triu_indices(len(times), 1)] > np.log1p(noise_fraction)
    return apart


def _signs(numbers: Numbers) -> npt.NDArray[np.float64]:
    """Of all differences: which of each two is greater."""
    values = np.asarray(numbers, float)
    signs: npt.NDArray[np.float64] = np.sign(np.subtract.outer(values, values))
    return signs[np.triu_indices(len(values), 1)]
