# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the model would say without one of its effects, where the order decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from accuracy import Measurements, Pair
from accuracy.agreement import spread_points
from accuracy.comparison import ComparedConfiguration
from accuracy.configuration import Configuration
from accuracy.measured import MeasuredPair
from accuracy.order_table import digest_of
from accuracy.summary import WIDE_SPREAD_POINTS, Summary, scores, summarise
from intelliperf_swizzle.cache import FULL, Physics
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Int64Array, Measurement

ABLATIONS: Mapping[str, Physics] = {
    "dispatch order": Physics(dispatch=False),
    "occupancy": Physics(occupancy=False),
    "drift of workgroups": Physics(drift=False),
    "channels and sets": Physics(sets=False),
    "L1": Physics(l1=False),
    "last-level cache": Physics(llc=False),
}
"""Full physics without one effect, by the name of the effect."""


@dataclass(frozen=True)
class _AblatedConfiguration(Configuration):
    """A configuration that is replayed without each effect, too.

    Attributes:
        effects: physics without an effect each.
        replayed: by the order's digest, what the model reads with full physics and under `effects`.
    """

    effects: Sequence[Physics] = ()
    replayed: dict[str, list[Measurement]] = field(default_factory=dict)

    def replay(
        self, order: Int64Array, target: Target, physics: Sequence[Physics] = (FULL,)
    ) -> list[Measurement]:
        found = super().replay(order, target, (*physics, *self.effects))
        self.replayed[digest_of(order)] = found
        return found[: len(physics)]


class AblatedMeasurements:
    """Measurements whose wide configurations are replayed without each effect, too.

    Args:
        measurements: from any source.
        effects: name -> physics without that effect.
    """

    def __init__(self, measurements: Measurements, effects: Mapping[str, Physics]) -> None:
        self._measurements = measurements
        self._effects = effects
        self._found: dict[str, _AblatedConfiguration] = {}

    def readings(self) -> tuple[list[MeasuredPair], list[str]]:
        """Those of the measurements."""
        return self._measurements.readings()

    def configuration(self, name: str, target: Target, scratch: Path) -> Configuration:
        """That of the measurements; it is replayed under all physics if its orders differ."""
        found = self._measurements.configuration(name, target, scratch)
        readings, _ = self._measurements.readings()
        rates = [reading.hit_rate for reading in readings if reading.config == name]
        if spread_points(rates) <= WIDE_SPREAD_POINTS:
            return found
        self._found[name] = _AblatedConfiguration(
            **vars(found), effects=tuple(self._effects.values())
        )
        return self._found[name]

    def summaries(self, outcomes: Sequence[ComparedConfiguration]) -> dict[str, Summary]:
        """The wide ones of what was compared, with full physics (`""`) and without each effect."""
        wide = [
            outcome for outcome in outcomes if scores(outcome.pairs).spread > WIDE_SPREAD_POINTS
        ]
        return {
            name: summarise([self._under(kernel, number) for kernel in wide])
            for number, name in enumerate(("", *self._effects))
        }

    def _under(self, outcome: ComparedConfiguration, number: int) -> ComparedConfiguration:
        found = self._found[outcome.name]
        return replace(
            outcome,
            pairs=tuple(
                Pair(
                    pair.measured,
                    found.replayed[digest_of(found.orders[pair.measured.mapping])][number],
                )
                for pair in outcome.pairs
            ),
        )
