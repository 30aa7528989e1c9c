# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is looked at before anything is tried."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytest_mock import MockerFixture

from intelliperf_swizzle.cli import main
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.records import Capture
from intelliperf_swizzle.report.sentences import message
from intelliperf_swizzle.search import examine
from intelliperf_swizzle.search.examine import add_configs, choose_kernel, examine_kernels
from intelliperf_swizzle.search.run import optimize
from intelliperf_swizzle.search.score import explain
from intelliperf_swizzle.search.setup import RunContext, prepare

OVER_THE_END = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) * 2)


x, y = (torch.ones(64 * 16, device="cuda") for _ in range(2))
scale[(64,)](x, y, B=16)
scale[(80,)](x, y, B=16)
"""
NAMESAKES = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + at, tl.load(x + at) * 2)


first = scale


@triton.jit
def scale(x, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + at, tl.load(x + at) * 3)


x = torch.ones(64 * 16, device="cuda")
first[(64,)](x, B=16)
scale[(32,)](x, B=16)
scale[(16,)](x, B=16)
"""


ROWS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def centre(x, WIDTH: tl.constexpr):
    at = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    row = tl.load(x + at)
    tl.store(x + at, row - tl.max(row))


centre[(8,)](torch.ones(8 * {width}, device="cuda"), WIDTH={width}, num_warps={warps})
"""


NOWHERE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, B: tl.constexpr):
    tl.load(x + tl.program_id(0) * B + tl.arange(0, B)) * 2


scale[(128,)](torch.ones(128 * 16, device="cuda"), B=16)
"""


TUNED = """\
import torch
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"B": b}, num_warps=2) for b in (16, 256, 1000000, 512)],
    key=["n"],
    prune_configs_by={"early_config_prune": lambda configs, nargs, **given: [
        one for one in configs if one.kwargs["B"] < nargs["n"]]},
)
@triton.heuristics({"HALF": lambda given: given["B"] // 2})
@triton.jit
def scale(x, y, n, B: tl.constexpr, HALF: tl.constexpr):
    for half in tl.static_range(2):
        at = tl.program_id(0) * B + half * HALF + tl.arange(0, HALF)
        tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


x, y = (torch.ones(1 << 16, device="cuda") for _ in range(2))
scale[lambda given: (triton.cdiv(x.numel(), given["B"]),)](x, y, x.numel())
"""


def setup_of(folder: Path, target: str = "mi300x", **options: Any) -> RunContext:
    asked = Options(project_directory=str(folder), profiler="model", target=target, **options)
    return prepare(asked, (sys.executable, "app.py"), Silent())


def capture_in(folder: Path, text: str) -> Capture:
    (folder / "app.py").write_text(text)
    command = [sys.executable, "app.py"]
    return capture(RecordRequest(command, folder=folder / "records", cwd=folder))


@pytest.fixture(scope="module")
def namesakes(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    folder = tmp_path_factory.mktemp("namesakes")
    return capture_in(folder, NAMESAKES + "raise SystemExit(3)\n")


def test_two_kernels_of_one_name_are_two_kernels(namesakes: Capture, tmp_path: Path) -> None:
    for kernel in (None, "scale"):
        setup = setup_of(tmp_path, kernel=kernel)
        subjects, untraced = examine_kernels(namesakes, setup, Silent())
        assert not untraced
        for subject in subjects:  # beside the verdict
            assert subject.cautions[0].startswith("the application ended with exit status 3")
        grids = [[launch.grid[0] for launch in subject.launches] for subject in subjects]
        assert sorted(grids) == [[32, 16], [64]]


def test_configurations_of_a_tuned_kernel_are_ranked_where_nothing_times_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mocker: MockerFixture
) -> None:
    captured = capture_in(tmp_path, TUNED)
    setup = setup_of(tmp_path)
    kernel = choose_kernel(captured, setup, Silent())
    subject = add_configs(kernel, setup, Silent())
    grids = [config["grid"][0] for config in subject.launches[0].tuned]
    assert grids == [4096, 256, 128], "with the grid of each, and none that pruning leaves out"
    (note,) = [text for text in subject.notes if "is tuned" in text]
    assert "all numbers are of number 1 (B=16) of 4, the first that its pruning leaves" in note
    ranked = re.findall(r"number (\d) \(B=\d+\) ([\d.e+]+) µs", note)
    assert {number for number, _ in ranked} <= {"1", "2", "4"}
    assert (f"not ranked: {3 - len(ranked)}" in note) == (len(ranked) < 3)
    times = [float(time) for _, time in ranked]
    assert times == sorted(times)
    monkeypatch.setattr(examine, "RANKING_LINES", 0)
    progress = mocker.Mock()
    (note,) = [text for text in add_configs(kernel, setup, progress).notes if "is tuned" in text]
    assert note.count("not ranked: 3") == 1, "where few could be ranked, none is traced"
    timed = replace(kernel, baseline=replace(kernel.baseline, time_ms=1.0))
    (note,) = [text for text in add_configs(timed, setup, progress).notes if "is tuned" in text]
    assert "of 4, the fastest; a patch" in note, "on a GPU, though its kernel is not searched there"
    assert not progress.phase.called, "nor reported as such"


