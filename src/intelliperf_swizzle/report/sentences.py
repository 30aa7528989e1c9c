# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a run has to say, in sentences; every format uses the same ones."""

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

from intelliperf_swizzle import records
from intelliperf_swizzle.edit import quote
from intelliperf_swizzle.readers import count, factor, milliseconds, percent, size
from intelliperf_swizzle.report.establish import establish, headline, permutation, phrase, recommend

Source: TypeAlias = Literal["modelled", "measured", "computed"]
"""Where a number comes from: the cache model, hardware, or arithmetic that leaves no doubt."""


KERNELS = (
    "Shares are of the time of all kernels that have one, not of the application: measured if "
    "every kernel was timed, else modelled."
)
"""What the shares in the table of kernels are of."""


def message(run: records.Run) -> str:
    """`outcome` and `cautions` in one; begins with `Modelled:` where it is."""
    return "Modelled: " * run.modelled + " ".join([*outcome(run), *cautions(run.cautions)])


def cautions(found: Sequence[str]) -> list[str]:
    """What stands beside a verdict because it makes its numbers doubtful."""
    return [f"Caution: {caution}." for caution in found]


def outcome(run: records.Run, patch: str = "best.patch") -> list[str]:
    """The verdict, in at most four lines.

    If there is a swizzle: what to do and what it saves; what was proved; what was validated; the
    patch. Otherwise: the kernel's L2 hit rate and its limit; what was tried; the model's record.

    Args:
        run: the run.
        patch: path of the patch.
    """
    kind, what = recommend(run)
    advice = "" if kind == "none" else f"Recommended: {what}. "
    advice += "Or apply the patch: " * (run.best is not None and kind != "patch")
    source = "measured" if run.baseline.time_ms is not None or not run.modelled else "modelled"
    subject = f"{advice}{run.kernel} on {run.target}, {source}: {verdict(run)}"
    if run.best is None or run.best.measurement is None:
        limit = "" if advice else f"; {_limit(run)}"
        return [f"{subject}{limit}.", *filter(None, (_attempts(run), accuracy(run)))]
    found, timing = establish(run), run.best.measurement.timing
    proof, work = phrase(found, run.best.candidate.name)
    timed = f"Timed {relative_time(timing)}." if timing else ""
    return [
        f"{subject}{headline(found.change, brief=kind != 'patch')}.",
        proof,
        " ".join(filter(None, (work, timed, accuracy(run)))),
        f"Patch: {patch_command(run, patch)}" if run.best.diff else NO_PATCH,
    ]


NO_PATCH = "Patch: none; `intelliperf-swizzle apply swizzles.json` changes only this kernel."
"""Where others may use the functions that would change."""


def _limit(run: records.Run) -> str:
    """The hit rate of a kernel for which there is no swizzle, and why it rises no further."""
    rate, limit = percent(run.baseline.l2_hit_rate), percent(run.ceiling.l2_hit_rate)
    compulsory = run.baseline.only_compulsory
    why = "all misses are compulsory" if compulsory else f"no permutation exceeds {limit}"
    return f"L2 hit rate {rate}, {why}"


def _attempts(run: records.Run) -> str:
    """What was tried without success, or why nothing was."""
    tried = count(len(run.attempts), "attempt")
    if run.interrupted:
        return f"None of {tried} was validated and better by then."
    if run.nothing_to_gain:
        return bound_by_arithmetic(run.baseline)
    return f"{tried}: {outcomes(run)}{_obstacle(run)}" if run.attempts else "Nothing was tried."


def accuracy(run: records.Run) -> str:
    """The model's record on this GPU and kind of kernel; empty if the numbers are measured."""
    return of_model(run.accuracy, run.target) * run.modelled


def of_model(known: records.Accuracy | None, target: str) -> str:
    """The model's record, a sentence."""
    if known is None:
        return f"The model was not compared with counters of a {target} and such kernels."
    order = f", {known.pairs_in_order} of {known.pairs} pairs of times in order" * bool(known.pairs)
    chance = ", not clearly better than chance" * bool(known.pairs and not known.tells_time)
    return (
        f"The model's record on {target}, {known.kernels}: mean error "
        f"{known.mean_error_points:.1f} points over {known.orders} orders{order}{chance}."
    )


def bound_by_arithmetic(kernel: records.Measurement) -> str:
    """Says so where the kernel's operations take longer than its traffic, else nothing."""
    if not kernel.bound_by_arithmetic:
        return ""
    return (
        f"Bound by arithmetic: its operations take about "
        f"{milliseconds(kernel.arithmetic_time_ms)}, its memory traffic "
        f"{milliseconds(kernel.modelled_memory_time_ms)} (modelled); fewer misses save little time."
    )


