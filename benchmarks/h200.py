# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What swizzles are worth on an H200: hit rates, bytes and times of whole automatic runs.

    python benchmarks/h200.py --seconds 500   # on a machine with the GPU; again until all is done
    python benchmarks/h200.py --times FILE    # there: what was profiled, timed anew, twice
    python benchmarks/h200.py --render        # anywhere: docs/results/h200.md from the records

Each case is an application of `benchmarks/kernels/`. It is run through the same loop as the command
line, with the default options; then the unmodified kernel, the mapping that the model alone would
have named, the one that was named, those that one tries by hand if tiles have rows and columns
(Triton's GROUP_M among them), and identities written as swizzles are timed in common rounds, and
hit rates counted. A case is one line of the records; a case that has
one is left out, so an interrupted or short visit to the machine loses nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.age import aged
from intelliperf_swizzle.codec import encode
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.frontends.trials.processes import RACE_SECONDS, timing
from intelliperf_swizzle.frontends.triton.gpu import Rig, Trial
from intelliperf_swizzle.frontends.triton.source.splice import splice
from intelliperf_swizzle.frontends.triton.trials import task_of
from intelliperf_swizzle.hardware import Device, Target, devices
from intelliperf_swizzle.history import History
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.rank import judge, order
from intelliperf_swizzle.records import Attempt, Candidate, Measurement
from intelliperf_swizzle.report.terminal import Lines
from intelliperf_swizzle.search.attempts import Attempts, pose_problem
from intelliperf_swizzle.search.evaluators import Evaluator, choose_evaluator
from intelliperf_swizzle.search.examine import choose_kernel, record_application
from intelliperf_swizzle.search.guard import SizeGuard
from intelliperf_swizzle.search.loop import search
from intelliperf_swizzle.search.plan import is_promising
from intelliperf_swizzle.search.setup import RunContext, prepare
from intelliperf_swizzle.search.stages import EvaluationContext
from intelliperf_swizzle.search.subject import Subject
from model_truth.runs import UNMODIFIED, MeasuredRun, read_runs

HERE = Path(__file__).parent
KERNELS = HERE / "kernels"
RECORDS = HERE / "measured" / "h200_swizzles.jsonl"
PAGE = HERE.parent / "docs" / "results" / "h200.md"
COPY_BYTES_S = 4.3e12
"""What a copy moves on an H200, reads and writes together."""
CASE_SECONDS = 240.0
"""What a case may take; none is begun with less left."""


@dataclass(frozen=True)
class Case:
    """One application.

    Attributes:
        name: of the record.
        command: file in `kernels/` and its options.
        columns: tile columns, in the swizzle language, where orders are tried by hand.
    """

    name: str
    command: tuple[str, ...]
    columns: str | None = None


def gemm(name: str, m: int, n: int, k: int, block: tuple[int, int, int], warps: int) -> Case:
    """A GEMM whose tiles go row by row."""
    sizes = {"m": m, "n": n, "k": k, "block-m": block[0], "block-n": block[1], "block-k": block[2]}
    options = {**sizes, "group-m": 1, "num-warps": warps}
    words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    return Case(name, ("gemm.py", *words), f"{-(-n // block[1])}")


CASES = (
    gemm("gemm 4096x28672x4096, 128x256x64", 4096, 28672, 4096, (128, 256, 64), 8),
    gemm("gemm 8192³, 64x64x32", 8192, 8192, 8192, (64, 64, 32), 4),
    gemm("gemm 8192³, 64x64x32, 8 warps", 8192, 8192, 8192, (64, 64, 32), 8),
    gemm("gemm 16384²x4096, 64x64x32, 8 warps", 16384, 16384, 4096, (64, 64, 32), 8),
    gemm("gemm 16384²x1024, 128x128x64", 16384, 16384, 1024, (128, 128, 64), 8),
    gemm("gemm 8192x1024x8192, 128x128x64 (LLM: keys and values)", 8192, 1024, 8192,
         (128, 128, 64), 8),
    gemm("gemm 16384x8192x1024, 128x256x64 (LLM: down projection, sharded)", 16384, 8192, 1024,
         (128, 256, 64), 8),
    gemm("gemm 512x28672x8192, 128x128x64 (LLM: up projection, small batch)", 512, 28672, 8192,
         (128, 128, 64), 8),
    gemm("gemm 4096x28672x8192, 64x256x32 (both operands stream)", 4096, 28672, 8192,
         (64, 256, 32), 4),
    Case("gemm (SwizzlePerf)", ("gemm.py", "--num-warps", "8")),
    Case("gemm_stream_k", ("gemm_stream_k.py", "--programs", "132", "--block-m", "128",
                           "--num-warps", "8")),
    Case("attention", ("attention.py",)),
    Case("transpose", ("transpose.py",), "grid_0"),
    Case("stencil_2d", ("stencil_2d.py",), "grid_0"),
    Case("fdtd_2d", ("fdtd_2d.py",), "grid_0"),
    Case("smith_waterman", ("smith_waterman.py",), "grid_0"),
    Case("softmax", ("softmax.py",)),
    Case("layer_norm", ("layer_norm.py", "--num-warps", "8")),
    Case("spmv", ("spmv.py",)),
    Case("black_scholes", ("black_scholes.py",)),
    Case("elementwise", ("elementwise.py",)),
)  # fmt: skip

THERE_AND_BACK = """\
xcd = pid % 8
slot = pid // 8
per = num_pids // 8
more = num_pids % 8
there = xcd * per + min(xcd, more) + slot
edge = more * (per + 1)
rest = max(there - edge, 0)
short = max(per, 1)
back = where(there < edge, there % (per + 1) * 8 + there // (per + 1), \
rest % short * 8 + more + rest // short)
pid = back
"""
"""The contiguous remap and its inverse: five divisions that no compiler can take out."""

IDENTITIES = {
    "unedited": None,
    "identity, pid = pid": "pid = pid\n",
    "identity, there and back": THERE_AND_BACK,
}
"""Orders that change nothing: the kernel's own text compiled anew tells the noise."""


GROUPED = "GROUP_M = 8"

PAPER = (
    "gemm_stream_k", "elementwise", "layer_norm", "softmax", "spmv",
    "transpose", "black_scholes", "fdtd_2d", "smith_waterman", "stencil_2d",
)  # fmt: skip
"""The ten kernels of SwizzlePerf, as their cases are called."""

SHARES = "pid = pid % {0} * (num_pids // {0}) + pid // {0}\n"
"""A share of neighbours for each of so many; their number must divide that of the programs."""


def by_hand(columns: str) -> dict[str, str]:
    """The orders that one tries by hand, as swizzles."""

    def pattern(name: str, **parameters: int) -> str:
        return load_pattern(name).bind(cols=columns, **parameters)

    return {
        GROUPED: pattern("grouped-rows", group=8),
        "groups of 2": pattern("grouped-rows", group=2),
        "groups of 32": pattern("grouped-rows", group=32),
        "column-major": pattern("column-major"),
        "snake": pattern("snake"),
        "Hilbert, 32": pattern("hilbert", side=32),
        "2 shares": SHARES.format(2),
        "8 shares": SHARES.format(8),
    }


# --- one case -----------------------------------------------------------------------------------


def measure(case: Case, device: Device, target: Target, folder: Path) -> dict[str, Any]:
    """Runs a case; what comes back is its record."""
    progress = Lines(sys.stderr)
    setup = prepare_case(case, target, folder, progress)
    begun = time.monotonic()
    with record_application(setup, progress) as recorded:
        subject = choose_kernel(recorded, setup, progress)
        history = History(folder / "history.jsonl", {})
        context = EvaluationContext(subject, setup, history.record, progress)
        evaluator = choose_evaluator(context, recorded.folder.parent)
        attempts = Attempts(setup, subject, history)
        best = None
        if is_promising(setup, subject):
            problem = pose_problem(setup, subject, evaluator, attempts)
            guard = SizeGuard(setup, subject, progress)
            found, _ = search([OfflineProposer()], problem, attempts, evaluator, progress, guard)
            best = found.attempt if found else None
        automatic_seconds = time.monotonic() - begun
        record = {
            "case": case.name,
            "command": list(case.command),
            "device": device.product,
            "driver": device.driver,
            "software": software(),
            "profiler": evaluator.baseline.profiler,
            "kernel": subject.kernel,
            "launches": [[*launch.grid, launch.count] for launch in subject.launches],
            "automatic_seconds": round(automatic_seconds, 1),
            "headroom": subject.headroom,
            "baseline": asdict(evaluator.baseline),
            "predicted_baseline": asdict(evaluator.predicted or evaluator.baseline),
            "named": best.number if best else None,
            "attempts": [shortened(attempt) for attempt in history.attempts if was_tried(attempt)],
            "screened": len(history.attempts),
            **compared(
                case, Found(setup, subject, evaluator, history, best), recorded.folder.parent
            ),
            "seconds": round(time.monotonic() - begun, 1),
        }
        history.close()
    print(summary(record), flush=True)
    return record


def prepare_case(case: Case, target: Target, folder: Path, progress: Lines) -> RunContext:
    """A run of a case with the default options, in a copy of the kernels."""
    project = folder / "project"
    shutil.copytree(KERNELS, project)
    options = Options(project_directory=str(project))
    return prepare(options, (sys.executable, *case.command), progress, target=target)


@dataclass(frozen=True)
class Found:
    """A run that is over."""

    setup: RunContext
    subject: Subject
    evaluator: Evaluator
    history: History
    best: Attempt | None


def software() -> dict[str, str]:
    """The versions of what compiles and runs the kernels, as the application has them."""
    text = "import sys, torch, triton; print(sys.version.split()[0], torch.__version__, triton.__version__)"  # noqa: E501
    message = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True
    )
    return dict(zip(("python", "torch", "triton"), message.stdout.split(), strict=True))


