# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Why a run's kernel misses, before and after, and why its swizzle helps."""

import math
from dataclasses import replace

from intelliperf_swizzle.context import locality
from intelliperf_swizzle.context.locality import CLASSES, describe_causes, total
from intelliperf_swizzle.readers import average, percent, size
from intelliperf_swizzle.records import MissCauses, Picture, Run, TensorPicture
from intelliperf_swizzle.report import establish
from intelliperf_swizzle.report.sentences import bound_by_arithmetic

SHARED = 1.5
"""Tiles that use a line of a tensor, on average, for its placement to matter."""

NOTABLE = 0.05
"""By what part the number of L2 requests must change to be reported."""

TOGETHER = 0.1
"""How much more often neighbours must run on one domain before that is called the reason."""


def lines(run: Run) -> list[str]:
    """Why requests miss, a sentence before and one after, and why the swizzle helps, if it does."""
    before, after = _causes(run)
    both = (("Why it misses", before), ("With the swizzle", after))
    misses = [f"{title}: {describe_causes(c, run.domain_name)}." for title, c in both if c]
    effects = [why_it_helps(run), requests(run)]
    if not run.nothing_to_gain:  # else the verdict says so
        modelled = run.predicted or run.baseline
        effects.append(bound_by_arithmetic(replace(modelled, time_ms=run.baseline.time_ms)))
    return [*misses, *(sentence for sentence in effects if sentence)]


def reasons(run: Run) -> list[str]:
    """Why, and what else would help; a recommended argument stands in the verdict."""
    others = [line for line in alternatives(run) if not line.startswith("Recommended: pass ")]
    return [*lines(run), *placement(run), *resources(run), *sizes(run), *others]


def requests(run: Run) -> str | None:
    """How requests and misses change, if requests do by enough to move the hit rate."""
    before, after = run.baseline, run.best.measurement if run.best else None
    if after is None or not before.l2_requests or not after.l2_requests:
        return None
    change = after.l2_requests / before.l2_requests - 1
    misses = [m.l2_requests * (1 - m.l2_hit_rate) for m in (before, after) if m.l2_requests]
    if abs(change) <= NOTABLE or not misses[0]:
        return None
    serves = f"; the L1 serves {'less' if change > 0 else 'more'}, so compare misses, not rates"
    return (
        f"L2 requests change by {100 * change:+.1f} %, L2 misses by "
        f"{100 * (misses[1] / misses[0] - 1):+.1f} %{serves}."
    )


def placement(run: Run) -> list[str]:
    """Which domains the users of each shared tensor sit on, before and after."""
    picture = run.picture
    if picture is None or picture.domains == 1:
        return []
    of, about = (picture.domains, run.domain_name), "about " * picture.sampled
    placements = []
    for tensor in (t for t in picture.tensors if t.tiles_per_line >= SHARED):
        domains = [access.domains_per_line for access in (tensor.before, tensor.after) if access]
        placements.append(locality.placement(tensor.names, domains, run.grid, of, about))
    return [f"Placement: {'; '.join(placements)}."] if placements else []


def resources(run: Run) -> list[str]:
    """Registers and workgroups per CU of the patched kernel, if it was compiled."""
    validation = run.best.validation if run.best else None
    build = validation.build if validation else None
    return [f"Compiled with the swizzle: {build}."] if build else []


def _causes(run: Run) -> tuple[tuple[MissCauses, ...] | None, tuple[MissCauses, ...] | None]:
    best = run.best.measurement if run.best else None
    return run.baseline.causes, best.causes if best else None


def why_it_helps(run: Run) -> str | None:
    """The class and the tensor of which most misses are gone, in plain words; None if none are."""
    before, after = _causes(run)
    if before is None or after is None:
        return None
    gone = {name: count - total(after)[name] for name, count in total(before).items()}
    cause = max(gone, key=lambda name: gone[name])
    left = {misses.names: getattr(misses, cause) for misses in after}
    by_tensor = {
        misses.names: getattr(misses, cause) - left.get(misses.names, 0) for misses in before
    }
    if gone[cause] <= 0:
        return None
    names = max(by_tensor, key=lambda tensor: by_tensor[tensor])
    tensors = run.picture.tensors if run.picture else ()
    tensor = next((tensor for tensor in tensors if tensor.names == names), None)
    what = ", ".join(f"`{name}`" for name in names)
    if cause == "other_domain":
        return _together(run.picture, tensor, what, run.domain_name)
    if cause == "capacity":
        return (
            f"Tiles that share {what} now run closer together in time, so it is still in the L2 "
            f"when it is used again{_working_set(run.picture)}."
        )
    return (
        f"Tiles that run at the same time no longer crowd the same channels and sets of the L2 "
        f"with {what}."
    )