def together(run: records.Run) -> str:
    """What the best swizzles of all kernels save, in a sentence."""
    better = [kernel for kernel in run.kernels if kernel.best_l2_hit_rate is not None]
    saved = sum(kernel.time_saved or 0.0 for kernel in better)
    if not better:
        return f"No swizzle for any of the {len(run.kernels)} recorded kernels."
    what = "modelled time" if run.baseline.time_ms is None else "time"
    shared = sum(kernel.time_share is not None for kernel in run.kernels)
    known = "all of them" if shared == len(run.kernels) else f"the {shared} that have a share"
    saves = f", which save {percent(saved)} of the {what} of {known}" * run.claims_time
    return f"Swizzles for {len(better)} of {len(run.kernels)} recorded kernels{saves}."


def bottleneck(run: records.Run) -> str:
    """What limits the unmodified kernel."""
    source = f"modelled, {run.target}" if run.modelled else f"measured on {run.baseline.device}"
    return (
        f"{run.kernel}: L2 hit rate {percent(run.baseline.l2_hit_rate)} ({source}); "
        f"ceiling over all permutations {percent(run.ceiling.l2_hit_rate)}; "
        f"{size(run.baseline.memory_bytes)} from memory"
    )


def outcomes(run: records.Run) -> str:
    """How many attempts ended how: `312 screened out, 12 slower`."""
    counts = Counter(attempt.verdict.kind for attempt in run.attempts)
    return ", ".join(f"{number} {kind}" for kind, number in counts.most_common()) + "."


def _obstacle(run: records.Run) -> str:
    """Why the first candidate that was chosen, and not merely rated low, could not be taken; else
    what the one with the most hits gains, of those with `no difference` by the model."""
    stopped = (
        "not patched", "does not build", "output differs", "unit test failed", "unsafe order",
        "not measured", "not validated",
    )  # fmt: skip
    for attempt in run.attempts:
        if attempt.verdict.kind in stopped:
            return f" The first `{attempt.verdict.kind}`: {attempt.verdict.reason.rstrip('.')}."
    best = max(
        (attempt for attempt in run.attempts if attempt.verdict.kind == "no difference"),
        key=lambda attempt: attempt.measurement.l2_hit_rate if attempt.measurement else 0.0,
        default=None,
    )
    return f" Nearest to a gain: {best.verdict.reason.rstrip('.')}." if best else ""


def proved(name: str, certificate: records.Proof, domains: str) -> str:
    """A certificate by itself, for `prove`; `domains`: `8 XCDs`."""
    tiles = len(certificate.tile)
    known = certificate.extent != "the recorded sizes"
    other = permutation(certificate, "") if known else "not proved"
    return (
        f"Proved: `{name}` is a permutation of {tiles} tiles on {domains}.\n"
        f"  fingerprint: {certificate.fingerprint}\n  other sizes: {other}"
    )


@dataclass(frozen=True)
class Row:
    """One number before and after.

    Attributes:
        name: what it is.
        before: of the unmodified kernel; None = not measured.
        after: with the best swizzle; None = not measured, or there is none.
        source: where it comes from.
        show: the number as people read it.
        intervals: in which the true values of `before` and `after` lie, if that is known.
    """

    name: str
    before: float | None
    after: float | None
    source: Source
    show: Callable[[float | None], str]
    intervals: tuple[records.Interval | None, records.Interval | None] = (None, None)

    def texts(self) -> tuple[str, str]:
        """Before and after as people read them."""
        return self._text(self.before, self.intervals[0]), self._text(self.after, self.intervals[1])

    def _text(self, value: float | None, interval: records.Interval | None) -> str:
        if value is None or interval is None:
            return self.show(value)
        return f"{self.show(value)} ({self.show(interval.low)}–{self.show(interval.high)})"


def numbers(run: records.Run) -> list[Row]:
    """The numbers of a run; what was predicted stands beside what was measured."""
    rows = comparison(run.baseline, run.best.measurement if run.best else None)
    if run.predicted is None or run.baseline.profiler == "model":
        return rows
    predicted = comparison(run.predicted, run.best.predicted if run.best else None)
    guessed = {row.name: row for row in predicted if row.source == "modelled"}
    beside: list[Row] = []
    for row in rows:
        beside.append(row)
        if row.name in guessed:
            beside.append(replace(guessed.pop(row.name), name=f"{row.name}, predicted"))
    return [*beside, *guessed.values()]


def comparison(before: records.Measurement, after: records.Measurement | None) -> list[Row]:
    """The numbers before and after; what was not collected is left out, but for the time."""
    counted: Source = "modelled" if before.profiler == "model" else "measured"

    def row(name: str, field: str, source: Source, show: Callable[[float | None], str]) -> Row:
        found = getattr(after, field) if after else None
        return Row(name, getattr(before, field), found, source, show)

    rows = [
        row("modelled time", "modelled_time_ms", "modelled", milliseconds),
        row("L2 hit rate", "l2_hit_rate", counted, percent),
        row("last-level cache hit rate", "llc_hit_rate", counted, percent),
        row("bytes from L2", "l2_bytes", counted, size),
        row("bytes from last-level cache", "llc_bytes", counted, size),
        row("bytes from memory", "memory_bytes", counted, size),
        row("memory time, not overlapped", "modelled_memory_time_ms", "modelled", milliseconds),
        row("load imbalance", "imbalance", "modelled", factor),
        row("arithmetic", "arithmetic_time_ms", "modelled", milliseconds),
    ]
    timed, timing = before.timing, after.timing if after else None
    intervals = (timed.time_ms if timed else None, timing.time_ms if timing else None)
    time = replace(row("time", "time_ms", "measured", milliseconds), intervals=intervals)
    rows = [*(row for row in rows if row.before is not None), time]
    if timing:  # the time as a part of the time before, taken round by round
        ratio, show = timing.ratio, "{:.3f}".format
        rows.append(Row("time, relative", 1.0, ratio.median, "measured", show, (None, ratio)))
    return rows