def was_tried(attempt: Attempt) -> bool:
    """Whether it came to the GPU, or was to."""
    return attempt.predicted is not None and attempt.verdict.kind != "screened out"


def shortened(attempt: Attempt) -> dict[str, Any]:
    """An attempt without what is long."""
    fields = encode(attempt)
    dropped = ("diff", "witness", "proof", "usage", "rationale", "critique", "idea", "flaw")
    return {key: value for key, value in fields.items() if key not in dropped}


def compared(case: Case, found: Found, folder: Path) -> dict[str, Any]:
    """The orders of the table in common rounds, profiled, and what validating them cost."""
    setup, best = found.setup, found.best
    candidates = {"named": best.candidate} if best else {}
    alone = by_model_alone(found)
    if alone is not None:
        candidates["model alone"] = alone.candidate
    if case.columns is not None:
        hand = by_hand(case.columns).items()
        candidates |= {name: Candidate(text, name, "user") for name, text in hand}
    edits = {
        name: spliced(setup, found.subject, candidate.text, candidate.name)
        for name, candidate in candidates.items()
    }
    texts = {name: edit.functions for name, edit in edits.items()}
    for name, identity in IDENTITIES.items():
        texts[name] = (
            {} if identity is None else spliced(setup, found.subject, identity, name).functions
        )
    names = list(texts)
    trials = race(setup, found.subject, list(texts.values()), folder / "compared")
    counts = {
        name: asdict(measurement)
        for name in ("named", "model alone", GROUPED)
        if name in candidates
        and (measurement := counts_of(found, candidates[name], edits[name])) is not None
    }
    return {
        "orders": {
            name: {
                "text": candidates[name].text if name in candidates else None,
                "name": candidates[name].name if name in candidates else name,
                "timing": asdict(timing) if (timing := trials[number].timing) else None,
                "difference": trials[number].difference,
                "failure": asdict(failure) if (failure := trials[number].failure) else None,
                "counted": counts.get(name),
            }
            for number, name in enumerate(names)
        },
        "validations": [asdict(check) for check in validations(trials)],
        "rounds": list(raced(folder / "compared")),
        "round_order": ["original", *names],
    }


