# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`benchmarks/cuda_kernels.py`: sources are patched, orders predicted, measured and compared."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_kernels
from cuda_kernels import ORDERS, SOURCES, Kernel, half
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.frontends.cpp.compile.cuda_toolchain import CudaToolchain

pytestmark = pytest.mark.hip
TINY = (Kernel("stencil_2d", 512), Kernel("transpose", 512))

TIMING = """
for at, library in enumerate(sys.argv[3:]):
    assert Path(library).read_text().endswith("__global__"), library
    print(0, *(at + 1 + round / 100 for round in range(int(sys.argv[2]))))
"""
NVCC = f"""
source, built = Path(sys.argv[-3]), Path(sys.argv[-1])
built.write_text("#!{sys.executable}\\nimport sys\\nfrom pathlib import Path\\n" + {TIMING!r}
                 if source.stem == "timing" else
                 source.read_text().partition("__global__")[0] + "__global__")
built.chmod(0o755)
"""
NCU = """
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))  # those before --csv
metrics = options["--metrics"].split(",")
log = Path(sys.argv[sys.argv.index("--log-file") + 1])
launches = len(sys.argv) - sys.argv.index(str(log)) - 4
values = {"lookup_hit": 600, "requests": 250, "sectors": 1000, "dram": 3200, "": 1e6}
known = [next(value for name, value in values.items() if name in metric) for metric in metrics]
rows = [["ID", "Kernel Name", "Grid Size", *metrics, "profiler__replayer_passes"],
        [""] * (len(metrics) + 4)]
rows += [[number, options["--kernel-name"], "(16, 64, 1)", *known, 1] for number in range(launches)]
log.write_text("".join(",".join(f'"{cell}"' for cell in row) + "\\n" for row in rows))
"""
SMI = "print('NVIDIA H200, GPU-1, 580, 9.0, Disabled')"


@pytest.fixture(scope="module")
def verb(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Runs a verb in one folder, on two tiny kernels; returns the folder."""
    try:
        CudaToolchain.find()
    except SwizzleError as error:
        if "does not compile" in error.fact:  # what we ship
            raise
        pytest.skip(f"{error.fact}: {error.hint}")
    folder = tmp_path_factory.mktemp("cuda")
    tools = {"nvcc": NVCC, "ncu": NCU, "nvidia-smi": SMI}
    (folder / "bin").mkdir()
    for name, body in tools.items():
        script = folder / "bin" / name
        script.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{body}")
        script.chmod(0o755)
    measured, predicted = folder / "measured.jsonl", folder / "predicted.jsonl"

    def run(name: str) -> Path:
        words = [name, str(folder / "set"), "--records", str(measured),
                 "--predictions", str(predicted), "--targets", "h200"]  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cuda_kernels, "KERNELS", TINY)
            patch.setattr(sys, "argv", ["cuda_kernels.py", *words])
            if name == "measure":
                patch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
                patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
            cuda_kernels.main()
        return folder

    return run


def test_verbs(verb: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    patched = verb("patch") / "set"
    for kernel in TINY:
        written = {source.stem: source.read_text() for source in (patched / kernel.name).iterdir()}
        assert written.keys() == ORDERS.keys()
        assert written["identity"] == (SOURCES / f"{kernel.name}.cu").read_text()
        assert "swizzle_pid * 1019 % swizzle_num_pids" in written["strided"]

    predicted = (verb("predict") / "predicted.jsonl").read_text().splitlines()
    assert len(predicted) == len(TINY) * len(ORDERS)
    rates = [json.loads(line)["modelled"]["l2_hit_rate"] for line in predicted]
    assert rates[-len(ORDERS) :] == [0.5] * len(ORDERS)  # a transpose: it writes what it reads

    measured = verb("measure") / "measured.jsonl"
    lines = [json.loads(line) for line in measured.read_text().splitlines()]
    assert [(record["config"], record["mapping"]) for record in lines] == [
        (kernel.name, name) for kernel in TINY for name in ORDERS
    ]
    assert lines[1]["sm_side_hit_rate_pct"] == [60.0, 60.0]
    assert lines[1]["time_ms"] == pytest.approx(2.115)
    assert lines[1]["details"]["dram__bytes_read.sum"] == 3200
    assert verb("measure").joinpath("measured.jsonl").read_text().count("\n") == len(lines)

    capsys.readouterr()
    verb("compare")
    message = capsys.readouterr().out
    calibrates, judges = message.split("judge:")
    assert "stencil_2d" in calibrates
    assert "8 pairs of 1 configurations: mean absolute error 10.0" in judges


def test_half_of_the_kernels_judge() -> None:
    judging = {kernel.name for kernel in cuda_kernels.KERNELS if half(kernel.name) == "judge"}
    assert len(judging) == len(cuda_kernels.KERNELS) / 2
    assert {"column_sum", "gemm_tiled", "stencil_3d"} <= judging
