# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A kernel whose own remap drops tiles is named unasked, and no other kernel is."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.tracing import trace
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.records import Ceiling, Launch, Measurement
from intelliperf_swizzle.search.examine import add_cautions, choose_kernel, record_application
from intelliperf_swizzle.search.setup import RunContext, prepare
from intelliperf_swizzle.search.subject import Subject

TARGET = load_target("mi300x")
APPLICATION = """\
import torch
import triton
import triton.language as tl


@triton.jit
def dropping(x, y, B: tl.constexpr, XCDS: tl.constexpr):
    pid = tl.program_id(0)
    pid = pid % XCDS * (tl.num_programs(0) // XCDS) + pid // XCDS
    at = pid * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) * 2)


@triton.jit
def renumbering(x, y, B: tl.constexpr, XCDS: tl.constexpr):
    pid = tl.program_id(0)
    pid = pid % XCDS * (tl.num_programs(0) // XCDS) + pid // XCDS
    at = pid * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) * 2)


@triton.jit
def shifting_in_place(x, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + at, tl.load(x + at + 1, mask=at + 1 < n), mask=at < n)


@triton.jit
def persistent_with_a_flag(x, y, done, tiles, B: tl.constexpr):
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        at = tile * B + tl.arange(0, B)
        tl.store(y + at, tl.load(x + at) * 2)
    tl.store(done, 1)


@triton.jit
def twice_on_the_second_axis(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) * 2)


@triton.jit
def split_with_a_lock(x, y, lock, n, B: tl.constexpr, SPLIT: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    part = tl.load(x + tl.program_id(1) * n + at)
    while tl.atomic_cas(lock + tl.program_id(0), 0, 1) == 1:
        pass
    tl.store(y + at, tl.load(y + at) + part)
    tl.atomic_xchg(lock + tl.program_id(0), 0)


@triton.jit
def gathering(x, y, index, B: tl.constexpr):
    at = tl.load(index + tl.program_id(0)) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) * 2)


def floats(*shape):
    return torch.zeros(*shape, device="cuda")


x, y = floats(4, 1216 * 16), floats(1216 * 16)
dropping[(1212,)](x, y, B=16, XCDS=8)
renumbering[(1208,)](x, y, B=16, XCDS=8)
shifting_in_place[(12,)](y, 190, B=16)
persistent_with_a_flag[(7,)](x, y, floats(32), 40, B=16)
twice_on_the_second_axis[(1216, 2)](x, y, B=16)
gathering[(64,)](x, y, floats(64).int(), B=16)
split_with_a_lock[(6, 3)](x, y, floats(8).int(), 64, B=16, SPLIT=3)
"""
LOOKED_AT = {"dropping", "shifting_in_place", "persistent_with_a_flag", "twice_on_the_second_axis",
             "gathering", "split_with_a_lock"}  # fmt: skip
"""Kernels of which programs touch what others store."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "app.py").write_text(APPLICATION)
    return folder


@pytest.fixture(scope="module")
def subjects(folder: Path) -> dict[str, Subject]:
    captured = capture(
        RecordRequest([sys.executable, "app.py"], folder=folder / "records", cwd=folder)
    )
    return {launch.kernel: subject_of(launch) for launch in captured.launches}


def subject_of(launch: Launch) -> Subject:
    """A launch and its trace; of what it is worth nothing is known."""
    traced = TracedLaunch(launch, trace(launch), 1)
    unmeasured = Measurement("model", TARGET.name, 0.0)
    return Subject(launch.kernel, (launch,), (traced,), unmeasured, Ceiling(1.0, ""), ())


@pytest.fixture(scope="module")
def setup(folder: Path) -> RunContext:
    asked = Options(project_directory=str(folder), profiler="model", kernel="dropping")
    return prepare(asked, (sys.executable, "app.py"), Silent(), target=TARGET)


def test_only_what_drops_tiles_is_doubted(subjects: dict[str, Subject], setup: RunContext) -> None:
    looked_at, doubts = set(), set()
    for name, subject in subjects.items():
        if any(traced_launch.trace.shared_writes for traced_launch in subject.traced):
            looked_at.add(name)
        if add_cautions(subject, setup, Silent()).cautions:
            doubts.add(name)
    assert looked_at == LOOKED_AT
    assert doubts == {"dropping"}


def test_the_caution_has_a_witness_and_a_command_that_shows_more(setup: RunContext) -> None:
    with record_application(setup, Silent()) as captured:
        subject = choose_kernel(captured, setup, Silent())
    [caution] = subject.cautions
    assert "1212 programs do the work of 1208" in caution
    witness = re.search(r"programs \d+ and \d+ access the same addresses", caution)
    assert witness
    [command] = re.findall(r"\((intelliperf-swizzle .*)\)$", caution)
    program = Path(sys.executable).with_name("intelliperf-swizzle")
    shown = subprocess.run(
        [str(program), *shlex.split(command)[1:]], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 1, shown.stderr
    assert witness[0] in shown.stdout
    left = f"within [{1208 * 16}:{1216 * 16}]"  # the tiles of programs 1208 to 1211, and the border
    assert re.search(rf"by no program, {re.escape(left)}", shown.stdout)
