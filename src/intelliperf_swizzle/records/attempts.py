# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A candidate and its outcome: measured, timed, validated, judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from intelliperf_swizzle.codec import INLINE, named
from intelliperf_swizzle.records.quantities import Certificate, Grid, Rate, Witness


@dataclass(frozen=True)
class Interval:
    """A median and the interval in which the true one lies, at 95 % confidence."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Timing:
    """Times of a kernel on a GPU, taken in rounds with the unmodified kernel.

    All launches, each as often as the application makes it.

    Attributes:
        device: the GPU.
        original_ms: of the unmodified kernel, in the same rounds.
        time_ms: of the kernel with the mapping.
        ratio: of the latter to the former, round by round.
        rounds: of the launch with the fewest.
        ratios: of each distinct launch.
    """

    device: str
    original_ms: Interval
    time_ms: Interval
    ratio: Interval
    rounds: int
    ratios: tuple[Interval, ...] = ()


@dataclass(frozen=True)
class MissCauses:
    """Why the L2 requests for one tensor missed, in the cache model.

    The classes are the three Cs of Hill and Smith (Evaluating Associativity in CPU Caches, IEEE
    Transactions on Computers 38(12), 1989), counted for each L2 by itself, with what is compulsory
    for one L2 split by whether another one had the line. Each miss is in one class, the first that
    fits, so they add up to the misses.

    Attributes:
        names: the tensor arguments that lie in that piece of memory.
        requests: L2 requests, hits and misses.
        compulsory: misses on what has been in no L2 before.
        other_domain: on what has never been in this L2, but in another one; of fetches of one line
            in the same round by several, all but one.
        capacity: on what has been in this L2, and would be gone from a fully associative LRU of its
            size that sees the same requests in the same order, too.
        conflict: on what that one would still hold: the line's channel or set was crowded.
    """

    names: tuple[str, ...]
    requests: int
    compulsory: int
    other_domain: int
    capacity: int
    conflict: int

    @property
    def misses(self) -> int:
        """Of all four classes."""
        return self.compulsory + self.other_domain + self.capacity + self.conflict


ARITHMETIC_MARGIN = 1.25
"""A kernel is bound by arithmetic if that takes this many times as long as memory traffic: modelled
times of a GEMM are 3.25 and 2.88 ms, and a swizzle makes it faster on a GPU."""

FAR_ABOVE = 3.0
"""A time this many times the operations' has other causes: spills, latency (stream-K: 7 times)."""

Level: TypeAlias = Literal["L2", "memory", "arithmetic"]
"""What works by itself, and may take the longest."""


@dataclass(frozen=True)
class Counted:
    """What a profiler counts, or the cache model in its place, over all launches of the kernel.

    Rates are from 0 to 1 and are ratios of sums, as the hardware counters form them.

    Attributes:
        profiler: `model`, or the tool.
        l2_counter_hit_rate: the profiler's own quotient where it counts other lookups, too: on
            NVIDIA GPUs those from one L2 partition to the other; None if it is `l2_hit_rate`.
        fabric_bytes: between the L2 partitions of an NVIDIA GPU.
        l2_before: the L2 before each measured launch: `cold` (flushed) or `warm` (as the
            application leaves it).
        counters: name -> sum over the launches, as often as each was seen; what all else is made
            of. None if nothing was counted.
    """

    profiler: str
    device: str
    l2_hit_rate: Rate
    llc_hit_rate: float | None = None
    l2_requests: int | None = None
    l2_bytes: int | None = None
    llc_bytes: int | None = None
    memory_bytes: int | None = None
    compulsory_bytes: int | None = None
    balance: float | None = None
    l2_hit_rate_per_domain: tuple[float, ...] | None = None
    fabric_bytes: int | None = None
    l2_counter_hit_rate: float | None = None
    l2_before: Literal["cold", "warm"] | None = None
    counters: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Modelled:
    """What only the cache model says; once a profiler has counted, `causes` alone is kept.

    Attributes:
        arithmetic_time_ms: of all floating-point operations at the target's rates, on all CUs.
        replayed_time_ms: when a timed replay ends.
        overlapped_time_ms: of the L2, memory and arithmetic together. None if they are not taken to
            overlap.
        longest: which of L2, memory and arithmetic takes longest by itself.
        imbalance: when the last workgroup ends, over the earliest that it may in any order. None if
            all tiles take the same.
        causes: of the misses, by tensor, the most misses first.
    """

    modelled_memory_time_ms: float | None = None
    arithmetic_time_ms: float | None = None
    replayed_time_ms: float | None = None
    overlapped_time_ms: float | None = None
    longest: Level | None = None
    imbalance: float | None = None
    causes: tuple[MissCauses, ...] | None = None

    @property
    def modelled_time_ms(self) -> float | None:
        """What orders are compared by: memory or arithmetic, whichever takes longer.

        Where the levels overlap, that is the time of all of them; where workgroups differ in work,
        times the imbalance. None if memory is not modelled.
        """
        memory = self.overlapped_time_ms or self.modelled_memory_time_ms
        if memory is None:
            return None
        if self.overlapped_time_ms and self.imbalance is None:
            return memory
        return max(memory, self.arithmetic_time_ms or 0.0) * (self.imbalance or 1.0)

    @property
    def only_compulsory(self) -> bool:
        """Whether 95 % of the misses or more are on lines that no L2 has held: all orders have
        these."""
        misses = sum(cause.misses for cause in self.causes or ())
        compulsory = sum(cause.compulsory for cause in self.causes or ())
        return bool(misses) and compulsory >= 0.95 * misses


