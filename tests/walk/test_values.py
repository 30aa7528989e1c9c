# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
# ruff: noqa: N803
"""What kernels compute when their IR is executed, together and one program after the other."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).parents[1] / "trace"))

from zoo import Case, record

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir import kernel_of
from intelliperf_swizzle.frontends.triton.tracing.execute import trace_here
from intelliperf_swizzle.frontends.triton.walk.blocks import Block, Element, pick
from intelliperf_swizzle.frontends.triton.walk.running import (
    make_live,
    run_one_by_one,
    run_together,
)
from intelliperf_swizzle.records import Launch, Storage
from intelliperf_swizzle.trace.observer import Observer


def outcomes(case: Case, folder: Path, *names: str) -> list[np.ndarray]:
    """The named tensors afterwards; the same bits both ways."""
    launch = record(case, folder)
    kernel = kernel_of(launch)
    lives = [make_live(launch, kernel, whole=True) for _ in range(2)]
    run_together(lives[0], Observer(), compute=True)
    run_one_by_one(lives[1])
    found = []
    for name in names:
        number = launch.arguments[name].storage  # type: ignore[union-attr]
        together, alone = (live.memory.bytes(number).copy() for live in lives)
        assert np.array_equal(together, alone)
        assert not any(live.memory.not_known(number).any() for live in lives)
        found.append(together.view(case.arguments[name].dtype))
    return found


def at(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)


@triton.jit
def rows_combined(x, best, sums, ordered, o, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, COLUMNS)
    v = tl.load(x + row * COLUMNS + lanes)
    tl.store(best + row, tl.argmax(v, axis=0))
    tl.store(ordered + row * COLUMNS + lanes, tl.cumsum(v, axis=0, reverse=True))
    tl.store(sums + row, tl.sum(tl.where(v > 0, v, 0.0), axis=0))
    tl.store(o + row * COLUMNS + lanes, tl.sort(v))


def test_reductions_scans_and_sorts(tmp_path: Path) -> None:
    x = at(5, 64)
    given = {"x": x, "best": np.zeros(5, np.int32), "sums": np.zeros(5, np.float32),
             "ordered": np.zeros_like(x), "o": np.zeros_like(x), "COLUMNS": 64}  # fmt: skip
    best, sums, ordered, o = outcomes(
        Case(rows_combined, (5, 1, 1), given), tmp_path, "best", "sums", "ordered", "o"
    )
    assert best.tolist() == x.argmax(axis=1).tolist()
    assert np.allclose(sums, np.where(x > 0, x, 0).sum(axis=1))
    assert np.allclose(ordered.reshape(5, 64), x[:, ::-1].cumsum(axis=1)[:, ::-1], atol=1e-5)
    assert np.array_equal(o.reshape(5, 64), np.sort(x, axis=1))


@triton.jit
def narrowed(x: tl.const, half, small, again, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + lanes, mask=lanes < n)
    tl.store(half + lanes, (v.to(tl.bfloat16) * 3).to(tl.float32), mask=lanes < n)
    eighth = v.to(tl.float8e5)
    tl.store(small + lanes, eighth.to(tl.int8, bitcast=True), mask=lanes < n)
    tl.store(again + lanes, eighth.to(tl.float32), mask=lanes < n)


def test_floats_that_numpy_lacks_are_rounded_as_torch_does(tmp_path: Path) -> None:
    x = at(1, 300)[0].astype(np.float16)
    given = {"x": x, "half": np.zeros(300, np.float32), "small": np.zeros(300, np.int32),
             "again": np.zeros(300, np.float32), "n": 300, "BLOCK": 64}  # fmt: skip
    case = Case(narrowed, (5, 1, 1), given)
    half, again = outcomes(case, tmp_path, "half", "again")
    wanted = torch.from_numpy(x)
    assert np.array_equal(half, (wanted.bfloat16() * 3).bfloat16().float().numpy())
    assert np.array_equal(again, wanted.to(torch.float8_e5m2).float().numpy())


@triton.jit
def divided(x, y, quotient, rest, high, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    tl.store(quotient + lanes, a // b)
    tl.store(rest + lanes, a % b)
    tl.store(high + lanes, tl.umulhi(a, b))


def test_integers_are_divided_as_in_c(tmp_path: Path) -> None:
    x = np.array([7, -7, 7, -7, 2**31 - 1, -(2**31), 0, 100], np.int32)
    y = np.array([2, 2, -2, -2, 3, 3, 5, -7], np.int32)
    given = {"x": x, "y": y, **{n: np.zeros(8, np.int32) for n in ("quotient", "rest", "high")}}
    case = Case(divided, (1, 1, 1), {**given, "BLOCK": 8})
    quotient, rest, high = outcomes(case, tmp_path, "quotient", "rest", "high")
    exact = [int(np.trunc(int(a) / int(b))) for a, b in zip(x, y, strict=True)]
    assert quotient.tolist() == exact
    assert rest.tolist() == [int(a) - int(b) * q for a, b, q in zip(x, y, exact, strict=True)]
    unsigned = x.view(np.uint32).astype(object) * y.view(np.uint32).astype(object) >> 32
    assert high.view(np.uint32).tolist() == unsigned.tolist()


@triton.jit(noinline=True)
def triangle(n):
    total = 0
    for number in range(n):
        if number % 2 == 0:
            total += number
        else:
            total += 10 * number
    return total


@triton.jit
def own_ways(o, early, LIMIT: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(o + pid, triangle(pid))
    number = pid
    turns = 0
    while number > 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        turns += 1
    tl.store(o + tl.num_programs(0) + pid, turns)
    if pid >= LIMIT:
        return
    tl.store(early + pid, pid)


def test_programs_take_different_branches(tmp_path: Path) -> None:
    def collatz(number: int) -> int:
        turns = 0
        while number > 1:
            number, turns = number // 2 if number % 2 == 0 else 3 * number + 1, turns + 1
        return turns

    given = {"o": np.zeros(40, np.int32), "early": np.full(20, -1, np.int32), "LIMIT": 7}
    o, early = outcomes(Case(own_ways, (20, 1, 1), given), tmp_path, "o", "early")
    triangles = [sum(k if k % 2 == 0 else 10 * k for k in range(pid)) for pid in range(20)]
    assert o.tolist() == triangles + [collatz(pid) for pid in range(20)]
    assert early.tolist() == [*range(7), *[-1] * 13]


@triton.jit
def tickets(counter, taken, most, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    mine = tl.atomic_add(counter + lanes * 0, 1)
    tl.store(taken + tl.program_id(0) * BLOCK + lanes, mine)
    tl.atomic_max(most, tl.program_id(0))


def test_lanes_of_an_atomic_follow_each_other(tmp_path: Path) -> None:
    given = {"counter": np.zeros(1, np.int32), "taken": np.zeros(24, np.int32),
             "most": np.full(1, -5, np.int32), "BLOCK": 8}  # fmt: skip
    case = Case(tickets, (3, 1, 1), given)
    counter, taken, most = outcomes(case, tmp_path, "counter", "taken", "most")
    assert (counter[0], most[0]) == (24, 2)
    assert sorted(taken.tolist()) == list(range(24))


@triton.jit
def through_addresses(table, o, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    source = tl.load(table + pid).to(tl.pointer_type(tl.float32))
    lanes = tl.arange(0, BLOCK)
    tl.store(o + pid * BLOCK + lanes, tl.load(source + lanes))


def addressed(folder: Path, addresses: list[int], known: bool = True) -> Launch:
    """Programs that each copy 16 floats from an address in a table."""
    given: dict[str, Any] = {"table": np.array(addresses, np.int64),
                             "o": np.zeros(16 * len(addresses), np.float32),
                             "BLOCK": 16}  # fmt: skip
    case = Case(through_addresses, (len(addresses), 1, 1), given)
    launch = record(case if known else replace(case, unrecorded=("table",)), folder)
    values = folder / "values.npy"
    np.save(values, np.arange(64, dtype=np.float32).view(np.uint8))
    storages = {**launch.storages, 7: Storage(256, str(values), address=1 << 40)}
    return replace(launch, storages=storages)


def test_recorded_addresses_lead_to_recorded_memory(tmp_path: Path) -> None:
    launch = addressed(tmp_path, [(1 << 40) + 128, 1 << 40])
    found = trace_here(launch, tmp_path)
    assert not found.unresolved
    live = make_live(launch, kernel_of(launch), whole=True)
    run_together(live, Observer(), compute=True)
    assert live.memory.bytes(1).view(np.float32).tolist() == [*range(32, 48), *range(16)]


def test_an_address_outside_of_every_tensor_is_reported_with_its_line(tmp_path: Path) -> None:
    launch = addressed(tmp_path, [(1 << 40) + 128, 1 << 41])
    assert trace_here(launch, tmp_path).unresolved[0].startswith("test_values.py:")
    with pytest.raises(TraceError, match=r"test_values\.py:\d+ reaches outside of every tensor"):
        trace_here(launch, tmp_path, inside=True)  # goes no further


def test_addresses_that_were_not_recorded_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="contents of table were not recorded"):
        trace_here(addressed(tmp_path, [0], known=False), tmp_path)


@triton.jit
def assumes(o, stride, n):
    pid = tl.program_id(0)
    tl.assume(stride > 0)
    tl.assume(pid >= 0)
    tl.assume(pid < n)
    if stride > 0:
        tl.assume(pid > n)
    tl.store(o + pid, pid)


@pytest.mark.parametrize(("stride", "n", "false"), [(8, 4, []), (0, 3, [3, 5])])
def test_a_false_assumption_is_reported_with_its_line(
    tmp_path: Path, stride: int, n: int, false: list[int]
) -> None:
    given = {"o": np.zeros(4, np.int32), "stride": stride, "n": n}
    found = trace_here(record(Case(assumes, (4, 1, 1), given), tmp_path), tmp_path)
    first = assumes.fn.__code__.co_firstlineno
    assert [note.partition(": ")[0] for note in found.notes] == [
        f"test_values.py:{first + line}" for line in false
    ]


def test_ends_of_a_sum_are_picked_without_the_sum() -> None:
    """Sums of addresses are gigabytes where many programs of many lanes are walked at once."""
    rows, columns = np.arange(6).reshape(3, 2, 1) * 100, np.arange(5).reshape(1, 1, 5)
    block = Block([rows, columns], Element("i64", 64, np.dtype(np.int64)), (2, 5))
    found = pick(block, np.array([0, 2]), 2, ends=True)
    assert block._joined is None
    active = np.array([True, False, True])
    everywhere = pick(block, active, 2, ends=False)
    assert np.array_equal(everywhere, block.data[active])
    assert np.array_equal(found, everywhere[:, ::1, ::4])
