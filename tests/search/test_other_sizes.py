# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A swizzle of a real stencil at sizes that it was not found for."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from intelliperf_swizzle import optimize, score
from intelliperf_swizzle.dependence import find_dependence
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.language import TRITON
from intelliperf_swizzle.frontends.triton.tracing import trace
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.records import Launch, OtherSize, Trace
from intelliperf_swizzle.records import Run as RunRecord
from intelliperf_swizzle.report.sentences import message
from intelliperf_swizzle.search.guard import _keeps as guard
from intelliperf_swizzle.search.variations import _other_launches

STENCIL = Path(__file__).parents[2] / "benchmarks" / "kernels" / "stencil_2d.py"
TARGET = replace(load_target("mi300x"), launch_us=0.0, l2_bytes_per_xcd=1 << 16, cus_per_xcd=4)

GATHER = """
import torch, triton, triton.language as tl

@triton.jit
def gather(x, y, w, rows, M, N, B: tl.constexpr):
    pid = tl.program_id(0)
    m = tl.load(rows + pid // tl.cdiv(N, B)) * B + tl.arange(0, B)
    n = pid % tl.cdiv(N, B) * B + tl.arange(0, B)
    values = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(y + n[:, None] * M + m[None, :], tl.trans(values))
    tl.store(w + (pid & 255), pid)

x = torch.zeros(256, 256, device="cuda")
rows = torch.arange(16, dtype=torch.int32, device="cuda")
w = torch.zeros(256, dtype=torch.int32, device="cuda")
gather[(256,)](x, torch.empty_like(x), w, rows, 256, 256, 16)
"""


PERSISTENT = """
import torch, triton, triton.language as tl

@triton.jit
def turn(x, y, w, M, N, P, B: tl.constexpr):
    columns = tl.cdiv(N, B)
    for tile in range(tl.program_id(0), tl.cdiv(M, B) * columns, P):
        m = tile // columns * B + tl.arange(0, B)
        n = tile % columns * B + tl.arange(0, B)
        values = tl.load(x + m[:, None] * N + n[None, :])
        tl.store(y + n[:, None] * M + m[None, :], tl.trans(values))
        tl.store(w + (tile & 255), tile)

x = torch.zeros(256, 256, device="cuda")
w = torch.zeros(256, dtype=torch.int32, device="cuda")
turn[(32,)](x, torch.empty_like(x), w, 256, 256, 32, 16)
"""
"""Tiles share `w` from the 257th on; 256 are recorded."""


TURNED = """
import torch, triton, triton.language as tl

@triton.jit
def turn(x, y, w, M, N, S, FLAG: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    m = pid // tl.cdiv(N, B) * B + tl.arange(0, B)
    n = pid % tl.cdiv(N, B) * B + tl.arange(0, B)
    values = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(y + n[:, None] * M + m[None, :], tl.trans(values))
    EFFECT

x = torch.zeros(320, 320, device="cuda")
w = torch.zeros(5000, dtype=torch.int32, device="cuda")
turn[(400,)](x, torch.empty_like(x), w, 320, 320, 2, False, 16)
"""

HEADS = """
import torch, triton, triton.language as tl

@triton.jit
def grouped(q, k, y, L, H, G, B: tl.constexpr, D: tl.constexpr):
    pid = tl.program_id(0)
    blocks = tl.cdiv(L, B)
    head = pid // blocks % H
    first = pid // (blocks * H) * L
    rows = pid % blocks * B + tl.arange(0, B)[:, None]
    at = ((first + rows) * H + head) * D + tl.arange(0, D)[None, :]
    shared = (first * G + head // (H // G)) * D + tl.arange(0, D)[None, :]
    tl.store(y + at, tl.load(q + at, mask=rows < L) + tl.load(k + shared), mask=rows < L)

q = torch.zeros((1, 4096, 16, 16), device="cuda")
grouped[(2048,)](q, torch.empty_like(q), torch.empty_like(q), 4096, 16, 16, 32, 16)
"""
"""One batch, and as many groups as heads: a made-up launch of one group has no whole batch."""


