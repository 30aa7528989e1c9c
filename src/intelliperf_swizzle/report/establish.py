# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From a run to what it has established, and that in sentences: there are no others."""

import math

from intelliperf_swizzle import records
from intelliperf_swizzle.readers import count, milliseconds, percent, size

PROVED = "for all values of its inputs; no 32-bit overflow up to 2**23 programs"
"""What a proof for all sizes says, and its bound."""


def establish(run: records.Run) -> records.Established:
    """What a run has established of its best swizzle, and what it recommends."""
    best, (todo, _) = run.best, recommend(run)
    if best is None:
        return records.Established(todo, independence=run.independence)
    validation = best.validation
    return records.Established(
        todo,
        permutation=best.proof,
        independence=run.independence,
        equal_work=_equal_work(validation) if validation else None,
        same_bytes=_same_bytes(validation) if validation else None,
        unit_test=validation.unit_test if validation else None,
        change=_change(run),
    )


def recommend(run: records.Run) -> tuple[records.Recommended, str]:
    """What to do: in one word, and in a sentence."""
    other = next(iter(run.alternatives.ranked), None) if run.alternatives else None
    other = None if other and is_untimed(other, run) else other
    if other and other.kind in ("parameter", "padding"):
        kind: records.Recommended = "argument" if other.arguments else "padding"
        return kind, f"{describe_alternative(other, run, brief=True)} ({change_of(other, run)})"
    what = describe_alternative(other, run, brief=True)
    return ("patch", what) if run.best else ("none", "nothing")


def is_untimed(other: records.Alternative, run: records.Run) -> bool:
    """Whether only the model speaks for a change of the call, though a GPU has timed the kernel."""
    return run.baseline.time_ms is not None and other.kind in ("parameter", "padding")


def change_of(other: records.Alternative, run: records.Run) -> str:
    """By what part it changes the modelled time; its hit rate if no time is claimed."""
    if not run.claims_time:
        return f"L2 hit rate {percent(other.l2_hit_rate)}"
    before_ms = run.alternatives.before_ms if run.alternatives else 0.0
    return f"modelled time {100 * other.time_ms / (before_ms or math.inf) - 100:+.1f} %"


def describe_alternative(
    other: records.Alternative | None, run: records.Run, *, brief: bool = False
) -> str:
    """What to change, as a phrase; None = apply the swizzle; `brief`: without strides and bytes."""
    if other and other.arguments:
        given = ", ".join(f"{name}={value}" for name, value in other.arguments.items())
        return f"pass {given}, no source change"
    swizzle = "apply the patch" if run.best and run.best.diff else "use the swizzle"
    if other is None or (padding := other.padding) is None:
        return swizzle
    given = ", ".join(f"{name} = {value}" for name, value in sorted(padding.arguments.items()))
    rows = f"make rows of {', '.join(padding.tensors)} {padding.elements} elements longer"
    rows += "" if brief else f" ({given}; {size(padding.bytes)} more memory)"
    return f"{swizzle} and {rows}" if other.kind == "both" else rows + ", no patch" * (not brief)


def _equal_work(seen: records.Validation) -> records.EqualWork:
    by = seen.method.partition("-")[0]
    return records.EqualWork(
        "IR" if by == "ir" else "traces" if by == "traces" else "bytes", seen.tiles
    )


def _same_bytes(seen: records.Validation) -> records.SameBytes | None:
    if not seen.same_bits or not seen.tiles_compared:
        return None
    tolerance = seen.tolerance if seen.rule == "tolerance" else None
    launches = seen.distinct_launches or seen.launches
    return records.SameBytes(
        tiles=seen.tiles_compared,
        of=seen.tiles,
        launches=seen.launches,
        of_launches=launches,
        where="GPU" if seen.method.startswith("gpu") else "CPU",
        tolerance=tolerance,
    )


