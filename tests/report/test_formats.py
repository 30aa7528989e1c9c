# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What every format has in common, whoever reads it."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest

from intelliperf_swizzle.records import (
    Accuracy,
    Alternative,
    Alternatives,
    Attempt,
    Padding,
    Run,
    Verdict,
)
from intelliperf_swizzle.report.causes import lines, placement
from intelliperf_swizzle.report.establish import establish
from intelliperf_swizzle.report.files import REPORT_FORMATS, result
from intelliperf_swizzle.report.sentences import outcome

ALL = {**REPORT_FORMATS, "json": lambda run: output(run)}


def output(run: Run) -> str:
    message: str = result(run, initial="", optimized="")["report_message"]
    return message


def words_of(face: str, run: Run) -> str:
    """The face's text, as one line."""
    text = ALL[face](run)
    if face in ("html", "notebook"):
        text = html.unescape(re.sub(r"</?(p|code)>", " ", text))
    return " ".join(text.split())


@pytest.mark.parametrize("face", ALL)
def test_a_caution_stands_beside_the_verdict(run_with_a_caution: Run, face: str) -> None:
    [caution] = run_with_a_caution.cautions
    text = words_of(face, run_with_a_caution)
    assert re.search(
        rf"modelled: (better|fewer L2 misses).{{,1500}} Caution: {re.escape(caution)}\.", text
    )


@pytest.mark.parametrize("face", REPORT_FORMATS)
def test_a_domain_has_the_name_that_the_vendor_gives_it(
    run: Run, run_with_a_caution: Run, face: str
) -> None:
    attempts = tuple(  # a pattern says in its own words why it should be better
        replace(attempt, candidate=replace(attempt.candidate, rationale=None))
        for attempt in run.attempts
    )
    partitions = replace(run_with_a_caution, attempts=attempts)
    assert not re.search(r"\bXCDs?\b", words_of(face, partitions))
    assert "L2 partition" not in words_of(face, run)
    if face != "md":  # it speaks of no domains
        assert re.search(r"\bXCD\b", words_of(face, run))
        assert "L2 partition" in words_of(face, partitions)


PASS = Alternative("parameter", 0.9, 1.5, arguments={"GROUP_M": 4})
LONGER_ROWS = Alternative(
    "padding", 0.9, 1.5, padding=Padding(("a_ptr", "b_ptr"), 8, {"stride_am": 4104}, 1 << 20)
)
TELLS = Accuracy("kernels that multiply matrices", 8, 1.0, 100, 61)


def in_time(run: Run) -> Attempt:
    """The run's best, as it is judged where the model tells time."""
    return replace(run.best, verdict=Verdict("better", "modelled time falls by 20.0 %"))


def test_the_verdict_is_four_lines_and_begins_with_what_to_do_and_its_time(run: Run) -> None:
    advised = replace(run, alternatives=None, accuracy=TELLS, best=in_time(run))
    first, proved, validated, patch = outcome(advised)
    times = r"time [\d.]+ \S?s → [\d.]+ \S?s \(-\d+\.\d %\), L2 hit rate [\d.]+ % → [\d.]+ %\."
    subject = "Recommended: apply the patch. gemm_kernel on mi300x, modelled: better; "
    assert re.fullmatch(re.escape(subject) + times, first)
    assert advised.best is not None
    assert proved.startswith(f"Proved: `{advised.best.candidate.name}` is a permutation")
    assert validated.startswith("Validated: ")
    assert "Not established: " in validated
    assert validated.endswith("over 8 orders, 61 of 100 pairs of times in order.")
    assert patch.startswith("Patch: patch -p1")


@pytest.mark.parametrize("known", [replace(TELLS, pairs_in_order=60), None])
def test_no_time_is_claimed_if_the_models_record_orders_no_times(
    run: Run, known: Accuracy | None
) -> None:
    """60 of 100 pairs are within two standard deviations of chance."""
    alternatives = Alternatives(
        0.5, 2.0, (Alternative("parameter", 0.9, 1.5, arguments={"GROUP_M": 4}),)
    )
    unknown = replace(run, accuracy=known, alternatives=alternatives)
    first, *_ = lines = outcome(unknown)
    assert first.startswith("Recommended: pass ")
    assert first.endswith(", modelled: fewer L2 misses, no claim about time.")
    assert "(L2 hit rate 90.0 %)" in first
    assert "modelled time" not in " ".join(lines)
    assert ("not clearly better than chance" if known else "not compared with counters") in lines[2]
    change = establish(unknown).change
    assert change is not None
    assert (change.before_ms, change.after_ms) == (None, None)


