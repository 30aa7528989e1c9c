# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which kernels are searched, what each search may cost, and their edits as one."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from intelliperf_swizzle.edit import Edit, combine, unified_diff
from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.frontends.ports import KernelLanguage, RecordRequest
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.records import Measurement, MissCauses
from intelliperf_swizzle.search.deliver import combine_edits, kernel_row
from intelliperf_swizzle.search.plan import FEWEST_CANDIDATES, is_promising, plan_searches
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.subject import Subject
from intelliperf_swizzle.stopping import Interrupted


def edit_of(path: str, before: str, after: str) -> Edit:
    diff = unified_diff({path: before}, {path: after}, Path(path).parent)
    return Edit({path + after: after}, {path: after}, {path: before}, diff)


def test_edits_of_one_file_become_one(tmp_path: Path) -> None:
    path = str(tmp_path / "a.py")
    before = "".join(f"{line}\n" for line in "abcdefgh")
    one = edit_of(path, before, before.replace("b\n", "b\nB\n"))
    other = edit_of(path, before, before.replace("g\n", "G\n"))
    elsewhere = edit_of(str(tmp_path / "b.py"), "x\n", "y\n")
    both = combine([one, other, elsewhere], [tmp_path])
    assert both.files[path] == "a\nb\nB\nc\nd\ne\nf\nG\nh\n"
    assert both.files[str(tmp_path / "b.py")] == "y\n"
    for name in "ab":
        assert f"+++ b/{name}.py" in both.diff


def test_edits_that_touch_the_same_line_are_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "a.py")
    edits = [edit_of(path, "a\nb\nc\n", text) for text in ("a\nB\nc\n", "a\nbb\nc\n")]
    with pytest.raises(SpliceError, match=r"a\.py:2: two swizzles change this line"):
        combine(edits, [tmp_path])


@pytest.mark.parametrize(("code", "together"), [(0, True), (1, False)])
def test_edits_are_only_handed_over_together_if_the_users_test_passes_on_them(
    tmp_path: Path, code: int, together: bool
) -> None:
    path = tmp_path / "a.py"
    path.write_text("a\nb\nc\n")
    edits = [edit_of(str(path), "a\nb\nc\n", text) for text in ("A\nb\nc\n", "a\nb\nC\n")]
    seen: list[str] = []

    def record(request: RecordRequest) -> Any:
        seen.append((request.cwd / "a.py").read_text())
        return SimpleNamespace(exit_code=code)

    setup = replace(
        setup_of(unittest_command="make test"),
        project=tmp_path,
        language=cast(KernelLanguage, SimpleNamespace(record=record)),
    )
    outcomes: Any = [SimpleNamespace(edit=edit) for edit in edits]
    combined, notes = combine_edits(outcomes, setup)
    original = "a\nb\nc\n"
    assert seen == ([original, "A\nb\nC\n"] if together else [original])
    assert combined is not None
    assert (combined.files[str(path)] == "A\nb\nC\n") is together
    assert bool(notes) is not together


def subject(
    name: str, *, hits: float, ceiling: float, ms: float, imbalance: float | None = None,
    lines: int = 1000,
) -> Subject:  # fmt: skip
    """A kernel with only what a plan reads; all its time lies below the L2."""
    launch = SimpleNamespace(kernel=name, programs=64, tiles=64, count=1, place="app.py:7")
    baseline = Measurement(
        "model", "mi300x", hits, modelled_memory_time_ms=ms, l2_bytes=0, l2_requests=1000,
        imbalance=imbalance,
    )  # fmt: skip
    bound = SimpleNamespace(l2_hit_rate=ceiling)
    trace = SimpleNamespace(is_unknown=False, line_accesses=lines)
    traced = SimpleNamespace(launch=launch, trace=trace)
    parts: Any = (name, (launch,), (traced,), baseline, bound, ())
    return Subject(*parts)


def setup_of(**options: Any) -> RunContext:
    parts: Any = (Options(**options), (), Path(), None, load_target("mi300x"), None, None, None)
    return RunContext(*parts)


def test_a_kernel_at_its_ceiling_is_searched_if_its_last_workgroup_ends_late() -> None:
    late = subject("late", hits=0.5, ceiling=0.5, ms=10.0, imbalance=1.25)
    even = subject("even", hits=0.5, ceiling=0.5, ms=90.0, imbalance=1.0)
    assert [search.subject.kernel for search in plan_searches([even, late], setup_of())] == ["late"]


def test_kernels_are_searched_in_the_order_of_the_time_that_they_could_save() -> None:
    subjects = [
        subject("hopeless", hits=0.5, ceiling=0.505, ms=90.0),
        subject("rare", hits=0.0, ceiling=1.0, ms=0.1),
        subject("small", hits=0.0, ceiling=1.0, ms=10.0),
        subject("large", hits=0.5, ceiling=0.75, ms=60.0),
    ]
    searches = plan_searches(subjects, setup_of(candidates=300, budget=400))
    assert [search.subject.kernel for search in searches] == ["large", "small"]  # 30 ms, 10 ms
    assert [search.setup.options.candidates for search in searches] == [300, 100]
    assert [search.setup.share for search in searches] == pytest.approx([1, 1 / 3])


