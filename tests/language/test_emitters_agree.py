# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""NumPy, plain Python, Triton and C++ give every program the same tile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import (
    CONSTANTS,
    CUS_PER_XCD,
    NUM_XCDS,
    axes_of,
    legal_programs,
    plain_python,
)

from intelliperf_swizzle.formulas import patterns
from intelliperf_swizzle.frontends.emit import emit_cpp, emit_triton
from intelliperf_swizzle.language import Swizzle, evaluate, parse
from intelliperf_swizzle.records import Grid, Int64Array

Case = tuple[Swizzle, Grid, Int64Array]

TRITON_HEAD = """
import json, sys
import numpy as np, torch, triton, triton.language as tl
"""
TRITON_KERNEL = """
@triton.jit
def kernel_{index}(out, M, BLOCK: tl.constexpr):
{body}
    linear = tl.program_id(0) + tl.num_programs(0) * (
        tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    tl.store(out + linear * 3, {outputs[0]})
    tl.store(out + linear * 3 + 1, {outputs[1]})
    tl.store(out + linear * 3 + 2, {outputs[2]})
"""
TRITON_CALL = """
out = torch.zeros({programs} * 3, dtype=torch.int32)
kernel_{index}[{grid}](out, {M}, BLOCK={BLOCK})
print(json.dumps(out.tolist()))
"""
CPP_HEAD = """
#include <algorithm>
#include <cstdio>
using std::max;
using std::min;
struct Index { unsigned x, y, z; };
"""
CPP_FUNCTION = """
void kernel_{index}(Index blockIdx, Index gridDim, long M, int BLOCK) {{
{body}
    std::printf("%d, %d, %d, ", {outputs[0]}, {outputs[1]}, {outputs[2]});
}}
"""
CPP_CALL = """
    std::printf("[");
    for (unsigned z = 0; z < {grid[2]}; ++z)
        for (unsigned y = 0; y < {grid[1]}; ++y)
            for (unsigned x = 0; x < {grid[0]}; ++x)
                kernel_{index}({{x, y, z}}, {{{grid[0]}, {grid[1]}, {grid[2]}}}, {M}, {BLOCK});
    std::printf("]\\n");
"""


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_numpy_agrees_with_plain_python(seed: int) -> None:
    [(swizzle, grid, tile)] = legal_programs(seed, 1)
    np.testing.assert_array_equal(tile, plain_python(swizzle, grid), swizzle.text)


REWRITTEN = (
    "a = 3\na = pid\npid = a",
    "a = 3\nfor _ in range(2):\n    pid = pid + a\n    a = 1\n",
    "a = 3\nb = 0\nfor _ in range(2):\n    b = a + b\n    a = pid\npid = b + a",
    "for _ in range(2):\n    a = 5\n    for _ in range(2):\n        a = a + pid\npid = a",
    *(
        f"pid = where(not (pid {sign} 3), pid + 1, pid)"
        for sign in ("<", "<=", ">", ">=", "==", "!=")
    ),
    "pid = (pid < 3) + (pid > 1) * 2",
    "pid = not pid",
    "a = pid < 3 and pid != 1\npid = where(not (a or pid > 5), 1, a)",
    "pid = where(not (pid < 3 and (pid > 1 or not pid)), 1, 0)",
    "pid = where(where(pid < 3, 1, 0), 4, where(1 if num_xcds > 8 else 0, 2, pid))",
    "pid = where(1 and pid, pid, 3) + where(0 or pid < 4, 1, 2) + where(0 and pid, 1, 2)",
    "pid = pid - (pid - (3 - pid)) - (0 - pid) + (1 << (pid & 3)) - -3",
    "pid = pid * (3 - 2) + 0 * pid + pid // 1 - pid % 1 + (0 ^ pid) + (pid >> 0) - (pid & 0)",
    "pid = (pid & 3 | pid >> 2 ^ 1) + (pid & (3 | 4)) + ((pid ^ 5) & 6) + (pid << 1 + 1)",
    "pid = (pid & 4) == 4 if (pid | 1) != pid else (pid ^ 1) < 3",
    "pid = max(min(pid, 3) if pid > 1 else 9, 2 if M == 37 else 1, pid - 5)",
    "pid = cdiv(pid, cdiv(pid + 1, 2)) * (pid // (2 * 1) // 2) % (7 % 4)",
    "num_pids = num_pids // 2\npid = pid % max(num_pids, 1)",
    "cols = grid_0\nrow = pid // cols\nrows = num_pids // cols\npid = pid % cols * rows + row",
    "cols = grid_0\ncols = cols + 1\npid = pid // cols * cols + pid % cols",
    "a = pid // grid_0 % grid_1\nb = pid // grid_0 // grid_1\npid = pid + 0 * (a - b)",
    "a = pid // grid_0\npid = num_pids - 1 - pid\npid = pid // grid_0 * grid_0 + pid % grid_0 + a",
    "num_pids = num_pids // 2\npid = pid % grid_0 + num_pids // grid_0",
    "for _ in range(2):\n    a = pid // grid_0\n    pid = num_pids - 1 - pid\npid = pid + 0 * a",
    "pid_1 = grid_1 - 1 - pid_1",
    "a = pid_0\npid_0 = grid_0 - 1 - a\npid_2 = grid_2 - 1 - pid_2",
)
"""Texts that meet each rewriting of the simplification and each precedence of the printers."""


