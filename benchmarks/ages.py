# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Stamps the records of numbers, and says on each page, and in a list of all, how old they are.

    python benchmarks/ages.py

Run it when a record or the code that decides it has changed: seconds, or the minute of a probe if
the text of that code is new. A test fails until then, and where a record is of other code than
today's and can be made again here.
"""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.age import BENCHMARKS, PAGES, ROOMS, STAMPS, Page, aged, digest, is_current, text_of
from harness.age import stamps as read
from harness.command import DOCUMENTS
from harness.render import generated, page, table
from harness.work import rates, search
from intelliperf_swizzle.formulas import load_pattern

ROOT = BENCHMARKS.parent
SWIZZLES = {"contiguous": load_pattern("xcd-contiguous").text, "snake": "pid = num_pids - 1 - pid"}
GEMM = ("gemm", "--m", "2048", "--n", "2048", "--k", "256")
STENCIL = ("stencil_2d", "--m", "1024", "--n", "1024")
CASES = tuple(
    {"application": f"kernels/{name}.py", "arguments": sizes, "target": target}
    for (name, *sizes), target in (
        (GEMM, "mi300x"), (GEMM, "mi355x"), (GEMM, "h200"), (STENCIL, "mi300x"), (STENCIL, "h200")
    )
)  # fmt: skip
"""Of the probes; the search takes the first alone."""


def probe(decided: str) -> str:
    """A digest of the numbers that the code of today gives of the cases."""
    if decided == "model":
        found: Any = [rates({**case, "swizzles": SWIZZLES}) for case in CASES]
    else:
        run = search({**CASES[0], "candidates": 60, "seed": 0})
        tried = [
            (attempt["name"], attempt["screened"], attempt["l2_hit_rate"])
            for attempt in run["attempts"]
        ]
        found = [run["best"] and run["best"]["text"], tried]
    return digest(json.dumps(found, sort_keys=True).encode())


def now(known: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Text and probe of today's code; probed where the text has changed."""
    texts = {decided: text_of(decided) for decided in ROOMS}
    return {
        decided: {"text": text, "probe": known[decided]["probe"]}
        if known.get(decided, {}).get("text") == text
        else {"text": text, "probe": probe(decided)}
        for decided, text in texts.items()
    }


def git(*words: str) -> str:
    """What git prints."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def made(path: Path) -> tuple[str, str]:
    """Commit and date of a record: those that it names, else those that brought it; of one that
    lines are added to, those of its oldest line."""
    if path.suffix == ".json":
        content = json.loads(path.read_text())
        with_ = content.get("made_with", content) if isinstance(content, dict) else {}
        if commit := with_.get("commit", "").rstrip("+"):
            return commit, with_.get("date") or git("log", "-1", "--format=%as", commit)
    brought = [git("log", "-1", "--format=%h", "--", str(path))]
    if path.suffix == ".gz":
        with gzip.open(path) as lines:
            brought = [json.loads(next(lines))["commit"]]
    if path.suffix == ".jsonl":
        brought = [
            line.split()[0].lstrip("^") for line in git("blame", "-s", str(path)).splitlines()
        ]
    dated = {git("log", "-1", "--format=%as %h", commit) for commit in set(brought)}
    date, commit = min(dated).split()
    return commit, date


def stamp(page_: Page, known: Mapping[str, Any], probes: Mapping[str, Any]) -> dict[str, Any]:
    """The stamp of a record, the one that it has unless its text is new.

    It has the probe of today if the text that decides it is that of its commit.
    """
    path = BENCHMARKS / page_.record
    content = digest(path.read_bytes())
    old: dict[str, Any] = known.get(page_.record, {})
    if old.get("content") == content:
        return old
    commit, date = made(path)
    rooms = [f"src/intelliperf_swizzle/{room}" for room in ROOMS[page_.decided]]
    of_now = {}
    if page_.made in ("modelled", "too long") and not git("diff", "--stat", commit, "--", *rooms):
        of_now = {"probe": probes[page_.decided]["probe"]}
    return {"commit": commit, "date": date, "content": content, **of_now}


def row(page_: Page, known: Mapping[str, Any]) -> list[str]:
    """Its line in the list."""
    stamp = known["records"][page_.record]
    path = Path("..", page_.path) if "/" not in page_.path else Path(page_.path).name
    link = f"[{page_.title}]({path})"
    age = "this code" if is_current(page_, known) else "older code"
    age = {"proved": "proved again by the tests", "measured": "–"}.get(page_.made, age)
    numbers = "modelled" if page_.made == "too long" else page_.made
    return [link, numbers, f"`{page_.record}`", f"{stamp['date']}, {stamp['commit']}", age]


def main() -> None:
    """Writes the stamps, the line on each page, and `docs/results/index.md`."""
    old = read() if STAMPS.exists() else {"now": {}, "records": {}}
    probes = now(old["now"])
    records = {page_of.record: stamp(page_of, old["records"], probes) for page_of in PAGES}
    known = {"now": probes, "records": records}
    STAMPS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    for page_of in PAGES:
        path = DOCUMENTS / page_of.path
        path.write_text(aged(path.read_text("utf-8")), "utf-8")
    text = page(
        generated("ages.py"),
        "# Numbers, and how old they are",
        "Each page of numbers is made by a script from a committed record, at the commit named "
        "here. *This code*: the code that decides the record gave, when the record was made, what "
        f"it gives today of {len(CASES)} small launches (rates, bytes and times under three "
        "orders) or of a search on one of them; a test compares that. What is older takes hours, "
        "or a language model; what is measured needs the GPU.",
        table(
            ["page", "numbers", "record", "made", "code"],
            [row(page_of, known) for page_of in PAGES],
        ),
        "## Reproduce the figures",
        "```\n"
        "make install                        # once\n"
        "make figures                        # figures 2 and 15, tables, audit: hours; it resumes\n"
        "make validation                     # the model beside measured hit rates\n"
        "make figures FIGURES=--render       # the pages from the records: seconds\n"
        "make audit                          # which published swizzles are permutations\n"
        "```",
        "Figures 14 and 16 need a language model (`paper_arms.py`), the measured pages an H100 or "
        "H200 (`h200.py`, `tile_loops.py`, `cuda_kernels.py`); each says so where it begins.",
    )
    (DOCUMENTS / "results" / "index.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
