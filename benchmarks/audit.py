# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The audit: is each published swizzle a permutation on the grids that its source uses?

    python benchmarks/audit.py            # proofs, and modelled hit rates of what comes nearest
    python benchmarks/audit.py --render   # write docs/audit.md from the record again

What is checked stands in `benchmarks/audit.yaml`, the formulas in `formulas/audit/`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.command import Record, Table, Wishes, main
from harness.items import Bench
from harness.render import generated, page, percent, table
from harness.work import rates
from intelliperf_swizzle.formulas import Pattern, load_pattern
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.mapping import condition as seen_condition
from intelliperf_swizzle.mapping import describe, prove
from intelliperf_swizzle.records import Grid, Witness

ENTRIES = Path(__file__).parent / "audit.yaml"
SWEEP: tuple[Grid, ...] = tuple((length, 1, 1) for length in range(1, 4097))
"""Every length from 1 to 4096: on which of them a swizzle of a flat grid holds."""


@dataclass(frozen=True)
class Case:
    """A grid on which a swizzle is used.

    Attributes:
        axes: programs along the axes.
        constants: parameters and arguments by name.
        where: the source uses it.
        target: the GPU that says how many XCDs there are.
    """

    axes: tuple[int, ...]
    constants: Mapping[str, int]
    where: str
    target: str = "mi300x"

    @property
    def grid(self) -> Grid:
        """Three axes."""
        x, y, z = (*self.axes, 1, 1)[:3]
        return x, y, z

    def command(self, swizzle: str) -> str:
        """One line that repeats the check."""
        settings = [f"--set {name}={value}" for name, value in self.constants.items()]
        target = [] if self.target == "mi300x" else [f"--target {self.target}"]
        grid = " ".join(map(str, self.axes))
        return " ".join(["intelliperf-swizzle prove", swizzle, "--grid", grid, *settings, *target])


def entries() -> list[dict[str, Any]]:
    """What is to be checked, with `grids` as cases."""
    read = yaml.safe_load(ENTRIES.read_text(encoding="utf-8"))
    return [
        {**entry, "grids": [Case(tuple(axes), *rest) for axes, *rest in entry["grids"]]}
        for entry in read
    ]


def checked(swizzle: str, case: Case) -> dict[str, Any]:
    """The verdict on one grid, in words and numbers."""
    pattern = load_pattern(swizzle)
    target = load_target(case.target)
    bound = {name: value for name, value in case.constants.items() if name in pattern.parameters}
    verdict = prove(
        parse(pattern.bind(**bound)),
        case.grid,
        {name: value for name, value in case.constants.items() if name not in bound},
        num_xcds=target.num_xcds,
        cus_per_xcd=target.cus_per_xcd,
    )
    programs = math.prod(case.grid)
    witness = verdict if isinstance(verdict, Witness) else None
    return {
        "grid": " × ".join(map(str, case.axes)),
        "where": case.where,
        "num_xcds": target.num_xcds,
        "holds": witness is None,
        "programs": programs,
        "computed": programs - (witness.missing_count if witness else 0),
        "witness": list(describe(witness)) if witness else [],
        "command": case.command(swizzle),
    }


def condition(pattern: Pattern) -> str | None:
    """On which flat grids a swizzle of nothing but the grid holds; None = it reads more."""
    swizzle = parse(pattern.bind())
    if swizzle.outputs != ("pid",) or swizzle.names - {"pid", "num_pids", "num_xcds"}:
        return None
    proofs = [prove(swizzle, grid, {}, num_xcds=8, cus_per_xcd=38) for grid in SWEEP]
    holds = [not isinstance(proof, Witness) for proof in proofs]
    return (seen_condition(SWEEP, holds) or "all") if any(holds) else "none"