def cases() -> list[Case]:
    catalogue = []
    for text in (*REWRITTEN, *(pattern.bind() for pattern in patterns())):
        swizzle = parse(text)
        for grid in ((30, 1, 1), (6, 5, 1), (4, 3, 3)):
            tile = evaluate(swizzle, grid, CONSTANTS, num_xcds=NUM_XCDS, cus_per_xcd=CUS_PER_XCD)
            catalogue.append((swizzle, grid, tile))
    return catalogue + legal_programs(seed=7, count=120)


def indented(lines: tuple[str, ...]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def assert_tiles(case: Case, printed: str, emitted: str) -> None:
    swizzle, grid, tile = case
    along = np.array([int(number) for number in printed.strip("[], \n").split(",")]).reshape(-1, 3)
    # A linear pid outside of the grid has no coordinates to compare.
    inside = (tile >= 0) & (tile < len(tile))
    linear = along[:, 0] + grid[0] * (along[:, 1] + grid[1] * along[:, 2])
    in_grid = ((along >= 0) & (along < np.array(grid))).all(axis=1)
    message = f"{swizzle.text}\n{emitted}\n{grid}"
    np.testing.assert_array_equal(linear[inside], tile[inside], message)
    np.testing.assert_array_equal(in_grid[inside], True, message)
    if swizzle.outputs != ("pid",) or axes_of(grid) == 1:
        np.testing.assert_array_equal(in_grid, inside, message)


def test_triton_agrees_with_numpy(tmp_path: Path) -> None:
    tested = cases()
    script, bodies = TRITON_HEAD, []
    for index, (swizzle, grid, tile) in enumerate(tested):
        code = emit_triton(
            swizzle, (0, 1, 2), axes=axes_of(grid), num_xcds=NUM_XCDS, cus_per_xcd=CUS_PER_XCD
        )
        bodies.append(indented(code.lines))
        script += TRITON_KERNEL.format(index=index, body=bodies[-1], outputs=code.outputs)
        script += TRITON_CALL.format(index=index, programs=len(tile), grid=grid, **CONSTANTS)
    path = tmp_path / "kernels.py"
    path.write_text(script)
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    ran = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, env=environment, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    for case, printed, body in zip(tested, ran.stdout.splitlines(), bodies, strict=True):
        assert_tiles(case, printed, body)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler (g++) on this machine")
def test_cpp_agrees_with_numpy(tmp_path: Path) -> None:
    tested = cases()
    functions, main, bodies = CPP_HEAD, "", []
    for index, (swizzle, grid, _) in enumerate(tested):
        code = emit_cpp(
            swizzle, (0, 1, 2), axes=axes_of(grid), num_xcds=NUM_XCDS, cus_per_xcd=CUS_PER_XCD
        )
        bodies.append(indented(code.lines))
        functions += CPP_FUNCTION.format(index=index, body=bodies[-1], outputs=code.outputs)
        main += CPP_CALL.format(index=index, grid=grid, **CONSTANTS)
    source, program = tmp_path / "kernels.cpp", tmp_path / "kernels"
    source.write_text(f"{functions}\nint main() {{{main}}}\n")
    # -ftrapv: signed overflow, which the language excludes, would end the program.
    built = subprocess.run(
        ["g++", "-std=c++17", "-O0", "-ftrapv", "-o", program, source],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    for case, printed, body in zip(tested, ran.stdout.splitlines(), bodies, strict=True):
        assert_tiles(case, printed, body)
