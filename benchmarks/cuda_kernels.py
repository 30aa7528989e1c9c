# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Kernels of CUDA C++ on an NVIDIA GPU under eight orders of their workgroups, beside the model.

    python benchmarks/cuda_kernels.py patch set                 # with clang: the patched sources
    python benchmarks/cuda_kernels.py predict                   # with clang: the predictions
    python benchmarks/cuda_kernels.py measure set --seconds 300 # on a machine with the GPU and nvcc
    python benchmarks/cuda_kernels.py compare

The kernels are those of `benchmarks/cuda/`, the orders swizzles, put into the sources by the same
code as for a user. `measure` needs no clang: it builds each kernel with each order as a library,
times them in common rounds in one process, and has Nsight Compute count. A kernel is a few lines of
the records, appended when it is done; one that has them is left out.

Half of the kernels, every other one by name, are there to calibrate the model, the others to judge
it; which is which was decided before anything was measured.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from accuracy.comparison import ComparedConfiguration, ModelAccuracy, Pair
from accuracy.measured import read
from accuracy.tables import table
from intelliperf_swizzle.cache import ReplayedLaunch, replay
from intelliperf_swizzle.codec import decode, encode
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.errors import ProfileError, SwizzleError, UsageError
from intelliperf_swizzle.hardware import Device, Target, devices, load_target
from intelliperf_swizzle.language import Swizzle
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.profile.counters import KernelCounters
from intelliperf_swizzle.profile.ncu import (
    DURATION,
    HITS,
    PASSES,
    REQUESTS,
    SECTORS,
    read_ncu,
)
from intelliperf_swizzle.records import Candidate, Measurement, Verdict
from intelliperf_swizzle.report.terminal import Lines
from intelliperf_swizzle.search.examine import choose_kernel, record_application
from intelliperf_swizzle.search.setup import RunContext, prepare
from intelliperf_swizzle.search.stages import prove_candidate
from intelliperf_swizzle.search.subject import Subject, edit_launches, tiles_of

HERE = Path(__file__).parent
FABRIC_REQUESTS = "lts__t_requests_srcunit_ltcfabric.sum"
FABRIC_SECTORS = "lts__t_sectors_srcunit_ltcfabric.sum"
"""What one L2 partition asks of the other."""
SOURCES = HERE / "cuda"
MEASURED = HERE / "measured"
PREDICTIONS = HERE / "records" / "cuda_kernels.jsonl"
TARGETS = ("h200", "h100")
"""GPUs that were measured."""


@dataclass(frozen=True)
class Kernel:
    """One of `benchmarks/cuda/`.

    Attributes:
        name: of its file and function.
        size: argument of its program.
        columns: workgroups in a row, in the swizzle language.
    """

    name: str
    size: int
    columns: str = "grid_0"


KERNELS = (
    Kernel("gemm_tiled", 4096),
    Kernel("transpose", 16384),
    Kernel("stencil_2d", 8192),
    Kernel("stencil_3d", 2048),
    Kernel("spmv_scalar", 1 << 22, "128"),
    Kernel("gemm_naive", 8192),
    Kernel("nbody", 64),
    Kernel("column_sum", 16384),
    Kernel("attention", 2048),
    Kernel("spmv_vector", 1 << 20, "256"),
    Kernel("softmax", 16384, "64"),
    Kernel("transpose_naive", 8192),
)
"""In the order in which they are measured; grids are powers of two."""

IDENTITY = "identity"
ORDERS: Mapping[str, str] = {
    IDENTITY: "pid = pid",
    "reversed": "pid = num_pids - 1 - pid",
    "column_major": "rows = num_pids // {columns}\npid = pid % rows * {columns} + pid // rows",
    "groups_8": """\
group = pid // (8 * {columns})
inside = pid % (8 * {columns})
pid = (group * 8 + inside % 8) * {columns} + inside // 8""",
    "squares_16": """\
square = pid // 256
inside = pid % 256
across = {columns} // 16
row = square // across * 16 + inside // 16
pid = row * {columns} + square % across * 16 + inside % 16""",
    "morton_16": """\
square = pid // 256
x = pid & 1 | pid >> 1 & 2 | pid >> 2 & 4 | pid >> 3 & 8
y = pid >> 1 & 1 | pid >> 2 & 2 | pid >> 3 & 4 | pid >> 4 & 8
across = {columns} // 16
pid = (square // across * 16 + y) * {columns} + square % across * 16 + x""",
    "shares_8": "pid = pid % 8 * (num_pids // 8) + pid // 8",
    "strided": "pid = pid * 1019 % num_pids",
}
"""Permutations where both axes are multiples of 16 and the grid is a power of two."""


