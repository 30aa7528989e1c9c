# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A resumed run takes over what an earlier one found only where it would find the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from intelliperf_swizzle.errors import HistoryError
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.hardware import Target, load_target
from intelliperf_swizzle.loop import Settings, choose, opened_history, recorded, tried
from intelliperf_swizzle.profile.choose import choose_profiler
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.records import Candidate, Trace
from intelliperf_swizzle.subject import Subject
from intelliperf_swizzle.workbench import Workbench

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
TARGET = replace(
    load_target("mi300x"), l2_bytes_per_xcd=65536, l2_channels_per_xcd=1,
    l2_channel_bits=None, l2_set_bits=None, cus_per_xcd=4,
)  # fmt: skip
PROFILER = choose_profiler("model", TARGET)
PARTIES = (PROFILER, OfflineProposer(), Silent())
GROUPED = Candidate(load_pattern("xcd-contiguous-grouped").bind(cols=16, group=3), "mine", "user")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    small = {"m": 512, "n": 512, "k": 64, "block-m": 32, "block-n": 32, "block-k": 32, "group-m": 1,
             "num-warps": 8}  # fmt: skip
    options = [word for name, value in small.items() for word in (f"--{name}", str(value))]
    command = (sys.executable, str(KERNELS / "gemm.py"), *options)
    folder = tmp_path_factory.mktemp("project")
    return Settings(command, folder, folder, compute="never", num_attempts=3)


@pytest.fixture(scope="module")
def subject(settings: Settings) -> Iterator[Subject]:
    """A GEMM of 16 x 16 tiles."""
    with recorded(settings, TARGET, Silent()) as captured:
        yield choose(captured, settings, TARGET, PROFILER, Silent())[0]


def test_what_was_found_better_is_validated_again_with_the_same_proof(
    settings: Settings, subject: Subject, tmp_path: Path
) -> None:
    settled = []
    for resume in (False, True):
        mine = replace(settings, history=tmp_path / "history.jsonl", resume=resume)
        with opened_history(mine, subject, TARGET, *PARTIES) as history:
            bench = Workbench(subject, TARGET, PROFILER, history, 1e-6, 5.0)
            trials = tried(mine, bench, Silent())
            [attempt] = trials([GROUPED])
            settled.append((trials.settle(attempt), trials.decide()))
            lines = history.path.read_bytes().count(b"\n")
    (first, chosen), (again, chosen_again) = settled
    assert first.verdict.kind == again.verdict.kind == "better"
    assert first.validation == again.validation
    assert (first.proof, first.proof.grids_checked) == (again.proof, again.proof.grids_checked)
    assert chosen == chosen_again == first
    assert lines == 1 + 3 + 3  # the run; screened, measured, validated; all that again


DROPS = "pid = pid // 2"
REVERSED = "pid = num_pids - 1 - pid"


@pytest.mark.parametrize("origin", ["user", "llm"])
def test_a_history_edited_by_hand_is_not_believed(
    settings: Settings, subject: Subject, tmp_path: Path, origin: Any
) -> None:
    """Texts, rates, fingerprints, validations and verdicts of it are those of other attempts."""
    mine = replace(settings, history=tmp_path / "history.jsonl")
    good = replace(GROUPED, origin=origin)
    with opened_history(mine, subject, TARGET, *PARTIES) as history:
        trials = tried(mine, Workbench(subject, TARGET, PROFILER, history, 1e-6, 5.0), Silent())
        trials([good])
        winner = trials.decide()
        assert winner is not None
        assert winner.measurement is not None
        for number, text in enumerate((DROPS, REVERSED, "pid = pid +", "pid = pid"), 2):
            rate = replace(winner.measurement, l2_hit_rate=0.999)
            forged = replace(winner, number=number, candidate=replace(good, text=text))
            history.record(
                replace(forged, measurement=rate, screened_l2_hit_rate=0.999, diff="--- forged\n")
            )
    with opened_history(replace(mine, resume=True), subject, TARGET, *PARTIES) as history:
        trials = tried(mine, Workbench(subject, TARGET, PROFILER, history, 1e-6, 5.0), Silent())
        assert trials.decide() == winner
        _, drops, reverse, broken, same = history.attempts
    assert drops.verdict.kind == "not a permutation"
    assert broken.verdict.kind == "not a swizzle"
    for refused in (drops, broken):
        assert (refused.fingerprint, refused.proof, refused.validation) == (None, None, None)
    for harmless in (reverse, same):
        assert harmless.verdict.kind != "better"
        assert harmless.fingerprint != winner.fingerprint
        assert harmless.diff is None
    assert all((one.screened_l2_hit_rate or 0) < 0.999 for one in history.attempts)
    assert all(one.measurement.l2_hit_rate < 0.999 for one in history.attempts if one.measurement)


def changed(subject: Subject, **fields: object) -> Subject:
    [one] = subject.traced
    assert isinstance(one.trace, Trace)
    return replace(subject, traced=(replace(one, trace=replace(one.trace, **fields)),))


@pytest.mark.parametrize(
    ("what", "target", "settings_changed", "moved"),
    [
        ("target", replace(TARGET, cus_per_xcd=8), {}, 0),
        ("tolerance", TARGET, {"tolerance": 0.5}, 0),
        ("unittest_command", TARGET, {"unittest_command": "true"}, 0),
        ("accesses", TARGET, {}, 1),
    ],
)
def test_a_history_under_other_circumstances_is_not_resumed(
    settings: Settings,
    subject: Subject,
    tmp_path: Path,
    what: str,
    target: Target,
    settings_changed: dict[str, object],
    moved: int,
) -> None:
    mine = replace(settings, history=tmp_path / "history.jsonl")
    with opened_history(mine, subject, TARGET, *PARTIES):
        pass
    resumed = replace(mine, resume=True, **settings_changed)  # type: ignore[arg-type]
    other = changed(subject, access_base=subject.traced[0].trace.access_base + moved)
    with (
        pytest.raises(HistoryError, match=f"its {what} differ"),
        opened_history(resumed, other, target, *PARTIES),
    ):
        pass
