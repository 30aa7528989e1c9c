# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The order of merit, and the guard before it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from intelliperf_swizzle.mapping import conditional
from intelliperf_swizzle.rank import (
    contenders,
    could_still_win,
    distinct,
    finalists,
    judge,
    order,
    shortest,
    text_length,
)
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Interval,
    Measurement,
    Timing,
    Verdict,
)

BASELINE = Measurement("model", "mi300x", 0.55, modelled_memory_time_ms=1.0, memory_bytes=100)


def attempt(number: int, rate: float, memory: int = 100, text: str = "pid = pid") -> Attempt:
    return Attempt(
        number,
        Candidate(text, f"nest {number}", "search"),
        Verdict("better", ""),
        measurement=replace(BASELINE, l2_hit_rate=rate, memory_bytes=memory),
    )


@pytest.mark.parametrize(
    ("rate", "time_ms", "kind"),
    [
        (0.79, 0.9, "better"),
        (0.79, 1.12, "slower"),
        (0.79, 0.985, "no difference"),
        (0.79, 1.005, "no difference"),
        (0.40, 1.0, "worse"),
        (0.552, 1.0, "no difference"),
        (0.79, None, "fewer L2 misses"),
    ],
)
def test_a_higher_hit_rate_counts_only_without_loss_of_time(
    rate: float, time_ms: float | None, kind: str
) -> None:
    measured = replace(BASELINE, l2_hit_rate=rate, modelled_memory_time_ms=time_ms)
    assert judge(measured, BASELINE).kind == kind


def test_what_cannot_win_any_more_is_out_of_reach() -> None:
    """A replay exceeds its screened rate by 0.02, so one screened at 0.786 may reach 0.806."""
    measured = [
        replace(attempt(1, 0.80), screened_l2_hit_rate=0.84),
        replace(attempt(2, 0.72), screened_l2_hit_rate=0.70),
    ]
    waiting = [
        replace(attempt(number, 0.0), measurement=None, screened_l2_hit_rate=rate)
        for number, rate in enumerate((0.79, 0.786, 0.784), 3)
    ]
    assert [ranked_attempt.number for ranked_attempt in could_still_win(waiting, measured)] == [
        3,
        4,
    ]
    assert could_still_win(waiting, measured[:1]) == [], "none has exceeded it"
    worse = [replace(ranked_attempt, verdict=Verdict("slower", "")) for ranked_attempt in measured]
    assert could_still_win(waiting, worse) == waiting
    assert [
        ranked_attempt.number for ranked_attempt in could_still_win(waiting, worse, needed=0.806)
    ] == [3, 4]
    assert could_still_win(waiting, [], needed=0.9) == waiting, "none is replayed yet"
    assert could_still_win(waiting, measured, ("time", "l2_hit_rate")) == waiting


def test_measured_time_decides_before_modelled_time() -> None:
    baseline = replace(BASELINE, profiler="ncu", time_ms=2.0)
    faster = replace(baseline, l2_hit_rate=0.7, time_ms=1.5, modelled_memory_time_ms=9.0)
    assert judge(faster, baseline).kind == "better"
    assert (
        judge(replace(faster, time_ms=2.5, modelled_memory_time_ms=0.1), baseline).kind == "slower"
    )


def test_hit_rate_leads_in_steps_of_the_noise_band_then_memory_bytes() -> None:
    ranked = order(
        [
            attempt(1, 0.700, memory=50),
            attempt(2, 0.701, memory=40),
            attempt(3, 0.80, memory=90),
            attempt(4, 0.60, memory=1),
        ]
    )
    assert [ranked_attempt.number for ranked_attempt in ranked] == [3, 2, 1, 4]


def test_a_shorter_text_wins_between_equals_and_the_order_does_not_depend_on_the_input() -> None:
    equals = [
        attempt(1, 0.7, text="pid = pid + 10"),
        attempt(2, 0.7),
        attempt(3, 0.7, text="pid = pid + 1"),
    ]
    for shuffled in itertools.permutations(equals):
        assert [ranked_attempt.number for ranked_attempt in order(shuffled)] == [2, 3, 1]