def race(
    setup: RunContext, subject: Subject, texts: Sequence[Mapping[str, str]], folder: Path
) -> Mapping[int, Trial]:
    """Kernels, by the texts of their functions, beside the unmodified one in common rounds."""
    rig = Rig(
        setup.record_request(folder),
        setup.device.product if setup.device else "",
        cache_bytes=setup.target.num_xcds * setup.target.l2_bytes_per_xcd
        + (setup.target.llc_bytes or 0),
    )
    return rig.try_out(
        [task_of(traced_launch.launch, traced_launch.trace) for traced_launch in subject.traced],
        dict(enumerate(texts)),
        tolerance=setup.options.accordo_absolute_tolerance,
        race_seconds=RACE_SECONDS,
    )


def by_model_alone(found: Found) -> Attempt | None:
    """What the model would have named: the best prediction that is better."""
    baseline = found.evaluator.predicted or found.evaluator.baseline
    judged = [
        replace(attempt, measurement=attempt.predicted, verdict=judge(attempt.predicted, baseline))
        for attempt in found.history.attempts
        if attempt.predicted is not None
    ]
    leaders = [attempt for attempt in order(judged) if attempt.verdict.kind == "better"]
    return leaders[0] if leaders else None


def spliced(setup: RunContext, subject: Subject, text: str, name: str) -> Edit:
    """The kernel with a swizzle in it."""
    source = subject.launches[0].source
    return splice(source, parse(text), target=setup.target, launches=subject.launches, name=name)


