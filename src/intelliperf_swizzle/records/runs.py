# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A finished run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from intelliperf_swizzle.codec import Between, Matching
from intelliperf_swizzle.records import attempts as nouns
from intelliperf_swizzle.records.quantities import Certificate, Constants, Grid, Rate

AlternativeKind: TypeAlias = Literal["parameter", "swizzle", "padding", "both"]
"""From the cheapest to the dearest: one number of a call, the patch, longer rows, and both."""


@dataclass(frozen=True)
class Padding:
    """Rows of matrices that begin further apart.

    Attributes:
        tensors: the tensor arguments.
        elements: how many more from one row to the next.
        arguments: the kernel's arguments that say so, with their new values.
        bytes: of memory more, over all these tensors.
    """

    tensors: tuple[str, ...]
    elements: int
    arguments: Mapping[str, int]
    bytes: int


@dataclass(frozen=True)
class Alternative:
    """One change and what the model says of the kernel's largest launch with it.

    Attributes:
        kind: what is changed; a swizzle is the patch, all else is advice.
        l2_hit_rate: modelled.
        time_ms: modelled: memory or arithmetic, whichever takes longer.
        padding: of `padding` and `both`.
        arguments: of `parameter`: the one that changes, with its new value.
    """

    kind: AlternativeKind
    l2_hit_rate: Rate
    time_ms: float
    padding: Padding | None = None
    arguments: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Alternatives:
    """What was compared on the kernel's largest launch, by the model.

    Attributes:
        before: L2 hit rate of the unmodified kernel.
        before_ms: its modelled time.
        ranked: those that gain, the recommended one first: the cheapest that the model
            cannot distinguish from the best.
        reason: why there is none; None if there is.
        arguments: each value that was tried of a parameter.
    """

    before: Rate
    before_ms: float
    ranked: tuple[Alternative, ...]
    reason: str | None = None
    arguments: tuple[Alternative, ...] = ()


Raster: TypeAlias = tuple[Annotated[str, Matching("[0-9a-z.]+")], ...]
"""A small picture in characters, row by row: one base-36 digit per cell, `.` where nothing is."""


@dataclass(frozen=True)
class Placement:
    """Where the tiles of a picture run.

    Attributes:
        domain: of each cell, the domain that runs most of its tiles.
        share: the share of the cell's tiles that this domain runs, in 35ths.
        neighbours_together: of the tiles that are neighbours across and down the whole picture,
            the share that run on one domain; 0 to 1, None if the picture is one tile wide.
    """

    domain: Raster
    share: Raster
    neighbours_together: tuple[float | None, float | None]


@dataclass(frozen=True)
class TilePicture:
    """A rectangle of tiles, before and after.

    Attributes:
        title: where in it a tile is drawn.
        tiles: across and down.
        tiles_per_cell: across and down; (1, 1) = each cell is a tile.
        before: unmodified.
        after: with the best swizzle, None if there is none.
    """

    title: str
    tiles: tuple[int, int]
    tiles_per_cell: tuple[int, int]
    before: Placement
    after: Placement | None


@dataclass(frozen=True)
class TensorAccess:
    """Who uses the lines of a tensor in one order.

    Attributes:
        domains_per_line: on how many domains a line is used, on average.
        wave_bytes: bytes that the first wave of domain 0, its first resident workgroups, uses.
    """

    domains_per_line: float
    wave_bytes: int


@dataclass(frozen=True)
class TensorPicture:
    """Who uses the lines of one tensor, before and after.

    Attributes:
        names: the tensor arguments that lie in this memory.
        tiles_per_line: how many tiles use a line, on average.
        before: unmodified.
        after: with the best swizzle, None if there is none.
        shared: what share of a tile's lines its neighbours across and down the pictures of tiles
            touch, too; 0 to 1, None if those are one tile wide or show no neighbours.
    """

    names: tuple[str, ...]
    tiles_per_line: float
    before: TensorAccess
    after: TensorAccess | None
    shared: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True)
