# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A resumed run takes over what an earlier one found only where it would find the same."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from intelliperf_swizzle.errors import HistoryError
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.hardware import Target, load_target
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.records import Candidate, Trace
from intelliperf_swizzle.search.examine import choose_kernel, record_application
from intelliperf_swizzle.search.plan import kernel_folder, open_history
from intelliperf_swizzle.search.setup import RunContext, prepare
from intelliperf_swizzle.search.subject import Subject

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
TARGET = replace(
    load_target("mi300x"), launch_us=0.0, l2_bytes_per_xcd=65536, l2_channels_per_xcd=1,
    l2_channel_bits=None, l2_set_bits=None, cus_per_xcd=4, llc_gb_s=500.0,
)  # fmt: skip
"""Small, and slow behind its L2s: what they save is time."""
GROUPED = Candidate(load_pattern("xcd-contiguous-grouped").bind(cols=16, group=3), "mine", "user")


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> RunContext:
    small = {"m": 512, "n": 512, "k": 64, "block-m": 32, "block-n": 32, "block-k": 32, "group-m": 1,
             "num-warps": 8}  # fmt: skip
    words = [word for name, value in small.items() for word in (f"--{name}", str(value))]
    command = (sys.executable, str(KERNELS / "gemm.py"), *words)
    options = Options(
        project_directory=str(tmp_path_factory.mktemp("project")), profiler="model",
        compute="never", num_attempts=3, validation_seconds=5.0,
    )  # fmt: skip
    return prepare(options, command, Silent(), target=TARGET)


@pytest.fixture(scope="module")
def subject(setup: RunContext) -> Iterator[Subject]:
    """A GEMM of 16 x 16 tiles."""
    with record_application(setup, Silent()) as recorded:
        yield choose_kernel(recorded, setup, Silent())


def test_what_was_found_to_gain_is_validated_again_with_the_same_proof(
    setup: RunContext, subject: Subject, tmp_path: Path, stages_on: Callable[..., Any]
) -> None:
    path = tmp_path / "history.jsonl"
    found = []
    for resume in (False, True):
        with stages_on(setup, path, subject, resume=resume) as stages:
            stages.screen(GROUPED)
            found.append(stages.decide())
            lines = path.read_bytes().count(b"\n")
    first, again = found
    assert first.verdict.kind == again.verdict.kind == "fewer L2 misses"
    assert first.validation == again.validation
    assert first.proof == again.proof
    assert lines == 1 + 3 + 3  # the run; screened, evaluated, validated; all that again


def test_a_kernel_of_the_same_name_in_another_application_has_another_folder(
    setup: RunContext, subject: Subject, tmp_path: Path
) -> None:
    other = replace(setup, command=(sys.executable, str(KERNELS / "transpose.py")))
    for name, context in (("gemm_kernel", setup), ("gemm_kernel-2", other)) * 2:
        folder = kernel_folder(tmp_path / subject.kernel, context, subject)
        assert folder == tmp_path / name
        with open_history(context, subject, [OfflineProposer()], folder, Silent()):
            pass


DROPS = "pid = pid // 2"
REVERSED = "pid = num_pids - 1 - pid"


@pytest.mark.parametrize("origin", ["user", "llm"])
def test_a_history_edited_by_hand_is_not_believed(
    setup: RunContext, subject: Subject, tmp_path: Path, stages_on: Callable[..., Any], origin: Any
) -> None:
    """Texts, rates, fingerprints, validations and verdicts of it are those of other attempts."""
    path = tmp_path / "history.jsonl"
    good = replace(GROUPED, origin=origin)
    with stages_on(setup, path, subject) as stages:
        stages.screen(good)
        winner = stages.decide()
        for number, text in enumerate((DROPS, REVERSED, "pid = pid +", "pid = pid"), 2):
            rate = replace(winner.measurement, l2_hit_rate=0.999)
            forged = replace(winner, number=number, candidate=replace(good, text=text))
            stages.history.record(
                replace(forged, measurement=rate, screened_l2_hit_rate=0.999, diff="--- forged\n")
            )
    with stages_on(setup, path, subject, resume=True) as stages:
        assert stages.decide() == winner
        attempts = stages.history.attempts
    _, drops, reverse, broken, same = attempts
    assert drops.verdict.kind == "not a permutation"
    assert broken.verdict.kind == "not a swizzle"
    for refused in (drops, broken):
        assert (refused.fingerprint, refused.proof, refused.validation) == (None, None, None)
    for harmless in (reverse, same):
        assert not harmless.verdict.gains
        assert harmless.fingerprint != winner.fingerprint
        assert harmless.diff is None
    assert all((attempt.screened_l2_hit_rate or 0) < 0.999 for attempt in attempts)
    assert all(
        attempt.measurement.l2_hit_rate < 0.999 for attempt in attempts if attempt.measurement
    )


def changed(subject: Subject, **fields: object) -> Subject:
    [one] = subject.traced
    assert isinstance(one.trace, Trace)
    return replace(subject, traced=(replace(one, trace=replace(one.trace, **fields)),))


@pytest.mark.parametrize(
    ("what", "target", "given", "moved"),
    [
        ("target", replace(TARGET, cus_per_xcd=8), {}, 0),
        ("tolerance", TARGET, {"accordo_absolute_tolerance": 0.5}, 0),
        ("unittest_command", TARGET, {"unittest_command": "true"}, 0),
        ("accesses", TARGET, {}, 1),
    ],
)
def test_a_history_under_other_circumstances_is_not_resumed(
    setup: RunContext,
    subject: Subject,
    tmp_path: Path,
    what: str,
    target: Target,
    given: dict[str, Any],
    moved: int,
) -> None:
    with open_history(setup, subject, [OfflineProposer()], tmp_path, Silent()):
        pass
    options = replace(setup.options, resume=True, **given)
    resumed = replace(setup, options=options, target=target)
    other = changed(subject, access_base=subject.traced[0].trace.access_base + moved)
    with (
        pytest.raises(HistoryError, match=f"its {what} differ"),
        open_history(resumed, other, [OfflineProposer()], tmp_path, Silent()),
    ):
        pass
