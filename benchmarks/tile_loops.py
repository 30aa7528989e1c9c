# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What renumbering the tiles of a persistent GEMM is worth on the GPU that is here.

    python benchmarks/tile_loops.py mm_persistent.py 8192 8192 4096 1 --json out.json
    python benchmarks/tile_loops.py --only rates kernels/gemm_stream_k.py -- --programs 132
    python benchmarks/tile_loops.py --only run applications/persistent_gemm.py
    python benchmarks/tile_loops.py mm_persistent.py 8192 8192 4096 1 --model
    python benchmarks/tile_loops.py --render  # docs/results/tile_loops.md from the records

The plain command is run on a copy and changes it; then, of an application whose kernel takes M, N,
K and GROUP_M as its arguments, the unmodified kernel, the changed one and the unmodified one with
each GROUP_M are timed in common rounds. Hit rates of some orders of the tiles are counted beside
those of the model, all in one process under ncu. `--only run` takes any application and keeps what
the plain command says of it. `--model` does the same without a GPU, modelled.
`measured/tile_loops.jsonl` holds such records; its application is one of 128 x 128 x 64 tiles.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.render import generated, page, percent, table
from intelliperf_swizzle.frontends.trials.processes import median_interval
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.profile.counters import KernelCounters
from intelliperf_swizzle.profile.modelled import ModelScreen, model_launches
from intelliperf_swizzle.profile.ncu import DURATION, HITS, PASSES, REQUESTS, SECTORS, read_ncu
from intelliperf_swizzle.records import Candidate, Verdict
from intelliperf_swizzle.report.terminal import Lines
from intelliperf_swizzle.search.examine import choose_kernel, record_application
from intelliperf_swizzle.search.setup import RunContext, prepare
from intelliperf_swizzle.search.stages import prove_candidate
from intelliperf_swizzle.search.subject import edit_launches, tiles_of

GROUPS = (2, 4, 8, 16, 32)
ROUNDS = 80
FLUSHED_BYTES = 1 << 28
RECORDS = Path(__file__).parent / "measured" / "tile_loops.jsonl"
PAGE = Path(__file__).parent.parent / "docs" / "results" / "tile_loops.md"

GROUPED = """\
columns = cdiv(N, BN)
inside = pid % ({0} * columns)
grouped = pid - inside + inside % {0} * columns + inside // {0}
pid = where(pid < num_pids // ({0} * columns) * ({0} * columns), grouped, pid)
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
    "column-major": (
        "columns = cdiv(N, BN)\n"
        "rows = num_pids // columns\n"
        "pid = where(pid < rows * columns, pid % rows * columns + pid // rows, pid)\n"
    ),
    "2 shares": SHARES.format(2),
    "8 shares": SHARES.format(8),
    "a share a program": (
        "each = num_pids // num_programs\n"
        "whole = each * num_programs\n"
        "pid = where(pid < whole, program * each + pid // num_programs, pid)\n"
    ),
    "odd steps": "pid = pid * 13 % num_pids\n",
}
"""Orders of the tiles, each over all of them; not all are a permutation at every size."""


def main() -> None:
    """Run what is asked for and print, and write, one record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("application", type=Path, nargs="?")
    parser.add_argument("words", nargs="*", help="of the application, e.g. M N K GROUP_M")
    parser.add_argument("--json", type=Path, help="append the record to this file")
    parser.add_argument("--model", action="store_true", help="without a GPU")
    parser.add_argument("--target", help="GPU that is modelled")
    parser.add_argument("--only", choices=("run", "times", "rates"), help="no more than that")
    parser.add_argument("--render", action="store_true", help=f"write {PAGE.name}, no more")
    wanted = parser.parse_args()
    if wanted.render:
        PAGE.write_text(render([json.loads(line) for line in RECORDS.read_text().splitlines()]))
        return
    record: dict[str, Any] = {"command": [wanted.application.name, *wanted.words]}
    with tempfile.TemporaryDirectory() as folder:
        if wanted.only == "run":
            record |= run_of(wanted.application, wanted.words, Path(folder))
        if wanted.only in {None, "times"} and not wanted.model:
            record |= times(wanted.application, wanted.words, Path(folder))
        if wanted.only in {None, "rates"}:
            record |= rates(wanted, Path(folder))
    print(json.dumps(record, indent=1))
    if wanted.json:
        with wanted.json.open("a") as stream:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")


# --- times --------------------------------------------------------------------------------------


