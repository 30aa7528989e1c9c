# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A patch under a tuner changes the configurations that were looked at, and no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launches_by_hand import launch_of, write_kernel

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.frontends.resizing import other_values
from intelliperf_swizzle.frontends.triton.language import TRITON
from intelliperf_swizzle.frontends.triton.source.reads import find_uncompiled
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.records import DtypeArgument, FunctionArgument, Launch

CHAINED = """
@triton.jit
def chained(x, w, n, SPLIT: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * B + tl.arange(0, B)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)
    if SPLIT > 1:
        tl.store(w + pid + 1, tl.load(w + pid) + 1)
"""
LOOPED = """
@triton.jit
def chained(x, w, n, SPLIT: tl.constexpr, B: tl.constexpr):
    for tile in range(tl.program_id(0), n // B, 4):
        at = tile * B + tl.arange(0, B)
        tl.store(x + at, tl.load(x + at) + 1)
        if SPLIT > 1:
            tl.store(w + tile + 1, tl.load(w + tile) + 1)
"""
HELPED = """
@triton.jit
def row():
    return tl.program_id(0)


@triton.jit
def chained(x, w, n, SPLIT: tl.constexpr, B: tl.constexpr):
    tl.store(x + row(), SPLIT)
"""
CONFIGS = (
    {"SPLIT": 1, "B": 16, "num_warps": 4},
    {"SPLIT": 1, "B": 32, "num_warps": 4},
    {"SPLIT": 2, "B": 16, "num_warps": 8},
)
REVERSED = "pid = num_pids - 1 - pid"


def tuned(folder: Path, text: str, configs: tuple[dict[str, Any], ...] = CONFIGS) -> Launch:
    arguments = {"x": ("fp32", (320,)), "w": ("int32", (21,)), "n": 320}
    path = write_kernel(folder, text)
    launch = launch_of(path, "chained", (20,), arguments, {"SPLIT": 1, "B": 16})
    return replace(launch, configs=configs)


def edit(*launches: Launch) -> Edit:
    root = Path(launches[0].source.entry.file).parent
    target = load_target("mi300x")
    return TRITON.edit(launches, parse(REVERSED), target, name="reversed", roots=[root])


def test_other_configurations_keep_their_order(tmp_path: Path) -> None:
    launch = tuned(tmp_path, CHAINED)
    tile = np.arange(20)[::-1].copy()
    limited = edit(launch)
    assert "if B == 16 and SPLIT == 1:" in limited.diff
    assert TRITON.find_difference([(launch, tile)], limited) is None
    everywhere = edit(replace(launch, configs=()))
    assert "if B" not in everywhere.diff
    shown = TRITON.find_difference([(launch, tile)], everywhere) or ""
    assert "gives program 0 the program id 19 along axis 0, the proof 0" in shown


def test_configurations_that_were_recorded_are_all_patched(tmp_path: Path) -> None:
    launch = tuned(tmp_path, CHAINED)
    arguments = {**launch.arguments, "B": 32}
    other = replace(launch, grid=(10, 1, 1), arguments=arguments, ordinal=1)
    both = edit(launch, other)
    assert "if (B == 16 and SPLIT == 1) or (B == 32 and SPLIT == 1):" in both.diff
    placed = [(entry, np.arange(entry.programs)[::-1].copy()) for entry in (launch, other)]
    assert TRITON.find_difference(placed, both) is None


def test_options_that_change_no_constexpr_need_no_condition(tmp_path: Path) -> None:
    alike = tuple({**CONFIGS[0], "num_warps": warps} for warps in (4, 8))
    assert "+    if" not in edit(tuned(tmp_path, CHAINED, alike)).diff


@pytest.mark.parametrize(
    ("decorator", "condition"),
    [
        ('triton.heuristics({"SPLIT": lambda args: 1})', "if SPLIT == 1:"),
        ('triton.heuristics({**{"SPLIT": lambda args: 1}})', "if B == 16 and SPLIT == 1:"),
    ],
)
def test_what_heuristics_choose_is_a_condition(
    tmp_path: Path, decorator: str, condition: str
) -> None:
    launch = tuned(tmp_path, f"\n@{decorator}{CHAINED}", ())
    limited = edit(launch)
    assert condition in limited.diff
    other = replace(launch, arguments={**launch.arguments, "SPLIT": 2})
    assert TRITON.find_difference([(other, np.arange(20))], limited) is None


def test_a_global_that_no_text_decides_is_a_condition(tmp_path: Path) -> None:
    launch = tuned(tmp_path, CHAINED.replace("SPLIT > 1", "MODE"), ())
    source = replace(launch.source, computed={"MODE": 0})
    assert "+    if MODE == 0:" in edit(replace(launch, source=source)).diff
    chosen = replace(launch.source, computed={"put": ["/app.py:7"]})
    with pytest.raises(SpliceError, match=r"/app\.py:7: a patch cannot test `put`"):
        edit(replace(launch, source=chosen))


def test_another_function_that_is_passed_may_do_anything(tmp_path: Path) -> None:
    """No text can test it; what compiles a kernel knows the function by its digest."""
    launch = tuned(tmp_path, CHAINED.replace("SPLIT: tl", "PUT: tl.constexpr, SPLIT: tl"), ())
    arguments = {**launch.arguments, "PUT": FunctionArgument("put")}
    launch = replace(launch, arguments=arguments, constexprs=(*launch.constexprs, "PUT"))
    assert find_uncompiled(launch, ())["PUT"] == ("PUT",)
    known = edit(replace(launch, fixed=("PUT",)))
    assert "a patch cannot test `PUT`" in known.notes[0]
    assert known.rules
    assert not known.files


