# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a run has established, each thing with its extent; whoever prints a verdict prints this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from intelliperf_swizzle.records.attempts import Level
from intelliperf_swizzle.records.quantities import Certificate, Rate

Recommended: TypeAlias = Literal["argument", "patch", "padding", "none"]
"""What to do: pass another value in the call, apply the patch, lay rows out further apart."""


@dataclass(frozen=True)
class Independence:
    """That programs which depend on each other keep their sequence.

    Attributes:
        launches: distinct launches, of each of which the accesses of all programs were compared.
        of: distinct launches of the kernel.
    """

    launches: int
    of: int


@dataclass(frozen=True)
class EqualWork:
    """That each tile does the same work as before.

    Attributes:
        means: the `IR` of both kernels, the `traces` of their accesses, or all `bytes`.
        tiles: for which that was seen.
    """

    means: Literal["IR", "traces", "bytes"]
    tiles: int


@dataclass(frozen=True)
class SameBytes:
    """That outputs are the same.

    Attributes:
        tiles: that were executed and compared.
        of: tiles of the launches that were looked at.
        launches: distinct launches that were looked at.
        of_launches: distinct launches of the kernel.
        where: they were executed.
        tolerance: relative, if atomics add floats in any order; None = to the bit.
    """

    tiles: int
    of: int
    launches: int
    of_launches: int
    where: Literal["CPU", "GPU"]
    tolerance: float | None


@dataclass(frozen=True)
class Accuracy:
    """How the model compares with counters and times of one GPU, for one kind of kernel.

    Attributes:
        kernels: of which kind.
        orders: that were measured.
        mean_error_points: of the modelled L2 hit rate.
        pairs: of orders of one kernel whose measured times differ by more than 2 %.
        pairs_in_order: of these those that the modelled times put in the measured order.
    """

    kernels: str
    orders: int
    mean_error_points: float
    pairs: int
    pairs_in_order: int


@dataclass(frozen=True)
class Change:
    """Time and L2 hit rate, before and after.

    Attributes:
        source: of the time.
        gpu: of which it is: the one that was there, or the target.
        before_ms: of the unmodified kernel: memory or arithmetic, whichever takes longer.
        after_ms: the same of the changed one.
        bound_by: what takes longest after the change; modelled. None = not known.
        rates: where the hit rates are from.
        before: L2 hit rate.
        after: L2 hit rate.
    """

    source: Literal["modelled", "measured"]
    gpu: str
    before_ms: float | None
    after_ms: float | None
    bound_by: Level | None
    rates: Literal["modelled", "measured"]
    before: Rate
    after: Rate


@dataclass(frozen=True)
class Established:
    """What is known of a kernel's best swizzle; None = that was not established.

    Attributes:
        recommended: what to do.
        permutation: for which values of all that the swizzle reads it is one.
        independence: of which launches.
        equal_work: by which means, and of how many tiles.
        unit_test: the user's own, that passed with the patch.
        same_bytes: of how many tiles.
        change: of time and hit rate.
    """

    recommended: Recommended
    permutation: Certificate | None = None
    independence: Independence | None = None
    equal_work: EqualWork | None = None
    same_bytes: SameBytes | None = None
    unit_test: str | None = None
    change: Change | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """What was not established, in words."""
        bytes_, permutation = self.same_bytes, self.permutation
        found = {
            "other sizes": permutation is not None and permutation.extent != "the recorded sizes",
            "independence": self.independence is not None,
            "equal work of all tiles": self.equal_work is not None,
            "the bytes of all tiles": bytes_ is not None and bytes_.tiles >= bytes_.of,
            "measured time": self.change is not None and self.change.source == "measured",
            "measured hit rates": self.change is not None and self.change.rates == "measured",
        }
        return tuple(name for name, known in found.items() if not known)