BY_HAND_COLUMNS = ("order", "time", "L2 hit rate", "verdict")
"""The columns of `by_hand`."""


def by_hand(run: records.Run) -> list[tuple[str, str, str, str]]:
    """What people use without a search: name, time, L2 hit rate and verdict; the best last."""
    rows = list(run.by_hand)
    best, read = run.best, run.best.measurement if run.best else None
    if rows and best and read:
        time = read.modelled_time_ms if read.time_ms is None else read.time_ms
        found, kind = f"found: {best.candidate.name}", best.verdict.kind
        rows.append(records.ByHand(found, read.l2_hit_rate, time, kind))
    for alt in run.alternatives.arguments if run.alternatives and run.by_hand else ():
        given = ", ".join(f"{name}={value}" for name, value in (alt.arguments or {}).items())
        modelled = run.baseline.modelled_time_ms if run.baseline.time_ms is None else None
        time = alt.time_ms if run.alternatives and run.alternatives.before_ms == modelled else None
        known = "largest launch only" if time is None else "modelled only"
        rows.insert(1, records.ByHand(f"{given} in the call", alt.l2_hit_rate, time, known))
    return [
        (row.name, milliseconds(row.time_ms), percent(row.l2_hit_rate), row.verdict) for row in rows
    ]


def sources(run: records.Run) -> list[Source]:
    """Where the run's numbers come from: the model, hardware, or both."""
    found = {row.source for row in numbers(run) if row.before is not None}
    kinds: tuple[Source, ...] = ("modelled", "measured")
    return [kind for kind in kinds if kind in found]


def verdict(run: records.Run) -> str:
    """The outcome in a few words."""
    if run.best is not None:
        kind = run.best.verdict.kind
        return kind if kind == "better" else f"{kind}, no claim about time"
    if run.interrupted:
        return "interrupted"
    return "nothing to gain" if run.nothing_to_gain else "no improvement found"


def patch_command(run: records.Run, patch: str = "best.patch") -> str:
    """What applies the run's patch; without a directory where its root is not known."""
    diff = run.best.diff if run.best and run.best.diff else ""
    file = PurePosixPath(run.file)
    for root in file.parents:
        if f"+++ {quote(f'b/{file.relative_to(root)}')}\n" in diff:
            return f"patch -p1 -d {shlex.quote(str(root))} < {shlex.quote(patch)}"
    return f"patch -p1 < {shlex.quote(patch)}"


def relative_time(timing: records.Timing) -> str:
    """Where it was measured, and the part of the time that is left, with its interval."""
    ratio = timing.ratio
    interval = f"{ratio.median:.3f} ({ratio.low:.3f}–{ratio.high:.3f})"
    return f"on {timing.device}: {interval} of the baseline's time"


def describe_remap(verdict: records.RemapVerdict) -> str:
    """The verdict and its evidence, in lines."""
    times = f" (launched {verdict.count} times)" if verdict.count > 1 else ""
    what = f"`{verdict.kernel}` on grid {_extents(verdict.grid)}{times}"
    first = {
        "permutation": f"Permutation. {what}: {verdict.reason}",
        "not a permutation": f"Refused: {what} is not a permutation: {verdict.reason}",
        "undecided": f"Undecided: {what}: {verdict.reason}",
    }[verdict.kind]
    lines = [*verdict.evidence, *(_describe_sizes(verdict.sizes) if verdict.sizes else ())]
    return "\n".join([first, *(f"  {line}" for line in lines)])


def _describe_sizes(sizes: records.SizesTried) -> list[str]:
    if sizes.not_tried:
        return [f"other sizes were not tried: {sizes.not_tried}"]
    tried = f"{len(sizes.grids)} grids were tried, {_extents(sizes.grids[0])} to "
    tried += _extents(sizes.grids[-1])
    if sizes.condition is None:
        return [f"other sizes: a permutation on all ({tried})"]
    how = "if" if "%" in sizes.condition else "on"
    lines = [f"other sizes: a permutation only {how} {sizes.condition} ({tried})"]
    if sizes.witness:
        lines.append(f"on grid {_extents(sizes.witness)} it is not: {sizes.reason}")
    return lines


def _extents(grid: records.Grid) -> str:
    extents = [str(extent) for extent in grid]
    while len(extents) > 1 and extents[-1] == "1":
        extents.pop()
    return " × ".join(extents)