def _together(
    picture: Picture | None, tensor: TensorPicture | None, what: str, domain_name: str
) -> str:
    """Who shares a tensor and now runs on one domain."""
    shown = picture.tiles[0] if picture and picture.tiles else None
    if tensor and shown and shown.after:
        was, now = shown.before.neighbours_together, shown.after.neighbours_together
        pairs = zip(tensor.shared, was, now, ("row", "column"), strict=True)
        closer = [
            (shared, before, after, name)
            for shared, before, after, name in pairs
            if shared and before is not None and after is not None and after - before > TOGETHER
        ]
        if closer:
            _, before, after, name = max(closer)
            return (
                f"Neighbours in a {name} of tiles share {what}; {percent(after)} of them now run "
                f"on one {domain_name}, {percent(before)} before."
            )
    if tensor and tensor.after:
        return (
            f"Tiles that share {what} now run on fewer {domain_name}s: a line of it is used on "
            f"{average(tensor.after.domains_per_line)} on average, "
            f"{average(tensor.before.domains_per_line)} before."
        )
    return f"Tiles that share {what} now run on fewer {domain_name}s."


def _working_set(picture: Picture | None) -> str:
    """What the resident workgroups of a domain use, if it has become less."""
    if picture is None:
        return ""
    before = sum(tensor.before.wave_bytes for tensor in picture.tensors)
    after = sum(tensor.after.wave_bytes for tensor in picture.tensors if tensor.after)
    if not 0 < after < before:
        return ""
    return f" (the first wave uses {size(after)}, {size(before)} before)"


def alternatives(run: Run) -> list[str]:
    """What could be done about the misses, the recommended first, on the largest launch.

    Nothing where that is the patch alone. All numbers are modelled.
    """
    found = run.alternatives
    if found is None or [other.kind for other in found.ranked] == ["swizzle"]:
        return []
    if not found.ranked:
        return [f"No other change helps: {found.reason}."]
    changes = [
        f"{establish.describe_alternative(other, run)}: "
        f"modelled L2 hit rate {percent(found.before)} → {percent(other.l2_hit_rate)}"
        f"{f', {establish.change_of(other, run)}' * run.claims_time}."
        for other in found.ranked
    ]
    untimed = establish.is_untimed(found.ranked[0], run)
    title = "Best by the model, not timed" if untimed else "Recommended"
    first = [f"{title}: {changes[0]}"] * (found.ranked[0].kind != "swizzle")
    return [*first, *(f"Alternative: {other}" for other in changes[1:])]


def sizes(run: Run) -> list[str]:
    """How the best swizzle does at other sizes, modelled, and where it renumbers at all."""
    if run.sizes is None:
        return []
    others, guard = run.sizes.others, run.sizes.guard
    found = []
    if others:
        programs = [math.prod(other.grid) for other in others]
        losing = sum(other.loses for other in others)
        counted = f"1 other size ({programs[0]} programs)"
        if len(others) > 1:
            counted = f"{len(others)} other sizes ({min(programs)} to {max(programs)} programs)"
        found.append(
            f"Of {counted} at which the swizzle changes the order, it loses at {losing or 'none'} "
            f"(modelled){'; do not use it there' if losing and not guard else ''}."
        )
    if guard and guard not in establish.permutation(run.best.proof if run.best else None):
        found.append(f"The patch renumbers workgroups if {guard}; otherwise it changes nothing.")
    return found


def cause_names(run: Run) -> list[str]:
    """The names of the classes of misses on this GPU."""
    return [name.format(run.domain_name) for name in CLASSES.values()]


def cause_rows(run: Run) -> list[tuple[str, ...]]:
    """Each tensor's misses by class, before and after, in percent of all requests."""
    rows: list[tuple[str, ...]] = []
    for when, causes in zip(("unmodified", "with the swizzle"), _causes(run), strict=True):
        requests = sum(cause.requests for cause in causes or ()) or 1
        for cause in causes or ():
            shares = (percent(getattr(cause, name) / requests) for name in CLASSES)
            rows.append((", ".join(cause.names), when, *shares))
    return rows