GRID_OF_HEADS = """
import torch, triton, triton.language as tl

@triton.jit
def attended(q, k, y, sums, H, L, B: tl.constexpr, D: tl.constexpr):
    block, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rows = block * B + tl.arange(0, B)
    at = ((batch * H + head) * L + rows[:, None]) * D + tl.arange(0, D)[None, :]
    value = tl.load(q + at, mask=rows[:, None] < L)
    for n in range(0, L, B):
        first = ((batch * H + head) * L + n) * D
        value += tl.load(k + first + tl.arange(0, B)[:, None] * D + tl.arange(0, D)[None, :])
    tl.store(y + at, value, mask=rows[:, None] < L)
    tl.store(sums + (batch * H + head) * L + rows, tl.sum(value, 1), mask=rows < L)

q = torch.zeros((2, 16, 512, 32), device="cuda")
sums = torch.zeros((2, 16, 512), device="cuda")
attended[(16, 16, 2)](q, torch.empty_like(q), torch.empty_like(q), sums, 16, 512, 32, 32)
"""


CHAINED_BY_ANY = "\n    ".join(
    f"if {condition}: tl.store(w + pid + 1, tl.load(w + pid) + 1)"
    for condition in ("one > 1", "none is not None", "MODE == 'chained'", "A and C")
)
FLAGS = (
    TURNED.replace("EFFECT", CHAINED_BY_ANY)
    .replace("FLAG", "one, none, MODE: tl.constexpr, A: tl.constexpr, C: tl.constexpr, FLAG")
    .replace("False", "1, None, 'plain', 0, 0, 0")
)
CARRYING = (
    PERSISTENT.replace("P, B: tl", "P, RESET: tl.constexpr, B: tl")
    .replace("    for", "    sum = 0.0\n    for")
    .replace("256, 32", "256, 32, True")
    .replace("        m =", "        if RESET:\n            sum = 0.0\n        m =")
    .replace("tl.store(w + (tile & 255), tile)", "sum = sum + tile")
    .replace("trans(values)", "trans(values) + sum")
)
STEPPING = PERSISTENT.replace("(tile & 255)", "tile").replace(
    "w = torch.zeros(256", "w = torch.zeros(4096"
)
PARTS = TURNED.replace("torch.zeros(320, 320,", "torch.zeros(640, 320,").replace(
    "(x, torch.empty_like(x), w,", "(x[:320], x[320:], w,"
)
ROWS = TURNED.replace("N, S,", "N, S, L,").replace("320, 2,", "320, 6, 5,")
EXTENT = TURNED.replace("320, 2,", "320, 4,").replace("N, S,", "N, S: tl.constexpr,")
APART = TURNED.replace("320, 2,", "320, 128,").replace("5000", "1 << 20")
APART_KNOWN = APART.replace("N, S,", "N, S: tl.constexpr,")
PLACES = "tl.store(w + pid // tl.cdiv(N, B) * S + pid % tl.cdiv(N, B), pid)"
PAIRED = TURNED.replace("N, S,", "N, S: tl.constexpr,").replace("320, 2,", "320, (2, 3),")
LOOP_OF_PLACES = "for k in range(tl.cdiv(N, B)): tl.store(w + pid * S + k, pid)"
SEARCHED = {
    "table": GATHER,
    "persistent": PERSISTENT,
    "stepping": STEPPING,
    "heads": HEADS,
    "heads_of_a_grid": GRID_OF_HEADS,
    "flags": FLAGS,
    "carrying": CARRYING,
    **{
        name: text.replace("EFFECT", effect)
        for name, text, effect in (
            ("type", TURNED,
             "if w.dtype.element_ty == tl.int64: tl.store(w + pid + 1, tl.load(w + pid) + 1)"),
            ("none", TURNED, "if w is None: tl.store(x + pid + 1, tl.load(x + pid) + 1)"),
            ("tuple", TURNED.replace("(x), w,", "(x), (w, None),"),
             "if w[0] is None or w[1] is not None: tl.store(x + pid + 1, tl.load(x + pid) + 1)"),
            ("constexpr_tuple", PAIRED,
             "tl.store(w + pid * S[0], pid)"),
            ("ring", TURNED, "tl.store(w + pid % 4096, pid)"),
            ("bound", TURNED, "tl.store(w + tl.minimum(pid, 4095), pid)"),
            ("stride", TURNED, "tl.store(w + pid * S, pid)"),
            ("flag", TURNED, "if FLAG: tl.store(w + pid + 1, tl.load(w + pid) + 1)"),
            ("own", TURNED, "tl.store(w + pid, pid)"),
            ("contents", TURNED,
             "held = tl.load(w + pid); tl.store(w + pid + 1, held, mask=held > 0)"),
            ("parts", PARTS, "tl.store(w + pid, pid)"),
            ("rows", ROWS,
             "tl.store(w + pid * S + tl.arange(0, 8), pid, mask=tl.arange(0, 8) < L)"),
            ("padded", ROWS.replace("320, 6, 5,", "320, 6, 2,"),
             "tl.store(w + pid * S + tl.arange(0, 8), pid, mask=tl.arange(0, 8) < L)"),
            ("extent", EXTENT, "tl.store(w + pid * 4 + tl.arange(0, S), pid)"),
            ("apart", APART, PLACES),
            ("apart_known", APART_KNOWN, PLACES),
            ("apart_in_a_loop", APART, LOOP_OF_PLACES),
            ("apart_in_a_loop_known", APART_KNOWN, LOOP_OF_PLACES),
        )
    },
}  # fmt: skip
"""Modules of one application, with a kernel each."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, RunRecord]:
    """A short search on each kernel, all in one run."""
    folder = tmp_path_factory.mktemp("searched")
    for name, text in SEARCHED.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "application.py").write_text(f"import {', '.join(SEARCHED)}\n")
    run = optimize(
        [sys.executable, "application.py"], target=TARGET, candidates=20, compute="never", all=True,
        top_n=len(SEARCHED), budget=10**6, project_directory=str(folder),
        report_dir=str(folder / "out"),
    )  # fmt: skip
    return {Path(other.file).stem: other for other in (run, *run.others)}


def stencil(side: int) -> list[str]:
    tiles = ["--block-m", "16", "--block-n", "32"]
    return [sys.executable, str(STENCIL), "--m", str(side), "--n", str(side), *tiles]


def test_where_it_loses_the_patch_leaves_the_kernel_unchanged(tmp_path: Path) -> None:
    run = optimize(
        stencil(512), target=TARGET, candidates=60, compute="never",
        project_directory=str(tmp_path), report_dir=str(tmp_path / "out"),
    )  # fmt: skip
    assert run.best is not None
    assert run.sizes is not None
    losing = [other for other in run.sizes.others if other.loses]
    assert losing
    assert run.sizes.guard
    assert run.sizes.guard.split(" and ")[0].split()[-1] in run.best.diff
    assert run.best.validation is not None
    assert run.best.validation.same_bits
    history = [json.loads(line) for line in Path(run.history).read_text().splitlines()[1:]]
    validated = [attempt["attempt"] for attempt in history if attempt["attempt"]["validation"]]
    [once] = [attempt for attempt in validated if attempt["number"] == run.best.number]
    assert run.sizes.guard in once["text"]

    swizzle = parse(run.best.candidate.text)
    constants = {"M": 512, "N": 512, "BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32}

    def moved(grid: tuple[int, int, int]) -> bool:
        tile = evaluate(swizzle, grid, constants, num_xcds=8, cus_per_xcd=4)
        return not np.array_equal(tile, np.arange(len(tile)))

    assert moved(run.grid)
    assert not any(moved(launch.grid) for launch in losing)

    text = "\n".join(line for line in swizzle.text.splitlines() if "own_" not in line)
    square = next(other for other in run.sizes.others if other.grid == (16, 8, 1))
    again = score(text, stencil(256), target=TARGET, project_directory=str(tmp_path))
    assert again.baseline.l2_hit_rate == pytest.approx(square.before)
    assert again.attempt.measurement.l2_hit_rate == pytest.approx(square.after)


def test_a_step_with_which_a_loop_takes_all_tiles_is_tested_and_no_size(
    runs: Mapping[str, RunRecord],
) -> None:
    """Where it is the number of programs, or there are no more tiles than programs."""
    run = runs["stepping"]
    assert run.best is not None
    assert run.best.proof is not None
    assert "min(P, num_pids) == num_programs" in str(run.best.proof.condition)
    assert "== 32" not in str(run.best.proof.condition)
    assert "M ==" not in str(run.best.proof.condition)


def test_as_many_heads_as_programs_along_an_axis_are_tested_and_no_size(
    runs: Mapping[str, RunRecord],
) -> None:
    run = runs["heads_of_a_grid"]
    assert run.best is not None
    assert run.best.proof is not None
    assert run.best.proof.extent != "the recorded sizes"
    assert "H >= grid_1" in str(run.best.proof.condition)
    assert "==" not in str(run.best.proof.condition)


@pytest.mark.parametrize("kernel", ["table", "persistent"])
def test_what_may_depend_at_another_size_is_swizzled_for_the_recorded_values(
    runs: Mapping[str, RunRecord], kernel: str
) -> None:
    """Contents decide accesses, so no larger launch is looked at; or in one, tiles share `w`."""
    run = runs[kernel]
    assert run.best is not None
    assert run.best.proof is not None
    assert run.best.proof.extent == "the recorded sizes"
    assert "num_pids == 256" in run.best.proof.condition


def other(programs: int, *, loses: bool) -> OtherSize:
    return OtherSize((programs, 1, 1), 0.5, 0.4, 1.1, loses)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({16: True, 32: False, 128: False}, "num_pids >= 32"),
        ({16: False, 32: True, 128: False}, "num_pids >= 64"),
        ({32: False, 128: False, 256: True}, "num_pids <= 128"),
        ({16: True, 128: True}, "num_pids == 64"),
        ({64: True}, None),
    ],
)
def test_a_guard_keeps_the_recorded_size_and_none_that_loses(
    sizes: dict[int, bool], expected: str | None
) -> None:
    assert guard(64, [other(size, loses=loses) for size, loses in sizes.items()]) == expected


LARGER = """
import torch, triton, triton.language as tl

