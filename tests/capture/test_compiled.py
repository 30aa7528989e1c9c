# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is recorded on a GPU; here its driver is a stand-in, which executes nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.hardware import Device
from intelliperf_swizzle.records import Capture, TensorArgument

APPLICATION = """
import torch, triton
import triton.language as tl
from intelliperf_swizzle.frontends.triton.capture import virtual_gpu
from intelliperf_swizzle.frontends.triton.capture.settings import gpu_of
virtual_gpu.install(gpu_of(None), print)
torch.cuda.is_current_stream_capturing = lambda: False

@triton.jit
def scale_kernel(x, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + places, tl.load(x + places, mask=places < n) * 2, mask=places < n)

def launch(x, n):
    scale_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, n, BLOCK=32)

floats, integers = torch.zeros(64), torch.zeros(64, dtype=torch.int32)
for step in range(900):
    launch(floats, 64 if step % 3 else 96)
for step in range(60):
    integers[0] = step // 2
    launch(integers, 64)

constant = torch.ones(96, dtype=torch.int32)
for step in range(60):
    launch(constant, 96)

# --- as the code that Inductor generates does it
torch._C._cuda_getCurrentRawStream = lambda device: 0
torch.cuda._exchange_device = torch.cuda._maybe_exchange_device = lambda device: 0
from torch._inductor.runtime import triton_heuristics
from torch._inductor.runtime.hints import DeviceProperties

@triton.jit
def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    tl.store(out_ptr0 + xindex, tl.load(in_ptr0 + xindex, xindex < xnumel) + 1, xindex < xnumel)

triton_heuristics.CachingAutotuner.bench = lambda *_, **__: 1.0
gpu = DeviceProperties(type="hip", index=0, multi_processor_count=304, cc="gfx942", major=9,
                       regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048,
                       max_threads_per_block=1024, warp_size=64)
meta = {"signature": {"in_ptr0": "*fp32", "out_ptr0": "*fp32", "xnumel": "i32",
                      "XBLOCK": "constexpr"}, "device": gpu, "constants": {},
        "configs": [{(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]}]}
inductor_meta = {"grid_type": "Grid1D", "kernel_name": "triton_poi_fused_add_0",
                 "mutated_arg_names": [], "autotune_hints": set()}
tuner = triton_heuristics.pointwise({"x": 512}, meta, filename=__file__,
                                    inductor_meta=inductor_meta)(triton_poi_fused_add_0)
out = torch.zeros(64)
tuner.run(floats, out, 512, stream=0, benchmark_run=True)
for _ in range(5):
    tuner.run(floats, out, 500, stream=0)
block = tuner.launchers[0].config.kwargs["XBLOCK"]
print("launched", triton.cdiv(500, block), block)
"""

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "app.py").write_text(APPLICATION)
    request = RecordRequest(
        [sys.executable, "app.py"],
        folder=folder / "out" / "capture",
        cwd=folder,
        device=Device(0, "none", "cuda"),
    )
    return capture(request)


def test_each_launch_counts_for_what_it_was(run: Capture) -> None:
    assert run.exit_code == 0, run.last_lines
    floats = [(launch.grid, launch.count) for launch in run.launches[:2]]
    assert floats == [((3, 1, 1), 300), ((2, 1, 1), 600)]


def test_what_integers_hold_later_is_not_known(run: Capture) -> None:
    held = [launch for launch in run.launches if launch.kernel == "scale_kernel"][2:-1]
    assert [launch.count for launch in held] == [2] * 16 + [1, 27]
    known = [launch.storages[0].contents is not None for launch in held]
    assert known == [True] * 17 + [False]
    assert not run.cautions  # where they decide something, no order is safe


def test_integers_that_the_gpu_finds_unchanged_are_known(run: Capture) -> None:
    same = [launch for launch in run.launches if launch.kernel == "scale_kernel"][-1]
    assert (same.grid, same.count) == ((3, 1, 1), 60)
    assert same.storages[0].contents is not None


