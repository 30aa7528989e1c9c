# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The emitted text itself: short, readable, valid for the target."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from intelliperf_swizzle.formulas import load_pattern, patterns
from intelliperf_swizzle.frontends.emit import Code, emit_cpp, emit_triton, serial_divisions
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.language.syntax import Assignment


def triton(text: str, axes: int = 1, **inputs: str) -> Code:
    return emit_triton(
        parse(text), range(axes), axes=axes, num_xcds=8, cus_per_xcd=38, inputs=inputs
    )


def test_constants_are_folded_and_what_is_not_used_is_not_computed() -> None:
    code = triton("span = num_xcds * 4\nunused = pid // 3\npid = pid // span * span + pid % span")
    assert code.lines == (
        "swizzle_pid = tl.program_id(0)",
        "swizzle_pid = swizzle_pid // 32 * 32 + swizzle_pid % 32",
    )
    assert code.outputs == {0: "swizzle_pid"}


def test_a_variable_overwritten_before_it_is_read_is_not_computed() -> None:
    code = triton("a = pid // 3\na = pid\nfor _ in range(3):\n    b = a\npid = a + 1")
    assert code.lines == (
        "swizzle_pid = tl.program_id(0)",
        "swizzle_a = swizzle_pid",
        "swizzle_pid = swizzle_a + 1",
    )


def test_names_of_the_kernel_are_used_as_they_are_and_never_assigned() -> None:
    code = triton("M = M // 2\npid = M * pid + N", pid_0="tile", M="m_size", N="64")
    assert code.lines == (
        "swizzle_M = m_size",
        "swizzle_pid = tile",
        "swizzle_M = swizzle_M // 2",
        "swizzle_pid = swizzle_M * swizzle_pid + 64",
    )


def divisions(text: str, axes: int = 1) -> int:
    return serial_divisions(parse(text), axes=axes, num_xcds=8, cus_per_xcd=38, literals=["BLOCK"])


def test_divisions_that_wait_for_each_other_are_counted() -> None:
    assert divisions("pid = pid // 3 * 3 + pid % num_xcds") == 0
    assert divisions("pid = pid + cdiv(M, BLOCK)") == 0
    assert divisions("pid = pid // M * M + pid % M") == 1
    assert divisions("rows = num_pids // M\nunused = pid // rows // M\npid = pid // rows") == 2
    assert divisions("for _ in range(3):\n    pid = pid // M") == 3


def test_what_the_kernel_has_is_not_divided_for() -> None:
    assert divisions("pid = pid % grid_0 * grid_1 + pid // grid_0", axes=2) == 1
    assert divisions("pid_0 = pid_1\npid_1 = pid_0", axes=2) == 0


def test_a_linear_output_is_split_along_the_axes_that_are_read() -> None:
    swizzle = parse("pid = num_pids - 1 - pid")
    code = emit_triton(swizzle, [1], axes=2, num_xcds=8, cus_per_xcd=38)
    assert code.lines[-2:] == (
        "swizzle_pid = swizzle_num_pids - 1 - swizzle_pid",
        "swizzle_pid_1 = swizzle_pid // swizzle_grid_0",
    )
    assert code.outputs == {1: "swizzle_pid_1"}


def test_axes_are_not_divided_out_of_a_launch_index_that_is_still_theirs() -> None:
    assert triton("pid = pid", axes=2).lines == (
        "swizzle_pid_0 = tl.program_id(0)",
        "swizzle_pid_1 = tl.program_id(1)",
    )
    code = triton("pid = pid % grid_0 * (num_pids // grid_0) + pid // grid_0", axes=2)
    assert "swizzle_pid = swizzle_pid_0 * swizzle_grid_1 + swizzle_pid_1" in code.lines