def test_of_equals_a_named_pattern_wins_over_a_shorter_text_that_the_search_has_found() -> None:
    found, named = attempt(1, 0.7), attempt(2, 0.7, text="pid = pid + 0")
    named = replace(named, candidate=replace(named.candidate, origin="pattern"))
    assert [ranked_attempt.number for ranked_attempt in order([found, named])] == [2, 1]
    assert order([attempt(3, 0.71), named])[0].number == 3


def test_a_formula_may_rank_by_modelled_time_first() -> None:
    slower, faster = attempt(1, 0.9), attempt(2, 0.8)
    assert faster.measurement is not None
    quick = replace(faster.measurement, modelled_memory_time_ms=0.95)
    both = [slower, replace(faster, measurement=quick)]
    assert [ranked_attempt.number for ranked_attempt in order(both)] == [1, 2]
    assert [ranked_attempt.number for ranked_attempt in order(both, ("time", "l2_hit_rate"))] == [
        2,
        1,
    ]


def test_the_modelled_time_of_all_levels_comes_first_unless_a_rank_leaves_time_out() -> None:
    both = [
        replace(
            ranked_attempt,
            measurement=replace(
                ranked_attempt.measurement, overlapped_time_ms=time_ms, fabric_bytes=0
            ),
        )
        for ranked_attempt, time_ms in ((attempt(1, 0.9), 1.0), (attempt(2, 0.8), 0.95))
        if ranked_attempt.measurement is not None
    ]
    assert [ranked_attempt.number for ranked_attempt in order(both)] == [2, 1]
    assert [
        ranked_attempt.number for ranked_attempt in order(both, ("l2_hit_rate", "memory_bytes"))
    ] == [1, 2]


def test_hits_do_not_count_where_the_fastest_waits_for_the_l2() -> None:
    """Of two within 1 % of the time the shorter text leads, not the one with more hits."""
    first, second = attempt(1, 0.8), attempt(2, 0.9)
    for longest, leader in (("memory", 2), ("arithmetic", 2), ("L2", 1)):
        both = [
            replace(
                ranked_attempt,
                measurement=replace(
                    ranked_attempt.measurement,
                    overlapped_time_ms=ms,
                    longest=longest,
                    fabric_bytes=0,
                ),
            )
            for ranked_attempt, ms in ((first, 1.0), (second, 1.005))
            if ranked_attempt.measurement is not None
        ]
        assert order(both)[0].number == leader


def test_less_time_of_all_levels_is_better_at_the_same_hit_rate() -> None:
    before = Measurement("model", "", 0.5, modelled_memory_time_ms=2.0, overlapped_time_ms=1.5)
    for time_ms, kind in ((1.4, "better"), (1.49, "no difference"), (1.6, "slower")):
        verdict = judge(replace(before, overlapped_time_ms=time_ms), before)
        assert verdict.kind == kind
        assert kind == "no difference" or "modelled time" in verdict.reason


def test_what_is_refused_or_not_measured_is_not_ranked() -> None:
    refused = replace(attempt(1, 0.99), verdict=Verdict("output differs", "tile 3"))
    unmeasured = replace(attempt(2, 0.99), measurement=None)
    slower = replace(attempt(3, 0.99), verdict=Verdict("slower", ""))
    assert order([refused, unmeasured, slower, attempt(4, 0.6)]) == [attempt(4, 0.6)]


