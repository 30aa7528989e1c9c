# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The table of a campaign's record."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

from hunt.campaign import Pair, pairs_of, read


def table(record: Path) -> str:
    """Markdown: what was accepted of what, which harm, and what was refused without need."""
    pairs = pairs_of(record)
    lines = list(read(record))
    seconds = sum(line.get("seconds", 0) for line in lines)
    failed = Counter(re.sub(r"\d+", "N", line["failed"])[:90] for line in lines if "failed" in line)
    wrong = [p for p in pairs if p.truth == "harmful" and p.accepted]
    harmless = [p for p in pairs if p.truth == "harmless"]
    accepted = sum(p.accepted for p in harmless)
    parts = [
        f"{len(pairs)} pairs of {len({p.seed for p in pairs})} applications, "
        f"{seconds / max(1, len(pairs)):.2f} s a pair.",
        f"**Wrong and accepted: {len(wrong)}. "
        f"Harmless and accepted: {accepted} of {len(harmless)} "
        f"({100 * accepted / max(1, len(harmless)):.1f} %).**",
        _rows(
            ("truth", "pairs", "accepted"),
            [
                (truth, len(some), sum(p.accepted for p in some))
                for truth in ("harmless", "harmful", "undefined", "unwritable")
                if (some := [p for p in pairs if p.truth == truth])
            ],
        ),
        _rows(("harm", "pairs", "accepted"), _counted(pairs, "harmful", lambda p: p.harm)),
        "Harmless and refused, by reason and by what the kernel does:",
        _rows(
            ("reason", "effect", "pairs"),
            [
                (*key, count)
                for key, count in Counter(
                    (_shortened(p), _doing(p)) for p in harmless if not p.accepted
                ).most_common()
            ],
        ),
    ]
    if failed:
        parts += ["Applications left out:", _rows(("why", "applications"), failed.most_common())]
    return "\n\n".join(parts)


def _counted(pairs: list[Pair], truth: str, key: object) -> list[tuple[str, int, int]]:
    some = [p for p in pairs if p.truth == truth]
    totals = Counter(key(p) for p in some)  # type: ignore[operator]
    accepted = Counter(key(p) for p in some if p.accepted)  # type: ignore[operator]
    return [(kind, count, accepted[kind]) for kind, count in totals.most_common()]


def _doing(pair: Pair) -> str:
    shared = [trait for trait in pair.traits if trait.startswith("shared")]
    return ", ".join([pair.effect, *shared])


def _shortened(pair: Pair) -> str:
    """The verdict and its reason without numbers and names."""
    reason = pair.reason.splitlines()[0] if pair.reason else ""
    reason = re.sub(r"\S*/kernels\.py:\d+: ", "", reason)
    reason = re.sub(r"`[^`]*`", "`…`", reason)
    reason = re.sub(r"\d+", "N", reason)
    return f"{pair.verdict}: {reason}"[:110]


def _rows(head: tuple[str, ...], rows: object) -> str:
    lines = [head, tuple("---" for _ in head), *rows]  # type: ignore[misc]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