@triton.jit
def copy(x, y, M, N, B: tl.constexpr):
    at = tl.program_id(1) * B * N + tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at))

x, y = (torch.zeros((516, 516), device="cuda") for _ in range(2))
copy[(129, 129)](x, y, 516, 516, B=4)
"""
PITCHED = (
    LARGER.replace("M, N,", "M, N, S,").replace("B * N", "B * S").replace("516, B", "516, 516, B")
)


BATCHES = """
import torch, triton, triton.language as tl

@triton.jit
def copy(x, y, N, B: tl.constexpr):
    at = tl.program_id(1) * N + tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at))

x, y = (torch.zeros((32, 4096), device="cuda") for _ in range(2))
copy[(128, 32)](x, y, 4096, B=32)
"""


def test_as_many_batches_as_a_tile_is_long_change_without_it(recorded: Recorded) -> None:
    """An extent of a tile is a power of two: with 33 no larger launch could be looked at."""
    made = TRITON.resize(recorded["batches"][0], lambda count: [count + 1])
    assert {other.grid for other in made} == {(129, 32, 1), (128, 33, 1)}
    assert {other.constants["B"] for other in made} == {32}


def test_a_cheap_launch_is_checked_first_and_then_a_larger_one(recorded: Recorded) -> None:
    """Of a square one the next sizes below and above are more than twice its programs."""
    launches = recorded["larger"]
    traced = SimpleNamespace(launch=launches[0], trace=trace(launches[0]))
    subject = SimpleNamespace(launches=launches, traced=[traced])
    made = _other_launches(SimpleNamespace(language=TRITON), subject)  # type: ignore[arg-type]
    assert [launch.grid for launch in made[:2]] == [(8, 8, 1), (130, 130, 1)]
    assert sum(launch.tiles for launch in made) <= 2 * 129**2


def test_a_size_is_made_a_part_of_itself_and_no_stride_is(recorded: Recorded) -> None:
    """Rows that begin nearer to each other than they are long would overlap."""
    made = TRITON.resize(recorded["pitched"][0], lambda count: [count // 3])
    changed = {tuple(launch.constants[name] != 516 for name in "MNS") for launch in made}
    assert {(True, False, False), (False, True, False)} <= changed
    assert (False, False, True) not in changed


HANDED_OVER = {
    "tl.atomic_add(y + p, 1)": False,
    "tl.store(x + p, tl.load(x + p))": False,
    "tl.atomic_xchg(y + p, 1)": True,
    "tl.atomic_cas(y + p, 0, 1)": True,
    "tl.store(x + p, tl.atomic_add(y, 1))": True,
    "tl.atomic_add(y + p, 1)\n    tl.store(x + p, tl.load(y + p % 5))": True,
    "tl.atomic_add(y + p, 1)\n    tl.atomic_max(y + p, 1)": True,
    "if p > 99:\n        tl.atomic_xchg(y, 1)": True,
    "tl.atomic_add(y + p, 1)\n    if p > 99:\n        tl.store(y, 1)": True,
    "tl.atomic_add(AT + p, 1)\n    tl.store(x + p, 1)": True,
    "tl.atomic_add(y + p, 1)\n    tl.atomic_max(AT + p, 1)": True,
    "tl.atomic_add(y + p, 1)\n    tl.atomic_max(x + p, 1)": False,
    "tl.atomic_add(y + p, 1)\n    tl.atomic_max(twin + p, 1)": True,
}
UNSEEN = {
    "if p == n:\n        tl.store(y + p + 1, tl.load(y + p) + 1)": True,
    "tl.store(y + p, tl.load(y + p + 1, mask=p > n), mask=p < n)": True,
    "put(x + p, 1)\n    if p == n:\n        put(y + p + 1, tl.load(y + p))": True,
    "tl.store(y + p, tl.load(x + p, mask=p > n))": False,
    "tl.store(y + p, tl.load(twin + p, mask=p > n))": True,
    "tl.store(y + p, tl.load(twin + p % 4096))": True,
    "tl.store(x + p, tl.load(x + p))": False,
    "if p > n:\n        tl.atomic_xchg(y, 1)": True,
    "for k in range(m): tl.store(y + p * 8 + k, p)": True,
    "q = y + p * 8\n    for k in range(m):\n        tl.store(q, p)\n        q += 1": True,
    "for k in range(0, 8): tl.store(y + p * 8 + k, p)": False,
    "for k in range(m): tl.store(y + p * n + k, p)": False,
    "tl.store(y + p, p, mask=(p < 512) & (p < n))": False,  # leaves out stores, at most
    "tl.store(y + p, p, mask=(p > 512) & (p < n))": True,
    "tl.store(y + p + 64 * (p < 512), p, mask=p < 512)": True,
    "tl.store(y + p, p, mask=(p < 512) | (p > n))": True,
    "tl.store(y + p + tl.load(y + 512 + p, mask=p < 512), p)": True,
}
ADDRESSES = {
    "p // m * 512 + p % m": True,
    "p % m) + (p // m * 16": True,  # 7 elements apart, 28 bytes
    "p * (p < m * 999)": True,
    "p * (999 - p)": True,
    "p | 512": True,
    "tl.abs(p - 512)": True,
    "p.to(tl.float16).to(tl.int32)": True,
    "tl.sum((tl.arange(0, 512) < p).to(tl.int32))": True,
    "p // tl.minimum(n - p, 2) * 2 + p % 2": True,
    "p + tl.minimum(n - p, 1)": True,
    "p // tl.minimum(n - p, 1)": False,  # groups of one row
    "p // m * m + p % m": False,
    "p // m * 8 + p % 8": False,
    "p * 3 + 5": False,
    "p ^ 5": False,
}
CHAINED = "tl.store(y + p + 1, tl.load(y + p))"
UNCOMPILED = {
    f"if one > 1:\n        {CHAINED}": {"one"},
    f"if FLAG:\n        {CHAINED}": {"FLAG"},
    f"if FLAG:\n        if p < n:\n            {CHAINED}": {"FLAG"},
    f"if not FLAG:\n        return\n    {CHAINED}": {"FLAG"},
    "for k in tl.static_range(FLAG):\n        put(y + k, p)": {"FLAG"},
    f"if none is not None:\n        {CHAINED}": {"none"},
    f"if tl.load(x) > 0:\n        if none is not None:\n            {CHAINED}": {"none"},
    "tl.store(y + p + (0 if MODE == 'plain' else 1), p)": {"MODE"},
    f"if y.dtype.element_ty == tl.int64:\n        {CHAINED}": {"y.dtype.element_ty"},
    "q = p if y.dtype.element_ty == tl.int32 else 5\n    tl.store(y + q, p)": {
        "y.dtype.element_ty"
    },
    "tl.store(y + (p if T == tl.int32 else 5), p)": {"T"},
    "tl.store(y + p.to(T), p)": {"T"},
    "tl.store(y + (p * HALF).to(tl.int32), p)": {"T", "HALF"},  # what makes an integer is not told
    "tl.store(y + p, (p * HALF).to(tl.float32))": set(),
    "put(y + p, pick(MODE))": {"MODE"},
    f"if num_warps() > 4:\n        {CHAINED}": {"num_warps()"},
    f"on = FLAG\n    if on:\n        {CHAINED}": {"one", "none", "MODE", "T", "FLAG", "HALF"},
    f"if p == n:\n        {CHAINED}": set(),
    "if FLAG:\n        p += 1\n    tl.store(y + p, p)": set(),
    "last, at = m, y + p\n    for k in range(last):\n        put(at, p)": set(),
}
"""Kernels, and what decides what of them is not compiled."""
PLACED = {
    "tl.store(y + p, tl.load(x + tl.load(x + p)))": False,
    "s = 0\n    for k in range(tl.load(x) + 1):\n        s += k\n    tl.store(y + p, s)": False,
    "tl.atomic_add(y + tl.load(x + p), 1)": False,
    "tl.store(y + p + tl.load(x + p), p)": True,
    "tl.store(y + p, p, mask=tl.load(x + p) == 0)": True,
    "if tl.load(x) == 0:\n        tl.store(y + p, p)": True,
    "if tl.load(x) != 0:\n        return\n    tl.store(y + p, p)": True,
    "for k in range(tl.load(x) + 1):\n        tl.store(y + p, k)": True,
    "tl.store(y + p, tl.load(y + p + tl.load(x + p)))": True,
    "tl.store(y + p, tl.load(twin + 512 + p + tl.load(x + p)))": True,
}
"""Kernels, and whether contents decide where they store, or read what they store; `twin` is `y`."""


STORED = {address: f"tl.store(y + ({address}), p)" for address in ADDRESSES}
LINES = {
    **{name: name for name in (*HANDED_OVER, *UNSEEN, *PLACED)},
    **STORED,
    **{line: f"tl.store(x + p, p)\n    {line}" for line in UNCOMPILED},
}


def kernels() -> str:
    """An application that launches them all, with arrays of their own."""
    text = (
        "import torch, triton, triton.language as tl\n"
        "from triton.language.extra.cuda import num_warps\n\n"
        "@triton.jit\ndef put(p, v):\n    tl.store(p, v)\n\n"
        "@triton.jit\ndef pick(how: tl.constexpr):\n    return 1 if how == 'plain' else 2\n"
    )
    for number, kernel in enumerate(LINES.values()):
        kernel = kernel.replace("AT", "at.to(tl.pointer_type(tl.int32))")
        text += (
            f"\n@triton.jit\ndef kernel_{number}(x, y, twin, at, n, m, one, none, "
            "MODE: tl.constexpr, T: tl.constexpr, FLAG: tl.constexpr, HALF: tl.constexpr = 0.5):\n"
            f"    p = tl.program_id(0)\n    {kernel}\n\n"
            "x, y = (torch.zeros(1 << 16, dtype=torch.int32, device='cuda') for _ in range(2))\n"
            f"kernel_{number}[(64,)](x, y, y, torch.zeros_like(x).data_ptr(), 999, "
            "8, 1, None, 'plain', tl.int32, False)\n"
        )
    return text


Recorded = Mapping[str, Sequence[Launch]]
"""The launches of each module of an application."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Modules that launch kernels, recorded in one run."""
    modules = {
        "kernels": kernels(),
        "larger": LARGER,
        "pitched": PITCHED,
        "batches": BATCHES,
        "no_hook": HOOKED.replace("HOOK", "None"),
        "copies": COPIES,
        "gates": GATES,
        "over_the_end": OVER_THE_END,
        "hook": HOOKED.replace("HOOK", "raised"),  # last: after it no contents are known
    }
    folder = tmp_path_factory.mktemp("kernels")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "application.py").write_text(f"import {', '.join(modules)}\n")
    request = RecordRequest(
        [sys.executable, "application.py"], cwd=folder, folder=folder / "record", target=TARGET
    )
    found: dict[str, list[Launch]] = {}
    for launch in capture(request).launches:
        found.setdefault(Path(launch.source.file).stem, []).append(launch)
    return found