def test_finalists_are_the_best_and_the_best_of_each_family() -> None:
    def screened(number: int, rate: float, name: str) -> Attempt:
        return Attempt(
            number,
            Candidate("pid = pid", name, "pattern"),
            Verdict("screened out", ""),
            screened_l2_hit_rate=rate,
        )

    flock = [screened(n, 0.9 - n / 1000, f"window w={n}") for n in range(10)]
    others = [screened(10, 0.5, "snake"), screened(11, 0.4, "rows a=1"), screened(12, 0.3, "rows")]
    chosen = finalists([*flock, *others], places=6)
    assert [ranked_attempt.number for ranked_attempt in chosen] == [0, 1, 2, 3, 10, 11]
    assert finalists([*flock, *others], places=50) == [*flock[:10], *others]


def test_orders_of_a_family_that_the_screen_takes_for_one_are_one() -> None:
    def screened(number: int, rate: float | None, family: str = "share") -> Attempt:
        named = Candidate("pid = pid", f"nest 0:{number} 1:4 {family}", "search")
        return replace(attempt(number, 0.5), candidate=named, screened_l2_hit_rate=rate)

    rates = {1: 0.8, 2: 0.8 + 1e-5, 3: 0.8 - 3e-5, 4: 0.7, 5: 0.7, 6: None}
    tried = [*(screened(n, rate) for n, rate in rates.items()), screened(7, 0.7, "chunk 8")]
    assert [ranked_attempt.number for ranked_attempt in distinct(tried)] == [2, 3, 4, 7]


def predicted(
    number: int, name: str, rate: float, screened: float, origin: str = "pattern"
) -> Attempt:
    measurement = Measurement("model", "a GPU", rate, modelled_memory_time_ms=1.0)
    return Attempt(
        number,
        Candidate("pid = pid", name, origin),  # type: ignore[arg-type]
        Verdict("screened out", ""),
        screened_l2_hit_rate=screened,
        predicted=measurement if rate else None,
    )


def test_contenders_are_the_best_predictions_and_the_best_of_every_kind() -> None:
    baseline = Measurement("model", "a GPU", 0.5, modelled_memory_time_ms=1.0)
    attempts = [
        predicted(1, "nest 0:16 chunk 8", 0.90, 0.90, "search"),
        predicted(2, "nest 0:16 chunk 16", 0.89, 0.89, "search"),
        predicted(3, "grouped-rows group=8", 0.80, 0.80),
        predicted(4, "hilbert", 0, 0.60),
        predicted(5, "snake", 0, 0.55),
        predicted(6, "snake cols=2", 0, 0.54),
    ]
    names = [contender.candidate.name for contender in contenders(attempts, baseline, 5)]
    assert names[:2] == ["nest 0:16 chunk 8", "grouped-rows group=8"]
    assert set(names[3:]) == {"hilbert", "snake"}
    assert len(contenders(attempts, baseline, 50)) == 6


def test_what_people_try_by_hand_has_a_place_with_any_prediction() -> None:
    baseline = Measurement("model", "a GPU", 0.5, modelled_memory_time_ms=1.0)
    flock = [predicted(n, f"window w={n}", 0.9, 0.9 - n / 1000) for n in range(30)]
    by_hand = [predicted(40 + n, f"grouped-rows cols=3 group={n}", 0, 0.1) for n in (4, 8, 12, 32)]
    chosen = contenders([*flock, *by_hand], baseline, 8, {44, 48})
    assert {ranked_attempt.number for ranked_attempt in chosen if ranked_attempt.number >= 40} == {
        44,
        48,
    }


def timed(
    rate: float, low: float, median: float, high: float, profiler: str = "ncu"
) -> Measurement:
    one = Interval(1.0, 1.0, 1.0)
    timing = Timing("a GPU", one, one, Interval(median, low, high), 50)
    return Measurement(profiler, "a GPU", rate, time_ms=median, timing=timing)