def _change(run: records.Run) -> records.Change | None:
    before, after = run.baseline, run.best.measurement if run.best else None
    if after is None:
        return None
    timed = before.time_ms is not None and after.time_ms is not None
    times = (before.modelled_time_ms, after.modelled_time_ms) if run.claims_time else (None, None)
    return records.Change(
        source="measured" if timed else "modelled",
        gpu=before.device if timed else run.target,
        before_ms=before.time_ms if timed else times[0],
        after_ms=after.time_ms if timed else times[1],
        bound_by=after.longest,
        rates="modelled" if after.profiler == "model" else "measured",
        before=before.l2_hit_rate,
        after=after.l2_hit_rate,
    )


def phrase(found: records.Established, name: str) -> list[str]:
    """What was proved of a swizzle, and what was and was not validated: a line each."""
    test = f" Your test passed: `{found.unit_test}`." if found.unit_test else ""
    missing = f" Not established: {', '.join(found.missing)}." if found.missing else ""
    proof = f"`{name}` is {permutation(found.permutation)}"
    return [
        f"Proved: {proof}.{_independence(found.independence)}",
        f"Validated: {_work(found.equal_work, found.same_bytes)}.{test}{missing}",
    ]


def headline(change: records.Change | None, *, brief: bool) -> str:
    """Time and L2 hit rate before and after; `brief`: only by how much of the time."""
    if change is None:
        return ""
    of = "" if change.rates == change.source else f"{change.rates} "
    rates = f"{of}L2 hit rate {percent(change.before)} → {percent(change.after)}"
    if not change.before_ms or change.after_ms is None:
        return "" if brief else f"; {rates}"
    percents = f"{100 * (change.after_ms / change.before_ms - 1):+.1f} %"
    times = f"{milliseconds(change.before_ms)} → {milliseconds(change.after_ms)}"
    return f"; time {percents}" if brief else f"; time {times} ({percents}), {rates}"


def permutation(
    known: records.Certificate | records.Proof | None, tested: str = ", which the patch tests"
) -> str:
    """For which sizes a swizzle is a permutation; `tested`: what is said of a condition."""
    if known is None:
        return "a permutation of the launch's tiles"
    if known.extent == "every size":
        return f"a permutation for every number of programs ({PROVED})"
    if known.extent == "under a condition":
        return f"a permutation if {known.condition}{tested} ({PROVED})"
    if known.condition:
        values = known.condition.split(" and ")
        which = f": {known.condition}" if len(values) <= 4 else f", {len(values)} of them"
        return f"a permutation for the recorded values{tested}{which}"
    return "a permutation for the recorded values only"


def _independence(known: records.Independence | None) -> str:
    if known is None:
        return ""
    which = f" of {known.launches} launches" if known.launches > 1 else ""
    none, some = "No program depends on another", "Dependent programs keep their order"
    others = f", also at {count(len(known.sizes), 'other size')}" * bool(known.sizes)
    names = ", ".join(f"`{name}`" for name in known.varied)
    varied = f", and with other values of {names}" * bool(names)
    means = some if known.by_order else none
    return f" {means} (all accesses{which} compared{others}{varied})."


def validation(seen: records.Validation | None) -> str:
    """What was compared of one attempt."""
    if seen is None:
        return "not validated"
    if not seen.same_bits:
        return f"differs: {seen.difference}"
    test = f"; `{seen.unit_test}` passed" if seen.unit_test else ""
    return _work(_equal_work(seen), _same_bytes(seen)) + test


def _work(work: records.EqualWork | None, same: records.SameBytes | None) -> str:
    """What was compared of tiles."""
    if work is None:
        return "nothing was compared"
    parts = [] if work.means == "bytes" else [f"{work.means} of all {work.tiles} tiles equal"]
    if same is None:
        return "; ".join([*parts, "no outputs were compared, as one tile takes too long"])
    how = "bit-identical" if same.tolerance is None else f"equal within {same.tolerance:g}"
    launches = count(same.launches, "launch", "launches")
    if same.launches < same.of_launches:
        launches = f"{same.launches} of {same.of_launches} launches"
    executed = f"{same.tiles} of {same.of} tiles executed on the {same.where}"
    return "; ".join([*parts, f"{executed}, {how} ({launches})"])