@pytest.fixture(scope="module")
def traced(recorded: Recorded) -> Mapping[str, Trace]:
    """The trace of each kernel."""
    return dict(zip(LINES, map(trace, recorded["kernels"]), strict=True))


@pytest.mark.parametrize("lines", HANDED_OVER)
def test_what_programs_may_hand_over_at_another_size_is_known_from_the_ir(
    traced: Mapping[str, Trace], lines: str
) -> None:
    """Whatever the recorded launch executes of it: there the patch tests the recorded values.

    A number that is an address may point to anything.
    """
    assert traced[lines].hands_over is HANDED_OVER[lines]


@pytest.mark.parametrize("lines", UNSEEN)
def test_a_store_that_no_recorded_launch_makes_limits_the_patch_to_recorded_values(
    traced: Mapping[str, Trace], lines: str
) -> None:
    assert bool(traced[lines].unseen) is UNSEEN[lines]


@pytest.mark.parametrize("lines", UNCOMPILED)
def test_what_the_compiler_leaves_out_is_known_from_the_text(
    traced: Mapping[str, Trace], lines: str
) -> None:
    decide = traced[lines].uncompiled.values()
    assert set().union(*decide) == UNCOMPILED[lines]


@pytest.mark.parametrize("lines", PLACED)
def test_contents_that_place_no_store_decide_nothing_of_independence(
    traced: Mapping[str, Trace], lines: str
) -> None:
    assert traced[lines].placed is PLACED[lines]