@pytest.mark.parametrize(
    "made",
    [
        "DT.primitive_bitwidth // 32",
        "(n * 1.0).to(DT).to(dtype=tl.int32)",
        "tl.cast((n * 1.0).to(DT), tl.int32)",
    ],
)
def test_a_type_that_may_make_addresses_is_a_condition(tmp_path: Path, made: str) -> None:
    text = CHAINED.replace("SPLIT: tl", "DT: tl.constexpr, SPLIT: tl")
    launch = tuned(tmp_path, text.replace("SPLIT > 1", f"SPLIT > 1 + {made}"), ())
    arguments = {**launch.arguments, "DT": DtypeArgument("fp32")}
    launch = replace(launch, arguments=arguments, constexprs=(*launch.constexprs, "DT"))
    assert find_uncompiled(launch, ())["DT"] == ("DT",)
    assert "if DT == tl.float32:" in edit(replace(launch, fixed=("DT",))).diff


def test_numbers_that_decide_are_tested_when_the_kernel_runs(tmp_path: Path) -> None:
    """A float and a number in a tuple, which no mapping can read; the type of a tensor."""
    text = CHAINED.replace("w, n,", "w, n, gate, shape,").replace("SPLIT > 1", "gate > shape[0]")
    arguments = {"x": ("fp32", (320,)), "w": ("int32", (21,)), "n": 320}
    arguments |= {"gate": 0.5, "shape": 0}
    path, constexprs = write_kernel(tmp_path, text), {"SPLIT": 1, "B": 16}
    launch = launch_of(path, "chained", (20,), arguments, constexprs)
    launch = replace(launch, arguments={**launch.arguments, "shape": (2, 3)})
    fixed = ("gate", "shape[0]", "w.dtype.element_ty")
    limited = edit(replace(launch, fixed=fixed))
    assert "tl.where(gate == 0.5 and shape[0] == 2, " in limited.diff
    assert "+    if w.dtype.element_ty == tl.int32:" in limited.diff
    tile = np.arange(20)[::-1].copy()
    assert TRITON.find_difference([(launch, tile)], limited) is None
    other = replace(launch, arguments={**launch.arguments, "gate": 3.5})
    assert TRITON.find_difference([(other, np.arange(20))], limited) is None


def test_a_tensor_that_might_be_none_is_tested(tmp_path: Path) -> None:
    """Where nobody looked at the kernel that is compiled without it."""
    text = CHAINED.replace("w, n,", "w, mask, n,").replace("SPLIT > 1", "mask is None")
    arguments = {"x": ("fp32", (320,)), "w": ("int32", (21,)), "mask": ("int32", (21,)), "n": 320}
    path = write_kernel(tmp_path, text)
    launch = launch_of(path, "chained", (20,), arguments, {"SPLIT": 1, "B": 16})
    limited = edit(replace(launch, fixed=("mask",)))
    assert "+    if mask is not None:" in limited.diff
    assert limited.rules[0]["configs"] == [{"mask": "pointer<int32>"}]
    assert TRITON.find_difference([(launch, np.arange(20)[::-1].copy())], limited) is None
    without = replace(launch, arguments={**launch.arguments, "mask": None})
    assert TRITON.find_difference([(without, np.arange(20))], limited) is None


def test_tiles_of_a_loop_keep_their_order_too(tmp_path: Path) -> None:
    [launch], reasons = TRITON.with_loops([replace(tuned(tmp_path, LOOPED), grid=(4, 1, 1))], None)
    assert launch.loop, reasons
    limited = edit(launch)
    assert "        if B == 16 and SPLIT == 1:" in limited.diff
    assert TRITON.find_difference([(launch, np.arange(20)[::-1].copy())], limited) is None


def test_a_helper_cannot_tell_the_configuration_but_the_compiler_can(tmp_path: Path) -> None:
    known = tuned(tmp_path, HELPED)
    with pytest.raises(SpliceError, match="does not know the configuration"):
        edit(replace(known, source=replace(known.source, identity={})))
    made = edit(known)
    assert (made.files, made.diff) == ({}, "")
    assert made.rules[0]["configs"] == [{"B": 16, "SPLIT": 1}]
    tile = np.arange(20)[::-1].copy()
    assert TRITON.find_difference([(known, tile)], made) is None
    shown = TRITON.find_difference([(known, np.arange(20))], made) or ""
    assert "gives program 0 the program id 19 along axis 0, the proof 0" in shown
    assert TRITON.build(known, load_target("mi300x"), made).registers


ADDED = """
@triton.jit
def shift(x, y, SHIFT, STEP, STRIDE, n):
    at = tl.program_id(0) + SHIFT
    while at < n:
        tl.store(y + at, tl.load(x + at * STRIDE))
        at = at + STEP
    for again in range(0, n, STRIDE):
        at += STRIDE
"""


def test_what_is_added_once_is_tried_as_0(tmp_path: Path) -> None:
    """Not what a loop is stepped by: that would not end."""
    given = {"x": ("fp32", (64,)), "y": ("fp32", (64,)), "SHIFT": 64, "STEP": 8, "STRIDE": 4}
    launch = launch_of(write_kernel(tmp_path, ADDED), "shift", (8,), {**given, "n": 64})
    tried = {name: 0 in other_values(launch, name) for name in ("SHIFT", "STEP", "STRIDE", "n")}
    assert tried == {"SHIFT": True, "STEP": False, "STRIDE": False, "n": True}
