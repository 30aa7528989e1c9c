# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Measured time lost by the mapping that the model alone would name, by what it ranks first.

Where a profiler took times, too, both are stated: they differ, as the clock of a GPU does.

From benchmarks/records/model_accuracy.json, see docs/decisions/0004-time-first.md. Needs no GPU.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from intelliperf_swizzle.rank import judge, order
from intelliperf_swizzle.records import Attempt, Candidate, Measurement, Verdict

RECORD = Path(__file__).parent / "records" / "model_accuracy.json"
RANKS = {
    "L2 hit rate first": ("l2_hit_rate", "memory_bytes"),
    "modelled time first": ("time", "l2_hit_rate", "memory_bytes"),
}
UNMODIFIED = ("unmodified", "identity", "row-major")


READINGS = ("measured_time_ms", "profiled_time_ms")


def lost(pairs: Sequence[Mapping[str, Any]], rank: Sequence[str], reading: str) -> float:
    """The part by which the mapping named takes longer than the fastest measured one.

    The unmodified mapping (else the first) is named where no other is judged better.
    """
    known = [pair for pair in pairs if pair[reading] and pair["modelled_time_ms"]]
    modelled = [
        Measurement(
            "model",
            "",
            row["predicted_hit_rate"],
            memory_bytes=row["predicted_memory_bytes"],
            modelled_memory_time_ms=row["modelled_memory_time_ms"],
            overlapped_time_ms=row["modelled_time_ms"],
            longest=row["longest"],
        )
        for row in known
    ]
    names = [row["mapping"] for row in known]
    base = next((n for n, name in enumerate(names) if name in UNMODIFIED), 0)
    attempts = [
        Attempt(
            n + len(known) * (n != base),
            Candidate("", names[n], "pattern"),
            Verdict("no difference", "") if n == base else judge(measurement, modelled[base]),
            measurement=measurement,
        )
        for n, measurement in enumerate(modelled)
    ]
    named = order(attempts, rank)[0].number % len(known)
    times = [float(row[reading]) for row in known]
    return times[named] / min(times) - 1


def main() -> None:
    """A line for each set of measurements and each rank."""
    sets = json.loads(RECORD.read_text(encoding="utf-8"))["sets"]
    for (name, set_), reading in itertools.product(sets.items(), READINGS):
        configurations: dict[str, list[Mapping[str, Any]]] = {}
        for pair in set_["pairs"]:
            if pair[reading] and pair["modelled_time_ms"]:
                configurations.setdefault(pair["config"], []).append(pair)
        several = [pairs for pairs in configurations.values() if len(pairs) > 1]
        for title, rank in RANKS.items() if several else ():
            each = [lost(pairs, rank, reading) for pairs in several]
            print(
                f"{name}, {reading}, {title}: mean {fmean(each):.1%}, worst {max(each):.1%} "
                f"({len(each)} configurations)"
            )


if __name__ == "__main__":
    main()
