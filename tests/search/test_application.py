# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""All kernels of an application in one run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TARGET = """\
base: mi300x
name: small
launch_us: 0
l2_bytes_per_xcd: 65536
l2_channels_per_xcd: 1
l2_channel_bits: hashed
l2_set_bits: hashed
cus_per_xcd: 4
llc_gb_s: 400
memory_gb_s: 100
"""

APPLICATION = """\
import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, N, K, B: tl.constexpr):
    pid = tl.program_id(0)
    columns = tl.cdiv(N, B)
    rows = pid // columns * B + tl.arange(0, B)
    cols = pid % columns * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        at = k + tl.arange(0, B)
        left = tl.load(a + rows[:, None] * K + at[None, :])
        total += tl.dot(left, tl.load(b + at[:, None] * N + cols[None, :]))
    tl.store(c + rows[:, None] * N + cols[None, :], total)


@triton.jit
def nearest(x, y, out, N, D: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    one = tl.load(x + i[:, None] * D + d[None, :])
    other = tl.load(y + j[:, None] * D + d[None, :])
    distance = tl.sum(tl.abs(one[:, None, :] - other[None, :, :]), 2)
    tl.store(out + i[:, None] * N + j[None, :], distance)


@triton.jit
def double(x, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + at, tl.load(x + at) * 2)


a, b = (torch.randn(512, 64, device="cuda") for _ in range(2))
c, out = (torch.empty(512, 512, device="cuda") for _ in range(2))
for _ in range(3):
    matmul[(256,)](a, b.T.contiguous(), c, 512, 64, B=32)
assert torch.allclose(c, a @ b.T, atol=1e-3)
nearest[(32, 32)](a, b, out, 512, D=64, B=16)
assert torch.allclose(out, torch.cdist(a, b, 1), atol=1e-3)
double[(4,)](c, B=512)
print("checked")
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A project in which the whole command has run, and what it printed."""
    folder = tmp_path_factory.mktemp("application")
    (folder / "app.py").write_text(APPLICATION)
    (folder / "small.yaml").write_text(TARGET)
    options = [
        "--target",
        "small.yaml",
        "--candidates",
        "24",
        "--compute",
        "always",
        "-o",
        "r.json",
    ]
    command = [
        sys.executable,
        "-m",
        "intelliperf_swizzle",
        *options,
        "--",
        sys.executable,
        "app.py",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_table_has_every_kernel_with_all_its_launches(finished: tuple[Path, str]) -> None:
    folder, message = finished
    result = json.loads((folder / "r.json").read_text())
    rows = {row["kernel"]: row for row in result["swizzle"]["kernels"]}
    assert {name: row["launches"] for name, row in rows.items()} == {
        "matmul": 3, "nearest": 1, "double": 1,
    }  # fmt: skip
    assert sum(row["time_share"] for row in rows.values()) == pytest.approx(1)
    for name in ("matmul", "nearest"):
        assert rows[name]["verdict"] == "fewer L2 misses, no claim about time"
        assert rows[name]["time_saved"] is None
        assert rows[name]["best_l2_hit_rate"] > rows[name]["baseline_l2_hit_rate"]
    assert result["kernel_name"] == max(rows, key=lambda name: rows[name]["time_saved"] or 0)
    for name in rows:
        assert name in message


def test_a_kernel_with_nothing_to_gain_costs_no_search(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    result = json.loads((folder / "r.json").read_text())
    [row] = [kernel for kernel in result["swizzle"]["kernels"] if kernel["kernel"] == "double"]
    assert row["verdict"] in ("nothing to gain", "too little time to save")
    assert not (folder / "swizzle-out" / "double").exists()


def test_one_patch_for_all_kernels_and_one_for_each(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    out = folder / "swizzle-out"
    own = [(out / name / "best.patch").read_text() for name in ("matmul", "nearest")]
    combined = (out / "best.patch").read_text()
    added = [line for patch in own for line in patch.splitlines() if line.startswith("+  ")]
    assert sorted(added) == sorted(x for x in combined.splitlines() if x.startswith("+  "))
    copy = folder / "copy"
    copy.mkdir()
    (copy / "app.py").write_text(APPLICATION)
    subprocess.run(["patch", "-p1", "-i", out / "best.patch"], cwd=copy, check=True)
    text = (copy / "app.py").read_text().replace('device="cuda"', 'device="cpu"')
    text = text.replace("range(3)", "range(1)")
    (copy / "app.py").write_text(text)
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    checked = subprocess.run(
        [sys.executable, "app.py"], cwd=copy, env=environment, capture_output=True, text=True
    )
    assert checked.stdout == "checked\n", checked.stderr


def test_each_page_has_the_table_of_all_kernels(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    for name in ("matmul", "nearest"):
        page = (folder / "swizzle-out" / name / "report.html").read_text()
        assert '<th scope="row">double<br><small>app.py:' in page
