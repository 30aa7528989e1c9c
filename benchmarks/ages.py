# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The page that lists all pages of numbers: which record each is made from, and how old that is.

    python benchmarks/ages.py

A record's commit is the one that it names, else the one that brought it. A modelled page whose
deciding rooms have changed since is marked; a measured one says when it was measured.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.command import DOCUMENTS
from harness.items import BENCHMARKS
from harness.render import generated, page, table

ROOT = BENCHMARKS.parent
MODEL = ("cache", "hardware", "trace")
SEARCH = (*MODEL, "propose", "search", "rank.py", "mapping", "language")
PROOF = ("mapping", "language", "formulas.py")


@dataclass(frozen=True)
class Page:
    """A page of numbers.

    Attributes:
        path: below `docs/`.
        title: of its link.
        record: below `benchmarks/`.
        rooms: of the source, that decide its numbers; empty = measured on a GPU.
    """

    path: str
    title: str
    record: str
    rooms: tuple[str, ...] = ()


PAGES = (
    Page("wild.md", "Found in the wild", "records/audit.json", PROOF),
    Page("audit.md", "Audit of published swizzles", "records/audit.json", PROOF),
    Page("results/by_hand.md", "Beside AITER and GROUP_M", "records/by_hand.json", SEARCH),
    Page("results/figure_02.md", "Hit rates by kernel", "records/figure_02.json", SEARCH),
    Page("results/figure_15.md", "Over problem sizes", "records/figure_15.json", MODEL),
    Page("results/table_4.md", "HipKittens, table 4", "records/table_4.json", MODEL),
    Page("results/attention_orders.md", "Attention", "records/attention_orders.json", MODEL),
    Page("results/targets.md", "Targets side by side", "records/targets.json", SEARCH),
    Page("results/causes.md", "Why requests miss", "records/causes.json", MODEL),
    Page("results/language_model.md", "What a language model adds", "records/language_model.json",
         SEARCH),
    Page("results/paper_arms.md", "The paper's arms", "records/paper_arms.json", SEARCH),
    Page("results/search_quality.md", "Quality of the search", "records/search_quality.json",
         SEARCH),
    Page("results/coverage.md", "Kernels of public packages", "records/coverage.json",
         ("frontends", "trace")),
    Page("results/hip.md", "HIP programs", "records/hip_programs.json", ("frontends", *SEARCH)),
    Page("results/cpp_programs.md", "Public C++ programs", "records/cpp_programs.json",
         ("frontends", *SEARCH)),
    Page("results/campaign.md", "The hunt for wrong swizzles", "records/hunt_triton.jsonl.gz",
         ("frontends", "mapping", "language", "dependence.py")),
    Page("model-accuracy.md", "Accuracy of the model", "records/model_accuracy.json", MODEL),
    Page("results/h200.md", "Measured on an H200", "measured/h200_swizzles.jsonl"),
    Page("results/tile_loops.md", "Tile loops on a GPU", "measured/tile_loops.jsonl"),
    Page("results/packages_gpu.md", "Packages on a GPU", "records/packages_gpu.json"),
    Page("results/cuda.md", "CUDA C++ on GPUs", "measured/cuda_programs.jsonl"),
)  # fmt: skip


def git(*words: str) -> str:
    """What git prints."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def made(record: str) -> tuple[str, str]:
    """Commit and date of a record."""
    path = BENCHMARKS / record
    if path.suffix == ".json":
        content = json.loads(path.read_text())
        with_ = content.get("made_with", content) if isinstance(content, dict) else {}
        if commit := with_.get("commit", "").rstrip("+"):
            return commit, with_.get("date") or git("log", "-1", "--format=%as", commit)
    commit, date = git("log", "-1", "--format=%h %as", "--", str(path)).split()
    return commit, date


def row(one: Page) -> list[str]:
    """Its line in the table."""
    commit, date = made(one.record)
    kind = "modelled" if one.rooms else "measured"
    kind = "proved" if one.rooms == PROOF else kind
    rooms = [f"src/intelliperf_swizzle/{room}" for room in one.rooms]
    since = int(git("rev-list", "--count", "--no-merges", f"{commit}..HEAD", "--", *rooms))
    age = {
        "proved": "proved again by the tests",
        "measured": "–",
        "modelled": f"older code: {since} commits since" if since else "this code",
    }[kind]
    link = f"[{one.title}]({Path('..', one.path) if '/' not in one.path else Path(one.path).name})"
    return [link, kind, f"`{one.record}`", f"{date}, {commit}", age]


def main() -> None:
    """Writes `docs/results/index.md`."""
    text = page(
        generated("ages.py"),
        "# Numbers, and how old they are",
        "Each page of numbers is made by a script from a committed record. “Made” is when, and "
        "with which commit. A modelled number that was made with older code than "
        f"{git('rev-parse', '--short', 'HEAD')} says how many commits have changed the rooms that "
        "decide it since; what is measured needs the GPU again, and what is proved is proved "
        "again whenever the tests run.",
        table(
            ["page", "numbers", "record", "made", "code"],
            [row(one) for one in PAGES if (BENCHMARKS / one.record).exists()],
        ),
        "## Reproduce the figures",
        "```\n"
        "make install                        # once\n"
        "make figures                        # figures 2 and 15, tables, audit: hours; it resumes\n"
        "make validation                     # the model beside measured hit rates\n"
        "make figures FIGURES=--render       # the pages from the records: seconds\n"
        "cd benchmarks && ../.venv/bin/python by_hand.py && ../.venv/bin/python ages.py\n"
        "```",
        "Figures 14 and 16 need a language model (`paper_arms.py`), the measured pages an H100 or "
        "H200 (`h200.py`, `tile_loops.py`, `cuda_kernels.py`); each says so where it begins.",
    )
    (DOCUMENTS / "results" / "index.md").write_text(text)


if __name__ == "__main__":
    main()