def order_of(kernel: Kernel, name: str) -> str:
    """An order as a swizzle for a kernel."""
    return ORDERS[name].format(columns=kernel.columns)


def half(name: str) -> str:
    """Whether a kernel is there to calibrate the model or to judge it."""
    return ("calibrate", "judge")[sorted(kernel.name for kernel in KERNELS).index(name) % 2]


# --- without a GPU: patched sources and predictions ----------------------------------------------


@contextmanager
def examined(kernel: Kernel, target: str) -> Iterator[tuple[RunContext, Subject]]:
    """The traced kernel, from a copy of the sources that is there for as long."""
    with temporary_folder("cuda-kernels") as folder:
        shutil.copytree(SOURCES, project := folder / "project")
        options = Options(
            project_directory=str(project), build_command=f"make {kernel.name}", target=target,
            kernel=kernel.name, profiler="model", compute="never",
        )  # fmt: skip
        progress = Lines(sys.stderr)
        setup = prepare(options, (f"./{kernel.name}", str(kernel.size)), progress)
        with record_application(setup, progress) as recorded:
            yield setup, choose_kernel(recorded, setup, progress)


def proved(kernel: Kernel, name: str, setup: RunContext, subject: Subject) -> Swizzle:
    """An order, if it is a permutation of the kernel's workgroups; raises UsageError if not."""
    found = prove_candidate(Candidate(order_of(kernel, name), name, "user"), subject, setup.target)
    if isinstance(found, Verdict):
        raise UsageError(f"{kernel.name}, {name}: {found.reason}")
    return found.swizzle


def patch(kernel: Kernel, folder: Path) -> None:
    """Write the kernel's source under each order as `<kernel>/<order>.cu`.

    Raises:
        SwizzleError: the kernel cannot be traced or edited, or an order is no permutation.
    """
    own = folder / kernel.name
    own.mkdir(parents=True, exist_ok=True)
    with examined(kernel, TARGETS[0]) as (setup, subject):
        for name in ORDERS:
            swizzle = proved(kernel, name, setup, subject)
            edit = edit_launches(setup, subject.launches, swizzle, name)
            [text] = (edit.before if name == IDENTITY else edit.files).values()
            (own / f"{name}.cu").write_text(text, encoding="utf-8")


