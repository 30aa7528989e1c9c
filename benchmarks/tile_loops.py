# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What renumbering the tiles of a persistent GEMM is worth on the GPU that is here.

    python benchmarks/tile_loops.py mm_persistent.py 8192 8192 4096 1 --json out.json
    python benchmarks/tile_loops.py mm_persistent.py 8192 8192 4096 1 --model

The application's kernel takes GROUP_M as its fourth argument. The plain command is run on a copy
and changes it; then the unmodified kernel, the changed one and the unmodified one with each GROUP_M
are timed in common rounds, and hit rates of some orders of the tiles are counted beside those of
the model. `--model` does the same without a GPU, modelled.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.kernels.triton.gpu.statistics import median_interval
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.profile.modelled import ModelScreen, model_launches
from intelliperf_swizzle.records import Candidate, Verdict
from intelliperf_swizzle.report.terminal import Lines
from intelliperf_swizzle.search.recorded import choose_kernel, record_application
from intelliperf_swizzle.search.scoring import tiles_of
from intelliperf_swizzle.search.setup import Setup, prepare
from intelliperf_swizzle.search.stages import prove_candidate
from intelliperf_swizzle.search.subject import edit_launches

GROUPS = (2, 4, 8, 16, 32)
ROUNDS = 80
FLUSHED_BYTES = 1 << 28
COLUMNS = "cdiv(N, BN)"

GROUPED = """\
columns = cdiv(N, BN)
group = pid // ({0} * columns)
height = min(cdiv(M, BM) - group * {0}, {0})
inside = pid % ({0} * columns)
pid = (group * {0} + inside % height) * columns + inside // height
"""
SHARES = """\
each = num_pids // {0}
whole = each * {0}
pid = where(pid < whole, pid % {0} * each + pid // {0}, pid)
"""

ORDERS = {
    "unmodified": "pid = pid\n",
    "backwards": "pid = num_pids - 1 - pid\n",
    **{f"groups of {group}": GROUPED.format(group) for group in GROUPS},
    "column-major": "rows = cdiv(M, BM)\npid = pid % rows * cdiv(N, BN) + pid // rows\n",
    "2 shares": SHARES.format(2),
    "8 shares": SHARES.format(8),
    "a share a program": (
        "each = num_pids // num_programs\n"
        "whole = each * num_programs\n"
        "pid = where(pid < whole, program * each + pid // num_programs, pid)\n"
    ),
    "odd steps": "pid = pid * 5 % num_pids\n",
}
"""Orders of the tiles, each over all of them; not all are a permutation at every size."""