@pytest.mark.parametrize(
    ("measured", "kind"),
    [
        (timed(0.9, 1.02, 1.03, 1.04), "slower"),
        (timed(0.9, 0.90, 0.91, 0.92), "better"),
        (timed(0.4, 0.90, 0.91, 0.92), "better"),
        (timed(0.9, 0.98, 1.00, 1.01), "within noise"),
        (timed(0.9, 1.001, 1.002, 1.003), "within noise"),
        (timed(0.9, 0.961, 1.012, 1.06), "within noise"),
        (timed(0.9, 0.98, 1.00, 1.01, "model"), "within noise"),
        (timed(0.5, 0.98, 1.00, 1.01), "within noise"),
        (timed(0.4, 0.98, 1.00, 1.01), "within noise"),
    ],
)
def test_measured_times_decide_with_any_hit_rate(measured: Measurement, kind: str) -> None:
    verdict = judge(measured, Measurement(measured.profiler, "a GPU", 0.5, time_ms=1.0))
    assert verdict.kind == kind
    assert "time" in verdict.reason


@pytest.mark.parametrize(("slow", "first"), [(0.904, 2), (0.907, 1)])
def test_timed_attempts_are_ordered_by_half_a_percent_then_by_hit_rate(
    slow: float, first: int
) -> None:
    measured = timed(0.6, 0.89, 0.90, 0.91), timed(0.9, slow, slow, slow)
    attempts = [
        replace(
            predicted(number, "snake", 0.5, 0.5),
            measurement=ranked_attempt,
            verdict=Verdict("better", ""),
        )
        for number, ranked_attempt in enumerate(measured, 1)
    ]
    assert order(attempts)[0].number == first


UNEVEN = replace(BASELINE, imbalance=1.2)


@pytest.mark.parametrize(
    ("rate", "imbalance", "kind"),
    [
        (0.55, 1.0, "better"),
        (0.50, 1.0, "better"),
        (0.55, 1.195, "no difference"),
        (0.60, 1.195, "no difference"),
        (0.60, 1.15, "better"),
        (0.79, 1.3, "slower"),
    ],
)
def test_where_workgroups_differ_in_work_the_last_ones_end_counts(
    rate: float, imbalance: float, kind: str
) -> None:
    assert judge(replace(UNEVEN, l2_hit_rate=rate, imbalance=imbalance), UNEVEN).kind == kind


def test_where_workgroups_differ_in_work_time_comes_first() -> None:
    def with_end(ranked_attempt: Attempt, imbalance: float | None) -> Attempt:
        assert ranked_attempt.measurement is not None
        return replace(
            ranked_attempt, measurement=replace(ranked_attempt.measurement, imbalance=imbalance)
        )

    hits, balanced = attempt(1, 0.9), attempt(2, 0.8)
    even = [with_end(hits, None), with_end(balanced, None)]
    assert [ranked_attempt.number for ranked_attempt in order(even)] == [1, 2]
    uneven = [with_end(hits, 1.1), with_end(balanced, 1.01)]
    assert [ranked_attempt.number for ranked_attempt in order(uneven)] == [2, 1]


def test_orders_that_start_heavy_have_a_place_among_the_finalists() -> None:
    def screened(number: int, name: str, rate: float) -> Attempt:
        one = attempt(number, 0.5)
        named = Candidate("pid = pid", name, "search")
        return replace(one, candidate=named, screened_l2_hit_rate=rate)

    tried = [screened(n, f"nest 0:{n} chunk {n}", 0.9 - n / 100) for n in range(1, 20)]
    tried.append(screened(20, "nest 1:4 0:4 share down 0", 0.1))
    assert 20 in [finalist.number for finalist in finalists(tried, 8)]


@pytest.mark.parametrize(("time_ms", "kind"), [(0.985, "no difference"), (0.975, "better")])
def test_less_than_the_models_error_is_no_difference(time_ms: float, kind: str) -> None:
    assert judge(replace(BASELINE, modelled_memory_time_ms=time_ms), BASELINE).kind == kind


def test_arithmetic_bounds_what_fewer_misses_save() -> None:
    before = replace(BASELINE, arithmetic_time_ms=0.99)
    after = replace(before, l2_hit_rate=0.79, modelled_memory_time_ms=0.5)
    assert judge(after, before).kind == "no difference"
    assert judge(replace(after, arithmetic_time_ms=0.8), before).kind == "better"


