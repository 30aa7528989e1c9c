# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The benchmark applications launch what was measured, and the tool can work on every one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from test_applications import SMALL

from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.source import splice
from intelliperf_swizzle.frontends.triton.tracing import trace
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.records import Launch, TensorArgument

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
RUNNER = Path(__file__).parent / "run_applications.py"
MEASURED = Path(__file__).parents[3] / "shared" / "measured" / "amd_public.json"
APPLICATIONS = sorted(path.stem for path in KERNELS.glob("*.py"))


@dataclass(frozen=True)
class Shape:
    """A launch as it was measured; `measured` is what the records of it call the kernel."""

    grid: tuple[int, ...]
    constants: Mapping[str, int]
    dtypes: Mapping[str, str]
    num_warps: int = 4
    options: str = ""
    measured: str = ""

    @property
    def whole_grid(self) -> tuple[int, ...]:
        return (*self.grid, 1, 1)[:3]


SHAPES = {
    "attention": Shape(
        (32768,),
        {"SEQLEN": 65536, "NUM_Q_HEADS": 16, "NUM_K_HEADS": 16, "BLOCK_M": 32, "BLOCK_N": 32},
        {"q_ptr": "fp32", "k_ptr": "fp32", "v_ptr": "fp32", "out_ptr": "fp32"},
        num_warps=2,
        options="--length 65536",
    ),
    "black_scholes": Shape((262144,), {"n_assets": 2**28, "BLOCK_SIZE": 1024}, {"s_ptr": "fp32"}),
    "elementwise": Shape(
        (16384,),
        {"n_elements": 2**24, "BLOCK_SIZE": 1024},
        {"x_ptr": "fp16", "output_ptr": "fp16"},
        measured="fused_elementwise",
    ),
    "fdtd_2d": Shape(
        (256, 256),
        {"Nx": 8192, "Ny": 8192, "BLOCK_SIZE_X": 32, "BLOCK_SIZE_Y": 32},
        {"ex_ptr": "fp32", "new_hz_ptr": "fp32"},
        measured="fdtd_2d",
    ),
    "gemm": Shape(
        (2048,),
        {
            **{"M": 8192, "N": 8192, "K": 8192, "BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 256},
            **{"BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8},
        },
        {"a_ptr": "fp16", "b_ptr": "fp16", "c_ptr": "fp16"},
        measured="gemm_matmul",
    ),
    "gemm_stream_k": Shape(
        (304,),
        {
            **{"M": 8192, "N": 8192, "K": 8192, "BLOCK_SIZE_M": 256, "BLOCK_SIZE_N": 256},
            **{"BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "NUM_SMS": 304, "STREAMK_TILES": 112},
        },
        {"a_ptr": "fp16", "partial_ptr": "fp32"},
    ),
    "layer_norm": Shape(
        (20480,),
        {"M": 20480, "N": 20480, "stride_x_m": 20480, "BLOCK_SIZE_N": 32768},
        {"x_ptr": "fp16", "w_ptr": "fp16", "y_ptr": "fp16"},
        measured="layer_norm",
    ),
    "smith_waterman": Shape(
        (256, 256),
        {"M": 8192, "N": 8192, "BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 32},
        {"seq1_ptr": "int8", "seq2_ptr": "int8", "score_ptr": "int32"},
    ),
    "softmax": Shape(
        (32768,),
        {"n_cols": 32768, "input_row_stride": 32768, "BLOCK_SIZE": 32768},
        {"input_ptr": "fp16", "output_ptr": "fp16"},
        num_warps=16,
        measured="softmax",
    ),
    "spmv": Shape(
        (4096,),
        {"M": 4096, "BLOCK_SIZE": 128},
        {"x_ptr": "fp16", "data_ptr": "fp16", "indices_ptr": "int32", "indptr_ptr": "int32"},
        measured="spmv",
    ),
    "stencil_2d": Shape(
        (256, 256),
        {"M": 8192, "N": 8192, "BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 32},
        {"x_ptr": "fp16", "y_ptr": "fp16"},
        measured="stencil_2d",
    ),
    "transpose": Shape(
        (1024, 1024),
        {"M": 32768, "N": 32768, "BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 32},
        {"x_ptr": "fp16", "y_ptr": "fp16"},
        measured="transpose",
    ),
}
"""As SwizzlePerf's authors ran them on an MI300X: AMDResearch/intelliperf, examples/triton."""


def command(application: str, options: str) -> str:
    return f"{KERNELS / application}.py {options}".strip()


def first_launches(folder: Path, options: Mapping[str, str]) -> dict[str, Launch]:
    """The first launch of every application, recorded in one process."""
    commands = [command(application, options[application]) for application in APPLICATIONS]
    found = capture(
        RecordRequest(
            [sys.executable, str(RUNNER), *commands], folder=folder, cwd=folder, compute="never"
        )
    )
    assert found.exit_code == 0, found.last_lines
    by_file: dict[str, Launch] = {}
    for launch in found.launches:
        by_file.setdefault(Path(launch.source.entry.file).stem, launch)
    assert sorted(by_file) == APPLICATIONS
    return by_file


@pytest.fixture(scope="module")
def default_launches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Launch]:
    measured = {application: shape.options for application, shape in SHAPES.items()}
    options = {**dict.fromkeys(APPLICATIONS, "--small"), **measured}
    return first_launches(tmp_path_factory.mktemp("default"), options)


@pytest.fixture(scope="module")
def small_launches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Launch]:
    return first_launches(tmp_path_factory.mktemp("small"), dict.fromkeys(APPLICATIONS, "--small"))


@pytest.mark.parametrize("application", SHAPES)
def test_the_default_launch_is_the_one_that_was_measured(
    application: str, default_launches: Mapping[str, Launch]
) -> None:
    shape, launch = SHAPES[application], default_launches[application]
    assert launch.grid == shape.whole_grid
    assert launch.options.get("num_warps", 4) == shape.num_warps
    assert {**launch.constants, **shape.constants} == launch.constants
    for name, dtype in shape.dtypes.items():
        argument = launch.arguments[name]
        assert isinstance(argument, TensorArgument)
        assert argument.dtype == dtype


def measured_records() -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = json.loads(MEASURED.read_text())["records"]
    return [record for record in records if record["device"] == "MI300X"]


@pytest.mark.skipif(not MEASURED.is_file(), reason="the measured data are not beside the checkout")
@pytest.mark.parametrize("application", [name for name in SHAPES if SHAPES[name].measured])
def test_measured_mappings_find_the_constants_that_they_read(
    application: str, default_launches: Mapping[str, Launch]
) -> None:
    launch = default_launches[application]
    records = [r for r in measured_records() if r["kernel"] == SHAPES[application].measured]
    assert records
    for record in records:
        assert launch.grid[: len(record["grid"])] == tuple(record["grid"])
        assert {**launch.constants, **record["blocks"]} == launch.constants
        read = set(re.findall(r"S\['(\w+)'\]", record["mapping_python"]))
        assert read - {"grid"} <= set(launch.constants)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_programs_depend_on_each_other_nowhere(
    application: str, small_launches: Mapping[str, Launch]
) -> None:
    traced = trace(small_launches[application])
    assert traced.method == "batched"
    assert traced.tiles == small_launches[application].programs > 1
    assert not traced.waits
    assert not traced.shared_writes
    assert not traced.order_matters


def test_a_swizzle_fits_into_every_kernel(
    small_launches: Mapping[str, Launch], tmp_path: Path
) -> None:
    swizzle, target = parse(load_pattern("xcd-contiguous").bind()), load_target("mi300x")
    commands = []
    for application, launch in small_launches.items():
        edit = splice(launch.source, swizzle, target=target, launches=[launch])
        copy = tmp_path / f"{application}.py"
        copy.write_text(edit.files[str(KERNELS / f"{application}.py")])
        commands.append(f"{copy} --device cpu --check {SMALL[application]}")
    done = subprocess.run(
        [sys.executable, str(RUNNER), *commands],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == len(commands)
    for outcome in outcomes:
        assert outcome["status"] == 0, outcome["text"]
        assert "agrees" in outcome["text"] or "equals" in outcome["text"]


@pytest.mark.parametrize(
    ("application", "words"),
    [("elementwise", "nothing to gain"), ("spmv", "3 no difference")],  # ten programs
)
def test_the_whole_command_on_a_small_size(application: str, words: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "intelliperf_swizzle", "--target", "mi300x", "--candidates", "20",
         "--validation_seconds", "1", "--", sys.executable, str(KERNELS / f"{application}.py"),
         *SMALL[application].split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert words in " ".join(done.stdout.split())