def main() -> None:
    """Run what is asked for and print, and write, one record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("application", type=Path)
    parser.add_argument("sizes", nargs=4, help="M N K GROUP_M")
    parser.add_argument("--json", type=Path, help="append the record to this file")
    parser.add_argument("--model", action="store_true", help="without a GPU")
    parser.add_argument("--target", help="GPU that is modelled")
    parser.add_argument("--only", choices=("times", "rates"), help="one of the two parts")
    wanted = parser.parse_args()
    record: dict[str, Any] = {"command": [wanted.application.name, *wanted.sizes]}
    with tempfile.TemporaryDirectory() as folder:
        if wanted.only != "rates" and not wanted.model:
            record |= times(wanted.application, wanted.sizes, Path(folder))
        if wanted.only != "times":
            record |= rates(wanted, Path(folder))
    print(json.dumps(record, indent=1))
    if wanted.json:
        with wanted.json.open("a") as stream:
            stream.write(json.dumps(record) + "\n")


# --- times --------------------------------------------------------------------------------------


def times(application: Path, sizes: Sequence[str], folder: Path) -> dict[str, Any]:
    """The plain command, and what came of it beside GROUP_M by hand in the same rounds."""
    project = folder / "project"
    project.mkdir()
    changed = project / application.name
    shutil.copy(application, changed)
    begun = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-m", "intelliperf_swizzle", "-l", "-o", "result.json",
         "--", sys.executable, changed.name, *sizes],
        cwd=project, capture_output=True, text=True,
    )  # fmt: skip
    seconds = time.monotonic() - begun
    said = [line for line in (run.stdout + run.stderr).splitlines() if line.strip()]
    print("\n".join(said), file=sys.stderr)
    rows = raced(application, changed, [int(size) for size in sizes])
    return {
        "exit_code": run.returncode,
        "seconds": round(seconds, 1),
        "said": said[-60:],
        "changed": changed.read_text() != application.read_text(),
        "times": rows,
    }


def raced(original: Path, changed: Path, sizes: Sequence[int]) -> dict[str, Any]:
    """Median ms, and the ratio to the changed kernel in the same round, of each variant."""
    import torch

    m, n, k, group = sizes
    kernels = {"changed": load(changed), "unmodified": load(original)}
    sms = torch.cuda.get_device_properties("cuda").multi_processor_count
    a = torch.randn((m, k), device="cuda", dtype=torch.float16)
    b = torch.randn((k, n), device="cuda", dtype=torch.float16)
    c = torch.empty((m, n), device="cuda", dtype=torch.float16)

    def launch(module: ModuleType, grouped: int) -> Callable[[], object]:
        tiles = -(-m // 128) * -(-n // 128)
        return lambda: module.persistent_kernel[(min(sms, tiles),)](
            a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(),
            BM=128, BN=128, BK=64, GROUP_M=grouped, NUM_SMS=sms, num_warps=8, num_stages=3,
        )  # fmt: skip

    variants = {name: launch(module, group) for name, module in kernels.items()}
    variants |= {f"GROUP_M {g}": launch(kernels["unmodified"], g) for g in GROUPS}
    rounds = timed_rounds(list(variants.values()))
    return {
        name: {
            "ms": statistics.median(row[place] for row in rounds),
            "changed_over_it": interval([row[0] / row[place] for row in rounds]),
        }
        for place, name in enumerate(variants)
    }


def timed_rounds(variants: Sequence[Callable[[], object]]) -> list[list[float]]:
    """Milliseconds of each variant in each round, in turning order, each from a flushed L2."""
    import torch

    flushed = torch.empty(FLUSHED_BYTES, dtype=torch.int8, device="cuda")
    for run in variants:
        run()
    rounds = []
    for number in range(ROUNDS):
        row = [0.0] * len(variants)
        for step in range(len(variants)):
            place = (number + step * (1 + number % 2 * (len(variants) - 2))) % len(variants)
            flushed.zero_()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            variants[place]()
            end.record()
            torch.cuda.synchronize()
            row[place] = begin.elapsed_time(end)
        rounds.append(row)
    return rounds[ROUNDS // 8 :]


def interval(ratios: Sequence[float]) -> list[float]:
    """Low end, median and high end of the 95 % interval of the median."""
    one = median_interval(ratios)
    return [one.low, one.median, one.high]


def load(path: Path) -> ModuleType:
    """An application as a module."""
    spec = importlib.util.spec_from_file_location(f"application_{hash(path)}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- hit rates ----------------------------------------------------------------------------------


def rates(wanted: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Hit rates of the orders, counted and modelled."""
    project = folder / "rates"
    project.mkdir()
    shutil.copy(wanted.application, project)
    profiler = "model" if wanted.model else "auto"
    options = Options(project_directory=str(project), target=wanted.target, profiler=profiler)
    command = (sys.executable, wanted.application.name, *wanted.sizes)
    setup = prepare(options, command, Lines(sys.stderr), target=None)
    with record_application(setup, Lines(sys.stderr)) as recorded:
        return {"target": setup.target.name, "rates": rates_of(setup, recorded)}


def rates_of(setup: Setup, recorded: Any) -> dict[str, Any]:
    """Of each order that is a permutation."""
    subject = choose_kernel(recorded, setup, Lines(sys.stderr), to_edit=True)
    launch = subject.traced[0].launch
    screen = ModelScreen(subject.traced, setup.target)
    rows: dict[str, Any] = {"tiles": launch.tiles, "programs": launch.programs}
    for name, text in ORDERS.items():
        proved = prove_candidate(Candidate(text, name, "user"), subject, setup.target)
        if isinstance(proved, Verdict):
            rows[name] = proved.reason
            continue
        tiles = tiles_of(parse(text), subject.traced, setup.target)
        modelled = model_launches(subject.traced, tiles, setup.target)
        rows[name] = {
            "modelled": modelled.l2_hit_rate,
            "modelled_ms": modelled.modelled_memory_time_ms,
            "screened": screen.hit_rate(tiles),
        }
        if setup.profiler is None:
            continue
        try:
            edit = edit_launches(setup, subject.launches, parse(text), name)
            counted = setup.profiler.measure(subject.traced, edit)
            rows[name] |= {"counted": counted.l2_hit_rate, "profiler": counted.profiler}
        except SwizzleError as error:
            rows[name]["not counted"] = str(error)
        print(name, rows[name], file=sys.stderr)
    both = [row for row in rows.values() if isinstance(row, dict) and "counted" in row]
    if both:
        rows["mean_error_points"] = 100 * statistics.mean(
            abs(row["modelled"] - row["counted"]) for row in both
        )
    return rows


if __name__ == "__main__":
    main()
