# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The cache model beside measured counters: `docs/model-accuracy.md` and its scatter plots.

    python benchmarks/model_accuracy.py                    # all sets, then the page
    python benchmarks/model_accuracy.py --set mi355x       # one set anew, then the page
    python benchmarks/model_accuracy.py --quick            # without the effects: half an hour less
    python benchmarks/model_accuracy.py --render           # the page from the stored record

`validate-model` on every set of `measured/`, once with full physics and once without each effect.
The numbers go to `records/model_accuracy.json`, and the page is made of nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import jinja2

from accuracy import FolderOfMeasurements, Measurements, compare
from accuracy.agreement import kendall_tau_b, order_agreement, spread_points
from accuracy.measured import numbers, records_of
from accuracy.summary import ORDERED_SPREAD_POINTS, TIME_NOISE_FRACTION
from accuracy.tables import as_table
from amd_gemms import CALIBRATING, signals
from harness.age import aged
from intelliperf_swizzle.cache import Physics
from intelliperf_swizzle.cache.model import COMPARED, MATRICES, OTHERS
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.report.terminal import Lines
from model_truth.ablation import ABLATIONS, AblatedMeasurements
from model_truth.published import PublishedMeasurements
from model_truth.runs import MeasuredRuns

BENCHMARKS = Path(__file__).parent
MEASURED = BENCHMARKS / "measured"
RECORD = BENCHMARKS / "records" / "model_accuracy.json"
GEMMS = BENCHMARKS / "records" / "amd_gemms.json"
SPEED = BENCHMARKS / "records" / "simulators.json"
TEMPLATES = BENCHMARKS / "templates"
DOCS = BENCHMARKS.parent / "docs"
WORST_CASES = 6
"""Pairs of each set that are named."""
BAD_POINTS = 5.0
"""Errors above this want a reason."""
LEAD_POINTS = 5.0
"""A mapping that leads by more is the best one for certain."""
TIE_POINTS = 0.1
"""Modelled rates that differ by less are the same."""


@dataclass(frozen=True)
class Set:
    """Measurements of one GPU.

    Attributes:
        name: in the record.
        target: that was measured.
        title: for people.
        place: in `measured/`.
        with_effects: whether it is worth the time to leave out effects one by one.
    """

    name: str
    target: str
    title: str
    place: str
    with_effects: bool = True


SETS = (
    Set("h200", "h200", "NVIDIA H200", "h200"),
    Set("h200_held_out", "h200", "NVIDIA H200, second set", "h200_held_out"),
    Set("h100", "h100", "NVIDIA H100", "h100", with_effects=False),
    Set(
        "h200_runs",
        "h200",
        "NVIDIA H200, end-to-end runs",
        "h200_swizzles.jsonl",
        with_effects=False,
    ),
    Set("mi300x", "mi300x", "AMD Instinct MI300X", "amd.json"),
    Set("mi355x", "mi355x", "AMD Instinct MI355X", "amd.json"),
    Set("mi300x_gemm", "mi300x", "AMD Instinct MI300X, GEMM", "amd_gemms.json", with_effects=False),
)

CALIBRATED_ON: Mapping[str, tuple[str, ...]] = {
    "h200": (
        "gemm_8192_8192_8192_b128_128_64",
        "gemm_4096_4096_4096_b64_64_64",
        "stencil_8192_8192_b32_32",
        "attn_h64_s8192_d128_b128_64",
    ),
    "mi300x": (
        "gemm_matmul M=N=K=8192",
        "stencil_2d M=N=8192",
        "transpose M=N=32768",
        "fdtd_2d Nx=Ny=8192",
    ),
}
"""Set -> configurations that its target's constants were fitted to; the others judge."""