def test_what_inductor_launches_is_recorded(run: Capture) -> None:
    (fused,) = [launch for launch in run.launches if launch.kernel == "triton_poi_fused_add_0"]
    _, grid, block = run.last_lines[-1].split()
    assert (fused.grid, fused.count) == ((int(grid), 1, 1), 5)
    assert fused.constants == {"xnumel": 500, "XBLOCK": int(block)}
    assert fused.arguments["in_ptr0"] == TensorArgument(0, "fp32", (64,), (1,))
    assert fused.options["num_warps"] > 0
    assert "tt.store" in Path(fused.ttir or "").read_text()
    assert Path(fused.source.entry.file).name == "app.py"


WITHOUT_GPU = """
import torch
import torch._inductor.config as config
config.max_autotune, config.max_autotune_gemm_backends = True, "TRITON"
a, b = (torch.randint(-4, 5, (128, 128), device="cuda", dtype=torch.bfloat16) for _ in "ab")
multiply = torch.compile(lambda a, b: torch.relu(a @ b))
for _ in range(3):
    out = multiply(a, b)
trained = torch.compile(lambda a: (a * 2).sum())
trained(a.requires_grad_()).backward()
whole = torch.compile(lambda one: one * 2, fullgraph=True)

class Doubled(torch.autograd.Function):
    forward = staticmethod(lambda context, one: whole(one))
    backward = staticmethod(lambda context, gradient: whole(gradient))

Doubled.apply(a).sum().backward()
print(out.device, torch.equal(out, torch.relu(a @ b)), a.grad.unique().tolist())
"""


def test_torch_compile_is_recorded_without_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(WITHOUT_GPU)
    request = RecordRequest(
        [sys.executable, "app.py"], tmp_path, tmp_path / "out", compute="always"
    )
    recorded = capture(request)
    assert recorded.last_lines[-1] == "cuda:0 True [4.0]"
    assert ["gradients" in caution for caution in recorded.cautions].count(True) == 1
    (product,) = [launch for launch in recorded.launches if "_mm_" in launch.kernel]
    assert product.count == 3
    tile = re.findall(r"BLOCK_[MN] : tl.constexpr = (\d+)", product.source.entry.text)
    assert tile == ["128", "128"], "of Inductor's choices the largest tiles"
    assert product.source.identity["kernel"] == product.kernel
    assert "torch-cache" in product.source.entry.file
    assert product.source.file == "", "a folder that is gone is not named"
    assert {launch.kernel for launch in recorded.launches if launch is not product} <= {
        "triton_poi_fused_relu_1",
        "triton_poi_fused_mul_0",
    }


TUNED = """
import torch, triton
import triton.language as tl
from triton.runtime.autotuner import Autotuner
from intelliperf_swizzle.frontends.triton.capture import tuning, virtual_gpu
from intelliperf_swizzle.frontends.triton.capture.settings import gpu_of
virtual_gpu.install(gpu_of(None), print)

def bench(tuner, *args, config, **kwargs):
    [(compiled, *_)] = scale_kernel.fn.device_caches.values()
    print(config.kwargs["BLOCK"], len(compiled))
    return [float(config.kwargs["BLOCK"])] * 3

Autotuner._bench = bench
tuning.watch(timed=True)

@triton.autotune([triton.Config({"BLOCK": block}) for block in (128, 48, 32, 64)], key=["n"])
@triton.jit
def scale_kernel(x, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + places, tl.load(x + places, mask=places < n) * 2, mask=places < n)

x = torch.zeros(64)
scale_kernel[lambda meta: (triton.cdiv(64, meta["BLOCK"]),)](x, 64)
print(scale_kernel.best_config.kwargs["BLOCK"])
"""


def test_what_a_tuner_tries_is_compiled_before_its_first_trial(tmp_path: Path) -> None:
    script = tmp_path / "tuned.py"
    script.write_text(TUNED)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    # 48 is no power of two: it cannot be compiled, and is tried all the same
    assert ran.stdout.splitlines() == ["128 3", "48 3", "32 3", "64 3", "32"], ran.stderr
