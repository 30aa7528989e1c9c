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
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.source_proofs.entry_points import prove_launches
from intelliperf_swizzle.frontends.triton.source_proofs.judge import RemapVerdict
from intelliperf_swizzle.report.sentences import describe_remap

APPLICATIONS = Path(__file__).parent / "applications"

HOLDS = (
    "figure_05 8 9", "tritonblas 12 20 57", "figure_07 64", "figure_11 16 16", "figure_13 64",
    "stream_k 304 400", "attention_forward 1 16 8", "aiter_spatial 2 32 8 5",
    "aiter_gemm 10 9 0", "aiter_gemm 10 9 2", "group_m 12 20", "persistent_gemm 20 20 304",
    "hipkittens 12 9 5 3", "helion 10 9", "flagged 12",
)  # fmt: skip
FAILS = {
    "figure_06 640": "640 programs do the work of 64",
    "figure_07 1024": "1024 programs do the work of 64",
    "figure_08 16 16": "256 programs do the work of 128",
    "figure_09 16 16": "256 programs do the work of 16",
    "figure_10 16 16": "256 programs do the work of 32",
    "figure_11 13 13": "16 of 2704 elements (0.59 %) are written by no program, within",
    "figure_12 16 8": "128 programs do the work of 16",
    "stream_k 228 400": "programs 1 and 224 access the same addresses",
    "stream_k 108 400": "programs 1 and 104 access the same addresses",
    "stream_k 132 400": "programs 1 and 128 access the same addresses",
    "ceiling_division 300 1000": "elements are stored by several programs (published_remaps.py:",
    "attention_forward 2 16 4": "128 programs do the work of 64",
    "attention_forward 1 12 64": "768 programs do the work of 544",
    "aiter_spatial 1 12 12 33": "396 programs do the work of 352",
    "aiter_spatial 1 28 4 33": "924 programs do the work of 920",
    "persistent_gemm 20 20 228": "programs 1 and 224 access the same addresses",
    "split_k 4 4 2 1": "32 programs do the work of 16",
}
"""Launch -> what its verdict says."""
UNKNOWN = {
    "swapped_sides 4 8": "`out` (16 × 32): 256 of 512 elements (50.00 %)",
    "work_queue 30 30": "depends on what is not known: the order of the programs",
    "lower_triangle 8": "28 of 64 programs write nothing",
    "append 12": "416 of 512 elements (81.25 %) are written by no program",
    "split_k 4 4 2 0": "2 of 258 elements (0.78 %) are written by no program",
    "figure_05 10 9": "5 of 90 programs write nothing",
    "figure_13 100": "288 elements are written outside every tensor",
    "group_m_without_border 12 20": "40 of 240 programs write nothing",
}
"""Undecided, and why."""


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


@pytest.mark.parametrize("launch", HOLDS)
def test_proved(verdicts: dict[str, RemapVerdict], launch: str) -> None:
    verdict = verdicts[launch]
    assert verdict.kind == "permutation", describe_remap(verdict)
    assert "`out` is stored exactly once" in describe_remap(verdict)


@pytest.mark.parametrize(("launch", "evidence"), FAILS.items())
def test_refused_with_a_witness(
    verdicts: dict[str, RemapVerdict], launch: str, evidence: str
) -> None:
    verdict = verdicts[launch]
    assert verdict.kind == "not a permutation"
    assert evidence in describe_remap(verdict)


@pytest.mark.parametrize(("launch", "why"), UNKNOWN.items())
def test_undecided_where_it_must_be(
    verdicts: dict[str, RemapVerdict], launch: str, why: str
) -> None:
    assert verdicts[launch].kind == "undecided"
    assert why in describe_remap(verdicts[launch])


def test_the_command_ends_with_1_and_lists_the_programs(tmp_path: Path) -> None:
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
    assert "programs 0 and 1 access the same addresses" in finished.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--source", "absent.py"], "there is no file absent.py"),
        (["--source", __file__], "no kernel that was launched is written in"),
        (["--source", "published_remaps.py", "-k", "other"], "launched no kernel `other`"),
        ([], "--source"),
    ],
)
def test_bad_input_ends_with_2(options: list[str], message: str) -> None:
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
    assert message in finished.stderr