REASONS: Mapping[str, str] = {
    "gemm_16384_16384_1024_b128_128_64": (
        "likely drift. K is short, so workgroups start and end all the time, and how far neighbours"
        " are apart decides what they share: to the model those of a column stay too much in step."
    ),
    "attn_h64_s8192_d128_b128_64": (
        "likely drift: one workgroup per SM reads all keys of its head, and two readings of one"
        " order differ by up to 13 points."
    ),
    "gemm_8192_8192_8192_b128_128_64": "likely drift; two readings of one order differ by up to 7.",
    "gemm_6144_6144_6144_b128_256_64": (
        "likely drift: one workgroup per SM, and whether it keeps in step depends on how its pace"
        " varies."
    ),
    "gemm_4096_4096_4096_b64_64_64": "likely drift, in the order stride97 on the H100.",
    "gemm_8192_4096_4096_b64_128_32": (
        "likely drift: in the orders stride97 and random workgroups that share data start far"
        " apart."
    ),
    "attn_h32_s4096_d128_b64_64": (
        "likely drift, as of the attention above: on the H200 the same orders are 1.2 off."
    ),
    "attn_h128_s2048_d64_b128_64": (
        "likely drift: in the order identity workgroups of one head stay more in step than in the"
        " model, and a third more of their requests are merged."
    ),
    "spmv": "8 MB in 11 microseconds: a launch that begins and ends.",
    "gemm 4096x28672x4096, 128x256x64": (
        "likely drift, as it is: requests agree (9.9 GB, measured 10.1), but workgroups that share"
        " a row of A are further apart in the model (7.7 GB from memory, measured 6.7)."
    ),
    "gemm 4096x28672x8192, 64x256x32 (both operands stream)": (
        "while data come from the L2, workgroups of a GPC stay closer together than in the model:"
        " 44 % of their requests are merged, 14 % in the model."
    ),
    "gemm 16384²x4096, 64x64x32, 8 warps": (
        "likely drift, five workgroups per SM, in the order that takes most from memory (24 GB)."
    ),
    "gemm 8192³, 64x64x32, 8 warps": "likely drift: some orders bring a third less from memory in"
    " the model, as if workgroups were closer together.",
    "gemm 16384²x1024, 128x128x64": "as of the same GEMM above: K is short.",
    "fdtd_2d Nx=Ny=8192": (
        "likely the hash of the channels, of which one bit is known: with another one orders 1 and"
        " 6 come apart as measured, and the stencil does not fit (docs/cache-model.md). Orders 1, 3"
        " and 4 are one permutation and measure 75.2, 70.5 and 70.6."
    ),
    "gemm_stream_k M=N=K=8192": (
        "likely registers: each thread spills 900 bytes, so few loads are issued ahead; the model's"
        " are, those of a step."
    ),
    "gemm_matmul M=N=K=8192": (
        "likely drift. How much of A and B meets in an L2 hangs on how far workgroups are apart;"
        " two runs of order 1 measured 44.2 and 37.9."
    ),
    "stencil_2d M=N=8192": (
        "likely addresses. Rows are a power of two long, so which tiles conflict hangs on where"
        " pages lie; five runs of order 1 measured 29.6 to 35.9."
    ),
    "gemm_bf16 M=N=K=9216": (
        "how far ahead its kernel loads is not known: in step C=25, W=5 reads 72, and row-major 73."
    ),
}
"""Configuration -> why its worst pairs are wrong, as far as that is known."""


# --- measure ------------------------------------------------------------------------------------


def measurements_of(set_: Set) -> Measurements:
    """Where a set's pairs come from."""
    place = MEASURED / set_.place
    if place.is_dir():
        return FolderOfMeasurements(place)
    if place.suffix == ".jsonl":
        return MeasuredRuns(place, MEASURED / "h200_times.jsonl")
    return PublishedMeasurements(place, set_.target)


def measure(set_: Set, effects: Mapping[str, Physics]) -> dict[str, Any]:
    """What the record holds of a set: every pair, and without each effect where orders differ."""
    measurements = AblatedMeasurements(measurements_of(set_), effects)
    with Lines(sys.stderr) as progress:
        comparison = compare(measurements, load_target(set_.target), progress)
    stated = {**as_table(comparison), "machine": machine()}
    stated["tau_of_readings"] = tau_of_readings(set_)
    if effects:
        summaries = measurements.summaries(comparison.outcomes)
        stated["without"] = {name: asdict(summary) for name, summary in summaries.items()}
    return stated


def tau_of_readings(set_: Set) -> dict[str, float | None]:
    """Configuration -> τ-b of a first and a second reading, where the order of orders counts.

    How far a model could agree with one reading that is as good as another one. Empty for a set
    that was read once.
    """
    place = MEASURED / set_.place / "measured.json"
    readings: dict[str, list[list[float]]] = {}
    for record in records_of(place) if place.exists() else []:
        twice = numbers(record, "sm_side_hit_rate_pct")[:2]
        readings.setdefault(record["config"], []).append(twice)
    return {
        config: kendall_tau_b(*zip(*twice, strict=True))
        for config, twice in readings.items()
        if all(len(both) == 2 for both in twice)
        and spread_points([fmean(both) / 100 for both in twice]) > ORDERED_SPREAD_POINTS
    }