def test_a_patch_is_limited_to_what_was_compiled_or_looked_at(
    runs: Mapping[str, RunRecord],
) -> None:
    """Each of these chains tiles if arguments have other values, two flags only together."""
    run = runs["flags"]
    assert run.best is not None
    assert run.best.proof is not None
    assert run.best.proof.extent == "under a condition"
    assert all(term in run.best.proof.condition for term in ("A == 0", "C == 0", "one == 1"))
    assert "if MODE == 'plain' and none is None:" in run.best.diff


def test_a_loop_that_carries_a_value_by_a_flag_is_renumbered_without_it(
    runs: Mapping[str, RunRecord],
) -> None:
    run = runs["carrying"]
    assert run.best is not None
    assert run.best.proof is not None
    assert "RESET == 1" in (run.best.proof.condition or "")


def test_a_type_that_decides_what_is_compiled_is_tested_by_the_patch(
    runs: Mapping[str, RunRecord],
) -> None:
    run = runs["type"]
    assert run.best is not None
    assert "if w.dtype.element_ty == tl.int32:" in run.best.diff


def test_none_in_place_of_a_tensor_is_tested_by_the_patch(runs: Mapping[str, RunRecord]) -> None:
    run = runs["none"]
    assert run.best is not None
    assert "if w is not None:" in run.best.diff