def test_factors_of_the_number_of_programs_are_read_where_the_kernel_has_them() -> None:
    known = parse("factor = cdiv(N, BN)\npid = pid").statements[0]
    assert isinstance(known, Assignment)

    def lines(text: str) -> tuple[str, ...]:
        return emit_triton(
            parse(text), [0], axes=1, num_xcds=8, cus_per_xcd=38,
            inputs={"pid_0": "tile", "grid_0": "tiles"}, factors={"m": None, "n": known.value},
        ).lines  # fmt: skip

    grouped = "cols = cdiv(N, BN)\nrows = num_pids // cols\npid = pid % rows * cols + pid // rows"
    assert lines(grouped) == (
        "swizzle_pid = tile",
        "swizzle_pid = swizzle_pid % m * n + swizzle_pid // m",
    )
    assert not any(" n" in line for line in lines(f"N = 64\n{grouped}")), "another N"
    assert lines("n = pid // 7\ncols = cdiv(N, BN)\npid = n * cols + pid % (num_pids // cols)") == (
        "swizzle_pid = tile",
        "swizzle_n = swizzle_pid // 7",
        "swizzle_pid = swizzle_n * n + swizzle_pid % m",
    )  # fmt: skip


def test_an_axis_that_the_swizzle_leaves_alone_is_read_as_before() -> None:
    code = triton("pid_0 = grid_0 - 1 - pid_0", axes=2)
    assert code.outputs == {0: "swizzle_pid_0", 1: "swizzle_pid_1"}
    assert "swizzle_pid_1 = tl.program_id(1)" in code.lines


def test_an_axis_of_one_program_is_a_literal() -> None:
    swizzle = parse("pid = num_pids - 1 - pid")
    code = emit_triton(swizzle, [0, 2], axes=1, num_xcds=8, cus_per_xcd=38)
    assert code.outputs == {0: "swizzle_pid", 2: "0"}


def test_cpp_of_a_loop() -> None:
    swizzle = parse("for _ in range(3):\n    half = pid // 2\n    pid = half")
    code = emit_cpp(swizzle, [0], axes=1, num_xcds=8, cus_per_xcd=38, prefix="s_")
    assert code.lines == (
        "int s_pid = static_cast<int>(blockIdx.x);",
        "int s_half = 0;",
        "for (int s__ = 0; s__ < 3; ++s__) {",
        "    s_half = s_pid / 2;",
        "    s_pid = s_half;",
        "}",
    )


COMPILE = """
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
"""
KERNEL = """
@triton.jit
def kernel_{index}(out, M, BLOCK: tl.constexpr):
{body}
    tl.store(out + {outputs[0]} * 64 + {outputs[1]}, M)

source = ASTSource(
    kernel_{index},
    signature={{"out": "*i32", "M": "i32", "BLOCK": "constexpr"}},
    constexprs={{"BLOCK": 64}},
)
triton.compile(source, target=GPUTarget("hip", "gfx942", 64))
"""


def test_every_pattern_and_every_form_compiles_for_mi300x(tmp_path: Path) -> None:
    every_form = (
        "a = (BLOCK < 65) + min(BLOCK, M)\n"
        "b = where(BLOCK > 3 and not M, max(BLOCK, 7), M if BLOCK else 3)\n"
        "pid = (a | b ^ 3 & pid) >> (pid & 3) << 1\n"
    )
    texts = [every_form, *(pattern.bind() for pattern in patterns())]
    script = COMPILE
    for index, text in enumerate(texts):
        code = triton(text, axes=2)
        body = "\n".join(f"    {line}" for line in code.lines)
        script += KERNEL.format(index=index, body=body, outputs=code.outputs)
    path = tmp_path / "kernels.py"
    path.write_text(script)
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("TRITON_INTERPRET", None)
    ran = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, env=environment, timeout=300
    )
    assert ran.returncode == 0, ran.stderr[-3000:]


def test_the_hilbert_pattern_stays_short() -> None:
    code = triton(load_pattern("hilbert").bind(cols=64, side=64))
    assert any("tl.static_range(6)" in line for line in code.lines)
    assert len(code.lines) < 30
