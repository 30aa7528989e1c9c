# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What every face has in common, whoever reads it."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest

from intelliperf_swizzle.records import Run
from intelliperf_swizzle.report.files import FACES
from intelliperf_swizzle.report.html import fragment
from intelliperf_swizzle.report.result import result

ALL = {**FACES, "notebook": fragment, "json": lambda run: said(run)}


def said(run: Run) -> str:
    message: str = result(run, initial="", optimized="")["report_message"]
    return message


def words_of(face: str, run: Run) -> str:
    """The face's text, as one line."""
    text = ALL[face](run)
    if face in ("html", "notebook"):
        text = html.unescape(text)
    return " ".join(text.split())


@pytest.mark.parametrize("face", ALL)
def test_a_caution_stands_beside_the_verdict(run_with_a_caution: Run, face: str) -> None:
    [caution] = run_with_a_caution.cautions
    text = words_of(face, run_with_a_caution)
    assert re.search(rf"Better\. .{{,1500}} Caution: {re.escape(caution)}\.", text)


@pytest.mark.parametrize("face", FACES)
def test_a_domain_has_the_name_that_the_vendor_gives_it(
    run: Run, run_with_a_caution: Run, face: str
) -> None:
    attempts = tuple(  # a pattern says in its own words why it should be better
        replace(one, candidate=replace(one.candidate, rationale=None)) for one in run.attempts
    )
    partitions = replace(run_with_a_caution, attempts=attempts)
    assert not re.search(r"\bXCDs?\b", words_of(face, partitions))
    assert "L2 partition" not in words_of(face, run)
    if face != "md":  # it speaks of no domains
        assert re.search(r"\bXCD\b", words_of(face, run))
        assert "L2 partition" in words_of(face, partitions)


def test_the_verdict_speaks_of_time(run: Run) -> None:
    times = r"modelled time \d+\.\d+ \S?s → \d+\.\d+ \S?s \(-\d+\.\d %.*\), L2 hit rate"
    assert re.match(rf"Modelled: Better\. Recommended: apply the patch\. .* {times}", said(run))
    bound = replace(run.baseline, arithmetic_time_ms=2.0, modelled_memory_time_ms=1.5)
    text = said(replace(run, best=None, nothing_to_gain=True, baseline=bound))
    assert "nothing to gain" in text
    assert "its operations take at least 2 ms, its memory traffic 1.5 ms" in text
