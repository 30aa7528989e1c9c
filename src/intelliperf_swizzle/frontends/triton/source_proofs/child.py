# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Watches launches, in a child process of `prove_launches`.

Reads `launch.json` in each folder of the folder, and writes `observation.npz` beside it, or
`refusal.txt` with the reason.
"""

from __future__ import annotations

from pathlib import Path

from intelliperf_swizzle.codec import save_arrays
from intelliperf_swizzle.frontends.triton.interpreter.batched import NotBatchableError
from intelliperf_swizzle.frontends.triton.interpreter.revive import revive
from intelliperf_swizzle.frontends.triton.source_proofs.instrument import watched
from intelliperf_swizzle.frontends.triton.source_proofs.observe import observe
from intelliperf_swizzle.launch_files import load_launch


def watch(launches: Path, _: Path) -> None:
    """Watch the launches in a folder, one after the other."""
    for record in sorted(launches.glob("*/launch.json")):
        _watch(record.parent)


def _watch(folder: Path) -> None:
    launch = load_launch(folder / "launch.json")
    edits, sites = watched(launch.source)
    live = revive(launch, folder, edits=edits)
    try:
        observation = observe(live, sites)
    except NotBatchableError as refusal:
        names = sorted(n for number in refusal.storages for n in live.memory.names(number))
        loaded = f", loaded from {', '.join(names)}" if names else ""
        (folder / "refusal.txt").write_text(f"{refusal.reason}{loaded}")
    except Exception as error:  # whatever a kernel may raise
        said = " ".join(str(error).split())[:300]
        (folder / "refusal.txt").write_text(f"it cannot be interpreted: {said}")
    else:
        save_arrays(observation, folder / "observation.npz")
