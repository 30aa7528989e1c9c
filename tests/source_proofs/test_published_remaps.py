# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Remaps inside kernels, as published: proved where they hold, refused with their tiles where not.

Captured from a running application without a GPU, as `prove --source` does.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture import capture
from intelliperf_swizzle.frontends.triton.source_proofs import (
    RemapVerdict,
    described,
    prove_launches,
)
from intelliperf_swizzle.frontends.triton.source_proofs.observation import UNDEFINED

APPLICATIONS = Path(__file__).parent / "applications"

HOLDS = {
    "figure_05 8 9": "`pid` (published_remaps.py:",
    "tritonblas 12 20 57": "takes each of 12 × 20 values once",
    "figure_07 64": "`pid` (published_remaps.py:",
    "figure_11 16 16": "`(pid_m, pid_n)`",
    "figure_13 64": "`pid`",
    "stream_k 304 400": "`tile`",
    "attention_forward 1 16 8": "`(head, block)`",
    "aiter_spatial 2 32 8 5": "`(head, block, batch)`",
    "aiter_gemm 10 9 0": "`(pid_m, pid_n)`",
    "aiter_gemm 10 9 2": "`(pid_m, pid_n)`",
    "group_m 12 20": "takes each of 12 × 20 values once",
    "persistent_gemm 20 20 304": "`(pid_m, pid_n)`",
    "hipkittens 12 9 5 3": "`(row, col)`",
    "helion 10 9": "`(pid_0, pid_1)`",
    "append 12": "takes each of 12 values, from 7 on, once",
    "flagged 12": "each element of `out` is stored exactly once",
    "split_k 4 4 2 0": "`(pid_k, pid_m, pid_n)` (published_remaps.py",
}
"""Launch -> what its evidence says."""

FAILS = {
    "figure_05 10 9": "never taken: pid = 35 47 59 71 83",
    "figure_06 640": "never computed: pid = 8 9 10 11 12 13 14 15 and 568 more",
    "figure_07 1024": "64 of 1024 tiles are computed",
    "figure_08 16 16": "128 of 256 tiles are computed",
    "figure_09 16 16": "16 of 256 tiles are computed",
    "figure_10 16 16": "32 of 256 tiles are computed",
    "figure_11 13 13": "never computed: pid_m, pid_n = (12, 12)",
    "figure_12 16 8": "128 programs do the work of 16",
    "figure_13 100": "never taken: pid = 64 65 66 67 68 69 70 71 and 28 more",
    "stream_k 228 400": "never taken: pid = 224 225 226 227",
    "stream_k 108 400": "never taken: pid = 104 105 106 107",
    "stream_k 132 400": "is 16 in programs 1 and 128",
    "ceiling_division 300 1000": "never taken: start = 189 227 265",
    "attention_forward 2 16 4": "64 of 128 tiles are computed",
    "attention_forward 1 12 64": "544 of 768 tiles are computed",
    "aiter_spatial 1 12 12 33": "352 of 396 tiles are computed",
    "aiter_spatial 1 28 4 33": "never computed: head, block = (6, 32) (13, 32) (20, 32) (27, 32)",
    "group_m_without_border 12 20": "200 of 240 tiles are computed",
    "persistent_gemm 20 20 228": "never taken: pid = 224 225 226 227",
    "split_k 4 4 2 1": "32 programs do the work of 16",
}
UNKNOWN = {
    "swapped_sides 4 8": "`out` (16 × 32): 256 of 512 elements (50.00 %)",
    "work_queue 30 30": "a branch depends on computed values, loaded from counter",
    "lower_triangle 8": "28 of 64 programs write nothing",
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RemapVerdict]:
    """Every launch above, recorded in one run of the application."""
    lines = [*HOLDS, *FAILS, *UNKNOWN]
    captured = capture(
        RecordRequest(
            [sys.executable, "published_remaps.py", ",".join(lines)],
            folder=tmp_path_factory.mktemp("records"),
            cwd=APPLICATIONS,
        )
    )
    assert len(captured.launches) == len(lines)
    return dict(zip(lines, prove_launches(captured.launches), strict=True))


@pytest.mark.parametrize(("launch", "evidence"), HOLDS.items())
def test_proved(verdicts: dict[str, RemapVerdict], launch: str, evidence: str) -> None:
    verdict = verdicts[launch]
    assert verdict.kind == "permutation", described(verdict)
    assert evidence in described(verdict)


@pytest.mark.parametrize(("launch", "evidence"), FAILS.items())
def test_refused_with_a_witness(
    verdicts: dict[str, RemapVerdict], launch: str, evidence: str
) -> None:
    verdict = verdicts[launch]
    assert verdict.kind == "not a permutation"
    assert str(UNDEFINED) not in described(verdict)
    assert evidence in described(verdict)


@pytest.mark.parametrize(("launch", "why"), UNKNOWN.items())
def test_not_told_where_it_cannot_be(
    verdicts: dict[str, RemapVerdict], launch: str, why: str
) -> None:
    assert verdicts[launch].kind == "not told"
    assert why in described(verdicts[launch])


def test_the_command_ends_with_1_and_says_which_line(tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "intelliperf_swizzle", "prove", "--source", "remap_functions.py",
        "-k", "attention_forward", "--", sys.executable, "published_remaps.py",
    ]  # fmt: skip
    finished = subprocess.run(
        [*command, "attention_forward 2 16 4"],
        cwd=APPLICATIONS,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert finished.returncode == 1
    source = (APPLICATIONS / "remap_functions.py").read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(source) if "wid_per_batch = wid // BATCH" in text)
    assert (
        f"`wid_per_batch` (remap_functions.py:{line}) is 0 in programs 0 and 1" in finished.stdout
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--source", "absent.py"], "there is no file absent.py"),
        (["--source", __file__], "no kernel that was launched is written in"),
        (["--source", "published_remaps.py", "-k", "other"], "launched no kernel `other`"),
        ([], "--source"),
    ],
)
def test_bad_input_ends_with_2(options: list[str], said: str) -> None:
    command = [sys.executable, "-m", "intelliperf_swizzle", "prove", *options, "--"]
    finished = subprocess.run(
        [*command, sys.executable, "published_remaps.py", "figure_07 8"],
        cwd=APPLICATIONS,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert finished.returncode == 2
    assert said in finished.stderr
