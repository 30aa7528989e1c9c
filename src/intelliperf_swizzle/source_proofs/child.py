# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The child process that watches launches: `python -m` with this module and a folder.

Reads `launch.json` in each folder of the folder, and writes `observation.npz` beside it, or
`refusal.txt` with the reason.
"""

from __future__ import annotations

import sys
from pathlib import Path

from intelliperf_swizzle.interpreter.batched import NotBatchableError
from intelliperf_swizzle.interpreter.revive import revive
from intelliperf_swizzle.launches import load_launch
from intelliperf_swizzle.source_proofs.instrument import watched
from intelliperf_swizzle.source_proofs.observation import save_observation
from intelliperf_swizzle.source_proofs.observe import observe


def main(folder: Path) -> None:
    """Watch the launches in the folder, one after the other."""
    for record in sorted(folder.glob("*/launch.json")):
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
        save_observation(observation, folder / "observation.npz")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