@dataclass(frozen=True)
class Timed:
    """What was timed on a GPU, never modelled.

    Attributes:
        time_ms: of `timing` if there is one.
        timing: also where the rates are modelled.
    """

    time_ms: float | None = None
    timing: Timing | None = None


@dataclass(frozen=True)
class Measurement(Timed, Modelled, Counted):
    """One mapping: what was counted, modelled and timed; None = not collected.

    One record, as files and formulas know it: its parts have no names there.
    """

    @property
    def bound_by_arithmetic(self) -> bool:
        """Whether operations take clearly longer than memory traffic; where a time was measured,
        only if it is neither below theirs nor far above."""
        arithmetic, memory = self.arithmetic_time_ms or 0.0, self.modelled_memory_time_ms
        longer = bool(arithmetic and memory and arithmetic >= ARITHMETIC_MARGIN * memory)
        time = arithmetic if self.time_ms is None else self.time_ms
        return longer and arithmetic <= time <= FAR_ABOVE * arithmetic


@dataclass(frozen=True)
class Ceiling:
    """An L2 hit rate that no permutation exceeds, and how it was derived."""

    l2_hit_rate: Rate
    derivation: str


@dataclass(frozen=True)
class Validation:
    """The outcome of comparing the original with the swizzled kernel.

    Attributes:
        method: `all-tiles`, `ir-and-sample`, `traces-reads-and-sample` or `gpu`.
        launches: distinct launches compared.
        tiles_compared: tiles of which the bytes were compared.
        tiles: tiles of these launches.
        same_bits: whether all compared bytes agree (within `tolerance` where `rule` says so).
        rule: `bits`, or `tolerance` where atomics make the order of additions matter.
        difference: first difference as text, None if there is none.
        distinct_launches: how many there are; those that were not compared were proved, and
            checked for programs that depend on each other. None = not counted.
        build: registers and workgroups per CU, before and after, as text; None = not compiled.
        unit_test: the user's command that passed with the swizzled kernel; None = none was run.
    """

    method: Literal["all-tiles", "ir-and-sample", "traces-reads-and-sample", "gpu"]
    launches: int
    tiles_compared: int
    tiles: int
    same_bits: bool
    rule: Literal["bits", "tolerance"] = "bits"
    tolerance: float | None = None
    difference: str | None = None
    distinct_launches: int | None = None
    build: str | None = None
    unit_test: str | None = None