def test_of_what_the_model_cannot_tell_apart_the_shortest_text_is_taken() -> None:
    long, short = attempt(1, 0.794, text="pid = pid + 0 * pid"), attempt(2, 0.778)
    worse = attempt(3, 0.70, text="pid=pid")
    assert shortest([long, short, worse]) == short
    slow = replace(short.measurement, modelled_memory_time_ms=1.05)
    assert shortest([long, replace(short, measurement=slow)]) == long


@pytest.mark.parametrize(
    ("rate", "time_ms", "kind"),
    [
        (0.644, 0.985, "fewer L2 misses"),
        (0.57, 0.5, "no difference"),
        (0.644, 1.02, "slower"),
        (0.54, 0.9, "worse"),
    ],
)
def test_if_the_model_claims_no_time_hits_decide(rate: float, time_ms: float, kind: str) -> None:
    measured = replace(BASELINE, l2_hit_rate=rate, modelled_memory_time_ms=time_ms)
    assert judge(measured, BASELINE, tells_time=False).kind == kind


def test_less_imbalance_is_not_better_if_the_model_claims_no_time() -> None:
    even = replace(UNEVEN, imbalance=1.0)
    assert judge(even, UNEVEN).kind == "better"
    verdict = judge(even, UNEVEN, tells_time=False)
    assert (verdict.kind, "no claim about time" in verdict.reason) == ("less imbalance", True)


@pytest.mark.parametrize(
    ("rate", "imbalance", "kind"),
    [
        (0.55, 1.3, "no difference"),  # as uneven as before: it is the last-level cache that hits
        (0.56, 1.3, "no difference"),
        (0.56, 1.0, "less imbalance"),
        (0.64, 1.3, "fewer L2 misses"),
        (0.64, 1.0, "fewer L2 misses"),
    ],
)
def test_what_fell_is_named_if_the_model_claims_no_time(
    rate: float, imbalance: float, kind: str
) -> None:
    before = replace(BASELINE, imbalance=1.3)
    after = replace(before, l2_hit_rate=rate, imbalance=imbalance, modelled_memory_time_ms=0.9)
    assert judge(after, before, tells_time=False).kind == kind


def test_hits_that_may_save_nothing_are_not_claimed_if_the_model_claims_no_time() -> None:
    fewer = replace(BASELINE, l2_hit_rate=0.9)
    verdict = judge(fewer, BASELINE, launch_ms=1.1, tells_time=False)
    assert (verdict.kind, "less than launching takes" in verdict.reason) == ("no difference", True)
    bound = replace(BASELINE, arithmetic_time_ms=1.5)
    verdict = judge(replace(fewer, arithmetic_time_ms=1.5), bound, tells_time=False)
    assert (verdict.kind, "bound by arithmetic" in verdict.reason) == ("no difference", True)


def test_less_than_launching_takes_is_no_gain() -> None:
    faster = replace(BASELINE, modelled_memory_time_ms=0.5)
    assert judge(faster, BASELINE, launch_ms=0.9).kind == "better"
    verdict = judge(faster, BASELINE, launch_ms=1.1)
    assert verdict.kind == "no difference"
    assert verdict.reason.endswith("500 µs is less than launching takes")
    assert judge(BASELINE, faster, launch_ms=1.1).kind == "slower"


def test_a_guard_does_not_count_as_length_so_that_a_resumed_run_chooses_the_same() -> None:
    text = "d = pid % (num_pids // cdiv(N, BLOCK)) - 1\npid = (pid - d) + d"
    bare, guarded = (
        attempt(1, 0.7, text=given).candidate
        for given in (text, conditional(text, ("pid",), "num_pids == 64"))
    )
    assert guarded.text != bare.text
    assert text_length(guarded) == text_length(bare)
