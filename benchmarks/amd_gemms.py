# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The model beside measured orders of GEMMs of an MI355X: hit rates, times, and what is lost.

    python benchmarks/amd_gemms.py              # all orders (half an hour on one core), the record
    python benchmarks/amd_gemms.py --render     # from the stored record

Pairs of orders count that differ by 2 % in measured time, and by more than two timings of one order
of that GEMM do. What is lost is the time of the order with the least modelled time over the fastest
measured one; of Origami the order that its group size names, of contiguous ranges, groups along M.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from accuracy.agreement import order_agreement
from intelliperf_swizzle.cache import ReplayedLaunch, replay
from intelliperf_swizzle.hardware import load_target
from model_truth.gemm_trace import gemm_trace
from model_truth.published import grouped_tiles

BENCHMARKS = Path(__file__).parent
MEASURED = BENCHMARKS / "measured" / "amd_gemms.json"
RECORD = BENCHMARKS / "records" / "amd_gemms.json"
NAME = re.compile(r"gemm_bf16 (\d+)x(\d+)x(\d+), (\d+)x(\d+)x(\d+)")
OCCUPANCY = {256: 1, 128: 2, 32: 3}
"""Workgroups a CU by the rows of a tile, as the compiler's build for gfx950 has registers for."""
BLOCKS = {"2352x1184x6992": 128, "240x960x624": 32}
"""Rows and columns of a tile, where they are not 256."""
CALIBRATING = ("22144x15584x3584", "58432x1088x6144", "2352x1184x6992")
"""What constants were fitted to; the others judge. What to look for was known of all six."""
LEAST = 0.02
"""Measured times that differ by less are equal."""
RATE_POINTS = 0.01
"""Measured hit rates that differ by less are equal."""
GROUPS = (1, 2, 4, 6, 8)
"""What tritonBLAS lets Origami choose from."""


SIGNALS = {
    "modelled time": ("modelled_time_ms", 1),
    "of that: what workgroups wait for": ("replayed_time_ms", 1),
    "of that: memory": ("modelled_memory_time_ms", 1),
    "modelled L2 hit rate": ("predicted_hit_rate", -1),
    "measured L2 hit rate": ("measured_hit_rate", -1),
}
"""What may put times in order: its field, and whether more of it is slower."""