def counts_of(found: Found, candidate: Candidate, edit: Edit) -> Measurement | None:
    """Hit rate and bytes of an order; those of the run if it measured them already."""
    profiler = found.setup.profiler
    if profiler is None or found.evaluator.baseline.profiler == "model":
        return None
    for attempt in found.history.attempts:
        known = attempt.measurement
        if known is None or attempt.candidate.text != candidate.text:
            continue
        if known.profiler == profiler.name:
            return known
    try:
        return profiler.measure(found.subject.traced, edit)
    except SwizzleError as error:
        print(f"  not counted: {error}", file=sys.stderr)
        return None


def validations(trials: Mapping[int, Trial]) -> Iterator[Any]:
    """Of each launch, the validation of the first order."""
    yield from trials[0].checks.values()


def raced(folder: Path) -> Iterator[dict[str, Any]]:
    """The times of every round, as the application's process wrote them."""
    for journal in sorted(folder.glob("trial-*/journal.jsonl")):
        for line in journal.read_text().splitlines():
            event = json.loads(line)
            if event["event"] == "raced":
                yield {key: event[key] for key in ("launch", "candidates", "rounds_ns")}


# --- times anew ---------------------------------------------------------------------------------


def time_again(
    runs: Mapping[str, MeasuredRun], case: Case, device: Device, target: Target, folder: Path
) -> dict[str, Any]:
    """Every order that was profiled, in common rounds, by two processes one after the other."""
    progress = Lines(sys.stderr)
    setup = prepare_case(case, target, folder, progress)
    texts = {name: text for name, (text, _) in runs[case.name].orders.items() if text}
    readings = []
    with record_application(setup, progress) as recorded:
        subject = choose_kernel(recorded, setup, progress)
        edits = [spliced(setup, subject, text, name).functions for name, text in texts.items()]
        for reading in ("first", "second"):
            trials = race(setup, subject, edits, recorded.folder.parent / reading)
            reading_ms = {}
            for number, name in enumerate(texts):
                if one := trials[number].timing:
                    reading_ms[UNMODIFIED] = one.original_ms.median
                    reading_ms[name] = one.original_ms.median * one.ratio.median
            readings.append(reading_ms)
    return {
        "case": case.name,
        "device": device.product,
        "driver": device.driver,
        "software": software(),
        "readings_ms": readings,
    }