@pytest.mark.parametrize("best", [True, False])
@pytest.mark.parametrize("known", [TELLS, None])
@pytest.mark.parametrize("alternative", [None, PASS, LONGER_ROWS])
def test_the_first_line_is_short(
    run: Run, best: bool, known: Accuracy | None, alternative: Alternative | None
) -> None:
    """About 25 words, whatever is recommended; a percent sign counts as none."""
    alternatives = Alternatives(0.5, 2.0, (alternative,)) if alternative else None
    shown = replace(run, accuracy=known, alternatives=alternatives)
    judged = in_time(run) if known else run.best
    first, *others = outcome(replace(shown, best=judged if best else None))
    assert len(first.replace(" %", "%").split()) <= 28, first
    assert len(others) <= 3


def test_a_cheaper_alternative_is_recommended_before_the_patch(run: Run) -> None:
    alternatives = Alternatives(
        0.5, 2.0, (Alternative("parameter", 0.9, 1.5, arguments={"GROUP_M": 4}),)
    )
    advised = replace(run, alternatives=alternatives, accuracy=TELLS, best=in_time(run))
    first, *_ = outcome(advised)
    page = "pass GROUP_M=4, no source change (modelled time -25.0 %)"
    advice = f"Recommended: {page}. Or apply the patch: gemm_kernel on mi300x, modelled: better; "
    assert re.fullmatch(re.escape(advice) + r"time -\d+\.\d %\.", first)
    state, tried, record = outcome(replace(advised, best=None))
    assert state.startswith(f"Recommended: {page}. gemm_kernel on mi300x, modelled: no improvement")
    assert "attempts: " in tried
    assert record.startswith("The model's record")
    assert establish(advised).recommended == "argument"


def test_what_is_bound_by_arithmetic_is_reported_as_such(run: Run) -> None:
    bound = replace(run.baseline, arithmetic_time_ms=2.0, modelled_memory_time_ms=1.5)
    text = output(replace(run, best=None, nothing_to_gain=True, baseline=bound))
    assert "nothing to gain" in text
    assert "its operations take about 2.00 ms, its memory traffic 1.50 ms" in text
    assert replace(bound, time_ms=3.0).bound_by_arithmetic
    assert not replace(bound, time_ms=14.0).bound_by_arithmetic, "seven times its operations"
    assert not replace(bound, time_ms=1.9).bound_by_arithmetic, "the operations take less, then"
    for time_ms, is_bound in ((2.1, True), (1.9, False)):
        timed = replace(run, predicted=bound, baseline=replace(run.baseline, time_ms=time_ms))
        assert ("Bound by arithmetic" in " ".join(lines(timed))) is is_bound


@pytest.mark.parametrize("face", REPORT_FORMATS)
def test_what_people_use_by_hand_stands_beside_what_was_found(run: Run, face: str) -> None:
    names = [row.name for row in run.by_hand]
    assert names[:3] == ["unmodified", "AITER's remap_xcd", "GROUP_M = 4"]
    assert len(names) == 8, "groups of 4, 8 and 16, with the remap and without it"
    evaluated = {attempt.number for attempt in run.attempts if attempt.measurement}
    assert evaluated >= {row.attempt for row in run.by_hand[1:]}
    shown = words_of(face, run)
    assert all(name in shown for name in names)
    assert f"found: {run.best.candidate.name}" in shown if run.best else True
    assert re.search(
        r"Placement: .*a cache line of b_ptr is used on [\d.]+ → [\d.]+ of 8 XCDs", shown
    )


def test_an_estimated_placement_is_marked_as_such(run: Run) -> None:
    assert run.picture is not None
    estimated = replace(run, picture=replace(run.picture, sampled=True))
    assert "used on about " in placement(estimated)[0]
    assert "about" not in placement(run)[0]


def test_there_is_no_column_for_a_swizzle_that_was_not_found(run: Run) -> None:
    nothing = REPORT_FORMATS["md"](replace(run, best=None, attempts=(), nothing_to_gain=True))
    assert "| | unmodified |\n|---|---|\n| modelled time |" in nothing
    assert "attempt" not in nothing
    assert "| | before | after |\n|---|---|---|\n| modelled time |" in REPORT_FORMATS["md"](run)


def test_nearest_to_a_gain_is_the_attempt_with_most_hits(run: Run) -> None:
    base = replace(run.attempts[0], measurement=run.baseline)
    more = replace(run.baseline, l2_hit_rate=0.999)
    attempts = (
        replace(base, verdict=Verdict("no difference", "nothing at all")),
        replace(base, verdict=Verdict("no difference", "1.8 % less"), measurement=more),
        replace(base, verdict=Verdict("slower", "more time"), measurement=more),
    )
    text = output(replace(run, best=None, attempts=attempts))
    assert "Nearest to a gain: 1.8 % less." in text
    refused = replace(base, verdict=Verdict("unsafe order", "tiles 0 and 1"))
    assert "The first `unsafe order`: tiles 0 and 1." in output(
        replace(run, best=None, attempts=(*attempts, refused))
    )
