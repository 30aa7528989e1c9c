# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
# ruff: noqa: N803
"""An application in the styles that are usual: it checks every kernel's output against torch."""

import argparse
import sys

import local_blocks
import torch
import triton
import triton.language as tl
from local_blocks import offsets
from triton.testing import do_bench

SCALE = tl.constexpr(3)
DTYPE = tl.float32


@triton.autotune(
    configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128}, num_warps=8)],
    key=["n"],
)
@triton.jit
def tuned_kernel(x, out, n, BLOCK: tl.constexpr):
    places = offsets(tl.program_id(0), BLOCK)
    value = tl.load(x + places, mask=places < n)
    tl.store(out + places, value.to(DTYPE) * SCALE, mask=places < n)


@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
@triton.jit
def heuristic_kernel(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    places = local_blocks.offsets(tl.program_id(0), BLOCK)
    if EVEN:
        tl.store(out + places, tl.load(x + places) + local_blocks.SHIFT)
    else:
        mask = places < n
        tl.store(out + places, tl.load(x + places, mask=mask) + local_blocks.SHIFT, mask=mask)


@triton.jit
def apply_kernel(
    x, out, rows, columns, FUNCTION: tl.constexpr, DTYPE: tl.constexpr, SIDE: tl.constexpr = 16
):
    row = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    column = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    places = row[:, None] * columns + column[None, :]
    value = FUNCTION(tl.load(x + places, mask=mask).to(DTYPE))
    tl.store(out + places, value, mask=mask)


@triton.jit
def square_kernel(x, n, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    tl.store(x + places, square(tl.load(x + places, mask=places < n)), mask=places < n)


@triton.jit
def square(value):
    return value * value


def tuned(device):
    generator = torch.Generator(device=device)
    generator.manual_seed(1)
    x = torch.randn(300, device=device, generator=generator)
    out = torch.empty_like(x)

    def launch():
        return tuned_kernel[lambda meta: (triton.cdiv(300, meta["BLOCK"]),)](x, out, 300)

    compiled = launch()
    print("spills", compiled.n_spills, "programs", 65536 // compiled.n_regs)
    warm = square_kernel.warmup(x, 300, BLOCK=512, num_warps=2, grid=(1,))
    warm._init_handles()
    warm[(1, 1, 1)](x[:0], warm.metadata.shared * 0, 512)
    assert do_bench(launch) > 0
    assert len(do_bench(launch, quantiles=[0.5, 0.2, 0.8])) == 3
    assert torch.allclose(out, x * 3)
    assert tuned_kernel.best_config.kwargs["BLOCK"] == 64


def heuristic():
    x = torch.arange(256, dtype=torch.float32).cuda()
    out = torch.zeros(256).to("cuda")
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        begin.record()
        for n in (256, 200):
            heuristic_kernel[[triton.cdiv(n, 32), 1]](x, out, n, BLOCK=32)
        end.record()
    torch.cuda.synchronize()
    assert begin.elapsed_time(end) > 0
    assert torch.equal(out.cpu(), torch.arange(256, dtype=torch.float32) + 5)


def applied():
    host = torch.rand(40, 24, dtype=torch.float64)
    a, b = host.cuda(), host.cuda()
    assert (a.is_cuda, host.is_cuda, a.device) == (True, False, torch.device("cuda", 0))
    assert a.data_ptr() != b.data_ptr(), "two copies on the device are one tensor"
    with torch.device("cuda"):
        out = torch.empty(40, 24, dtype=torch.float32)
    assert out.is_cuda
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        apply_kernel[(3, 2)](a, out, 40, 24, FUNCTION=square, DTYPE=tl.float32, num_stages=1)
    graph.replay()
    with torch.autocast("cuda", dtype=torch.float16):
        product = out @ out.T
    assert product.dtype == torch.float16
    assert torch.allclose(out, (host.float() ** 2).to(out.device))


@torch.compile
def compiled_by_torch(x):
    return x + 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    assert (torch.cuda.is_available(), torch.cuda.device_count()) == (True, 1)
    assert torch.cuda.get_device_properties(0).multi_processor_count == 304
    assert triton.runtime.driver.active.get_active_torch_device().type == "cuda"
    assert triton.runtime.driver.active.get_current_target().backend == "hip"
    assert torch.cuda.get_device_capability() == (9, 4)
    assert not {"yaml", "numba", "libcst"} & set(sys.modules), "not every Python has these"
    tuned(device)
    heuristic()
    applied()
    layer = torch.nn.Linear(8, 8).cuda()
    layer(compiled_by_torch(torch.ones(2, 8, device="cuda"))).sum().backward()
    print(layer.weight.grad.device, torch.ones(2, device="cuda"))


if __name__ == "__main__":
    main()
