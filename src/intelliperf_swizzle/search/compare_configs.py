# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Swizzle × configuration of a kernel under `triton.autotune`, by modelled memory time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from intelliperf_swizzle.errors import ProfileError, TraceError
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import Capture, Launch
from intelliperf_swizzle.search.brief_search import search_briefly
from intelliperf_swizzle.search.examine_kernel import examine_kernel
from intelliperf_swizzle.search.look_closely import look_closely
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.stages import Evaluated
from intelliperf_swizzle.search.subject import Subject


@dataclass(frozen=True)
class _SwizzledConfig:
    """A configuration and its best swizzle.

    Attributes:
        number: of the configuration, from 0; None = one that the tuner does not list.
        before_ms: modelled memory time of all launches of the unmodified kernel.
        swizzle: name of the best swizzle; None if there is none.
        after_ms: with it.
    """

    number: int | None
    before_ms: float
    swizzle: str | None
    after_ms: float


def compare_configs(
    setup: Setup, subject: Subject, recorded: Capture, best: Evaluated | None, progress: Progress
) -> tuple[str, ...]:
    """Sentences that name the best pair of swizzle and configuration; none without other ones.

    Each other configuration is traced and searched with a few dozen candidates, and its best
    swizzle is proved and validated as that of the recorded one is.

    Args:
        setup: of the run.
        subject: the kernel with the configuration that was recorded.
        recorded: has the launches with the others.
        best: the best swizzle with the recorded one.
        progress: told of each.
    """
    others = _by_number(subject, recorded)
    if not others:
        return ()
    own = subject.traced[0].launch
    pairs, failed = [_pair(own.config, subject, best)], []
    for done, (number, launches) in enumerate(others.items(), 1):
        progress.phase(f"configuration {number + 1} of {subject.kernel}, {done} of {len(others)}")
        try:
            pairs.append(_search(number, launches, setup))
        except (ProfileError, TraceError) as error:
            failed.append(f"configuration {number + 1} of `{subject.kernel}`: {error.fact}")
    return (_sentence(subject.kernel, own.configs, pairs), *failed)


def _by_number(subject: Subject, recorded: Capture) -> dict[int, list[Launch]]:
    """The launches of a kernel with each configuration that it was not recorded with."""
    entry, seen = subject.launches[0].source.entry, {one.config for one in subject.launches}
    found: dict[int, list[Launch]] = {}
    for launch in recorded.other_configs:
        place = launch.source.entry
        same = (place.file, place.first_line) == (entry.file, entry.first_line)
        if same and launch.config is not None and launch.config not in seen:
            found.setdefault(launch.config, []).append(launch)
    return dict(sorted(found.items()))


def _search(number: int, launches: Sequence[Launch], setup: Setup) -> _SwizzledConfig:
    quiet = Silent()
    subject = look_closely(examine_kernel(launches, setup, quiet), setup, quiet)
    return _pair(number, subject, search_briefly(setup, subject))


def _pair(number: int | None, subject: Subject, best: Evaluated | None) -> _SwizzledConfig:
    before = subject.memory_time_ms
    measured = best.attempt.measurement if best else None
    if best is None or measured is None or measured.modelled_memory_time_ms is None:
        return _SwizzledConfig(number, before, None, before)
    after = measured.modelled_memory_time_ms * subject.untraced_factor
    return _SwizzledConfig(number, before, best.attempt.candidate.name, after)


def _sentence(
    kernel: str, configs: Sequence[Mapping[str, Any]], pairs: Sequence[_SwizzledConfig]
) -> str:
    """The pairs from the fastest on."""
    first, *others = sorted(pairs, key=lambda one: one.after_ms)
    own = "" if first is pairs[0] else ", not the recorded one"
    values = configs[first.number] if first.number is not None else {}
    said = " ".join(f"{name}={value}" for name, value in values.items())
    return (
        f"best pair of configuration and swizzle for `{kernel}`, by modelled memory time{own}: "
        f"{_in_words(first)}{f' [{said}]' if said else ''}; then "
        f"{'; '.join(map(_in_words, others))}. Compute time is not modelled"
    )


def _in_words(pair: _SwizzledConfig) -> str:
    name = "one of its own" if pair.number is None else f"number {pair.number + 1}"
    if pair.swizzle is None:
        return f"{name} unmodified, {pair.before_ms:.3g} ms"
    return f"{name} with `{pair.swizzle}`, {pair.before_ms:.3g} → {pair.after_ms:.3g} ms"
