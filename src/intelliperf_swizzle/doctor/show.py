# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A diagnosis as text that fits 80 columns, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from intelliperf_swizzle import __version__
from intelliperf_swizzle.doctor.diagnosis import Diagnosis, Finding

SCHEMA = 1
WIDTH = 80
_PART_WIDTH = 14


def as_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """The diagnosis as a JSON object; what is not there is null."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "works": diagnosis.works,
        "would_use": {
            "target": diagnosis.target,
            "device": diagnosis.device,
            "profiler": diagnosis.profiler,
            "proposer": diagnosis.proposer,
        },
        "findings": [asdict(finding) for finding in diagnosis.findings],
    }


def as_text(diagnosis: Diagnosis) -> str:
    """The diagnosis for people: what is there, what would be used, then gap by gap."""
    lines = [f"intelliperf-swizzle {__version__}", ""]
    for finding in diagnosis.findings:
        lines += _row(finding.part, finding.found or "-")
    if diagnosis.works:
        lines += ["", *_row("would use", _would_use(diagnosis))]
    for title, needed in (("needed", True), ("would help", False)):
        gaps = [one for one in diagnosis.findings if one.gap and one.needed is needed]
        if gaps:
            lines += ["", f"{title}:", *(line for one in gaps for line in _gap(one))]
    if not diagnosis.works:
        lines += ["", "What was asked for cannot work here."]
    return "\n".join(lines)


def _would_use(diagnosis: Diagnosis) -> str:
    rates = "modelled" if diagnosis.profiler == "model" else f"from {diagnosis.profiler}"
    times = f"times from the {diagnosis.device}" if diagnosis.device else "times modelled"
    return f"target {diagnosis.target}; hit rates {rates}, {times}; proposer {diagnosis.proposer}"


def _row(part: str, found: str) -> list[str]:
    """A part and what was found of it, in two columns."""
    room = WIDTH - _PART_WIDTH - 4
    first, *more = textwrap.wrap(found, room, break_on_hyphens=False) or [""]
    blank = " " * _PART_WIDTH
    return [f"  {part:<{_PART_WIDTH}}  {first}", *(f"  {blank}  {line}" for line in more)]


def _gap(finding: Finding) -> Iterator[str]:
    yield from textwrap.wrap(
        f"{finding.part}: {finding.gap}",
        WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )
    if finding.command:
        yield from _folded(finding.command)


def _folded(command: str) -> Iterator[str]:
    """A command over several lines that a shell reads as one."""
    lines = textwrap.wrap(command, WIDTH - 8, break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines):
        start, end = ("$ " if number == 0 else "  "), (" \\" if number + 1 < len(lines) else "")
        yield f"    {start}{line}{end}"