def proofs() -> list[dict[str, Any]]:
    """Every entry with its verdicts; some seconds."""
    return [
        {
            "swizzle": entry["swizzle"],
            "says": entry.get("says"),
            "remark": entry.get("remark"),
            "nearest": entry.get("nearest"),
            "kernel": entry.get("kernel"),
            "cases": [checked(entry["swizzle"], case) for case in entry["grids"]],
            "flat": condition(load_pattern(entry["swizzle"])),
        }
        for entry in entries()
    ]


def compute(bench: Bench, _: Wishes) -> Record:
    """The proofs, and the modelled hit rates on the applications that the entries name."""
    found = proofs()
    wanted: dict[str, dict[str, Any]] = {}
    for entry in found:
        if entry["kernel"] and entry["nearest"]:
            text = load_pattern(entry["nearest"]["pattern"]).bind(
                **entry["nearest"].get("bind", {})
            )
            application = {"arguments": [], **entry["kernel"]}
            item = wanted.setdefault(
                repr(application),
                {
                    "application": f"kernels/{application['application']}.py",
                    "arguments": [str(argument) for argument in application["arguments"]],
                    "target": "mi300x",
                    "swizzles": {},
                },
            )
            item["swizzles"][entry["nearest"]["pattern"]] = text
    outcomes = dict(zip(wanted, bench.map(rates, list(wanted.values())), strict=True))
    for entry in found:
        if entry["kernel"] and entry["nearest"]:
            outcome = outcomes[repr({"arguments": [], **entry["kernel"]})]
            entry["modelled"] = _modelled(outcome, entry["nearest"]["pattern"])
    return {"entries": found}


def _modelled(outcome: Mapping[str, Any], pattern: str) -> dict[str, Any]:
    """Hit rates of the unchanged kernel, of the nearest permutation, and the bound."""
    if "error" in outcome:
        return {"error": outcome["error"]}
    return {
        "grid": outcome["grid"],
        "unchanged": outcome["unchanged"]["l2_hit_rate"],
        "nearest": outcome["swizzles"][pattern].get("l2_hit_rate"),
        "ceiling": outcome["ceiling"],
    }


def render(record: Record) -> dict[str, str]:
    """`docs/audit.md`, and of it what is no permutation: `docs/wild.md`."""
    return {
        "audit.md": page(generated("audit.py"), *_introduction(record), *_sections(record)),
        "wild.md": page(generated("audit.py"), *_wild(record)),
    }


def _wild(record: Record) -> list[str]:
    """A row for each grid on which a published remap loses tiles."""
    rows = [
        [
            f"[`{entry['swizzle']}`](audit.md#{entry['swizzle']})",
            f"{case['grid']}: {case['where']}",
            f"{case['programs'] - case['computed']} of {case['programs']}",
            f"`{case['command']}`",
        ]
        for entry in record["entries"]
        for case in entry["cases"]
        if not case["holds"]
    ]
    return [
        "# Found in the wild",
        "Public remaps of workgroups that are no permutations on grids on which they are, or can "
        "be, used: tiles that no program computes, while others are computed more than once. Each "
        "row ends with the command that shows it in a second, without a GPU; it names the tiles. "
        "Sources, the authors' words and the nearest permutation are in the [audit](audit.md).",
        table(["remap", "programs", "tiles lost", "command"], rows),
        "A kernel that has such a remap is checked where it is, whatever its form: "
        "[`prove --source`](source-proofs.md).",
    ]


