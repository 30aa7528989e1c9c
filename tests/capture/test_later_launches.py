# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Launches that are not recorded each, or come after the recording."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from gated import GATED

from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.tracing import find_dependences
from intelliperf_swizzle.hardware import load_target

APPLICATION = """
import sys, torch, triton, triton.language as tl
from intelliperf_swizzle.frontends.triton.capture import ledger
ledger.MOST_LAUNCHES = 2

@triton.jit
def late(w, flag, SEED, CHAIN):
    at = w + tl.program_id(0)
    if CHAIN == 7:
        tl.store(at + 1, tl.load(at) + SEED)
    if {gate}:
        tl.store(at + 1, tl.load(at) + SEED)
    tl.store(at, SEED)

w, flag = (torch.zeros(64, dtype=torch.int32, device="cuda") for _ in range(2))
for step in range({launches}):
    late[(8,)](w, flag, step + 16, 7 if step == 5 else 3)
sys.exit({code})
"""


@pytest.mark.parametrize(
    ("gate", "launches", "code", "decides"),
    [
        ("tl.load(flag) == 7", 2, 0, None),
        ("tl.load(flag) == 7", 2, 1, "flag"),
        ("SEED == 0", 2, 1, None),
        ("SEED == 0", 6, 0, "CHAIN"),
        ("tl.load(flag) == 7", 4, 0, "were not recorded"),
    ],
)
def test_what_a_launch_that_is_not_recorded_may_do_is_not_known(
    tmp_path: Path, gate: str, launches: int, code: int, decides: str | None
) -> None:
    """An exit status that is not 0 tells that more might have followed."""
    (tmp_path / "app.py").write_text(APPLICATION.format(gate=gate, launches=launches, code=code))
    request = RecordRequest(
        [sys.executable, "app.py"], tmp_path, tmp_path / "record", target=load_target("mi300x")
    )
    found = find_dependences(capture(request).launches, timeout_seconds=100)
    reasons = "".join(dependence.unknown for dependence in found)
    assert decides in reasons if decides else not reasons


TABLE = """
import torch, triton, triton.language as tl

@triton.jit
def through(table, SEED):
    at = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.int32))
    tl.store(at, SEED)

cells = torch.zeros(8, dtype=torch.int32, device="cuda")
table = torch.tensor([cells[at:].data_ptr() for at in range(8)], device="cuda")
for seed in (16, 32):
    through[(8,)](table, seed)
"""


def test_launches_through_one_table_are_looked_at_once(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(TABLE)
    request = RecordRequest(
        [sys.executable, "app.py"], tmp_path, tmp_path / "record", target=load_target("mi300x")
    )
    found = find_dependences(capture(request).launches, timeout_seconds=100)
    assert [bool(witness) for witness in found] == [False, False], found


ASSEMBLY = """
import torch, triton, triton.language as tl

@triton.jit
def asks(w, TEXT: tl.constexpr):
    at = w + tl.program_id(0)
    value = tl.inline_asm_elementwise(
        TEXT, "=v,v", [at.to(tl.int64)], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(at, value)

w = torch.zeros(64, dtype=torch.int32, device="cuda")
for text in ("v_mov_b32 $0, 1", "flat_load_dword $0, $1 offset:4"):
    asks[8,](w, text)
"""


def test_what_assembly_accesses_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(ASSEMBLY)
    request = RecordRequest(
        [sys.executable, "app.py"], tmp_path, tmp_path / "record", target=load_target("mi300x")
    )
    run = capture(request)
    registers, memory = find_dependences(run.launches, timeout_seconds=100)
    assert not registers
    assert memory.unknown == ("`tt.elementwise_inline_asm` at app.py:7 may access unknown memory")
    assert [launch.computed for launch in run.launches] == [True, False]


HOOKED = (
    """
import torch, triton, triton.language as tl

"""
    + GATED
    + """
def hook(*_, **__):
    gate.fill_(1)

w, gate = (torch.zeros(64, dtype=torch.int32, device="cuda") for _ in range(2))
{add}
gated[8,](w, gate)
"""
)


@pytest.mark.parametrize(
    "add",
    [
        "triton.knobs.runtime.launch_enter_hook.add(hook)",
        "triton.knobs.runtime.launch_exit_hook.add(hook)\ngated[8,](w, gate)",
        "gated.add_pre_run_hook(hook)",
    ],
)
def test_a_launch_sees_what_hooks_have_changed(tmp_path: Path, add: str) -> None:
    (tmp_path / "app.py").write_text(HOOKED.format(add=add))
    request = RecordRequest(
        [sys.executable, "app.py"], tmp_path, tmp_path / "record", target=load_target("mi300x")
    )
    *_, last = find_dependences(capture(request).launches, timeout_seconds=100)
    assert len(last.chains) == 7