def predict(kernel: Kernel, wanted: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """What the model says of each target and order; raises SwizzleError."""
    with examined(kernel, wanted[0][0]) as (setup, subject):
        for target, name in wanted:
            [traced] = subject.traced
            [tiles] = tiles_of(proved(kernel, name, setup, subject), subject.traced, setup.target)
            begun = time.process_time()
            launch = ReplayedLaunch(traced.trace, tiles, occupancy=traced.occupancy)
            modelled = replay([launch], load_target(target))
            yield {
                "target": target,
                "config": kernel.name,
                "mapping": name,
                "occupancy": traced.occupancy,
                "modelled": encode(modelled),
                "cpu_seconds": round(time.process_time() - begun, 2),
            }


# --- on a GPU -------------------------------------------------------------------------------------


class Rig:
    """Builds kernels with `nvcc`, times them, and counts with `ncu`.

    Args:
        sources: as `patch` writes them, beside `problem.cuh` and `timing.cu`.
        folder: for what is built.
        memory: counters of the GPU's memory.
    """

    def __init__(self, sources: Path, folder: Path, memory: tuple[str, ...]):
        self._sources = sources
        self._folder = folder
        hits = (HITS, REQUESTS, *memory)
        self._hits = [(*hits, FABRIC_REQUESTS), hits, (HITS, REQUESTS)]
        self._ratios = [(SECTORS, REQUESTS, FABRIC_SECTORS, FABRIC_REQUESTS), (SECTORS, REQUESTS)]
        self._details = (*DETAILS, *memory)

    def build(self, kernels: Sequence[Kernel]) -> None:
        """Compiles all at once, with as many compilers as there are cores."""
        timing = self._sources / "timing.cu", self._folder / "timing"
        jobs: list[tuple[Path, Path, Sequence[str]]] = [(*timing, ())]
        for kernel in kernels:
            (self._folder / kernel.name).mkdir()
            for name, library in zip(ORDERS, self._libraries(kernel), strict=True):
                source = self._sources / kernel.name / f"{name}.cu"
                jobs.append((source, library, ("-shared", "-DSHARED", "-Xcompiler", "-fPIC")))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for _ in pool.map(lambda job: self._compile(*job), jobs):
                pass

    def _compile(self, source: Path, built: Path, more: Sequence[str]) -> None:
        run("nvcc", "-O3", "-std=c++17", "-arch=sm_90", f"-I{self._sources}", *more,
            str(source), "-o", str(built))  # fmt: skip

    def _libraries(self, kernel: Kernel) -> list[Path]:
        return [self._folder / kernel.name / f"{name}.so" for name in ORDERS]

    def _command(self, kernel: Kernel, rounds: int, readings: int = 1) -> list[str]:
        libraries = map(str, self._libraries(kernel) * readings)
        return [str(self._folder / "timing"), str(kernel.size), str(rounds), *libraries]

    def time(self, kernel: Kernel) -> list[dict[str, Any]]:
        """Of each order: words that differ from the unmodified kernel's output, and times."""
        lines = run(*self._command(kernel, ROUNDS)).splitlines()
        rows = [line.split() for line in lines]
        return [{"differing_words": int(row[0]), "rounds_ms": list(map(float, row[1:]))}
                for row in rows]  # fmt: skip

    def count(self, kernel: Kernel, readings: int) -> list[dict[str, Any]]:
        """Counters of each order, from a flushed L2."""
        hits = self._counted(kernel, self._hits, readings)
        ratios = self._counted(kernel, self._ratios, 1)
        rows = [stated(hits[place :: len(ORDERS)], ratios[place]) for place in range(len(ORDERS))]
        try:
            for row, reading in zip(rows, self._ncu(kernel, self._details, 1), strict=True):
                row["details"] = {name: reading.counters[name] for name in self._details
                                  if name in reading.counters}  # fmt: skip
        except ProfileError as error:
            print("\n".join((f"{kernel.name}, details: {error.fact}", *error.details)), flush=True)
        return rows

    def _counted(
        self, kernel: Kernel, choices: list[tuple[str, ...]], readings: int
    ) -> list[KernelCounters]:
        """Readings of the orders in turn; with counters that fit one pass if there is a choice."""
        while True:
            found = self._ncu(kernel, choices[0], readings)
            if len(choices) == 1 or all(counted.counters.get(PASSES) == 1 for counted in found):
                return found
            choices.pop(0)

    def _ncu(self, kernel: Kernel, counters: Sequence[str], readings: int) -> list[KernelCounters]:
        log = self._folder / "ncu.csv"
        message = run(
            "ncu", "--clock-control", "none", "--cache-control", "all",
            "--kernel-name-base", "function", "--kernel-name", kernel.name,
            "--metrics", ",".join((*counters, DURATION)),
            "--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log),
            *self._command(kernel, 0, readings),
        )  # fmt: skip
        printed = log.read_text(encoding="utf-8", errors="replace")
        found = read_ncu(printed)
        if len(found) != readings * len(ORDERS):
            last = (printed + message).splitlines()[-6:]
            raise ProfileError(f"ncu shows {len(found)} launches of {kernel.name}",
                               details=tuple(last))  # fmt: skip
        return found


ROUNDS = 24
READINGS = 2
DETAILS = (
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum",
    "lts__t_sector_hit_rate.pct",
)
"""What tells where a model is wrong; not of one run of the kernel."""
LIMITS = ("blocks", "registers", "shared_mem", "warps")
"""What limits the workgroups of an SM; ncu reports it unasked."""


def stated(hits: Sequence[KernelCounters], ratio: KernelCounters) -> dict[str, Any]:
    """Counters of one order as the records have them: a list has a number a reading."""
    each = ratio.counters[SECTORS] / ratio.counters[REQUESTS]
    listed = {
        column: [rate.counters[name] for rate in hits]
        for column, name in (
            ("l1_to_l2_sector_hits", HITS), ("l1_to_l2_requests", REQUESTS),
            ("l2_fabric_requests", FABRIC_REQUESTS), ("dram_read_bytes", "dram__bytes_read.sum"),
            ("dram_write_bytes", "dram__bytes_write.sum"), ("time_ns_under_ncu", DURATION),
        )
        if all(name in rate.counters for rate in hits)
    }  # fmt: skip
    pairs = zip(listed["l1_to_l2_sector_hits"], listed["l1_to_l2_requests"], strict=True)
    limits = {name: hits[0].counters.get(f"launch__occupancy_limit_{name}") for name in LIMITS}
    return {
        "axes": list(reversed(hits[0].grid or ())),
        "sm_side_hit_rate_pct": [100 * hit / (asked * each) for hit, asked in pairs],
        "sectors_per_request": each,
        **listed,
        "registers_per_thread": hits[0].registers,
        "blocks_per_sm_limit": limits,
    }


def known_device() -> tuple[Device, Target]:
    """The GPU that is measured; raises UsageError if there is none that this package knows."""
    present = devices()
    if not present or present[0].target is None:
        raise UsageError("there is no GPU that this package knows")
    return present[0], present[0].target


def measure(
    kernels: Sequence[Kernel],
    gpu: tuple[Device, Target],
    sources: Path,
    records: Path,
    folder: Path,
    seconds: float,
) -> None:
    """Append the records of as many kernels as the time allows; names those that fail.

    Raises:
        ProfileError: a source does not compile.
    """
    end = time.monotonic() + seconds
    device, target = gpu
    rig = Rig(sources, folder, target.memory_counters)
    rig.build(kernels)
    print(f"built {len(kernels)} kernels, {end - time.monotonic():.0f} s left", flush=True)
    longest = 0.0
    for kernel in kernels:
        if time.monotonic() + longest > end:
            print(f"left for the next visit: {kernel.name}", flush=True)
            continue
        begun = time.monotonic()
        try:
            rows = zip(ORDERS, rig.time(kernel), rig.count(kernel, READINGS), strict=True)
        except ProfileError as error:
            print("\n".join((f"{kernel.name}: {error.fact}", *error.details)), flush=True)
            continue
        lines = [
            {
                "target": target.name,
                "device": device.product,
                "driver": device.driver,
                "config": kernel.name,
                "size": kernel.size,
                "half": half(kernel.name),
                "mapping": name,
                "text": order_of(kernel, name),
                **counted,
                "time_ms": statistics.median(timed["rounds_ms"]),
                **timed,
            }
            for name, timed, counted in rows
        ]
        append(records, lines)
        longest = max(longest, time.monotonic() - begun)
        for line in lines:
            print(f"{kernel.name:16} {line['mapping']:13} {line['time_ms']:8.3f} ms "
                  f"{line['sm_side_hit_rate_pct'][0]:5.1f} % {line['differing_words']} differ",
                  flush=True)  # fmt: skip


def run(*command: str) -> str:
    """What a program prints; raises ProfileError with its last lines if it fails."""
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        last = (ended.stdout + ended.stderr).splitlines()[-6:]
        name = Path(command[0]).name
        raise ProfileError(f"{name} ended with {ended.returncode}", details=tuple(last))
    return ended.stdout


# --- records --------------------------------------------------------------------------------------


def append(records: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Add lines of JSON to a file."""
    with records.open("a", encoding="utf-8") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in lines)


def lines_of(records: Path) -> list[dict[str, Any]]:
    """The lines of a file; none if there is no file."""
    if not records.exists():
        return []
    return [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]


def _measurement(record: Mapping[str, Any]) -> Measurement:
    """As it was written down, without fields that measurements no longer have."""
    known = {field.name for field in fields(Measurement)}
    return decode(Measurement, {name: value for name, value in record.items() if name in known})


def compared(
    measured: Sequence[Mapping[str, Any]], predicted: Sequence[Mapping[str, Any]], target: str
) -> dict[str, ModelAccuracy]:
    """The pairs of one GPU, those that calibrate and those that judge."""
    modelled = {(record["config"], record["mapping"]): record for record in predicted
                if record["target"] == target}  # fmt: skip
    own = [record for record in measured if record["target"] == target]
    missing = [record for record in own if (record["config"], record["mapping"]) not in modelled]
    outcomes: dict[str, list[ComparedConfiguration]] = {"calibrate": [], "judge": []}
    for name in dict.fromkeys(record["config"] for record in own if record not in missing):
        both = [(record, modelled[name, record["mapping"]]) for record in own
                if record["config"] == name and record not in missing]  # fmt: skip
        pairs = tuple(
            Pair(read(record, name, record["mapping"]), _measurement(other["modelled"]))
            for record, other in both
        )
        seconds = math.fsum(other["cpu_seconds"] for _, other in both)
        occupancy = both[0][1]["occupancy"]
        outcomes[half(name)].append(ComparedConfiguration(name, occupancy, pairs, seconds))
    notes = tuple(f"{record['config']}, {record['mapping']}: not predicted" for record in missing)
    return {
        name: ModelAccuracy(target, tuple(found), (), notes, math.fsum(o.seconds for o in found))
        for name, found in outcomes.items()
    }


def main() -> None:
    """One verb."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=("patch", "predict", "measure", "compare"))
    parser.add_argument("sources", type=Path, nargs="?", help="folder of the patched sources")
    parser.add_argument("--records", type=Path, help="of the measurements; default: of the GPU")
    parser.add_argument("--predictions", type=Path, default=PREDICTIONS)
    parser.add_argument("--seconds", type=float, default=math.inf, help="of this visit")
    parser.add_argument("--targets", nargs="+", default=TARGETS, help="to predict for")
    parser.add_argument("--only", nargs="*", help="names of kernels")
    wanted = parser.parse_args()
    chosen = [kernel for kernel in KERNELS if not wanted.only or kernel.name in wanted.only]
    try:
        act(wanted, chosen)
    except SwizzleError as error:
        sys.exit("\n".join((f"error: {error.fact}", *error.details)))


def act(wanted: argparse.Namespace, chosen: Sequence[Kernel]) -> None:
    """Do what the verb says."""
    if wanted.verb == "patch":
        for name in ("problem.cuh", "timing.cu"):
            wanted.sources.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCES / name, wanted.sources)
        for kernel in chosen:
            patch(kernel, wanted.sources)
    if wanted.verb == "predict":
        done = {(record["config"], record["target"], record["mapping"])
                for record in lines_of(wanted.predictions)}  # fmt: skip
        for kernel in chosen:
            pairs = [(target, name) for target in wanted.targets for name in ORDERS
                     if (kernel.name, target, name) not in done]  # fmt: skip
            for line in predict(kernel, pairs) if pairs else ():
                append(wanted.predictions, [line])
    if wanted.verb == "measure":
        gpu = known_device()
        records = wanted.records or MEASURED / f"{gpu[1].name}_cuda.jsonl"
        measured = {record["config"] for record in lines_of(records)}
        left = [wanted_kernel for wanted_kernel in chosen if wanted_kernel.name not in measured]
        with temporary_folder("measure") as folder:
            measure(left, gpu, wanted.sources, records, folder, wanted.seconds)
    if wanted.verb == "compare":
        files = [wanted.records] if wanted.records else sorted(MEASURED.glob("*_cuda.jsonl"))
        lines = [line for file in files for line in lines_of(file)]
        predicted = lines_of(wanted.predictions)
        for target in dict.fromkeys(record["target"] for record in lines):
            for name, found in compared(lines, predicted, target).items():
                print(f"{name}:\n{table(found)}\n")


if __name__ == "__main__":
    main()
