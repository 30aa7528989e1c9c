# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Watches launches, in a child process of `prove_launches`.

Reads `launch.json` in each folder of the folder, and writes `observation.npz` beside it, or
`refusal.txt` with the reason.
"""

from __future__ import annotations

from pathlib import Path

from intelliperf_swizzle.codec import save_arrays
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir.compile import ttir_of
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel
from intelliperf_swizzle.frontends.triton.source_proofs.observe import observe
from intelliperf_swizzle.frontends.triton.walk.batch import NotKnownError
from intelliperf_swizzle.launch_files import load_launch


def watch(launches: Path, _: Path) -> None:
    """Watch the launches in a folder, one after the other."""
    for record in sorted(launches.glob("*/launch.json")):
        _watch(record.parent)


def _watch(folder: Path) -> None:
    launch = load_launch(folder / "launch.json")
    try:
        observation = observe(launch, Kernel.parse(ttir_of(launch)))
    except (NotKnownError, TraceError) as refusal:
        (folder / "refusal.txt").write_text(str(refusal))
    except Exception as error:  # whatever Triton may raise of a kernel
        said = " ".join(str(error).split())[-300:]
        (folder / "refusal.txt").write_text(f"it cannot be compiled: {said}")
    else:
        save_arrays(observation, folder / "observation.npz")
