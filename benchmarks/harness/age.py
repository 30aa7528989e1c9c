# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Pages of numbers, and whether today's code still gives what their records say.

The code that decides a record's numbers is compared by what it does: a *probe*, the numbers of a
few small cases. `records/stamps.json` has the probes of the code as it was when each record was
made, and of the code of today with a digest of its text, so that unchanged text needs no probe.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from harness.items import BENCHMARKS, PACKAGE

STAMPS = BENCHMARKS / "records" / "stamps.json"
MODEL = ("cache", "hardware", "trace", "frontends/triton/tracing", "frontends/triton/walk")
ROOMS: Mapping[str, tuple[str, ...]] = {
    "model": MODEL,
    "search": (*MODEL, "propose", "search", "rank.py", "mapping", "language"),
}
"""The rooms that decide the numbers of the model, and those of a search."""

Made: TypeAlias = Literal["modelled", "measured", "proved", "too long"]


@dataclass(frozen=True)
class Page:
    """A page of numbers.

    Attributes:
        path: below `docs/`.
        heading: its first.
        title: of its link.
        record: below `benchmarks/`.
        made: *modelled*: it must be of today's code; *too long* to be modelled again with each
            change of it; *measured* on a GPU; *proved* again by the tests.
        decided: the rooms that decide its numbers, where it is modelled.
    """

    path: str
    heading: str
    title: str
    record: str
    made: Made
    decided: Literal["model", "search"] = "model"


PAGES = (
    Page("wild.md", "Found in the wild", "Found in the wild", "records/audit.json", "proved"),
    Page("audit.md", "Audit of published swizzles", "Audit of published swizzles",
         "records/audit.json", "proved"),
    Page("results/by_hand.md", "Beside what people use without a search",
         "Beside AITER and GROUP_M", "records/by_hand.json", "modelled", "search"),
    Page("results/figure_02.md", "Figure 2: hit rates of the paper's kernels, and attention",
         "Hit rates by kernel", "records/figure_02.json", "modelled", "search"),
    Page("results/figure_15.md", "Figure 15: hit rate over problem sizes", "Over problem sizes",
         "records/figure_15.json", "modelled", "search"),
    Page("results/table_4.md", "HipKittens, table 4", "HipKittens, table 4",
         "records/table_4.json", "modelled"),
    Page("results/attention_orders.md", "Orders of attention", "Attention",
         "records/attention_orders.json", "modelled"),
    Page("results/targets.md", "Targets side by side", "Targets side by side",
         "records/targets.json", "too long", "search"),
    Page("results/causes.md", "Why requests miss", "Why requests miss", "records/causes.json",
         "too long"),
    Page("results/language_model.md", "What a language model adds", "What a language model adds",
         "records/language_model.json", "too long", "search"),
    Page("results/paper_arms.md", "The paper's arms", "The paper's arms",
         "records/paper_arms.json", "too long", "search"),
    Page("results/search_quality.md", "How good the default search is", "Quality of the search",
         "records/search_quality.json", "too long", "search"),
    Page("results/coverage.md", "Kernels of public packages", "Kernels of public packages",
         "records/coverage.json", "too long", "search"),
    Page("results/hip.md", "Third-party HIP programs", "HIP programs",
         "records/hip_programs.json", "too long", "search"),
    Page("results/cpp_programs.md", "Public C++ programs", "Public C++ programs",
         "records/cpp_programs.json", "too long", "search"),
    Page("results/device_functions.md", "Device functions", "Device functions",
         "records/device_functions.json", "too long", "search"),
    Page("results/campaign.md", "The hunt", "The hunt for wrong swizzles",
         "records/hunt_triton.jsonl.gz", "too long", "search"),
    Page("model-accuracy.md", "Accuracy of the model", "Accuracy of the model",
         "records/model_accuracy.json", "modelled"),
    Page("results/h200.md", "Results on an NVIDIA H200", "Measured on an H200",
         "measured/h200_swizzles.jsonl", "measured"),
    Page("results/tile_loops.md", "Tile loops on a GPU", "Tile loops on a GPU",
         "measured/tile_loops.jsonl", "measured"),
    Page("results/packages_gpu.md", "Packages on a GPU", "Packages on a GPU",
         "records/packages_gpu.json", "measured"),
    Page("results/cuda.md", "CUDA C++ on GPUs", "CUDA C++ on GPUs",
         "measured/cuda_programs.jsonl", "measured"),
)  # fmt: skip
BY_HEADING = {f"# {page.heading}": page for page in PAGES}


def stamps() -> dict[str, Any]:
    """`now`: text and probe of today's code by kind of number; `records`: a stamp of each."""
    found: dict[str, Any] = json.loads(STAMPS.read_text(encoding="utf-8"))
    return found


def digest(*parts: bytes) -> str:
    """Of some bytes."""
    return hashlib.blake2b(b"".join(parts), digest_size=8).hexdigest()


def text_of(decided: str) -> str:
    """A digest of the text of the rooms that decide a kind of number."""
    paths = (PACKAGE / room for room in ROOMS[decided])
    files = [path if path.is_file() else sorted(path.rglob("*.[py]*")) for path in paths]
    flat = [item for some in files for item in (some if isinstance(some, list) else [some])]
    return digest(*(file.read_bytes() for file in flat if file.suffix in (".py", ".yaml")))


def is_current(page: Page, known: Mapping[str, Any]) -> bool:
    """Whether the code of today gives the numbers of the probe of its record."""
    probe = known["records"][page.record].get("probe")
    return probe is not None and probe == known["now"][page.decided]["probe"]


def aged(text: str) -> str:
    """A page of numbers with a line below its heading that says when they were made; any other as
    it is."""
    heading = next((line for line in text.splitlines() if line.startswith("# ")), "")
    page = BY_HEADING.get(heading)
    if page is None or page.made == "proved":
        return text
    above, below = text.split(f"{heading}\n", 1)
    below = re.sub(r"\A\n(Made|Measured) at `\w+` \(.*\n", "", below)
    return f"{above}{heading}\n\n{line_of(page, stamps())}\n{below}"


def line_of(page: Page, known: Mapping[str, Any]) -> str:
    """When a record was made, and whether that is the code of today."""
    stamp = known["records"][page.record]
    how = "Measured" if page.made == "measured" else "Made"
    index = "index.md" if "/" in page.path else "results/index.md"
    now = "the code has changed since."
    if is_current(page, known):
        now = f"the code of today gives the same ([how that is known]({index}))."
    later = " and later" * page.record.endswith(".jsonl")
    return f"{how} at `{stamp['commit']}` ({stamp['date']}){later}; {now}"
