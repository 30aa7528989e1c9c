# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Real measurements, on a machine with an NVIDIA GPU and `ncu`."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from pathlib import Path

import pytest

from intelliperf_swizzle.doctor import diagnose
from intelliperf_swizzle.errors import ProfileError
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.frontends.ports import RecordRequest, frontends
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.source.splice import splice
from intelliperf_swizzle.hardware import devices
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.profile import Application, TracedLaunch
from intelliperf_swizzle.profile.installed import choose_profiler

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"

pytestmark = pytest.mark.gpu

AUTOTUNED = """\
import torch, triton, triton.language as tl

@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=8),
        triton.Config({"BLOCK": 2048}, num_warps=4),
    ],
    key=["n"],
)
@triton.jit
def add_kernel(x, y, z, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

n = 1 << 24
x, y = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")
z = torch.empty_like(x)
for _ in range(3):
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, z, n)
torch.cuda.synchronize()
"""


@pytest.fixture
def device():
    present = [device for device in devices() if device.backend == "cuda"]
    if not present:
        pytest.skip("there is no NVIDIA GPU")
    assert present[0].target is not None
    return present[0]


@pytest.fixture
def gemm(tmp_path):
    """A GEMM of 4096 x 4096 x 1024, in rows of tiles: far from the best order."""
    project = tmp_path / "project"
    project.mkdir()
    shutil.copy(KERNELS / "gemm.py", project)
    sizes = ["--m", "4096", "--n", "4096", "--k", "1024", "--group-m", "1", "--num-warps", "8"]
    return project, (sys.executable, "gemm.py", *sizes, "--repeat", "3")


def recorded(command, project, tmp_path):
    found = capture(
        RecordRequest(command, folder=tmp_path / "capture", cwd=project, device=devices()[0])
    )
    return [TracedLaunch(launch, None, 1) for launch in found.launches]  # type: ignore[arg-type]


def test_a_gemm_and_an_order_of_it(gemm, device, tmp_path):
    project, command = gemm
    launches = recorded(command, project, tmp_path)
    application = Application(command, project, frontends()[-1], device)
    profiler = choose_profiler("auto", device.target, application)
    assert profiler.name == "ncu"
    before = profiler.measure(launches)
    assert 0.3 < before.l2_hit_rate < 0.98
    tensors = 2 * (4096 * 1024 * 2) * launches[0].launch.count
    assert before.memory_bytes > tensors
    assert 0.01 < before.time_ms / 3 < 10
    assert before.l2_before == "cold"
    assert before.counters["lts__t_sectors_srcunit_tex.sum per request"] == pytest.approx(4, 1e-3)

    text = load_pattern("column-major").bind(cols=4096 // 256)
    edit = splice(
        launches[0].launch.source,
        parse(text),
        target=device.target,
        launches=[launch.launch for launch in launches],
        roots=[project],
    )
    after = profiler.measure(launches, edit)
    assert after.l2_hit_rate != before.l2_hit_rate
    assert after.l2_requests == pytest.approx(before.l2_requests, rel=0.5)

    again = profiler.measure(launches)
    assert again.l2_hit_rate == pytest.approx(before.l2_hit_rate, abs=0.03)


def test_an_autotuned_kernel(device, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "app.py").write_text(AUTOTUNED)
    command = (sys.executable, "app.py")
    launches = recorded(command, project, tmp_path)
    profiler = choose_profiler(
        "ncu", device.target, Application(command, project, frontends()[-1], device)
    )
    measured = profiler.measure(launches)
    # of three sectors two are read, and come from memory; the third is written
    assert measured.l2_hit_rate == pytest.approx(1 / 3, abs=0.02)
    count = sum(launch.launch.count for launch in launches)
    assert measured.l2_requests == pytest.approx(count * 3 * (4 << 24) / 32, 0.01)


def test_a_kernel_that_is_absent(gemm, device, tmp_path):
    project, command = gemm
    [one] = recorded(command, project, tmp_path)
    other = dataclasses.replace(one, launch=dataclasses.replace(one.launch, kernel="absent"))
    profiler = choose_profiler(
        "ncu", device.target, Application(command, project, frontends()[-1], device)
    )
    with pytest.raises(ProfileError, match="does not show `absent`") as caught:
        profiler.measure([other])
    assert "gemm_kernel" in caught.value.details[0]


def test_doctor(device):
    diagnosis = diagnose(Options(profiler="ncu"))
    assert diagnosis.works
    assert (diagnosis.device, diagnosis.profiler) == (device.product, "ncu")
