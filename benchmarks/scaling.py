# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How fast candidates are scored by one Dask worker, by two, and so on, beside threads.

    python benchmarks/scaling.py [--workers 1 2] [--candidates 96]

The kernel is `kernels/gemm.py`, 4096³ in tiles of 128 × 128 × 64, on mi300x. Each worker is a
process that scores one candidate at a time. Every row scores the same candidates anew, by the fast
model and then some of them with full physics, and must find the same numbers; the first batch, in
which workers get the trace, is timed apart.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from harness.command import DOCUMENTS
from harness.render import generated, page, table
from intelliperf_swizzle.backends import LOCAL, Spread, connect
from intelliperf_swizzle.cache.screen import cores
from intelliperf_swizzle.language import Swizzle, parse
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.search.recorded import choose_kernel, record_application
from intelliperf_swizzle.search.scoring import prepare_model, prepare_screen
from intelliperf_swizzle.search.setup import Setup, prepare

GEMM = Path(__file__).parent / "kernels" / "gemm.py"
SIZE = ["--m", "4096", "--n", "4096", "--k", "4096", "--block-n", "128"]
FULL = 8
"""One candidate in so many is scored with full physics, too."""


@contextmanager
def dask(workers: int) -> Iterator[str]:
    """A cluster of processes with one thread each."""
    distributed: Any = importlib.import_module("distributed")
    with distributed.LocalCluster(workers, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        yield address
        connect(address)[1]["client"].close()


def timed(spread: Spread[Swizzle, Any], swizzles: Sequence[Swizzle]) -> tuple[float, list[Any]]:
    """Seconds, and the scores."""
    begun = time.perf_counter()
    scores = spread.map(swizzles)
    return time.perf_counter() - begun, scores


def row(
    name: str, backend: str, traced: Sequence[TracedLaunch], setup: Setup, swizzles: list[Swizzle]
) -> tuple[list[str], list[Any]]:
    """A row of the table, and all scores."""
    screen: Spread[Swizzle, Any] = Spread(backend, prepare_screen, traced, setup.target)
    model: Spread[Swizzle, Any] = Spread(backend, prepare_model, traced, setup.target)
    batch, load = 2 * cores(), os.getloadavg()[0]
    first, _ = timed(screen, swizzles[:batch])
    timed(model, swizzles[:batch])
    screening, rates = timed(screen, swizzles)
    replaying, readings = timed(model, swizzles[::FULL])
    speeds = [len(rates) / screening, len(readings) / replaying]
    print(f"{name}: {speeds[0]:.1f} screened, {speeds[1]:.2f} replayed a second", file=sys.stderr)
    return [
        name,
        f"{load:.1f}",
        f"{first:.1f} s",
        *(f"{speed:.2g}" for speed in speeds),
    ], rates + readings


def main() -> None:
    """Writes docs/results/scaling.md."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--candidates", type=int, default=96)
    options = parser.parse_args()
    command = (sys.executable, str(GEMM), *SIZE)
    setup = prepare(Options(profiler="model", compute="never"), command, Silent())
    texts = (f"pid = (pid + {shift}) % num_pids" for shift in range(options.candidates))
    swizzles = [parse(text) for text in texts]
    with record_application(setup, Silent()) as recorded:
        traced = choose_kernel(recorded, setup, Silent()).traced
        rows, expected = [], None
        for workers in [0, *options.workers]:
            name = f"Dask, workers: {workers}" if workers else f"here, threads: {cores()}"
            with dask(workers) if workers else nullcontext(LOCAL) as backend:
                made, scores = row(name, backend, traced, setup, swizzles)
            assert expected in (None, scores), "scores differ between backends"
            expected = scores
            rows.append(made)
    header = ("where", "load before", "first batch", "screened a second", "replayed a second")
    (DOCUMENTS / "results" / "scaling.md").write_text(
        page(
            generated("scaling.py"),
            "# Scoring on one worker and on several",
            f"{options.candidates} candidates of a GEMM of 4096³ on `mi300x`, on a machine of "
            f"{cores()} cores; every row finds the same numbers. “Replayed” is full physics, in "
            "which one candidate already keeps all cores busy. The first batch starts the workers "
            "and sends them the trace. Only rows that begin with a load near 0 say how fast it is: "
            "others shared the cores with other work.",
            table(header, rows),
            f"Python {platform.python_version()}. `--backend dask://HOST:PORT` takes a run there.",
        )
    )


if __name__ == "__main__":
    main()
