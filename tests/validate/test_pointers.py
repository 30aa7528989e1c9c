# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a kernel reaches through an array of pointers: recorded, traced, compared."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from launches_by_hand import REVERSED
from pytest_mock import MockerFixture

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.source import splice
from intelliperf_swizzle.frontends.triton.tracing import find_dependences, trace
from intelliperf_swizzle.frontends.triton.validate import compare
from intelliperf_swizzle.frontends.triton.validate.compare import validate
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.mapping import prove
from intelliperf_swizzle.records import (
    Access,
    Launch,
    MappedLaunch,
    Proof,
    TensorArgument,
    Trace,
    Validation,
)

MI300X = load_target("mi300x")

APPLICATION = """
import torch, triton
import triton.language as tl

POINTER = tl.pointer_type(tl.float32)

@triton.jit
def scale(sources, targets, sizes, B: tl.constexpr):
    member = tl.program_id(0) % 3
    pid = tl.program_id(0) // 3
    x = tl.load(sources + member).to(POINTER)
    y = tl.load(targets + member).to(tl.pointer_type(tl.float32))
    at = pid * B + tl.arange(0, B)
    here = at < tl.load(sizes + member)
    tl.store(y + at, tl.load(x + at, mask=here) * 2, mask=here)

def pointers(tensors):
    return torch.tensor([one.data_ptr() for one in tensors], device="cuda")

def launch(x, y, sources=None):
    sizes = torch.tensor([one.numel() for one in y], device="cuda", dtype=torch.int32)
    sources = pointers(x) if sources is None else sources
    scale[(24,)](sources, pointers(y), sizes, B=16)
"""
GROUP = """
for _ in range(3):  # elsewhere each time
    whole = torch.arange(300, device="cuda", dtype=torch.float32)
    x = [whole[:128].view(8, 16), torch.ones(7, 16, device="cuda"), whole[128:]]
    y = [torch.zeros(one.numel(), device="cuda") for one in (x[0], x[1], x[0])]
    launch(x, y)
    assert all(torch.equal(b, 2 * a.flatten()[:b.numel()]) for a, b in zip(x, y))
    kept = globals().setdefault("kept", []) + [x, y]
"""

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Launch:
    folder = tmp_path_factory.mktemp("pointers")
    (folder / "app.py").write_text(APPLICATION + GROUP)
    command = [sys.executable, "app.py"]
    run = capture(RecordRequest(command, folder=folder / "capture", cwd=folder))
    assert run.exit_code == 0, run.last_lines
    (recorded,) = run.launches
    assert recorded.count == 3, "the same launch, wherever its tensors lie"
    return recorded


@pytest.fixture(scope="module")
def traced(launch: Launch) -> Trace:
    return trace(launch)


def pointed(launch: Launch, name: str) -> list[int]:
    """The storages that a table of addresses leads to."""
    table = launch.arguments[name]
    assert isinstance(table, TensorArgument)
    held = np.load(launch.storages[table.storage].contents or "").view(np.int64)
    begins = {
        number: (storage.address, storage.address + storage.bytes)
        for number, storage in launch.storages.items()
        if storage.address is not None
    }
    return [
        next(n for n, (a, b) in begins.items() if a <= address < b) for address in held.tolist()
    ]


def test_what_the_tables_lead_to_is_recorded(launch: Launch) -> None:
    first, second, third = pointed(launch, "sources")
    assert first == third != second
    assert launch.storages[first].bytes == 300 * 4
    assert len(set(pointed(launch, "targets"))) == 3


def test_the_trace_knows_it(launch: Launch, traced: Trace) -> None:
    assert (traced.method, traced.tiles_outside) == ("batched", 0)
    written = {
        name
        for base, shape in zip(traced.access_base, traced.access_shape, strict=True)
        for segment in traced.segments
        for name in segment.names
        if traced.shape_kind[shape] == Access.WRITE
        and 0 <= int(base) - segment.first_line < -(-segment.bytes // 128)
    }
    assert written == {f"storage {number}" for number in pointed(launch, "targets")}


def validated(
    launch: Launch, traced: Trace, budget_seconds: float, cheat: tuple[str, str] | None = None
) -> Validation:
    swizzle = parse(REVERSED)
    proof = prove(swizzle, launch.grid, launch.constants, num_xcds=8, cus_per_xcd=38)
    assert isinstance(proof, Proof)
    edit = splice(launch.source, swizzle, target=MI300X, launches=[launch])
    if cheat:
        texts: Edit = edit
        edit = replace(
            texts,
            functions={key: text.replace(*cheat) for key, text in texts.functions.items()},
            files={path: text.replace(*cheat) for path, text in texts.files.items()},
        )
    mapped = [MappedLaunch(launch, traced, proof.tile)]
    return validate(mapped, edit, tolerance=1e-6, budget_seconds=budget_seconds)


@pytest.mark.parametrize("budget_seconds", [60.0])
def test_what_is_written_through_them_is_compared(
    launch: Launch, traced: Trace, budget_seconds: float, mocker: MockerFixture
) -> None:
    assert validated(launch, traced, budget_seconds).same_bits
    mocker.patch.object(compare, "_first_difference", return_value=None)  # it shows the cheats
    wrong = validated(launch, traced, budget_seconds, ("here) * 2", "here) * (2 + member // 2)"))
    assert f"`storage {pointed(launch, 'targets')[2]}` differs" in (wrong.difference or "")


def test_where_a_pointer_leads_nowhere_dependence_is_not_known(tmp_path: Path) -> None:
    dangling = """
x, y = ([torch.ones(128, device="cuda") for _ in range(3)] for _ in range(2))
sources = pointers(x)
del x[1]
launch(x, y, sources)
"""
    (tmp_path / "app.py").write_text(APPLICATION + dangling)
    command = [sys.executable, "app.py"]
    run = capture(RecordRequest(command, folder=tmp_path / "out", cwd=tmp_path))
    (dependence,) = find_dependences(run.launches, timeout_seconds=60.0)
    assert "reaches outside of every tensor" in dependence.unknown