def _introduction(record: Record) -> list[str]:
    rows = [
        [
            f"[`{entry['swizzle']}`](#{entry['swizzle']})",
            f"{sum(case['holds'] for case in entry['cases'])} of {len(entry['cases'])}",
            _least(entry["cases"]),
            f"`{entry['nearest']['pattern']}`" if entry["nearest"] else "itself",
        ]
        for entry in record["entries"]
    ]
    return [
        "# Audit of published swizzles",
        "Is each swizzle that has a public source a permutation on the grids on which its source "
        "uses it? One that is not leaves tiles of the output uncomputed and computes others more "
        "than once; its hit rate then says nothing, because the work is not the same.",
        "**What was checked.** Each formula was written anew in the "
        "[swizzle language](language.md) from what was published (`formulas/audit/`), and "
        "evaluated for every program of each grid. "
        "The formulas of AITER, tritonBLAS and Helion were compared with the published functions, "
        "run as plain Python, array for array on some hundred grids. Nothing was run on a GPU for "
        "this page. A verdict is about the formula on the grid named, not about the kernel around "
        "it: some kernels mask programs without a tile, or never see such a grid.",
        "**How to repeat it.** Each row below ends with the command. Exit code 0 is a permutation, "
        "1 is not. `python benchmarks/audit.py` makes this page again.",
        table(["swizzle", "holds on", "fewest tiles computed", "nearest permutation"], rows),
    ]


def _least(cases: Sequence[Mapping[str, Any]]) -> str:
    worst = min(cases, key=lambda case: case["computed"] / case["programs"])
    if worst["holds"]:
        return "all"
    return f"{worst['computed']} of {worst['programs']} ({_share(worst)})"


def _share(case: Mapping[str, Any]) -> str:
    share = 100 * case["computed"] / case["programs"]
    return f"{share:.3f} %" if share > 99 else f"{share:.3g} %"


def _sections(record: Record) -> list[str]:
    sections = []
    for entry in record["entries"]:
        pattern = load_pattern(entry["swizzle"])
        sections += [
            f"## {entry['swizzle']}",
            f"{pattern.summary} Source: {pattern.source}.",
            f"```\n{pattern.bind().rstrip()}\n```",
            table(
                ["grid", "where it is used", "XCDs", "verdict", "tiles computed", "witness"],
                [_row(case) for case in entry["cases"]],
            ),
        ]
        if entry["flat"]:
            sections.append(f"Of the flat grids of 1 to 4096 programs on 8 XCDs: {entry['flat']}.")
        if entry["says"]:
            sections.append(f"The source says: {entry['says'].strip()}")
        if entry["remark"]:
            sections.append(entry["remark"].strip())
        if entry["nearest"]:
            sections.append(_nearest(entry))
        sections.append("```\n" + "\n".join(case["command"] for case in entry["cases"]) + "\n```")
    return sections


def _row(case: Mapping[str, Any]) -> list[str]:
    computed = "all" if case["holds"] else f"{case['computed']} of {case['programs']}"
    return [
        case["grid"],
        case["where"],
        str(case["num_xcds"]),
        "a permutation" if case["holds"] else "**not a permutation**",
        computed if case["holds"] else f"{computed} ({_share(case)})",
        "; ".join(case["witness"]),
    ]


def _nearest(entry: Mapping[str, Any]) -> str:
    name = entry["nearest"]["pattern"]
    bound = entry["nearest"].get("bind", {})
    settings = (
        f" ({', '.join(f'{key} = {value}' for key, value in bound.items())})" if bound else ""
    )
    sentence = f"Nearest permutation: `{name}`{settings}, on every grid."
    modelled = entry.get("modelled")
    if modelled is None:
        return sentence
    if "error" in modelled:
        return f"{sentence} Its hit rate could not be modelled: {modelled['error']}."
    grid = " × ".join(str(extent) for extent in modelled["grid"] if extent > 1)
    return (
        f"{sentence} L2 hit rate on `{_application(entry['kernel'])}` ({grid} programs), modelled, "
        f"mi300x: {percent(modelled['unchanged'])} % unmodified, {percent(modelled['nearest'])} % "
        f"with `{name}`, at most {percent(modelled['ceiling'])} % with any permutation."
    )


def _application(kernel: Mapping[str, Any]) -> str:
    return " ".join([kernel["application"], *map(str, kernel.get("arguments", ()))])


AUDIT = Table("audit", compute, render)

if __name__ == "__main__":
    sys.exit(main(AUDIT, description=__doc__))
