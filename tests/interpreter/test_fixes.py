# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Each fault of Triton's interpreter that an application meets is fixed."""

from __future__ import annotations

from collections.abc import Callable

HEAD = """
    from intelliperf_swizzle.frontends.triton.interpreter.fixes import fix_interpreter
    fix_interpreter(); fix_interpreter()
    import torch, triton, triton.language as tl
    from triton.language.extra import libdevice
"""


def test_launches_take_a_list_and_return_something_compiled(
    interpreted: Callable[[str], str],
) -> None:
    printed = interpreted(
        HEAD
        + """
    @triton.jit
    def fill(o, BLOCK: tl.constexpr):
        tl.store(o + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(0) + 1)

    o = torch.zeros(64, dtype=torch.int32)
    compiled = fill[[4]](o, BLOCK=16)
    print(o[::16].tolist(), compiled.n_regs, compiled.asm["amdgcn"] == "", compiled.metadata.shared)
    fill[lambda meta: [64 // meta["BLOCK"]]](o, BLOCK=32)
    print(o[::32].tolist())
    """
    )
    assert printed.splitlines() == ["[1, 2, 3, 4] 0 True 0", "[1, 2]"]


def test_programs_run_with_axis_0_fastest(interpreted: Callable[[str], str]) -> None:
    printed = interpreted(
        HEAD
        + """
    @triton.jit
    def order(o, counter):
        x, y = tl.program_id(0), tl.program_id(1)
        tl.store(o + y * tl.num_programs(0) + x, tl.atomic_add(counter, 1))

    o = torch.zeros(6, dtype=torch.int32)
    order[(3, 2)](o, torch.zeros(1, dtype=torch.int32))
    print(o.tolist())
    """
    )
    assert printed.strip() == "[0, 1, 2, 3, 4, 5]"


def test_a_product_of_bfloat16_is_that_of_its_values(interpreted: Callable[[str], str]) -> None:
    printed = interpreted(
        HEAD
        + """
    @triton.jit
    def product(a, b, c):
        i = tl.arange(0, 16)
        at = i[:, None] * 16 + i[None, :]
        tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))

    torch.manual_seed(0)
    a, b = torch.randn(2, 16, 16).to(torch.bfloat16)
    c = torch.zeros(16, 16)
    product[(1,)](a, b, c)
    print(torch.allclose(c, a.float() @ b.float(), atol=1e-4))
    """
    )
    assert printed.strip() == "True"


def test_autotuning_benchmarks_and_the_driver_answer(interpreted: Callable[[str], str]) -> None:
    printed = interpreted(
        HEAD
        + """
    runs = []

    @triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32})], key=["n"])
    @triton.jit
    def double(x, o, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(o + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

    x, o = torch.arange(100.0), torch.zeros(100)
    def launch():
        runs.append(0)
        double[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, o, 100)
    print(triton.testing.do_bench(launch), triton.testing.do_bench(launch, quantiles=[0.2, 0.8]))
    print(len(runs), torch.equal(o, 2 * x), double.best_config.kwargs)
    target = triton.runtime.driver.active.get_current_target()
    print(target.backend, target.arch, triton.runtime.driver.active.get_current_device())
    properties = triton.runtime.driver.active.utils.get_device_properties(0)
    print(properties["multiprocessor_count"])
    """
    )
    assert printed.splitlines() == ["1.0 [1.0, 1.0]", "2 True {'BLOCK': 64}", "hip gfx942 0", "304"]


def test_libdevice_computes(interpreted: Callable[[str], str]) -> None:
    printed = interpreted(
        HEAD
        + """
    @triton.jit
    def hyperbolic(x, o):
        at = tl.arange(0, 8)
        v = tl.load(x + at)
        tl.store(o + at, libdevice.tanh(v) + libdevice.pow(v, 2.0))

    x, o = torch.linspace(-1, 1, 8), torch.zeros(8)
    hyperbolic[(1,)](x, o)
    print(torch.allclose(o, x.tanh() + x ** 2))
    print(libdevice.tanh.__module__, libdevice.tanh.__qualname__)  # where a kernel's copy finds it
    """
    )
    assert printed.split() == ["True", "triton.language.extra.libdevice", "tanh"]