def test_what_a_tuple_holds_is_tested_by_the_patch(runs: Mapping[str, RunRecord]) -> None:
    run = runs["tuple"]
    assert run.best is not None
    assert "if w[0] is not None and w[1] is None:" in run.best.diff


def test_what_a_constexpr_tuple_holds_is_tested_item_by_item(
    runs: Mapping[str, RunRecord],
) -> None:
    """No IR tells what it decides; with (0, 3) tiles would store to one place."""
    run = runs["constexpr_tuple"]
    assert run.best is not None
    assert "if S[0] == 2 and S[1] == 3:" in run.best.diff


HOOKED = """
import torch, triton, triton.language as tl

def raised(arguments):
    arguments["flags"].fill_(1)

@triton.autotune([triton.Config({}), triton.Config({}, num_warps=8, pre_hook=HOOK)], key=[])
@triton.jit
def kernel(x, flags):
    tl.store(x + tl.program_id(0), 1, mask=tl.load(flags) == 0)

flags = torch.zeros(1, dtype=torch.int32, device="cuda")
kernel[(64,)](torch.zeros(64, device="cuda"), flags)
"""


def test_what_the_hook_of_another_configuration_may_change_is_not_known(recorded: Recorded) -> None:
    """Nothing that a patch can test tells which configuration a launch has."""
    [launch], [without] = recorded["hook"], recorded["no_hook"]
    with pytest.raises(TraceError, match=r"of flags were .*as hook\.py:4 decides"):
        trace(launch)
    assert not find_dependence(trace(without), without).unknown