def machine() -> dict[str, Any]:
    """On what the record was made."""
    return {
        "platform": platform.system(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }


# --- render -------------------------------------------------------------------------------------


def pages(record: Mapping[str, Any]) -> dict[str, str]:
    """The page and its pictures, by path below `docs/`."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"points": points, "signed": signed, "rate": rate, "mean": mean}
    sets = [(set_, record["sets"][set_.name]) for set_ in SETS if set_.name in record["sets"]]
    page = environment.get_template("model_accuracy.md").render(
        sets=sets,
        effects=ABLATIONS.keys(),
        worst={set_.name: worst_cases(stored["pairs"]) for set_, stored in sets},
        best={set_.name: best_cases(stored["pairs"]) for set_, stored in sets},
        groups=groups,
        held_out={
            set_.name: held_out(set_.name, stored["configurations"]) for set_, stored in sets
        },
        unexplained=bad_configurations,
        reasons=REASONS,
        signals=signals(),
        lead=LEAD_POINTS,
        speed=json.loads(SPEED.read_text(encoding="utf-8")),
    )
    scatter = environment.get_template("scatter.svg")
    pictures = {
        f"model-accuracy/{set_.name}.svg": scatter.render(
            title=f"{set_.title}: L2 hit rate, %", groups=groups(stored["pairs"])
        )
        for set_, stored in sets
    }
    return {"model-accuracy.md": aged(page), **pictures}


def held_out(name: str, configurations: Sequence[Mapping[str, Any]]) -> str | None:
    """The error where the model was calibrated and where it was not, in a sentence."""
    known = CALIBRATED_ON.get(name)
    if not known:
        return None

    def error(chosen: Sequence[Mapping[str, Any]]) -> float:
        pairs = sum(scores["pairs"] for scores in chosen)
        return float(sum(scores["pairs"] * scores["mean_error"] for scores in chosen) / pairs)

    fitted = [configuration for configuration in configurations if configuration["config"] in known]
    others = [
        configuration for configuration in configurations if configuration["config"] not in known
    ]
    return (
        f"Calibrated on {', '.join(known)}: mean error {error(fitted):.1f} there,"
        f" {error(others):.1f} on the {len(others)} others."
    )


def worst_cases(pairs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The pairs with the greatest errors, worst first."""
    return sorted(pairs, key=lambda pair: -abs(pair["error_points"]))[:WORST_CASES]


def bad_configurations(pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The configurations of the pairs whose errors exceed `BAD_POINTS`."""
    return list(dict.fromkeys(p["config"] for p in pairs if abs(p["error_points"]) > BAD_POINTS))


def best_cases(pairs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Where one mapping leads by more than `LEAD_POINTS`: is it the one that the model prefers?

    Orders that are measured within `LEAD_POINTS` of the best one are as good.
    """
    found = []
    for config, members in groups(pairs).items():
        rates = sorted((pair["measured_hit_rate"] for pair in members), reverse=True)
        best = [p for p in members if 100 * (rates[0] - p["measured_hit_rate"]) <= LEAD_POINTS]
        if len(best) == len(members):
            continue
        chosen = max(members, key=lambda pair: pair["predicted_hit_rate"])
        likely = chosen["predicted_hit_rate"] - max(pair["predicted_hit_rate"] for pair in best)
        wrong = "no difference" if 100 * likely < TIE_POINTS else "wrong"
        verdict = "right" if chosen in best else wrong
        found.append({"config": config, "chosen": chosen, "verdict": verdict, "best": best})
    return found


def groups(pairs: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The pairs of each configuration."""
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for pair in pairs:
        grouped.setdefault(pair["config"], []).append(pair)
    return grouped


def points(value: float | None, digits: int = 1) -> str:
    """A number, or a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def mean(values: Collection[float]) -> float | None:
    """Their mean; None of none."""
    return fmean(values) if values else None


def signed(value: float | None) -> str:
    """A difference with its sign."""
    return "–" if value is None else f"{value:+.1f}"


def rate(value: float | None) -> str:
    """A rate (0 to 1) in percent."""
    return "–" if value is None else f"{100 * value:.1f}"


def accuracy_line(record: Mapping[str, Any]) -> str:
    """How the docstring of `cache.replay` ends."""
    errors = ", ".join(
        f"{set_.name} {record['sets'][set_.name]['summary']['mean_error_points']:.1f}"
        f" ({record['sets'][set_.name]['summary']['pairs']} pairs)"
        for set_ in SETS
        if set_.name in record["sets"]
    )
    return f"Accuracy: mean error of the L2 hit rate in points: {errors}; docs/model-accuracy.md."


def accuracies() -> dict[str, dict[str, Any]]:
    """Target -> kind of kernel -> what a run says of the model, from the stored records."""
    orders: dict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = {}
    for name, stored in json.loads(RECORD.read_text(encoding="utf-8"))["sets"].items():
        for pair in stored["pairs"]:
            kind = MATRICES if pair["config"].startswith(("gemm", "attn", "attention")) else OTHERS
            known = orders.setdefault((stored["target"], kind), {})
            known.setdefault(f"{name}: {pair['config']}", []).append(pair)
    for order in json.loads(GEMMS.read_text(encoding="utf-8"))["orders"]:
        if order["gemm"] not in CALIBRATING:  # what constants were fitted to is no witness
            known = orders.setdefault(("mi355x", MATRICES), {})
            known.setdefault(order["gemm"], []).append(order)
    found: dict[str, dict[str, Any]] = {}
    for (target, kind), configurations in sorted(orders.items()):
        amd = load_target(target).vendor == "AMD"
        found.setdefault(target, {})[kind] = {"kernels": kind, **_agreement(configurations, amd)}
    return found


def _agreement(
    configurations: Mapping[str, Sequence[Mapping[str, Any]]], amd: bool
) -> dict[str, Any]:
    errors, agreeing, different = [], 0, 0
    for pairs in configurations.values():
        errors += [abs(pair["predicted_hit_rate"] - pair["measured_hit_rate"]) for pair in pairs]
        timed = [pair for pair in pairs if pair["modelled_time_ms"] and pair["measured_time_ms"]]
        modelled = [row["modelled_time_ms"] for row in timed]
        measured = [row["measured_time_ms"] for row in timed]
        counted = order_agreement(modelled, measured, noise(timed, amd)) if timed else (0, 0)
        agreeing, different = agreeing + counted[0], different + counted[1]
    return {
        "orders": len(errors),
        "mean_error_points": round(100 * fmean(errors), 2),
        "pairs": different,
        "pairs_in_order": agreeing,
    }


def noise(timed: Sequence[Mapping[str, Any]], amd: bool) -> float:
    """By how much measured times of a configuration must differ to be distinguished, relative.

    On AMD by more than times of one order do: two timings of it, or those of orders that are one
    permutation, to which the model gives the same numbers to the last digit (not where it gives
    them to all). Times that are stated in hundredths of milliseconds must differ by one of these.
    """
    least = TIME_NOISE_FRACTION
    if not amd:
        return least
    same: dict[tuple[float, float], list[float]] = {}
    for row in timed:
        known = row["predicted_hit_rate"], row["modelled_memory_time_ms"]
        same.setdefault(known, []).append(row["measured_time_ms"])
        least = max(least, row.get("timed_apart", 0.0))
    if "timed_apart" not in timed[0]:
        if len(same) > 1:
            least = max(least, *(max(times) / min(times) - 1 for times in same.values()))
        times = [row["measured_time_ms"] for row in timed]
        if all(math.isclose(200 * time, round(200 * time), abs_tol=1e-6) for time in times):
            least = max(least, 0.01 / min(times))
    return float(least)


def write(record: Mapping[str, Any]) -> None:
    """Write the page, its pictures, and what runs say of the model."""
    COMPARED.write_text(json.dumps(accuracies(), indent=1) + "\n", encoding="utf-8")
    for path, text in pages(record).items():
        (DOCS / path).parent.mkdir(exist_ok=True)
        (DOCS / path).write_text(text, encoding="utf-8")


def main() -> None:
    """Measure what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=[set_.name for set_ in SETS], help="this one only")
    parser.add_argument(
        "--quick", action="store_true", help="full physics only; what was known of effects is kept"
    )
    parser.add_argument("--render", action="store_true", help="the page from the stored record")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"sets": {}}
    chosen = [] if options.render else [set_ for set_ in SETS if options.set in (None, set_.name)]
    for set_ in chosen:
        effects = ABLATIONS if set_.with_effects and not options.quick else {}
        known = record["sets"].get(set_.name, {}).get("without", {})
        stated = measure(set_, effects)
        record["sets"][set_.name] = {"without": known, **stated}
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write(record)
    print(accuracy_line(record))


if __name__ == "__main__":
    main()