# --- the page -----------------------------------------------------------------------------------


def page(records: Sequence[Mapping[str, Any]]) -> str:
    """The records as Markdown."""
    first = records[0]
    software = ", ".join(f"{name} {version}" for name, version in first["software"].items())
    lines = [
        "# Results on an NVIDIA H200",
        "",
        "Generated by `python benchmarks/h200.py --render` from "
        "`benchmarks/measured/h200_swizzles.jsonl`, where every raw time and counter is.",
        f"Driver {first['driver']}; {software}.",
        "",
        "Times are medians of interleaved rounds in one process, over input sets larger than the",
        "L2, clocks untouched; ratios are of one round, with the 95 % interval of their median.",
        "Hit rates and DRAM bytes are counted by Nsight Compute with a cold L2, one run each;",
        "`~` marks a modelled rate where nothing was counted.",
        "",
        "By hand: the best of eight mappings (rows in groups of 2, 8 and 32, column-major, snake,",
        "Hilbert's curve in squares of 32, contiguous shares for 2 and 8 domains). GROUP_M = 8 is",
        "the second of them, as a swizzle; the selected one is compared in the same rounds.",
        "The GEMMs go row by row, but for gemm (SwizzlePerf), whose source has GROUP_M = 8.",
        "",
        f"Mean speed-up over the paper's ten kernels (GEMM: stream-K): {mean_of_paper(records)}.",
        "A kernel for which nothing better was found counts as 1. The paper has 1.29× on an",
        "MI300X, swizzles that are no permutations included.",
        "",
        "The records are of several visits. Those of gemm 8192³, 16384²x4096, 16384²x1024, the LLM",
        "shapes and transpose are of rounds in turning order, in which a neighbour shifts times by",
        "up to 3 % (one mapping under two names: 1.183× and 1.211× at 16384²x4096), and what the",
        "model alone names in them is of the model of that day.",
        "",
        "gemm (SwizzlePerf) and layer_norm have 8 warps of 32 threads where the paper has 4 of 64,",
        "and gemm_stream_k one program per SM and tiles of 128 x 256: as the paper launches them",
        "they spill registers on NVIDIA, and the counters would be of that traffic, too.",
        "",
        "| case | baseline | GROUP_M = 8 | best by hand | by model alone | selected "
        "| selected against GROUP_M = 8 | found in |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for record in records:
        names = (GROUPED, best_by_hand(record), "model alone", "named")
        cells = [*(time_cell(record, name) for name in names), against_grouped(record)]
        before = f"{original_ms(record):.3f} ms" if original_ms(record) else "–"
        took = f"{record['automatic_seconds']:.0f} s"
        lines.append(f"| {record['case']} | {before} | {' | '.join(cells)} | {took} |")
    lines += ["", "## Hit rates and DRAM bytes", ""]
    lines += [
        "| case | baseline | GROUP_M = 8 | by model alone | selected |",
        "|---|---|---|---|---|",
    ]
    for record in records:
        cells = [rate_cell(record, name) for name in (GROUPED, "model alone", "named")]
        lines.append(f"| {record['case']} | {rates(record['baseline'])} | {' | '.join(cells)} |")
    lines += ["", *costs(records), "", *named(records)]
    return aged("\n".join(lines) + "\n")


def best_by_hand(record: Mapping[str, Any]) -> str | None:
    """The fastest of the orders tried by hand, None if there are none."""
    timed = {
        name: order_["timing"]["ratio"]["median"]
        for name, order_ in record["orders"].items()
        if name in by_hand("1") and order_["timing"]
    }
    return min(timed, key=lambda name: timed[name], default=None)


def time_cell(record: Mapping[str, Any], name: str | None) -> str:
    """How many times as fast as the unmodified kernel."""
    order_ = record["orders"].get(name) if name else None
    return speed_up(order_["timing"]["ratio"]) if order_ and order_["timing"] else "–"


def speed_up(ratio: Mapping[str, float]) -> str:
    """A ratio of times, the other way round."""
    fast = " to ".join(f"{1 / ratio[key]:.3f}" for key in ("high", "low"))
    return f"{1 / ratio['median']:.3f}× ({fast})"


def against_grouped(record: Mapping[str, Any]) -> str:
    """How many times as fast as GROUP_M = 8 what was named is, in the rounds of both."""
    timed = record.get("round_order", ())
    if GROUPED not in timed:
        return "not measured"
    if "named" not in timed:
        return "–"
    grouped, named = timed.index(GROUPED), timed.index("named")
    rounds = [
        [(nanoseconds[grouped], nanoseconds[named]) for nanoseconds in launch["rounds_ns"]]
        for launch in record["rounds"]
    ]
    counts = [launch[-1] for launch in record["launches"]]
    return speed_up(asdict(timing(rounds, counts, record["device"]).ratio))


def mean_of_paper(records: Sequence[Mapping[str, Any]]) -> str:
    """The mean speed-up over the paper's ten kernels; 1 where nothing was named."""
    named = [record["orders"].get("named") for record in records if record["case"] in PAPER]
    if len(named) < len(PAPER):
        return "not measured"
    factors = [1 / record["timing"]["ratio"]["median"] if record else 1.0 for record in named]
    return f"{math.fsum(factors) / len(factors):.2f}×"


def rate_cell(record: Mapping[str, Any], name: str) -> str:
    """The hit rate of an order."""
    order_ = record["orders"].get(name)
    return rates(order_["counted"]) if order_ and order_["counted"] else "–"


def rates(measurement: Mapping[str, Any]) -> str:
    """A hit rate, and the bytes from memory."""
    mark = "~" if measurement["profiler"] == "model" else ""
    memory = measurement["memory_bytes"]
    message = "" if memory is None or mark else f", {memory / 1e9:.2f} GB"
    return f"{mark}{100 * measurement['l2_hit_rate']:.1f} %{message}"


def original_ms(record: Mapping[str, Any]) -> float | None:
    """The median time of the unmodified kernel, in the common rounds."""
    timings = [order["timing"] for order in record["orders"].values() if order["timing"]]
    return timings[0]["original_ms"]["median"] if timings else None


def costs(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a swizzle and its validation cost."""
    lines = ["## What a swizzle and its validation cost", ""]
    lines += [
        "An identity written as a swizzle changes nothing but arithmetic; the kernel's own text,",
        "compiled anew, tells the noise. A validation is two kernel runs and the rest: passes over",
        "the launch's tensors, by the bytes that are read and written, and by the clock: what the",
        "rest takes at the 4.3 TB/s of a copy. The clock has what Python needs to launch a dozen",
        "kernels, too, about a millisecond: most of it where tensors are small.",
        "",
        "| case | own text | `pid = pid` | there and back | tensors | two runs | rest "
        "| passes by bytes | by the clock | extra memory / written |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for record in records:
        cells = [ratio_cell(record, name) for name in IDENTITIES]
        shown = (c for c in record["validations"] if "tensor_bytes" in c)  # by visits until then
        check = max(shown, key=lambda c: c["tensor_bytes"], default=None)
        cells += ["–"] * 6 if check is None else validation_cells(check)
        lines.append(f"| {record['case']} | {' | '.join(cells)} |")
    return lines


def validation_cells(check: Mapping[str, Any]) -> list[str]:
    """What one validation took."""
    rest = check["seconds"] - check["kernel_seconds"]
    tensors = check["tensor_bytes"]
    moved = check.get("moved_bytes")  # of visits since it is written down
    return [
        f"{tensors / 1e6:.0f} MB",
        f"{1e3 * check['kernel_seconds']:.2f} ms",
        f"{1e3 * rest:.2f} ms",
        f"{moved / tensors:.1f}" if moved else "–",
        f"{rest * COPY_BYTES_S / tensors:.1f}" if tensors >= 64e6 else "–",
        f"{check['extra_bytes'] / max(1, check['written_bytes']):.1f}",
    ]


def ratio_cell(record: Mapping[str, Any], name: str) -> str:
    """The time of an identity relative to the unmodified kernel."""
    order_ = record["orders"].get(name)
    if order_ is None or order_["timing"] is None:
        return "–"
    ratio = order_["timing"]["ratio"]
    return f"{100 * (ratio['median'] - 1):+.2f} % ± {50 * (ratio['high'] - ratio['low']):.2f}"


def named(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The selected swizzles, and how many attempts lost time."""
    lines = [
        "## Selected swizzles",
        "",
        "| case | selected | predicted beside measured | refused: slower |",
    ]
    lines.append("|---|---|---|---|")
    for record in records:
        best = next((a for a in record["attempts"] if a["number"] == record["named"]), None)
        slower = [a for a in record["attempts"] if a["verdict"] == "slower"]
        if best is None:
            lines.append(f"| {record['case']} | nothing better | – | {len(slower)} |")
            continue
        both = f"{rates(best['predicted'])} / {rates(best['measurement'])}"
        lines.append(f"| {record['case']} | `{best['name']}` | {both} | {len(slower)} |")
    return lines


# --- visits -------------------------------------------------------------------------------------


def read(path: Path) -> list[dict[str, Any]]:
    """The records of all visits; of a case that was measured again, the last."""
    if not path.exists():
        return []
    found = {record["case"]: record for record in map(json.loads, path.read_text().splitlines())}
    return [found[case.name] for case in CASES if case.name in found]


def visit(
    cases: Sequence[Case],
    measured: Callable[[Case, Device, Target, Path], dict[str, Any]],
    records: Path,
    seconds: float,
) -> int:
    """Measures as many cases as the time allows; the exit status."""
    present = devices()
    if not present or present[0].target is None:
        sys.exit("no known GPU is present")
    end, failures = time.monotonic() + seconds, 0
    for case in cases:
        if time.monotonic() + CASE_SECONDS > end:
            print(f"left for the next visit: {case.name}", file=sys.stderr)
            continue
        print(f"=== {case.name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="h200-") as folder:
            try:
                record = measured(case, present[0], present[0].target, Path(folder))
            except SwizzleError as error:
                failures += 1
                print(f"failed: {error}", file=sys.stderr, flush=True)
                continue
        with records.open("a") as stream:
            stream.write(json.dumps(record, default=float) + "\n")
    return 1 if failures else 0


def summary(record: Mapping[str, Any]) -> str:
    """A record in a few lines."""
    cells = {name: time_cell(record, name) for name in record["orders"]}
    lines = [f"{record['case']}: {original_ms(record) or math.nan:.3f} ms, "
             f"{record['automatic_seconds']} s, {record['seconds']} s in all, "
             f"baseline {rates(record['baseline'])}"]  # fmt: skip
    lines += [f"  {name}: {cell} {rate_cell(record, name)} {record['orders'][name]['name']}"
              for name, cell in cells.items()]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    """Measures what is not measured yet, or renders the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=math.inf, help="of this visit")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--only", nargs="*", help="cases whose names begin so")
    parser.add_argument("--again", action="store_true", help="those that have a record, too")
    parser.add_argument("--times", type=Path, help="of what --records has, to this file")
    parser.add_argument("--render", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    if options.render:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page(read(options.records)), encoding="utf-8")
        return
    records, measured = options.records, measure
    if options.times:
        runs = read_runs(options.records, options.times)
        records, measured = options.times, partial(time_again, runs)
    done = {record["case"] for record in read(records) if record.get("profiler") != "model"}
    done = set() if options.again else done
    chosen = [
        case
        for case in CASES
        if case.name not in done
        and (not options.only or any(case.name.startswith(word) for word in options.only))
    ]
    sys.exit(visit(chosen, measured, records, options.seconds))


if __name__ == "__main__":
    main()
