# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a run has to say, in sentences; every face uses the same ones."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

from intelliperf_swizzle.edit import quoted
from intelliperf_swizzle.records import (
    Attempt,
    Interval,
    Measurement,
    Proof,
    Recommended,
    Run,
    Timing,
)
from intelliperf_swizzle.report.establish import PROVED, establish, headline, sentences
from intelliperf_swizzle.units import factor, milliseconds, percent, size

Source: TypeAlias = Literal["modelled", "measured", "computed"]
"""Where a number comes from: the cache model, hardware, or arithmetic that leaves no doubt."""


KERNELS = (
    "Shares are of the time of all kernels that have one, not of the application: measured if "
    "every kernel was timed, else modelled memory time."
)
"""What the shares in the table of kernels are of."""


RECOMMENDED: Mapping[Recommended, str] = {
    "argument": "pass another argument, no source change",
    "patch": "apply the patch",
    "padding": "lay out rows further apart, no patch",
    "none": "nothing",
}
"""What a recommendation says."""


def message(run: Run) -> str:
    """`outcome` and `cautions` in one."""
    return " ".join([outcome(run), *cautions(run.cautions)])


def cautions(found: Sequence[str]) -> list[str]:
    """What stands beside a verdict because it makes its numbers doubtful."""
    return [f"Caution: {caution}." for caution in found]


def outcome(run: Run) -> str:
    """What came of the run, in a few sentences; begins with `Modelled:` where it is."""
    source = "Modelled: " if run.modelled else ""
    if run.interrupted and run.best is None:
        return (
            f"{source}interrupted. None of {len(run.attempts)} attempts was validated and better "
            f"than the unmodified {run.kernel} before that."
        )
    if run.best is not None and run.best.measurement is not None:
        return source + _improved(run, run.best)
    if run.nothing_to_gain:
        limit = f"no permutation of its workgroups can exceed {percent(run.ceiling.l2_hit_rate)}"
        if run.baseline.only_compulsory:
            limit = "what misses is fetched for the first time, in any order"
        return (
            f"{source}nothing to gain. {run.kernel} has an L2 hit rate of "
            f"{percent(run.baseline.l2_hit_rate)} on {run.target}; {limit}. "
            f"{bound_by_arithmetic(run.baseline)}"
        ).rstrip()
    return (
        f"{source}nothing found. None of {len(run.attempts)} attempts is eligible and better than "
        f"the unmodified {run.kernel} (L2 hit rate {percent(run.baseline.l2_hit_rate)} on "
        f"{run.target}, ceiling {percent(run.ceiling.l2_hit_rate)}). "
        f"{outcomes(run)}{_obstacle(run)}"
    )


def bound_by_arithmetic(kernel: Measurement) -> str:
    """Says so where the kernel's operations take longer than its traffic, else nothing."""
    if not kernel.bound_by_arithmetic:
        return ""
    return (
        f"Bound by arithmetic: its operations take at least "
        f"{milliseconds(kernel.arithmetic_time_ms)}, its memory traffic "
        f"{milliseconds(kernel.modelled_memory_time_ms)} (modelled); fewer misses save little time."
    )


def together(run: Run) -> str:
    """What the best swizzles of all kernels save, in a sentence."""
    better = [one for one in run.kernels if one.best_l2_hit_rate is not None]
    saved = sum(one.time_saved or 0.0 for one in better)
    what = "modelled memory time" if run.baseline.time_ms is None else "time"
    shared = sum(one.time_share is not None for one in run.kernels)
    known = "all of them" if shared == len(run.kernels) else f"the {shared} that have a share"
    if not better:
        return f"No swizzle for any of the {len(run.kernels)} recorded kernels."
    return (
        f"Swizzles for {len(better)} of {len(run.kernels)} recorded kernels, which save "
        f"{percent(saved)} of the {what} of {known}."
    )


def bottleneck(run: Run) -> str:
    """What limits the unmodified kernel."""
    source = f"modelled, {run.target}" if run.modelled else f"measured on {run.baseline.device}"
    return (
        f"{run.kernel}: L2 hit rate {percent(run.baseline.l2_hit_rate)} ({source}); "
        f"ceiling over all permutations {percent(run.ceiling.l2_hit_rate)}; "
        f"{size(run.baseline.memory_bytes)} from memory"
    )