def times(application: Path, sizes: Sequence[str], folder: Path) -> dict[str, Any]:
    """The plain command, and what came of it beside GROUP_M by hand in the same rounds."""
    record, changed = plain_command(application, sizes, folder)
    device, rows = raced(application, changed, [int(size) for size in sizes])
    return record | {"device": device, "times": rows}


def plain_command(
    application: Path, words: Sequence[str], folder: Path
) -> tuple[dict[str, Any], Path]:
    """How the plain command went, on a copy in the folder, which it changes."""
    project = folder / "project"
    project.mkdir()
    changed = project / application.name
    shutil.copyfile(application, changed)
    begun = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-m", "intelliperf_swizzle", "-l", "-o", str(folder / "result.json"),
         "--", sys.executable, changed.name, *words],
        cwd=project, capture_output=True, text=True,
    )  # fmt: skip
    output = (run.stdout + run.stderr).splitlines()
    print("\n".join(output), file=sys.stderr)
    if run.returncode:
        raise SystemExit(f"error: the plain command ended with {run.returncode}")
    return {
        "seconds": round(time.monotonic() - begun, 1),
        "leaders": [line.strip() for line in output if re.match(r"\s+\d/\d|confirming", line)],
    }, changed


def run_of(application: Path, words: Sequence[str], folder: Path) -> dict[str, Any]:
    """What the plain command says of an application: rates, times, and the reasons."""
    record, _ = plain_command(application, words, folder)
    result = json.loads((folder / "result.json").read_text())
    best = result["swizzle"]["best"]
    timing = best and best["measurement"]["timing"]
    return record | {
        "device": result["swizzle"]["baseline"]["device"],
        "kernel": result["kernel_name"],
        "message": result["report_message"],
        "notes": result["swizzle"]["notes"],
        "rates": [result["metric_before"], result["metric_after"]],
        "best": best and best["name"],
        "new_over_old": timing and timing["ratio"],
        "ms": [result["time_before_ms"], result["time_after_ms"]],
    }


