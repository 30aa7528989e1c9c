# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The benchmark applications are right, and their `--check` notices when they are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
RUNNER = Path(__file__).parent / "run_applications.py"

SMALL = {
    "attention": "--heads 4 --length 70 --head-dim 16",
    "batched_gemm": "--batch 3 --m 100 --n 70 --k 40 --block-m 32 --block-n 32 --block-k 16",
    "black_scholes": "--n-assets 10000",
    "conv_2d": (
        "--images 2 --height 9 --width 7 --channels 20 --filters 40"
        " --block-m 16 --block-n 16 --block-k 16"
    ),
    "elementwise": "--n 10000",
    "fdtd_2d": "--nx 100 --ny 70",
    "gemm": "--m 100 --n 70 --k 80 --block-m 32 --block-n 32 --block-k 32 --group-m 1",
    "gemm_stream_k": "--m 100 --n 70 --k 80 --block-m 32 --block-n 32 --block-k 16 --programs 9",
    "grouped_gemm": (
        "--tokens 100 --experts 4 --n 40 --k 40 --block-m 16 --block-n 16 --block-k 16"
    ),
    "layer_norm": "--m 10 --n 100",
    "smith_waterman": "--m 100 --n 70",
    "softmax": "--n-rows 10 --n-cols 100",
    "spmv": "--m 10 --n 300",
    "stencil_2d": "--m 100 --n 70",
    "transpose": "--m 100 --n 70",
    "window_attention": (
        "--heads 4 --kv-heads 2 --length 100 --head-dim 16 --window 30 --block-m 16 --block-n 16"
    ),
}
"""Sizes that are no multiples of the tile, and make a few more programs than a GPU has XCDs."""

FURTHER_OPTIONS = {
    "attention": [
        "--causal",
        "--kv-heads 2",
        "--kv-heads 1 --causal --batch 2",
        "--order block-first --batch 2",
        "--dtype float16",
        "--dtype float16 --causal",
        "--block-m 16 --block-n 32 --causal",
    ],
    "conv_2d": ["--taps 1"],
    "elementwise": ["--dtype float32", "--dtype bfloat16"],
    "gemm": ["--dtype float32", "--group-m 3"],
    "gemm_stream_k": ["--dtype float32", "--programs 12", "--programs 5", "--programs 100"],
    "layer_norm": ["--dtype float32", "--dtype bfloat16"],
    "softmax": ["--dtype float32", "--dtype bfloat16"],
    "spmv": ["--dtype float32", "--density 0", "--density 1"],
    "stencil_2d": ["--dtype float32"],
    "transpose": ["--dtype float32", "--repeat 2"],
    "window_attention": ["--window 1", "--window 200", "--block-n 32"],
}

PROGRAM_ID = "tl.program_id(axis=0)"
PROGRAMS = "tl.num_programs(axis=0)"
IN_COLUMN_0 = "(tl.program_id(axis=1) == 0)"
ONE_TILE_DROPPED = {
    "first": f"({PROGRAM_ID} + (({PROGRAM_ID} == 0) & {IN_COLUMN_0}).to(tl.int32))",
    "middle": (
        f"({PROGRAM_ID} - (({PROGRAM_ID} == {PROGRAMS} // 2) & {IN_COLUMN_0}).to(tl.int32))"
    ),
    "last": f"({PROGRAM_ID} - (({PROGRAM_ID} == {PROGRAMS} - 1) & {IN_COLUMN_0}).to(tl.int32))",
}
"""Where `PROGRAM_ID` is read, this makes one program compute its neighbour's tile instead."""
BACKWARDS = f"({PROGRAMS} - 1 - {PROGRAM_ID})"

WRONG_VALUES = {
    "attention": ("total = total * decay +", "total = total +"),
    "batched_gemm": ("matrix.to(tl.int64) * K", "(matrix // 2).to(tl.int64) * K"),
    "black_scholes": ("(diffusion + r * s)", "(diffusion + 0.9 * r * s)"),
    "conv_2d": ("down * WIDTH + right", "down * WIDTH"),
    "elementwise": ("x * y + z", "x * y"),
    "fdtd_2d": ("ey_right - ey -", "ey_right -"),
    "gemm": ("range(0, tl.cdiv(K, BLOCK_SIZE_K))", "range(1, tl.cdiv(K, BLOCK_SIZE_K))"),
    "gemm_stream_k": ("range(first, end)", "range(first, end - 1)"),
    "grouped_gemm": ("tl.load(expert_ptr + pid_m)", "0 * tl.load(expert_ptr + pid_m)"),
    "layer_norm": ("- mean * mean", "+ mean"),
    "smith_waterman": ("base1[:, None] ==", "base1[:, None] <="),
    "softmax": ("numerator / tl", "1.03 * numerator / tl"),
    "spmv": ("tl.sum(value * x,", "tl.sum(1.03 * value * x,"),
    "stencil_2d": ("0.125 * (up", "0.120 * (up"),
    "transpose": ("tl.store(y_ptrs, tl.trans(x)", "tl.store(y_ptrs, 1.001 * tl.trans(x)"),
    "window_attention": ("distance < WINDOW", "distance <= WINDOW"),
}


@dataclass(frozen=True)
class Case:
    application: str
    what: str
    script: Path
    options: str = ""
    passes: bool = True

    @property
    def command(self) -> str:
        return f"{self.script} --device cpu --check {SMALL[self.application]} {self.options}"


def replaced(text: str, old: str, new: str) -> list[str]:
    """The text with one occurrence replaced, for each occurrence."""
    parts = text.split(old)
    assert len(parts) > 1, f"{old} is not in the application"
    return [old.join(parts[:at]) + new + old.join(parts[at:]) for at in range(1, len(parts))]


def cases(application: str, folder: Path) -> list[Case]:
    script = KERNELS / f"{application}.py"
    text = script.read_text()
    found = [
        Case(application, options or "unmodified", script, options)
        for options in ("", *FURTHER_OPTIONS.get(application, ()))
    ]

    def edited(what: str, old: str, new: str, passes: bool) -> None:
        for number, variant in enumerate(replaced(text, old, new)):
            copy = folder / f"{application}_{what}_{number}.py"
            copy.write_text(variant)
            found.append(Case(application, f"{what} {number}", copy, passes=passes))

    edited("backwards", PROGRAM_ID, BACKWARDS, passes=True)
    for place, wrong in ONE_TILE_DROPPED.items():
        edited(f"{place}_tile_dropped", PROGRAM_ID, wrong, passes=False)
    edited("wrong_values", *WRONG_VALUES[application], passes=False)
    return found


def test_every_application_is_here() -> None:
    assert sorted(SMALL) == sorted(path.stem for path in KERNELS.glob("*.py"))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Case, dict[str, Any]]]:
    """How all cases of all applications end; one process runs them."""
    folder = tmp_path_factory.mktemp("applications")
    found = [case for application in SMALL for case in cases(application, folder)]
    done = subprocess.run(
        [sys.executable, str(RUNNER), *(case.command for case in found)],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(zip(found, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("application", SMALL)
def test_check_passes_on_every_order_of_the_tiles_and_notices_one_that_is_missing(
    outcomes: list[tuple[Case, dict[str, Any]]], application: str
) -> None:
    own = [pair for pair in outcomes if pair[0].application == application]
    assert len(own) >= 6
    for case, outcome in own:
        assert outcome["status"] == (0 if case.passes else 1), (case.what, outcome["text"])
        assert ("WRONG" in outcome["text"]) is not case.passes, (case.what, outcome["text"])
        assert len(outcome["text"].splitlines()) == 1, (case.what, outcome["text"])