def outcomes(run: Run) -> str:
    """How many attempts ended how, in words: `312 screened out, 12 slower`."""
    counts = Counter(attempt.verdict.kind for attempt in run.attempts)
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common()) + "."


def _obstacle(run: Run) -> str:
    """Why the first candidate that was chosen, and not merely rated low, could not be taken."""
    stopped = (
        "not patched", "does not build", "output differs", "unit test failed", "unsafe order",
        "not measured", "not validated",
    )  # fmt: skip
    first = next((one.verdict for one in run.attempts if one.verdict.kind in stopped), None)
    return f" The first `{first.kind}`: {first.reason.rstrip('.')}." if first else ""


def proved(name: str, certificate: Proof, domains: str) -> str:
    """A certificate by itself, for `prove`; `domains`: `8 XCDs`."""
    tiles = len(certificate.tile)
    other = {
        "every size": f"holds for every count ({PROVED})",
        "under a condition": f"holds where {certificate.condition} ({PROVED})",
        "the recorded sizes": "not proved",
    }[certificate.extent]
    return "\n".join(
        (
            f"Proved: `{name}` is a permutation of {tiles} tiles on {domains}.",
            f"  fingerprint: {certificate.fingerprint}",
            f"  other sizes: {other}",
        )
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
        intervals: in which the true values of `before` and `after` lie, where that is known.
    """

    name: str
    before: float | None
    after: float | None
    source: Source
    show: Callable[[float | None], str]
    intervals: tuple[Interval | None, Interval | None] = (None, None)

    def texts(self) -> tuple[str, str]:
        """Before and after as people read them."""
        return self._text(self.before, self.intervals[0]), self._text(self.after, self.intervals[1])

    def _text(self, value: float | None, interval: Interval | None) -> str:
        if value is None or interval is None:
            return self.show(value)
        return f"{self.show(value)} ({interval.low:.3g}–{interval.high:.3g})"


def numbers(run: Run) -> list[Row]:
    """The numbers of a run; what was predicted stands beside what was measured."""
    rows = comparison(run.baseline, run.best.measurement if run.best else None)
    if run.predicted is None:
        return rows
    guessed = {
        row.name: row
        for row in comparison(run.predicted, run.best.predicted if run.best else None)
        if row.source == "modelled"
    }
    beside: list[Row] = []
    for row in rows:
        beside.append(row)
        if row.name in guessed:
            beside.append(replace(guessed.pop(row.name), name=f"{row.name}, predicted"))
    return [*beside, *guessed.values()]


def comparison(before: Measurement, after: Measurement | None) -> list[Row]:
    """The numbers before and after; what was not collected is left out, but for the time."""
    counted: Source = "modelled" if before.profiler == "model" else "measured"

    def row(name: str, field: str, source: Source, show: Callable[[float | None], str]) -> Row:
        return Row(
            name, getattr(before, field), getattr(after, field) if after else None, source, show
        )

    rows = [
        row("L2 hit rate", "l2_hit_rate", counted, percent),
        row("last-level cache hit rate", "llc_hit_rate", counted, percent),
        row("bytes from L2", "l2_bytes", counted, size),
        row("bytes from last-level cache", "llc_bytes", counted, size),
        row("bytes from memory", "memory_bytes", counted, size),
        row("modelled memory time", "modelled_memory_time_ms", "modelled", milliseconds),
        row("modelled time", "overlapped_time_ms", "modelled", milliseconds),
        row("load imbalance", "imbalance", "modelled", factor),
        row("arithmetic, at least", "arithmetic_time_ms", "modelled", milliseconds),
    ]
    timings = (before.timing, after.timing if after else None)
    time = replace(
        row("time", "time_ms", "measured", milliseconds),
        intervals=(
            timings[0].time_ms if timings[0] else None,
            timings[1].time_ms if timings[1] else None,
        ),
    )
    rows = [each for each in rows if each.before is not None]
    return [*rows, time, *(_of_timing(timings[1]) if timings[1] else [])]


def _of_timing(timing: Timing) -> Iterator[Row]:
    """The time as a part of the time before, taken round by round."""
    yield Row(
        "time, relative",
        1.0,
        timing.ratio.median,
        "measured",
        lambda value: "not measured" if value is None else f"{value:.3f}",
        (None, timing.ratio),
    )


def provenance(run: Run) -> list[tuple[str, Source, str]]:
    """How every kind of number was made: what, where it comes from, how."""
    if run.modelled:
        counted = (
            f"the cache lines that the recorded launches touch, replayed through a model of "
            f"{run.target}'s L1, L2 and last-level cache, seeded; the documentation's page on its "
            "accuracy compares such numbers with hardware counters"
        )
    else:
        counted = f"hardware counters, read by {run.profiler} on {run.baseline.device}"
    rows: list[tuple[str, Source, str]] = [
        (
            "hit rates, bytes and balance, before and after",
            "modelled" if run.modelled else "measured",
            counted,
        ),
        (
            "screened hit rate of an attempt",
            "modelled",
            "a faster model of the L2 alone; it only decides which attempts are evaluated",
        ),
        ("ceiling", "computed", run.ceiling.derivation),
        (
            "modelled memory time",
            "modelled",
            "bytes of each level over its bandwidth, added up; it refuses mappings that thrash a "
            "cache and is no run time",
        ),
    ]
    return [
        *rows,
        *_sources_of_times(run),
        (
            "pictures of tiles",
            "computed",
            "the proved mapping and the order in which the GPU deals out workgroups to its "
            f"{run.domain_name}s",
        ),
        (
            "maps of tensors",
            "computed",
            "the lines that each tile of the recorded launch touches, and the "
            f"{run.domain_name} it runs on",
        ),
    ]


def _sources_of_times(run: Run) -> Iterator[tuple[str, Source, str]]:
    """Of the load imbalance and times, if they are known."""
    if run.baseline.imbalance is not None:
        how = "list scheduling of what each workgroup computes and moves, on the CUs of its XCD"
        yield "load imbalance", "modelled", how
    if run.baseline.time_ms is not None:
        yield "time", "measured", _timed(run.baseline)


def _timed(baseline: Measurement) -> str:
    if baseline.timing is None:
        return f"{baseline.profiler} on {baseline.device}"
    return (
        f"median of {baseline.timing.rounds} interleaved rounds on {baseline.timing.device}; in "
        "brackets its 95 % confidence interval"
    )


def sources(run: Run) -> list[Source]:
    """Where the run's numbers come from: the model, hardware, or both."""
    found = {row.source for row in numbers(run) if row.before is not None}
    kinds: tuple[Source, ...] = ("modelled", "measured")
    return [kind for kind in kinds if kind in found]


def verdict(run: Run) -> str:
    """The outcome in two words."""
    if run.best is not None:
        return "better"
    if run.interrupted:
        return "interrupted"
    return "nothing to gain" if run.nothing_to_gain else "nothing found"


def patch_command(run: Run) -> str:
    """What applies the run's `best.patch`; without a directory where its root is not known."""
    diff = run.best.diff if run.best and run.best.diff else ""
    file = PurePosixPath(run.file)
    for root in file.parents:
        if f"+++ {quoted(f'b/{file.relative_to(root)}')}\n" in diff:
            return f"patch -p1 -d {shlex.quote(str(root))} < best.patch"
    return "patch -p1 < best.patch"


def _improved(run: Run, best: Attempt) -> str:
    found = establish(run)
    change = headline(found.change)
    told = " ".join(sentences(found))
    return (
        f"Better. Recommended: {RECOMMENDED[found.recommended]}. {run.kernel} on {run.target} "
        f"with `{best.candidate.name}`: {change}. {told}{_time(best.measurement)}"
    )


def _time(measurement: Measurement | None) -> str:
    """A sentence on the time, where a GPU was there to take it."""
    timing = measurement.timing if measurement else None
    return f" Measured {relative_time(timing)}." if timing else ""


def relative_time(timing: Timing) -> str:
    """Where it was measured, and the part of the time that is left, with its interval."""
    ratio = timing.ratio
    interval = f"{ratio.median:.3f} ({ratio.low:.3f}–{ratio.high:.3f})"
    return f"on {timing.device}: {interval} of the time"