def replayed(name: str, measured: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The orders of a GEMM beside the model."""
    found = NAME.fullmatch(name)
    assert found
    m, n, k, *block = map(int, found.groups())
    target = load_target("mi355x")
    trace = gemm_trace((m, n, k), (block[0], block[1], block[2]))
    rows, cols = -(-m // block[0]), -(-n // block[1])
    orders = []
    for order in measured:
        chunk, window, axis = order["groups"]
        tile = grouped_tiles(rows, cols, chunk, window, axis, xcds=target.num_xcds)
        run = ReplayedLaunch(trace, tile, occupancy=OCCUPANCY[block[0]])
        read = replay([run], target)
        orders.append(
            {
                "gemm": f"{m}x{n}x{k}",
                "mapping": order["mapping"],
                "measured_hit_rate": round(fmean(order["l2_hit_rate_pct"]) / 100, 5),
                "predicted_hit_rate": round(read.l2_hit_rate, 5),
                "measured_time_ms": round(fmean(order["time_ms"]), 6),
                "timed_apart": round(max(order["time_ms"]) / min(order["time_ms"]) - 1, 4),
                "modelled_time_ms": round(read.modelled_time_ms or 0.0, 6),
                "modelled_memory_time_ms": round(read.modelled_memory_time_ms or 0.0, 6),
                "replayed_time_ms": round(read.replayed_time_ms or 0.0, 6),
            }
        )
    return orders


def noise(orders: Sequence[Mapping[str, Any]]) -> float:
    """By how much two measured times of a GEMM must differ, relative."""
    return float(max(LEAST, *(order["timed_apart"] for order in orders)))


def origami(gemm: str, block: int) -> int:
    """The group size with the highest hit rate by Origami's estimate (ROCm/rocm-libraries).

    The tiles of an XCD that run at once are a rectangle of `group` columns; each of its rows and
    columns is fetched once.
    """
    rows, cols = (-(-int(size) // block) for size in gemm.split("x")[:2])
    at_once = -(-min(rows * cols, 256) // 8)

    def missed(group: int) -> float:
        width = min(group, cols)
        height = -(-at_once // width)
        if height > rows:
            width, height = min(cols, width * -(-height // rows)), rows
        return (width + height) / (2 * width * height)

    return min(GROUPS, key=missed)


def lost(orders: Sequence[Mapping[str, Any]], key: str, *, highest: bool = False) -> float:
    """The part of time that the order with the least (or highest) value loses on the fastest."""
    chosen = (max if highest else min)(orders, key=lambda order: order[key])
    fastest = min(order["measured_time_ms"] for order in orders)
    return float(chosen["measured_time_ms"] / fastest - 1)


def summary(orders: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the record says of one GEMM."""
    gemm = orders[0]["gemm"]
    rates = [(order["predicted_hit_rate"], order["measured_hit_rate"]) for order in orders]
    modelled = [order["modelled_time_ms"] for order in orders]
    measured = [order["measured_time_ms"] for order in orders]
    in_order, pairs = order_agreement(modelled, measured, noise(orders))
    group = origami(gemm, BLOCKS.get(gemm, 256))
    named = f"contiguous, groups of {group} along M"
    by_origami = next(order["measured_time_ms"] for order in orders if order["mapping"] == named)
    return {
        "gemm": gemm,
        "orders": len(orders),
        "mean_error_points": 100 * fmean(abs(p - m) for p, m in rates),
        "worst_points": 100 * max((p - m for p, m in rates), key=abs),
        "tau": _tau(rates),
        "noise": noise(orders),
        "pairs": pairs,
        "pairs_in_order": in_order,
        "lost": lost(orders, "modelled_time_ms"),
        "lost_by_highest_modelled_rate": lost(orders, "predicted_hit_rate", highest=True),
        "lost_by_highest_measured_rate": lost(orders, "measured_hit_rate", highest=True),
        "lost_by_origami": by_origami / min(measured) - 1,
    }


def signals() -> list[dict[str, Any]]:
    """By what pairs of orders come in the order of their measured times, of each GEMM: the shares.

    Pairs that a signal has as equal are not in order.
    """
    gemms: dict[str, list[Mapping[str, Any]]] = {}
    for order in json.loads(RECORD.read_text(encoding="utf-8"))["orders"]:
        gemms.setdefault(order["gemm"], []).append(order)
    rows = []
    for name, (key, sign) in SIGNALS.items():
        counted = {
            gemm: order_agreement(
                [sign * order[key] for order in orders],
                [order["measured_time_ms"] for order in orders],
                noise(orders),
            )
            for gemm, orders in gemms.items()
        }
        for title, chosen in (
            ("calibrating", CALIBRATING),
            ("judging", gemms.keys() - set(CALIBRATING)),
        ):
            both = [counted[gemm] for gemm in chosen]
            counted[title] = sum(a for a, _ in both), sum(p for _, p in both)
        rows.append({"name": name, "of": {gemm: a / p for gemm, (a, p) in counted.items()}})
    return rows


def _tau(rates: Sequence[tuple[float, float]]) -> float:
    """Kendall's tau of hit rates over the pairs that are measured a point apart or more."""
    agreeing = different = 0
    for n, (p, m) in enumerate(rates):
        for other_p, other_m in rates[:n]:
            if abs(m - other_m) >= RATE_POINTS:
                different += 1
                agreeing += (p - other_p) * (m - other_m) > 0
    return 2 * agreeing / different - 1


def main() -> None:
    """Replay what is asked for, and print what the record says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--render", action="store_true", help="from the stored record")
    if not parser.parse_args().render:
        orders: dict[str, list[Mapping[str, Any]]] = {}
        for record in json.loads(MEASURED.read_text(encoding="utf-8"))["records"]:
            if "time_ms" in record:
                orders.setdefault(record["config"], []).append(record)
        found = [row for name, known in orders.items() for row in replayed(name, known)]
        store(found)
    orders_of: dict[str, list[Mapping[str, Any]]] = {}
    for row in json.loads(RECORD.read_text(encoding="utf-8"))["orders"]:
        orders_of.setdefault(row["gemm"], []).append(row)
    stated = [summary(group) for group in orders_of.values()]
    for gemm in stated:
        print(line(gemm))
    for title, chosen in (
        ("calibrating", [gemm for gemm in stated if gemm["gemm"] in CALIBRATING]),
        ("judging", [gemm for gemm in stated if gemm["gemm"] not in CALIBRATING]),
        ("all", stated),
    ):
        print(line(together(title, chosen)))


def store(orders: Sequence[Mapping[str, Any]]) -> None:
    """Write the record, an order a line."""
    head = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    rows = ",\n".join(f"  {json.dumps(order)}" for order in orders)
    stated = json.dumps(
        "orders of benchmarks/measured/amd_gemms.json beside the model, by benchmarks/amd_gemms.py"
    )
    first = f'{{\n "of": {stated},\n "commit": "{head.stdout.strip()}",\n "orders": [\n'
    RECORD.write_text(f"{first}{rows}\n ]\n}}\n", encoding="utf-8")


def together(title: str, gemms: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several GEMMs as one: errors of all orders, sums of pairs, means of what is lost."""
    orders = sum(gemm["orders"] for gemm in gemms)
    losses = [key for key in gemms[0] if key.startswith("lost")]
    return {
        "gemm": title,
        "orders": orders,
        "mean_error_points": sum(o["orders"] * o["mean_error_points"] for o in gemms) / orders,
        "worst_points": max((gemm["worst_points"] for gemm in gemms), key=abs),
        "tau": min(gemm["tau"] for gemm in gemms),
        "noise": max(gemm["noise"] for gemm in gemms),
        "pairs": sum(gemm["pairs"] for gemm in gemms),
        "pairs_in_order": sum(gemm["pairs_in_order"] for gemm in gemms),
        **{key: fmean(gemm[key] for gemm in gemms) for key in losses},
    }


def line(gemm: Mapping[str, Any]) -> str:
    """A GEMM in a line; of several, tau and noise are the worst ones."""
    share = gemm["pairs_in_order"] / gemm["pairs"] if gemm["pairs"] else math.nan
    return (
        f"{gemm['gemm']}: {gemm['orders']} orders, mean error {gemm['mean_error_points']:.1f}, "
        f"worst {gemm['worst_points']:+.1f}, tau {gemm['tau']:.2f}; {gemm['pairs_in_order']} of"
        f" {gemm['pairs']} pairs over {gemm['noise']:.1%} in order ({share:.0%}); lost"
        f" {gemm['lost']:.1%}, by the highest modelled rate"
        f" {gemm['lost_by_highest_modelled_rate']:.1%}, measured"
        f" {gemm['lost_by_highest_measured_rate']:.1%}, by Origami {gemm['lost_by_origami']:.1%}"
    )


if __name__ == "__main__":
    main()
