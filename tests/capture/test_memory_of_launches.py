# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""All memory that a launch reaches is recorded: what overlaps, and what numbers point into."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.records import Capture, Launch, TensorArgument
from intelliperf_swizzle.records.launches import as_text

KERNELS = """
import os, threading
import multiprocessing as mp
import torch, triton
import triton.language as tl

@triton.jit
def chain_kernel(w, r):
    pid = tl.program_id(0)
    tl.store(w + pid, tl.load(r + pid) + 1)

@triton.jit
def table_kernel(table, out, far, n):
    pid = tl.program_id(0)
    x = tl.load(table + pid).to(tl.pointer_type(tl.float32))
    gate = far.to(tl.pointer_type(tl.int32))
    if tl.load(gate) > 0:
        tl.store(x, tl.load(x) * 2)
    tl.store(out + pid, tl.load(x), mask=pid < n)

@triton.jit
def turn_kernel(x, y, N, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * B + tl.arange(0, B)
    tl.store(y + c[:, None] * N + r[None, :], tl.trans(tl.load(x + r[:, None] * N + c[None, :])))
"""
OVERLAP = """
buffer = bytearray(4 * 9)
r = torch.frombuffer(buffer, dtype=torch.int32, count=8)
w = torch.frombuffer(buffer, dtype=torch.int32, offset=4, count=8)
chain_kernel[8,](w, r)
assert w.tolist() == list(range(1, 9))
"""
TABLES = """
for gate in (0, 1, 1):
    far = torch.tensor([7, gate], device="cuda", dtype=torch.int32)
    whole = torch.arange(1, 9, device="cuda", dtype=torch.float32)
    members = [whole[:4], torch.full((4,), 5.0, device="cuda"), whole[4:]]
    table = torch.tensor([one.data_ptr() for one in members], device="cuda")
    del members[2]
    out = torch.zeros(3, device="cuda")
    table_kernel[3,](table, out, far.data_ptr() + 4, 3)
    assert out.tolist() == ([2.0, 10.0, 10.0] if gate else [1.0, 5.0, 5.0]), out
    kept = globals().setdefault("kept", []) + [far, whole, members]  # the next lie elsewhere
"""
THREADS = """
x = torch.arange(64 * 64, device="cuda", dtype=torch.float32).reshape(64, 64)
ys = [torch.empty(64, 64, device="cuda") for _ in range(4)]
def work(y):
    for _ in range(3):
        turn_kernel[4, 4](x, y, 64, B=16)
threads = [threading.Thread(target=work, args=(y,)) for y in ys]
[one.start() for one in threads]
[one.join() for one in threads]
assert all(torch.equal(y, x.t()) for y in ys)
"""
CHILD = """
def work():
    chain_kernel[4,](torch.zeros(5, device="cuda")[1:], torch.zeros(4, device="cuda"))

if __name__ == "__main__":
    child = mp.get_context("spawn").Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == 0
    work()
"""


def record(folder: Path, text: str) -> Capture:
    (folder / "app.py").write_text(KERNELS + text)
    request = RecordRequest([sys.executable, "app.py"], folder=folder / "out", cwd=folder)
    run = capture(request)
    assert run.exit_code == 0, run.last_lines
    assert all(launch.computed for launch in run.launches), run.notes
    return run


def words(launch: Launch, number: int, dtype: str) -> list[int | float]:
    held: list[int | float] = np.load(launch.storages[number].contents or "").view(dtype).tolist()
    return held


def test_what_overlaps_is_one_storage(tmp_path: Path) -> None:
    (launch,) = record(tmp_path, OVERLAP).launches
    written, read = launch.arguments.values()
    assert isinstance(written, TensorArgument)
    assert isinstance(read, TensorArgument)
    assert (written.storage, read.storage, len(launch.storages)) == (0, 0, 1)
    assert written.offset_bytes - read.offset_bytes == 4
    assert launch.storages[0].bytes == 36
    assert words(launch, 0, "i4") == [0] * 9


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    return record(tmp_path_factory.mktemp("tables"), TABLES)


def test_what_numbers_point_into_is_recorded_wherever_it_lies(tables: Capture) -> None:
    assert [launch.count for launch in tables.launches] == [1, 2], "the gate tells them apart"
    for launch, gate in zip(tables.launches, (0, 1), strict=True):
        places = {
            number: (storage.address, storage.address + storage.bytes)
            for number, storage in launch.storages.items()
            if storage.address is not None
        }
        pointed = {
            address: next(n for n, (begin, end) in places.items() if begin <= address < end)
            for address in (*words(launch, 0, "i8"), launch.arguments["far"])
        }
        whole, full, again, far = pointed.values()
        assert whole == again
        assert len({whole, full, far}) == 3
        assert words(launch, whole, "f4") == list(range(1, 9))
        assert words(launch, far, "i4") == [7, gate]
        (first, _, last, at) = pointed
        assert last - first == 16
        assert at - places[far][0] == 4


def test_addresses_of_what_nothing_points_into_are_not_recorded(tmp_path: Path) -> None:
    texts = set()
    for name in "ab":
        (tmp_path / name).mkdir()
        (launch,) = record(tmp_path / name, CHILD.replace("spawn", "fork")).launches
        assert {storage.address for storage in launch.storages.values()} == {None}
        texts.add(as_text(launch).replace(f"/{name}/app.py", ""))
    assert len(texts) == 1, "the same launch in another process, at another place"


def test_one_launch_at_a_time(tmp_path: Path) -> None:
    run = record(tmp_path, THREADS)
    assert sum(launch.count for launch in run.launches) == 12


def test_a_kernel_in_a_spawned_child_is_the_same_kernel(tmp_path: Path) -> None:
    (launch,) = record(tmp_path, CHILD).launches
    assert launch.count == 2