COPIES = """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x, y):
    p = tl.program_id(0)
    tl.store(y + p, tl.load(x + p))

y = torch.zeros(64, device="cuda")
for value in (0.0, 1.0):
    kernel[(64,)](torch.full((64,), value, device="cuda"), y)
"""


def test_floats_that_decide_nothing_tell_no_launches_apart(recorded: Recorded) -> None:
    assert [copy.count for copy in recorded["copies"]] == [2]


GATES = """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x, gate):
    if tl.load(gate) > 0:
        tl.store(x + tl.program_id(0), 1)

for value in (0.0, 1.0, 0.0):
    x = torch.zeros(64, dtype=torch.int32, device="cuda")
    kernel[(64,)](x, torch.full((1,), value, device="cuda"))
"""


def test_floats_that_decide_a_branch_tell_launches_apart(recorded: Recorded) -> None:
    assert sorted(gate.count for gate in recorded["gates"]) == [1, 2]


@pytest.mark.parametrize(
    ("kernel", "tested"),
    [
        ("ring", "num_pids == 400"),
        ("bound", "num_pids == 400"),
        ("stride", "S == 2"),
        ("rows", "S >= L"),
        ("padded", "L == 2"),
        ("flag", "FLAG == 0"),
        ("own", None),
    ],
)
def test_what_brings_tiles_together_later_or_by_another_argument_is_tested_by_the_patch(
    runs: Mapping[str, RunRecord], kernel: str, tested: str | None
) -> None:
    """No size that is looked at has as many tiles, and no launch another value."""
    run = runs[kernel]
    assert run.best is not None
    assert run.best.proof is not None
    assert tested is None or tested in (run.best.proof.condition or "")
    assert (run.best.proof.extent == "the recorded sizes") == (tested == "num_pids == 400")
    assert run.independence is not None
    assert (40, 1, 1) in run.independence.sizes
    if tested == "S == 2":
        assert run.independence.varied == ("FLAG", "M")  # rows of `y` may be padded
        assert "and with other values of `FLAG`, `M`)" in message(run)