def test_programs_that_wait_for_later_ones_and_for_each_other_end(
    interpreted: Callable[[str], str],
) -> None:
    printed = interpreted(
        HEAD
        + """
    @triton.jit
    def backwards(flags, o, n):
        pid = tl.program_id(0)
        if pid < n - 1:
            while tl.load(flags + pid + 1, volatile=True) == 0:
                pass
            tl.store(o + pid, tl.load(o + pid + 1) + 1)
        tl.atomic_xchg(flags + pid, 1)

    @triton.jit
    def barrier(count, o):
        tl.atomic_add(count, 1)
        while tl.load(count, volatile=True) < tl.num_programs(0):
            pass
        tl.store(o + tl.program_id(0), tl.load(count))

    o = torch.zeros(12, dtype=torch.int32)
    backwards[(12,)](torch.zeros(12, dtype=torch.int32), o, 12)
    print(o[:3].tolist(), o[-2:].tolist())
    barrier[(5,)](torch.zeros(1, dtype=torch.int32), o)
    print(o[:5].tolist())
    """
    )
    assert printed.splitlines() == ["[11, 10, 9] [1, 0]", "[5, 5, 5, 5, 5]"]


def test_a_wait_that_cannot_end_is_an_error(interpreted: Callable[[str], str]) -> None:
    printed = interpreted(
        HEAD
        + """
    @triton.jit
    def forever(flag):
        while tl.load(flag) == 0:
            pass

    try:
        forever[(3,)](torch.zeros(1, dtype=torch.int32))
    except Exception as error:
        print(type(error).__name__, "no program is left" in str(error))
    """
    )
    assert printed.strip() == "InterpreterError True"


def test_an_access_outside_a_tensor_leaves_the_process_alive(
    interpreted: Callable[[str], str],
) -> None:
    printed = interpreted(
        HEAD
        + """
    @triton.jit
    def far(x, o):
        at = tl.arange(0, 16)
        tl.store(o + at, tl.load(x + at * 1000000000) + 1)
        tl.store(o + 1000000000000 + at, at)

    x, o = torch.ones(16), torch.zeros(16)
    far[(1,)](x, o)
    print(o.tolist()[:3])
    """
    )
    assert printed.strip() == "[2.0, 1.0, 1.0]"


def test_a_comparison_of_scalars_masks_a_block(interpreted: Callable[[str], str]) -> None:
    printed = interpreted(
        HEAD
        + """
    @triton.jit
    def copy(x, o, n, BLOCK: tl.constexpr):
        pid = tl.program_id(0)
        at = pid * BLOCK + tl.arange(0, BLOCK)
        tl.store(o + at, tl.load(x + at, mask=pid < n, other=7), mask=pid < 3)

    o = torch.zeros(16)
    copy[(4,)](torch.ones(16), o, 2, BLOCK=4)
    print(o[::4].tolist())
    """
    )
    assert printed.strip() == "[1.0, 1.0, 7.0, 0.0]"


def test_builtins_may_be_imported_by_name(interpreted: Callable[[str], str]) -> None:
    printed = interpreted(
        HEAD
        + """
    from triton.language import arange, exp2, load, program_id, store

    @triton.jit
    def places(BLOCK: tl.constexpr):
        return program_id(0) * BLOCK + arange(0, BLOCK)

    @triton.jit
    def power(x, o, BLOCK: tl.constexpr):
        at = places(BLOCK)
        store(o + at, exp2(load(x + at)))

    o = torch.zeros(8)
    power[(2,)](torch.arange(8).float(), o, BLOCK=4)
    print(o.tolist())
    """
    )
    assert printed.strip() == "[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]"