def test_a_tuner_leaves_what_its_own_model_of_times_ranks_first(tmp_path: Path) -> None:
    begin, end = TUNED.index("    prune_configs_by"), TUNED.index(")\n@triton.heuristics")
    asked = '    prune_configs_by={"perf_model": lambda B, **given: abs(B - 300), "top_k": 2},\n'
    (launch,) = capture_in(tmp_path, TUNED[:begin] + asked + TUNED[end:]).launches
    assert [config["B"] for config in launch.configs] == [16, 256, 1000000, 512]
    assert [config["B"] for config in launch.tuned] == [256, 512]


def test_kernels_for_which_a_limit_leaves_no_time_have_a_row(
    namesakes: Capture, tmp_path: Path, mocker: MockerFixture
) -> None:
    mocker.patch("intelliperf_swizzle.search.examine.left", side_effect=[None, 0.0])
    subjects, [row] = examine_kernels(namesakes, setup_of(tmp_path), Silent())
    assert len(subjects) == 1
    assert row.note == "75% of --seconds were over before it was traced"


def test_accesses_out_of_bounds_are_reported_beside_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(OVER_THE_END)
    setup = setup_of(tmp_path, candidates=1)
    run = optimize(setup, [OfflineProposer()], tmp_path / "out").run
    [caution] = run.cautions
    # 16 tiles read 16 floats each from what follows `x`, and write them after `y`
    assert caution.startswith("16 of 144 tiles access 512 elements outside every tensor")
    assert caution in message(run)
    heard = Heard()
    explain(setup, heard)
    assert caution in heard.notes


def test_what_writes_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(NOWHERE)
    with pytest.raises(TraceError, match="`scale` writes to none of its tensors"):
        optimize(setup_of(tmp_path), [OfflineProposer()], tmp_path / "out")


def test_the_command_lists_kernels_of_which_not_one_can_be_traced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "app.py").write_text(NOWHERE)
    folder = ["-p", str(tmp_path)]
    assert main([*folder, "--", sys.executable, "app.py"]) == 0
    shown = capsys.readouterr()
    assert "no kernel can be traced: no verdict and no result file" in shown.err
    assert re.search(r"scale +\d+ .*`scale` writes to none of its tensors", shown.out)
    assert "app.py:" in shown.out
    assert "with other inputs" in shown.err
    asked = tmp_path / "result.json"  # which is not written, so the command has failed
    assert main([*folder, "-o", str(asked), "--", sys.executable, "app.py"]) == 1
    assert "error: `scale` writes to none of its tensors" in capsys.readouterr().err
    assert not asked.exists()


class Heard(Silent):
    """Keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)


def test_a_file_that_cannot_be_edited_is_modelled_and_not_searched(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_bytes(
        b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + NAMESAKES.encode()
    )
    outcome = optimize(setup_of(tmp_path), [OfflineProposer()], tmp_path / "out")
    for row in outcome.run.kernels:
        assert row.baseline_l2_hit_rate is not None
        assert row.ceiling_l2_hit_rate is not None
        assert re.search("is not UTF-8; .* of 100 requests miss", row.outcome)
    assert outcome.combined is None
    assert "Nothing was tried" in message(outcome.run)
    assert "no swizzle can be put into its source" in message(outcome.run)


@pytest.mark.parametrize(("target", "width"), [("mi300x", 1 << 15), ("h100", 1 << 13)])
def test_a_kernel_that_spills_registers_is_marked(tmp_path: Path, target: str, width: int) -> None:
    """A row of 512 or 256 numbers a lane is too much for one warp, and not for sixteen."""
    for warps in (1, 16):
        (tmp_path / f"rows_{warps}.py").write_text(ROWS.format(width=width, warps=warps))
    command = [sys.executable, "-c", "import rows_1, rows_16"]
    records, loaded = tmp_path / "records", load_target(target)
    captured = capture(
        RecordRequest(command, folder=records, cwd=tmp_path, compute="never", target=loaded)
    )
    subjects, _ = examine_kernels(captured, setup_of(tmp_path, target), Silent())
    found = {Path(subject.launches[0].source.file).stem: subject.cautions for subject in subjects}
    [caution] = found["rows_1"]
    assert "register spilling (" in caution
    assert found["rows_16"] == ()
