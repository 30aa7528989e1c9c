# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A tensor that is written cleanly proves nothing about another; scratch and padding are no doubt.

Each kernel `drop_*` of the application drops tiles beside something that each program does once;
each kernel `right_*` computes each tile once and does something else besides.
"""

import ast
import sys
from pathlib import Path

import pytest

from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.source_proofs.entry_points import prove_launches
from intelliperf_swizzle.frontends.triton.source_proofs.judge import RemapVerdict
from intelliperf_swizzle.report.sentences import describe_remap

APPLICATION = Path(__file__).parent / "applications" / "dropped_and_kept.py"
KERNELS = [
    node.name
    for node in ast.parse(APPLICATION.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith(("drop_", "right_"))
]
UNDECIDED = {
    "drop_in_a_larger_tensor",  # the rest of the tensor may be padding
    "drop_past_the_end",
    "drop_past_the_end_of_a_larger_tensor",
    "drop_by_atomics",
    "drop_what_is_read",
    "drop_by_a_remainder",
}
"""Of kernels that drop tiles: those of which this is likely, and not certain."""


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RemapVerdict]:
    captured = capture(
        RecordRequest(
            [sys.executable, APPLICATION.name],
            folder=tmp_path_factory.mktemp("records"),
            cwd=APPLICATION.parent,
        )
    )
    return {verdict.kernel: verdict for verdict in prove_launches(captured.launches)}


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name.startswith("drop_")])
def test_dropped_tiles_are_no_permutation(verdicts: dict[str, RemapVerdict], kernel: str) -> None:
    kind = "undecided" if kernel in UNDECIDED else "not a permutation"
    assert verdicts[kernel].kind == kind, describe_remap(verdicts[kernel])


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name.startswith("right_")])
def test_what_is_right_stays_a_permutation(verdicts: dict[str, RemapVerdict], kernel: str) -> None:
    assert verdicts[kernel].kind == "permutation", describe_remap(verdicts[kernel])


def test_the_witness_names_elements_programs_and_line(verdicts: dict[str, RemapVerdict]) -> None:
    shown = describe_remap(verdicts["drop_on_two_axes"])
    stores = [
        number
        for number, text in enumerate(APPLICATION.read_text().splitlines(), 1)
        if "tl.store(c + at, tl.load(x + at) * 2)" in text
    ]
    place = f"dropped_and_kept.py:{stores[-1]}"
    assert "`c` (80 × 64): 1024 of 5120 elements (20.00 %) are written by no program" in shown
    assert f"1024 elements are stored by several programs ({place}), [0, 32] by " in shown
    assert "programs 1 and 16" in shown
