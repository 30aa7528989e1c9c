# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a run has to say, in sentences; every face uses the same ones."""

from __future__ import annotations

from collections import Counter

from intelliperf_swizzle.records import Attempt, Measurement, Proof, Run, Validation
from intelliperf_swizzle.units import milliseconds, percent, points, size


def message(run: Run) -> str:
    """What came of the run, in a few sentences; begins with `Modelled:` where it is."""
    source = "Modelled: " if run.modelled else ""
    if run.best is not None:
        return source + _improved(run, run.best)
    if run.nothing_to_gain:
        return (
            f"{source}nothing to gain. {run.kernel} has an L2 hit rate of "
            f"{percent(run.baseline.l2_hit_rate)} on {run.target}; no permutation of its "
            f"workgroups can exceed {percent(run.ceiling.l2_hit_rate)}."
        )
    return (
        f"{source}nothing found. None of {len(run.attempts)} attempts is eligible and better than "
        f"{run.kernel} as it is (L2 hit rate {percent(run.baseline.l2_hit_rate)} on {run.target}, "
        f"ceiling {percent(run.ceiling.l2_hit_rate)}). {outcomes(run)}"
    )


def bottleneck(run: Run) -> str:
    """What limits the kernel as it is."""
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


def validation(outcome: Validation | None) -> str:
    """What was compared, in one sentence."""
    if outcome is None:
        return "not validated"
    agreed = "the same bits" if outcome.rule == "bits" else f"equal within {outcome.tolerance:g}"
    if not outcome.same_bits:
        return f"differs: {outcome.difference}"
    what = {
        "all-tiles": f"all {outcome.tiles} tiles executed",
        "mapping-and-sample": (
            "the emitted code's program ids equal the proved mapping on the whole grid, the rest "
            f"of the kernel is the same syntax tree, {outcome.tiles_compared} of {outcome.tiles} "
            "tiles executed"
        ),
        "gpu": f"all {outcome.tiles} tiles executed on the GPU",
    }[outcome.method]
    return f"{what}: {agreed} ({outcome.launches} launch{'es' if outcome.launches > 1 else ''})"


def proof(attempt: Attempt) -> str:
    """What was proved, in one sentence."""
    if attempt.proof is None:
        return "a permutation of the launch's tiles"
    grids = f"{attempt.proof.grids_checked} grid{'s' if attempt.proof.grids_checked > 1 else ''}"
    condition = f"; {attempt.proof.condition}" if attempt.proof.condition else ""
    return f"a permutation ({grids} checked{condition})"


def proved(name: str, certificate: Proof, num_xcds: int) -> str:
    """A certificate on its own, for `prove`."""
    tiles = len(certificate.tile)
    lines = [
        f"Proved: `{name}` is a permutation of {tiles} tiles on {num_xcds} XCDs.",
        f"  fingerprint: {certificate.fingerprint}",
        f"  further grids: holds on {certificate.grids_checked}, the largest of "
        f"{certificate.largest_checked} programs",
    ]
    if certificate.condition:
        lines.append(f"  condition: {certificate.condition}")
    return "\n".join(lines)


def comparison(before: Measurement, after: Measurement | None) -> list[tuple[str, str, str]]:
    """Rows of the table: what, before, after."""

    def row(name: str, render: object, field: str) -> tuple[str, str, str]:
        assert callable(render)
        return name, render(getattr(before, field)), render(getattr(after, field)) if after else ""

    rows = [
        row("L2 hit rate", percent, "l2_hit_rate"),
        row("last-level cache hit rate", percent, "llc_hit_rate"),
        row("bytes from L2", size, "l2_bytes"),
        row("bytes from memory", size, "memory_bytes"),
        row("modelled memory time", milliseconds, "modelled_memory_time_ms"),
        row("time", milliseconds, "time_ms"),
    ]
    return [each for each in rows if each[0] == "time" or "not measured" not in each[1]]


def _improved(run: Run, best: Attempt) -> str:
    assert best.measurement is not None
    before, after = run.baseline.l2_hit_rate, best.measurement.l2_hit_rate
    return (
        f"Better. L2 hit rate of {run.kernel} {percent(before)} → {percent(after)} "
        f"({points(before, after)}) on {run.target} with `{best.candidate.name}`, "
        f"{proof(best)}; {validation(best.validation)}."
    )
