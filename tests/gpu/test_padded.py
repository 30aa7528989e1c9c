# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Longer rows, tried on copies of an application's tensors in its own process.

Without a GPU that process runs under Triton's interpreter; the marked tests run it on one.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from applications import STRIDED
from intelliperf_swizzle.frontends.ports import GpuOutcome, RecordRequest, load_language
from intelliperf_swizzle.frontends.triton.capture import capture
from intelliperf_swizzle.frontends.triton.capture.settings import gpu_of
from intelliperf_swizzle.frontends.triton.gpu import Rig
from intelliperf_swizzle.frontends.triton.trials import TritonOnGpu, why_not
from intelliperf_swizzle.hardware import devices, load_target
from intelliperf_swizzle.records import Launch, Padding, TensorArgument, longer_rows

WHERE = [False, pytest.param(True, marks=pytest.mark.gpu)]
PADDING = Padding(("x", "y"), 32, {"sx": 96, "sy": 96}, 2 * 23 * 32 * 4)
PAST_THE_END = ("inside = at < columns", "inside = row * sx + at < (rows - 1) * sx + 64")


def tried(folder: Path, on_gpu: bool, padding: Padding, text: str = STRIDED) -> GpuOutcome:
    """What comes of it in a process of the application."""
    (folder / "app.py").write_text(text)
    command = (sys.executable, "app.py")
    device = devices()[0] if on_gpu else None
    records = folder / "records" / "capture"
    [launch] = capture(RecordRequest(command, folder=records, cwd=folder, device=device)).launches
    gpu = None if on_gpu else gpu_of(load_target("h200"))
    rig = Rig(command, folder, folder / "trials", "a test", gpu=gpu, cache_bytes=1 << 18,
              goodbye_seconds=60.0)  # fmt: skip
    runs = TritonOnGpu(rig, [(launch, load_language().trace(launch))], 1e-6)
    runs.why_not_replayed = "a test of what is done in the application"
    return runs.time_padded(padding, None)


def printed(folder: Path) -> str:
    return (folder / "trials" / "trial-1" / "app.log").read_text()


@pytest.mark.parametrize("on_gpu", WHERE)
def test_longer_rows_leave_the_same_bytes_and_are_timed(tmp_path: Path, on_gpu: bool) -> None:
    outcome = tried(tmp_path, on_gpu, PADDING)
    assert outcome.refusal is None
    assert outcome.validation is not None
    assert outcome.validation.same_bits
    assert outcome.timing is not None
    assert outcome.timing.rounds >= 11
    ratio = outcome.timing.ratio
    assert 0 < ratio.low <= ratio.median <= ratio.high
    assert printed(tmp_path) == "x kept True y right True margin kept True\n"


@pytest.mark.parametrize("on_gpu", WHERE)
def test_a_kernel_that_reads_behind_its_rows_is_not_timed(tmp_path: Path, on_gpu: bool) -> None:
    outcome = tried(tmp_path, on_gpu, PADDING, STRIDED.replace(*PAST_THE_END))
    assert outcome.timing is None
    assert outcome.refusal is not None
    assert outcome.refusal[0] == "output differs"
    assert "`y` differs in" in outcome.refusal[1]
    assert "x kept True" in printed(tmp_path)


def test_a_stride_that_is_not_given_too_shows(tmp_path: Path) -> None:
    """The tensors really are laid out otherwise, and what is written there is what is compared."""
    outcome = tried(tmp_path, False, replace(PADDING, arguments={"sx": 96}))
    assert outcome.refusal is not None
    assert outcome.refusal[0] == "output differs"


def test_what_cannot_be_padded_is_not_run() -> None:
    x = TensorArgument(0, "fp32", (24, 64), (64, 1))
    y = replace(x, storage=1)

    def launch(**others: object) -> Launch:
        arguments = {"x": x, "y": y, "sx": 64, "sy": 64, **others}
        return Launch("k", None, (24, 1, 1), arguments, (), {}, {})  # type: ignore[arg-type]

    assert why_not(launch(), PADDING) is None
    reasons = {
        "`x` shares its memory": launch(other=x),
        "`x` is a view that begins": launch(x=replace(x, offset_bytes=256)),
        "rows of `y` overlap": launch(y=replace(y, strides=(32, 1))),
        "rows of `x` overlap": launch(x=replace(x, shape=(2, 24, 64), strides=(0, 64, 1))),
        "`x` is not passed as a tensor": launch(x=(x,)),
        "`sy` is not an integer": launch(sy=64.0),
    }
    for words, one in reasons.items():
        assert (why_not(one, PADDING) or "").startswith(words)


def test_what_holds_whole_rows_grows_with_them() -> None:
    assert longer_rows((2, 3, 8), (24, 8, 1), 4) == (36, 12, 1)
    assert longer_rows((8, 3), (1, 8), 4) == (1, 12)