class Picture:
    """What the picture of a run is drawn from, small enough for its result file; and its tensors.

    Attributes:
        domains: of the target.
        workgroups_per_domain: resident at once.
        tiles: of the kernel's largest launch; if a cell is several, the first ones, too.
        tensors: what that launch touches, most lines first.
        sampled: whether the numbers of tensors are estimates, from some of the lines.
    """

    domains: Annotated[int, Between(1)]
    workgroups_per_domain: int
    tiles: tuple[TilePicture, ...]
    tensors: tuple[TensorPicture, ...]
    sampled: bool = False


@dataclass(frozen=True)
class KernelSummary:
    """One row of the table of recorded kernels.

    Attributes:
        kernel: its name.
        launches: as often as the application launched it while it was recorded.
        distinct_launches: those that differ in grid or arguments.
        programs: of the largest launch.
        baseline_l2_hit_rate: of the unmodified kernel, None if it could not be traced.
        ceiling_l2_hit_rate: no permutation exceeds it.
        l2_requests: of all its launches.
        time_share: its part of the time of all recorded kernels, modelled unless every kernel
            was timed; None if it could not be traced.
        best_l2_hit_rate: with the best swizzle; None without one.
        time_saved: the part of the time of all recorded kernels that the best swizzle saves.
        verdict: the outcome of the search, or why there was none, in a few words.
        note: why it could not be traced, edited or searched, or None.
        place: of its source, `package/module.py:line` or `file.py:line`.
        causes: of the unmodified kernel's misses, as text; empty if they are not known.
    """

    kernel: str
    launches: int
    distinct_launches: int
    programs: int
    baseline_l2_hit_rate: float | None = None
    ceiling_l2_hit_rate: float | None = None
    l2_requests: int | None = None
    time_share: float | None = None
    best_l2_hit_rate: float | None = None
    time_saved: float | None = None
    verdict: str = ""
    note: str | None = None
    place: str = ""
    causes: str = ""

    @property
    def outcome(self) -> str:
        """The outcome, and why it misses."""
        return "; ".join(filter(None, (self.note or self.verdict, self.causes)))


@dataclass(frozen=True, kw_only=True)
class Run:
    """A finished run: what was tried on which kernel, and the outcome.

    Attributes:
        kernel: the kernel that was worked on.
        formula: the optimization target (`swizzle`).
        grid: of the kernel's largest launch.
        constants: its integer arguments and constexprs.
        launches: distinct launches of the kernel.
        ceiling: the bound.
        best: the attempt that is named, None if none is eligible and better.
        file: the user's file that holds the kernel, an absolute path; empty if it is not known.
        independence: of the kernel's programs.
        target: name of the GPU.
        domain_name: what the target calls an L2 with the CUs that it serves.
        profiler: what measured.
        proposer: who offered candidates.
        seed: of every random choice.
        kernels: all that were recorded, what saves most time first.
        baseline: the unchanged kernel's measurement.
        predicted: the model's measurement of the unchanged kernel, if hardware measures.
        nothing_to_gain: the bound leaves less than a point, or no time; nothing was tried.
        interrupted: a signal ended the search; `best` is the best so far.
        alternatives: what could be done about the misses; None if it does not matter.
        accuracy: of the model on this GPU and kind of kernel; None = it was never compared there.
        by_hand: what people use without a search, beside it; none if nothing was searched.
        attempts: all of them by number.
        cautions: what makes the numbers doubtful, a sentence each; they stand beside the verdict.
        notes: sentences for the report.
        usage: what the language model took; None if there was none.
        history: path of the history file.
        invocation: shell text that repeats the run; empty where it was no command line.
        picture: what its pictures are drawn from; None if there is none.
    """

    kernel: str
    formula: str
    grid: Grid
    constants: Constants
    launches: int
    ceiling: nouns.Ceiling
    best: nouns.Attempt | None
    file: str = ""
    independence: "Independence | None" = None
    target: str
    domain_name: str = "XCD"
    profiler: str
    proposer: str
    seed: int
    kernels: tuple[KernelSummary, ...]
    baseline: nouns.Measurement
    predicted: nouns.Measurement | None = None
    nothing_to_gain: bool
    interrupted: bool = False
    alternatives: Alternatives | None = None
    accuracy: "Accuracy | None" = None
    by_hand: tuple[nouns.ByHand, ...] = ()
    attempts: tuple[nouns.Attempt, ...]
    cautions: tuple[str, ...] = ()
    notes: tuple[str, ...]
    usage: nouns.Usage | None = None
    history: str
    invocation: str = ""
    picture: Picture | None = None

    @property
    def sizes(self) -> nouns.Sizes | None:
        """How the best does at other sizes; None if there is none, or it is not known."""
        return self.best.sizes if self.best else None

    @property
    def modelled(self) -> bool:
        """Whether the numbers come from the cache model and not from hardware."""
        return self.profiler == "model"

    @property
    def claims_time(self) -> bool:
        """Whether its times are measured, or of a model that puts such kernels' times in order."""
        return self.baseline.time_ms is not None or bool(self.accuracy and self.accuracy.tells_time)