def raced(original: Path, changed: Path, sizes: Sequence[int]) -> tuple[str, dict[str, Any]]:
    """The GPU; median ms, and the ratio to the changed kernel in its round, of each variant."""
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
    return torch.cuda.get_device_name(), {
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
    command = (sys.executable, wanted.application.name, *wanted.words)
    setup = prepare(options, command, Lines(sys.stderr), target=None)
    with record_application(setup, Lines(sys.stderr)) as recorded:
        return {"device": setup.target.product} | rates_of(setup, recorded, folder)


def rates_of(setup: RunContext, recorded: Any, folder: Path) -> dict[str, Any]:
    """Of each order that is a permutation."""
    subject = choose_kernel(recorded, setup, Lines(sys.stderr))
    launch = subject.traced[0].launch
    screen = ModelScreen(subject.traced, setup.target)
    rows: dict[str, Any] = {}
    files: dict[str, Path] = {}
    for name, text in ORDERS.items():
        if "BLOCK_SIZE_N" in launch.constants:
            text = text.replace("BM", "BLOCK_SIZE_M").replace("BN", "BLOCK_SIZE_N")
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
        [changed] = edit_launches(setup, subject.launches, parse(text), name).files.values()
        files[name] = folder / f"order_{len(files)}.py"
        files[name].write_text(changed)
    record = {"tiles": launch.tiles, "programs": launch.programs, "orders": rows}
    if setup.profiler is None or setup.profiler.name != "ncu":
        return record
    found = counted(setup, subject.kernel, list(files.values()))
    for name, found_times in zip(files, found, strict=True):
        rows[name] |= found_times
    errors = [abs(rows[name]["modelled"] - rows[name]["counted"]) for name in files]
    return record | {"mean_error_points": 100 * statistics.mean(errors)}


def counted(setup: RunContext, kernel: str, files: Sequence[Path]) -> list[dict[str, float]]:
    """Hit rate, bytes and time of each file's kernel: all run one after the other under ncu."""
    every = files[0].with_name("every.py")
    every.write_text(
        "import runpy, sys\n"
        f"for file in {[str(file) for file in files]!r}:\n"
        f"    sys.argv = [file, *{setup.command[2:]!r}]\n"
        "    runpy.run_path(file, run_name='__main__')\n"
    )

    def run(*metrics: str) -> list[KernelCounters]:
        log = every.with_suffix(".csv")
        command = [
            "ncu", "--target-processes", "all", "--clock-control", "none", "--cache-control", "all",
            "--kernel-name-base", "function", "--kernel-name", kernel,
            "--metrics", ",".join((*metrics, DURATION)), "--csv", "--page", "raw",
            "--print-units", "base", "--log-file", str(log), sys.executable, str(every),
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return read_ncu(log.read_text())

    memory = setup.target.memory_counters
    sectors = [
        launch.counters[SECTORS] / launch.counters[REQUESTS] for launch in run(SECTORS, REQUESTS)
    ]
    rows = [
        {
            "counted": launch.counters[HITS] / (launch.counters[REQUESTS] * sector),
            "memory_bytes": sum(launch.counters[name] for name in memory),
            "counted_ms": (launch.time_ns or 0.0) / 1e6,
            "passes": launch.counters[PASSES],
        }
        for launch, sector in zip(run(HITS, REQUESTS, *memory), sectors, strict=True)
    ]
    launches = len(rows) // len(files)
    return rows[::launches]


# --- the page -----------------------------------------------------------------------------------


def render(records: Sequence[Mapping[str, Any]]) -> str:
    """The page, from all records."""
    timed = [record for record in records if "times" in record]
    counted = [record for record in records if "mean_error_points" in record]
    others = [record for record in records if "message" in record]
    errors = [row["mean_error_points"] for row in counted]
    return page(
        generated("tile_loops.py --render"),
        "# Tile loops on a GPU",
        "The tiles of persistent kernels, renumbered by whole automatic runs and measured on real "
        "GPUs (raw records: `benchmarks/measured/tile_loops.jsonl`).",
        "## Against GROUP_M by hand",
        "A GEMM in tiles of 128 × 128 × 64, one program per SM, that takes its tiles in groups of "
        "GROUP_M rows. `found`: the application as the command left it. All run in the same "
        "rounds, each from a flushed L2; the last column is the time of `found` over that of the "
        "best GROUP_M of 2, 4, 8, 16 and 32, with its 95 % interval.",
        table(
            [
                "GPU",
                "M × N × K",
                "GROUP_M",
                "baseline, ms",
                "found, ms",
                "best by hand, ms",
                "found / best by hand",
                "run, s",
            ],
            [_time_row(row) for row in timed],
        ),
        "## Other kernels whose programs take tiles in a loop",
        "End-to-end runs on `benchmarks/applications/` and `benchmarks/kernels/`: what the "
        "command printed, and hit rates that ncu counted.",
        table(
            ["GPU", "command", "time", "L2 hit rate %", "found", "run, s"],
            [_run_row(other) for other in others],
        ),
        *(
            f"- `{other['kernel']}`: {'. '.join([*other['notes'], *_cautions(other['message'])])}."
            for other in others
        ),
        "## Hit rates, counted and modelled",
        "Orders of the tiles, their L2 hit rates counted by ncu (one launch each, one pass) and "
        "modelled, in percent, and the bytes from memory that were counted. Mean error of all: "
        f"{statistics.mean(errors):.1f} points.",
        *(text for row in counted for text in _rate_paragraphs(row)),
    )


def _cautions(message: str) -> list[str]:
    return re.findall(r"Caution: .*?(?=\. Caution: |\.$)", message)


def _time_row(record: Mapping[str, Any]) -> list[object]:
    m, n, k, group = record["command"][1:]
    times = record["times"]
    best = min((name for name in times if name.startswith("GROUP_M")), key=lambda g: times[g]["ms"])
    low, median, high = times[best]["changed_over_it"]
    return [
        record["device"].removesuffix(" 80GB HBM3"),
        f"{m} × {n} × {k}",
        group,
        f"{times['unmodified']['ms']:.4f}",
        f"{times['changed']['ms']:.4f}",
        f"{times[best]['ms']:.4f} ({best})",
        f"{median:.3f} ({low:.3f} to {high:.3f})",
        f"{record['seconds']:.0f}",
    ]


def _run_row(record: Mapping[str, Any]) -> list[object]:
    ratio, (before, after) = record["new_over_old"], record["rates"]
    return [
        record["device"],
        f"`{' '.join(record['command'])}`",
        f"{ratio['median']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f})" if ratio else "–",
        f"{before:.1f}" + (f" → {after:.1f}" if after else ""),
        f"`{record['best']}`" if record["best"] else record["message"].split(". ")[0],
        f"{record['seconds']:.0f}",
    ]


def _rate_paragraphs(record: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"`{' '.join(record['command'])}` on an {record['device']}, {record['tiles']} tiles on "
        f"{record['programs']} programs: mean error {record['mean_error_points']:.1f} points."
    )
    yield table(
        ["order", "counted", "modelled", "from memory, GB"],
        [
            [name, percent(order["counted"]), percent(order["modelled"]),
             f"{order['memory_bytes'] / 1e9:.2f}"]
            for name, order in record["orders"].items()
            if "counted" in order
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