def test_contents_that_decide_are_named_as_nothing_is_known_of_others(
    runs: Mapping[str, RunRecord],
) -> None:
    """With ones in `w` tiles would depend on each other, and no patch can test that."""
    run = runs["contents"]
    assert run.best is not None
    assert run.independence is not None
    assert run.independence.contents == ("w",)
    assert "independence with other contents of w" in message(run)
    assert message(run).count("other contents") == 1


def test_parts_of_one_allocation_are_named_if_one_is_stored_to(
    runs: Mapping[str, RunRecord],
) -> None:
    """If `y` began within `x` tiles would depend on each other, and no patch can test that."""
    run = runs["parts"]
    assert run.best is not None
    assert run.independence is not None
    assert ("x", "y") in run.independence.apart
    assert "independence if x and y overlap differently in memory" in message(run)


def test_tensors_that_must_not_be_one_are_named(runs: Mapping[str, RunRecord]) -> None:
    """In place of `q` each program stores what it has loaded; in place of `k` what others load."""
    run = runs["heads"]
    assert run.independence is not None
    assert run.independence.apart == (("k", "y"),)
    assert "independence if k and y overlap differently in memory" in message(run)


def test_an_extent_at_which_tiles_meet_is_tested_by_itself(runs: Mapping[str, RunRecord]) -> None:
    """Heads of a row: more would reach into the next row, at any number of rows."""
    run = runs["extent"]
    assert run.best is not None
    assert run.best.proof is not None
    assert run.best.proof.extent != "the recorded sizes"
    assert "S == 4" in (run.best.proof.condition or "")


def test_a_batch_that_was_not_recorded_is_checked_in_twice_the_recorded_launch(
    runs: Mapping[str, RunRecord],
) -> None:
    run = runs["heads"]
    assert run.best is not None
    assert run.best.proof is not None
    assert run.best.proof.extent != "the recorded sizes"
    assert run.independence is not None
    assert (4096, 1, 1) in run.independence.sizes


OVER_THE_END = """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x, y):
    p = tl.program_id(0)
    tl.store(y + p, tl.load(x + p + 4096) + 1)

x, y = (torch.zeros(4096, dtype=torch.int32, device="cuda") for _ in range(2))
kernel[(64,)](x, y)
"""


def test_what_runs_over_the_end_of_a_tensor_reaches_no_other(recorded: Recorded) -> None:
    """In a launch that is made up it would make programs depend on each other."""
    [launch] = recorded["over_the_end"]
    traced = trace(launch)
    assert traced.elements_outside == 64
    assert not find_dependence(traced, launch).chains.size


@pytest.mark.parametrize("kernel", [name for name in SEARCHED if name.startswith("apart")])
def test_an_argument_that_keeps_programs_apart_limits_the_patch_to_the_recorded_values(
    runs: Mapping[str, RunRecord], kernel: str
) -> None:
    """It is large enough at all sizes that are looked at, and would not be at others."""
    run = runs[kernel]
    assert run.best is not None
    assert run.best.proof is not None
    assert run.best.proof.extent == "the recorded sizes"


@pytest.mark.parametrize("address", ADDRESSES)
def test_what_may_bring_programs_together_at_another_size_is_known_from_the_ir(
    traced: Mapping[str, Trace], address: str
) -> None:
    """In the recorded launch none of these does."""
    assert not traced[address].shared_writes
    assert bool(traced[address].unseen) is ADDRESSES[address]