@dataclass(frozen=True)
class Score:
    """One swizzle on one kernel.

    Attributes:
        kernel: its name.
        baseline: the unchanged kernel's measurement.
        ceiling: no permutation exceeds it.
        attempt: the swizzle with its proof or verdict, and its measurement if it has one.
        cautions: what makes the numbers doubtful, a sentence each.
    """

    kernel: str
    baseline: nouns.Measurement
    ceiling: nouns.Ceiling
    attempt: nouns.Attempt
    cautions: tuple[str, ...] = ()


Recommended: TypeAlias = Literal["argument", "patch", "padding", "none"]
"""What to do: pass another value in the call, apply the patch, lay rows out further apart."""


@dataclass(frozen=True)
class Independence:
    """That programs which depend on each other keep their sequence.

    Attributes:
        launches: distinct launches, all of the kernel; of each, the accesses of all programs were
            compared.
        by_order: programs depend on each other, and keep their order; else none does.
        sizes: grids of launches at other sizes in which no program depends on another,
        varied: … and names of arguments at other values of which none does, each by itself.
        contents: tensors that decide what programs access; of other contents nothing is known.
        apart: pairs of tensors of which programs store to one; if they overlap otherwise, or are
            one, nothing is known.
    """

    launches: int
    by_order: bool
    sizes: tuple[Grid, ...] = ()
    varied: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()
    apart: tuple[tuple[str, str], ...] = ()


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
        of: tiles of the launches that were compared.
        launches: distinct launches that were compared.
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

    @property
    def tells_time(self) -> bool:
        """Whether they are more than half of the pairs by two standard deviations of chance."""
        return max(0, 2 * self.pairs_in_order - self.pairs) ** 2 > 4 * self.pairs


@dataclass(frozen=True)
class Change:
    """Time and L2 hit rate, before and after.

    Attributes:
        source: of the time.
        gpu: of which it is: the one that was there, or the target.
        before_ms: of the unmodified kernel; None = nothing is claimed of time, see `Accuracy`.
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
    bound_by: nouns.Level | None
    rates: Literal["modelled", "measured"]
    before: Rate
    after: Rate


@dataclass(frozen=True)
class Established:
    """What is known of a kernel's best swizzle; None = that was not established.

    Attributes:
        recommended: what to do.
        permutation: for which values of all that the swizzle reads it is one.
        independence: of which launches, and by which means.
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
        """What was not established, each as a noun phrase."""
        bytes_, permutation = self.same_bytes, self.permutation
        known = self.independence or Independence(0, False)
        contents, apart = known.contents, ", or ".join(map(" and ".join, known.apart))
        found = {
            "other sizes": permutation is not None and permutation.extent != "the recorded sizes",
            "independence": self.independence is not None,
            f"independence with other contents of {' and '.join(contents)}": not contents,
            f"independence if {apart} overlap differently in memory": not apart,
            "equal work of all tiles": self.equal_work is not None,
            "the outputs of all tiles": bytes_ is not None and bytes_.tiles >= bytes_.of,
            "measured time": self.change is not None and self.change.source == "measured",
            "measured hit rates": self.change is not None and self.change.rates == "measured",
        }
        return tuple(name for name, known in found.items() if not known)