def test_a_kernel_alone_gets_all_candidates_and_a_search_is_never_too_short() -> None:
    [alone] = plan_searches([subject("a", hits=0.0, ceiling=0.5, ms=1.0)], setup_of())
    assert alone.setup.options.candidates == Options().candidates
    two = [subject(name, hits=0.0, ceiling=0.5, ms=ms) for name, ms in (("a", 99.0), ("b", 1.0))]
    assert plan_searches(two, setup_of())[1].setup.options.candidates == FEWEST_CANDIDATES


def test_a_search_that_takes_long_must_be_able_to_save_more_beside_others() -> None:
    replayed = {"a": 500_000_000, "b": 400_000_000, "c": 1000}  # line accesses
    subjects = [
        subject(name, hits=0.0, ceiling=0.5, ms=ms, lines=lines)
        for (name, lines), ms in zip(replayed.items(), (90.0, 6.0, 4.0), strict=True)
    ]

    def searched(**options: Any) -> list[str]:
        return [one.subject.kernel for one in plan_searches(subjects, setup_of(**options))]

    assert searched() == ["a", "c"]
    assert searched(all=True) == ["a", "b", "c"]
    on_gpu = plan_searches(subjects, replace(setup_of(), device=ON_GPU))
    assert [one.subject.kernel for one in on_gpu] == ["a", "b", "c"]


def test_a_kernel_whose_replays_take_long_gets_fewer_candidates() -> None:
    lines = {500_000_000: 100, 100_000_000: 400}
    for number, candidates in lines.items():
        [one] = plan_searches(
            [subject("a", hits=0.0, ceiling=0.5, ms=1.0, lines=number)], setup_of()
        )
        assert one.setup.options.candidates == candidates


def test_a_kernel_that_a_signal_left_out_is_not_reported_as_hopeless() -> None:
    left_out = subject("a", hits=0.0, ceiling=0.5, ms=1.0)
    row = kernel_row(left_out, Interrupted(signal.SIGTERM), 1.0, setup_of())
    assert (row.verdict, row.note) == ("", "not searched: interrupted by SIGTERM")
    little = kernel_row(left_out, None, 0.001, setup_of())
    assert (little.verdict, little.note) == ("too little time to save", None)


ON_GPU = cast(Any, SimpleNamespace(product="a test"))
TIME = cast(Any, SimpleNamespace(rank=("l2_hit_rate", "time")))


@pytest.mark.parametrize(
    ("hits", "ceiling", "capacity", "promising"),
    [(0.459, 0.470, 300, False), (0.96, 0.98, 600, True), (0.5, 0.667, 0, False),
     (0.5, 0.667, 100, True)],
)  # fmt: skip
def test_a_hopeless_kernel_is_neither_timed_nor_searched_unless_it_is_asked_for(
    hits: float, ceiling: float, capacity: int, promising: bool
) -> None:
    one = subject("a", hits=hits, ceiling=ceiling, ms=1.0)
    causes = MissCauses(("x",), 1000, 500, 0, capacity, 0)
    one = replace(one, baseline=replace(one.baseline, causes=(causes,), arithmetic_time_ms=0.1))
    for device in (None, ON_GPU):
        setup = replace(setup_of(), formula=TIME, device=device)
        assert is_promising(setup, one) is promising
        for options in (Options(all=True), Options(kernel="a")):
            assert is_promising(replace(setup, options=options), one)


def test_arithmetic_alone_is_no_reason_where_the_time_can_be_measured() -> None:
    one = subject("a", hits=0.0, ceiling=0.5, ms=1.0)
    one = replace(one, baseline=replace(one.baseline, arithmetic_time_ms=2.0))
    setup = replace(setup_of(), formula=TIME)
    assert not is_promising(setup, one)
    assert is_promising(replace(setup, device=ON_GPU), one)


def test_namesakes_and_their_histories_do_not_meet() -> None:
    two = [subject("a", hits=0.0, ceiling=0.5, ms=ms) for ms in (2.0, 1.0)]
    first, second = plan_searches(two, setup_of(history="runs/h.jsonl"))
    assert (first.folder, second.folder) == ("a", "a-2")
    assert first.setup.options.history == "runs/h.jsonl"
    assert second.setup.options.history == "runs/h.a-2.jsonl"


def test_if_no_kernel_is_worth_a_search_the_first_is_planned() -> None:
    two = [subject(name, hits=0.5, ceiling=0.5, ms=1.0) for name in ("a", "b")]
    [one] = plan_searches(two, setup_of())
    assert one.subject in two


@pytest.mark.parametrize(
    ("rank", "arithmetic_ms", "promising"),
    [
        (("l2_hit_rate", "time"), 1.1, True),
        (("l2_hit_rate", "time"), 1.25, False),
        (("l2_hit_rate", "memory_bytes"), 1.25, True),
    ],
)
def test_a_kernel_bound_by_arithmetic_is_not_searched_if_time_ranks(
    rank: tuple[str, ...], arithmetic_ms: float, promising: bool
) -> None:
    one = subject("a", hits=0.0, ceiling=0.5, ms=1.0)
    one = replace(one, baseline=replace(one.baseline, arithmetic_time_ms=arithmetic_ms))
    setup = replace(setup_of(), formula=cast(Any, SimpleNamespace(rank=rank)))
    assert is_promising(setup, one) is promising
