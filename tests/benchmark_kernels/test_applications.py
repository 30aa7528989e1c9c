# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The benchmark applications are right, and their `--check` notices when they are not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"

SMALL_SIZES = {
    "gemm.py": "--m 100 --n 70 --k 80 --block-m 32 --block-n 32 --block-k 32",
    "transpose.py": "--m 100 --n 70",
    "stencil_2d.py": "--m 100 --n 70",
}
APPLICATIONS = sorted(SMALL_SIZES)

AXIS_0 = "tl.program_id(axis=0)"
FIRST = "(tl.program_id(axis=0) + tl.program_id(axis=1) == 0).to(tl.int32)"
LAST = (
    "((tl.program_id(axis=0) == tl.num_programs(axis=0) - 1)"
    " & (tl.program_id(axis=1) == tl.num_programs(axis=1) - 1)).to(tl.int32)"
)


def run_check(script: Path, options: str = "") -> subprocess.CompletedProcess[str]:
    arguments = f"--device cpu --check {SMALL_SIZES[script.name]} {options}".split()
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def edited(application: str, old: str, new: str, folder: Path) -> Path:
    source = (KERNELS / application).read_text()
    assert source.count(old) == 1
    script = folder / application
    script.write_text(source.replace(old, new))
    return script


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_right_on_sizes_that_are_no_multiples_of_the_tile(application: str, dtype: str) -> None:
    run = run_check(KERNELS / application, f"--dtype {dtype}")
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 1
    assert "WRONG" not in run.stdout + run.stderr


def test_groups_of_tile_rows_keep_the_product() -> None:
    run = run_check(KERNELS / "gemm.py", "--group-m 3")
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize(
    "wrong_program_id",
    [f"({AXIS_0} + {FIRST})", f"({AXIS_0} - {LAST})"],
    ids=["first tile dropped", "last tile dropped"],
)
def test_check_notices_one_dropped_tile(
    application: str, wrong_program_id: str, tmp_path: Path
) -> None:
    script = edited(application, AXIS_0, wrong_program_id, tmp_path)
    run = run_check(script)
    assert run.returncode == 1
    assert "WRONG" in run.stderr


@pytest.mark.parametrize("application", APPLICATIONS)
def test_check_accepts_another_order_of_the_tiles(application: str, tmp_path: Path) -> None:
    backwards = f"(tl.num_programs(axis=0) - 1 - {AXIS_0})"
    run = run_check(edited(application, AXIS_0, backwards, tmp_path))
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("application", "old", "new"),
    [
        ("gemm.py", "range(0, tl.cdiv(K, BLOCK_K))", "range(1, tl.cdiv(K, BLOCK_K))"),
        ("transpose.py", "tl.store(y_ptrs, tl.trans(x)", "tl.store(y_ptrs, 1.001 * tl.trans(x)"),
        ("stencil_2d.py", "0.125 * (up", "0.120 * (up"),
    ],
)
def test_check_notices_wrong_values(application: str, old: str, new: str, tmp_path: Path) -> None:
    run = run_check(edited(application, old, new, tmp_path))
    assert run.returncode == 1
    assert "WRONG" in run.stderr