VerdictKind: TypeAlias = Literal[
    "better", "fewer L2 misses", "less imbalance", "worse", "no difference", "within noise",
    "not a swizzle", "not a permutation", "repeated", "screened out", "not patched",
    "does not build", "output differs", "unit test failed", "slower", "unsafe order",
    "not measured", "not validated",
]  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """What became of an attempt: one of a closed set of kinds, and the reason in one sentence."""

    kind: VerdictKind = field(metadata=named("verdict"))
    reason: str
    witness: Witness | None = None

    @property
    def eligible(self) -> bool:
        """Whether the attempt may be ranked."""
        return self.gains or self.kind in ("no difference", "within noise", "worse")

    @property
    def gains(self) -> bool:
        """Whether it may be delivered: it saves time, or what may cost time if none is known."""
        return self.kind in ("better", "fewer L2 misses", "less imbalance")


@dataclass(frozen=True)
class Usage:
    """What calls to a language model took.

    Attributes:
        calls: requests that were answered.
        input_tokens: as the endpoint counted them; None = it did not say.
        output_tokens: the same of the answers.
        cost_usd: None if the price is not known.
        seconds: wall time, waiting and repeated requests included.
    """

    calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """All tokens that the endpoint counted."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.cost_usd, other.cost_usd),
            self.seconds + other.seconds,
        )


_Number = TypeVar("_Number", int, float)


def _sum(value: _Number | None, other: _Number | None) -> _Number | None:
    """The sum of what is known; None if nothing is."""
    if value is None or other is None:
        return other if value is None else value
    return value + other


@dataclass(frozen=True)
class Candidate:
    """A swizzle that a proposer offers.

    Attributes:
        text: in the swizzle language.
        name: short, for tables.
        origin: who offers it.
        rationale: why it should be better, where the proposer says so.
        critique: what the proposer says of earlier attempts.
        idea: the proposer's summary of it in one sentence.
        iteration: the proposer's iteration that it belongs to.
        usage: what the call took that it came from.
        flaw: why the answer that it came from cannot be read or kept; `text` is then its beginning.
        family: name of the answer that it is a member of; the first member carries what the answer
            says of itself.
    """

    text: str
    name: str
    origin: Literal["pattern", "search", "llm", "user"]
    rationale: str | None = None
    critique: str | None = None
    idea: str | None = None
    iteration: int | None = None
    usage: Usage | None = None
    flaw: str | None = None
    family: str | None = None


@dataclass(frozen=True)
class ByHand:
    """What people use without a search, evaluated in full.

    Attributes:
        name: as people call it.
        l2_hit_rate: modelled or measured, as those of attempts are.
        time_ms: the same; None = not known.
        verdict: beside the unmodified kernel.
        attempt: the number of it; None of the unmodified kernel, and of another argument.
    """

    name: str
    l2_hit_rate: Rate
    time_ms: float | None
    verdict: str
    attempt: int | None = None


@dataclass(frozen=True)
class OtherSize:
    """The kernel at another size, modelled without the swizzle and with it, unguarded.

    Attributes:
        grid: of its launch.
        before: L2 hit rate of the unmodified kernel.
        after: with the swizzle; None if it is not a permutation of this grid.
        time_ratio: modelled memory time with the swizzle by that without; None as for `after`.
        loses: whether the unmodified kernel is better.
    """

    grid: Grid
    before: Rate
    after: Rate | None
    time_ratio: float | None
    loses: bool


@dataclass(frozen=True)
class Sizes:
    """What the model says of a swizzle at other sizes.

    Attributes:
        others: those at which it renumbers, from the smallest grid to the largest.
        guard: the condition under which the patch renumbers at all; None = always.
    """

    others: tuple[OtherSize, ...]
    guard: str | None = None


@dataclass(frozen=True)
class Attempt:
    """One candidate and its outcome.

    Attributes:
        proof: on the largest launch.
        screened_l2_hit_rate: by the fast model that sorts candidates.
        predicted: by the cache model with full physics, if hardware measures too.
        measurement: what decides: of the hardware, or of the model if there is none.
        sizes: of a best attempt so far, if launches at other sizes can be made.
    """

    number: int
    candidate: Candidate = field(metadata=INLINE)
    verdict: Verdict = field(metadata=INLINE)
    fingerprint: str | None = None
    proof: Certificate | None = None
    screened_l2_hit_rate: Rate | None = None
    predicted: Measurement | None = None
    measurement: Measurement | None = None
    validation: Validation | None = None
    sizes: Sizes | None = None
    diff: str | None = None
