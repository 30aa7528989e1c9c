# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The cache model beside measured counters: `docs/validation.md` and its scatter plots.

    python benchmarks/validation.py                    # all sets, then the page
    python benchmarks/validation.py --set mi355x       # one set anew, then the page
    python benchmarks/validation.py --render           # the page from the stored record

`validate-model` on every set of `measured/`, once with full physics and once without each effect.
The numbers go to `records/validation.json`, and the page is made of nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jinja2

from intelliperf_swizzle.cache import ABLATIONS
from intelliperf_swizzle.fidelity import compare, measurements_at
from intelliperf_swizzle.fidelity.summary import WIDE_SPREAD_POINTS, scores, summarise
from intelliperf_swizzle.fidelity.words import as_table
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.report.terminal import Lines

BENCHMARKS = Path(__file__).parent
MEASURED = BENCHMARKS / "measured"
RECORD = BENCHMARKS / "records" / "validation.json"
TEMPLATES = BENCHMARKS / "templates"
DOCS = BENCHMARKS.parent / "docs"
WORST_CASES = 6
"""Pairs of each set that are named."""
BAD_POINTS = 5.0
"""Errors above this want a reason."""
LEAD_POINTS = 5.0
"""A mapping that leads by more is the best one for certain."""


@dataclass(frozen=True)
class Set:
    """Measurements of one GPU.

    Attributes:
        name: in the record; the target's.
        title: for people.
        place: in `measured/`.
    """

    name: str
    title: str
    place: str


SETS = (
    Set("h200", "NVIDIA H200", "h200"),
    Set("mi300x", "AMD Instinct MI300X", "amd.json"),
    Set("mi355x", "AMD Instinct MI355X", "amd.json"),
)

REASONS: Mapping[str, str] = {}
"""Configuration -> why its worst pairs are wrong, as far as that is known."""


# --- measure ------------------------------------------------------------------------------------


def measured(one: Set) -> dict[str, Any]:
    """What the record holds of a set: the comparison, and what each effect is worth."""
    target = load_target(one.name)
    with Lines(sys.stderr) as progress:
        fidelity = compare(
            measurements_at(MEASURED / one.place, target),
            target,
            progress,
            effects=tuple(ABLATIONS.values()),
            effects_from_points=WIDE_SPREAD_POINTS,
        )
    wide = [o for o in fidelity.outcomes if scores(o.pairs).spread > WIDE_SPREAD_POINTS]
    without = {
        name: asdict(summarise(wide, number)) for number, name in enumerate(("", *ABLATIONS))
    }
    return {**as_table(fidelity), "without": without}


def machine() -> dict[str, Any]:
    """On what the record was made."""
    return {
        "platform": platform.platform(),
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
    environment.filters |= {"points": points, "signed": signed, "rate": rate}
    sets = [(one, record["sets"][one.name]) for one in SETS if one.name in record["sets"]]
    page = environment.get_template("validation.md").render(
        sets=sets,
        worst={one.name: worst_cases(stored["pairs"]) for one, stored in sets},
        best={one.name: best_cases(stored["pairs"]) for one, stored in sets},
        unexplained=bad_configurations,
        reasons=REASONS,
        lead=LEAD_POINTS,
        record=record,
    )
    scatter = environment.get_template("scatter.svg")
    pictures = {
        f"validation/{one.name}.svg": scatter.render(
            title=f"{one.title}: L2 hit rate, %", groups=groups(stored["pairs"])
        )
        for one, stored in sets
    }
    return {"validation.md": page, **pictures}


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
        found.append({"config": config, "chosen": chosen, "right": chosen in best, "best": best})
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


def signed(value: float | None) -> str:
    """A difference with its sign."""
    return "–" if value is None else f"{value:+.1f}"


def rate(value: float | None) -> str:
    """A rate (0 to 1) in percent."""
    return "–" if value is None else f"{100 * value:.1f}"


def write(record: Mapping[str, Any]) -> None:
    """Write the page and its pictures."""
    for path, text in pages(record).items():
        (DOCS / path).parent.mkdir(exist_ok=True)
        (DOCS / path).write_text(text, encoding="utf-8")


def main() -> None:
    """Measure what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=[one.name for one in SETS], help="this one only")
    parser.add_argument("--render", action="store_true", help="the page from the stored record")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"sets": {}}
    if not options.render:
        for one in SETS:
            if options.set in (None, one.name):
                record["sets"][one.name] = {**measured(one), "machine": machine()}
                text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
                RECORD.write_text(text, encoding="utf-8")
    write(record)


if __name__ == "__main__":
    main()
