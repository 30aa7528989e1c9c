# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A whole run on a kernel of another language, where neither Triton nor torch can be imported.

The language has one kernel: tile `t` of a square adds row `t // N` of A and column `t % N` of B.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from intelliperf_swizzle.edit import Edit, unified_diff
from intelliperf_swizzle.hardware import Target, load_target
from intelliperf_swizzle.hardware.target import Build
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.records import (
    Access,
    Capture,
    KernelSource,
    Launch,
    Segment,
    SourceFunction,
    Trace,
    Validation,
)
from intelliperf_swizzle.search.run import optimize
from intelliperf_swizzle.search.setup import prepare

N, LINES = 32, 16
"""Rows and columns of tiles; cache lines of a row of A, and of a column of B."""


class Sums:
    """As of `frontends.ports.KernelLanguage`."""

    name = "sums"
    default_target = None

    def names_program(self, command, project):  # type: ignore[no-untyped-def]
        return list(command) == ["sums"]

    def record(self, request):  # type: ignore[no-untyped-def]
        file = request.cwd / "kernel.sums"
        function = SourceFunction("sums", str(file), 1, file.read_text())
        launch = Launch(
            "sums", KernelSource("sums", {"sums": function}), (N * N, 1, 1), {"N": N}, (), {}, {}
        )
        return Capture((launch,), "exit", 0, 0.0, (), (), request.folder)

    def trace(self, launch):  # type: ignore[no-untyped-def]
        tile = np.arange(N * N)
        written = N * 2 * LINES + tile
        base = np.stack([tile // N * LINES, (N + tile % N) * LINES, written], axis=1)
        lines = np.arange(LINES, dtype=np.int32)
        return Trace(
            grid=launch.grid,
            tile_offset=3 * np.arange(N * N + 1),
            access_base=base.ravel().astype(np.int32),
            access_shape=np.tile(np.int32([0, 0, 1]), N * N),
            shape_offset=np.int64([0, LINES, LINES + 1]),
            shape_line=np.append(lines, 0).astype(np.int32),
            shape_sectors=np.full(LINES + 1, 15, np.uint8),
            shape_kind=np.uint8([Access.READ, Access.WRITE]),
            segments=(Segment(("a", "b", "c"), 0, 128 * int(written[-1] + 1)),),
            method="batched",
        )

    def build(self, launch, target, edit=None):  # type: ignore[no-untyped-def]
        return Build(32, 32, 0, 0, 4, 0.0)

    def edit(self, launches, swizzle, target, *, name, roots):  # type: ignore[no-untyped-def]
        path = Path(launches[0].source.entry.file)
        before = path.read_text()
        after = f"{swizzle.text}\n{before}"
        diff = unified_diff({str(path): before}, {str(path): after}, path.parent)
        return Edit({"sums": after}, {str(path): after}, {str(path): before}, diff)

    def find_dependences(self, launches, *, timeout_seconds):  # type: ignore[no-untyped-def]
        return []

    def validate(self, mapped, edit, *, tolerance, budget_seconds):  # type: ignore[no-untyped-def]
        rows, columns = np.random.default_rng(0).random((2, N))
        [one] = mapped
        sums = np.zeros(N * N)
        sums[one.tile] = rows[one.tile // N] + columns[one.tile % N]
        same = bool((sums.reshape(N, N) == rows[:, None] + columns).all())
        return Validation("all-tiles", 1, N * N, N * N, same)


SUMS = Sums()


def small_target() -> Target:
    """An MI300X with caches so small that rows and columns do not fit."""
    return replace(
        load_target("mi300x"), launch_us=0.0, l2_bytes_per_xcd=65536, l2_channels_per_xcd=1,
        l2_channel_bits=None, l2_set_bits=None, cus_per_xcd=4,
    )  # fmt: skip


def main() -> None:
    """Prints what the run found, and which modules it should not have needed."""
    for name in ("triton", "torch"):
        sys.modules[name] = None  # type: ignore[assignment]
    folder = Path(sys.argv[1])
    (folder / "kernel.sums").write_text("c[t] = a[t / N] + b[t % N]\n")
    options = Options(project_directory=str(folder), profiler="model", candidates=48)
    setup = prepare(options, ("sums",), Silent(), target=small_target())
    outcome = optimize(setup, [OfflineProposer()], folder / "out")
    best = outcome.run.best
    assert best is not None
    assert best.measurement is not None
    assert best.validation is not None
    found = {
        "before": outcome.run.baseline.l2_hit_rate,
        "after": best.measurement.l2_hit_rate,
        "same_bits": best.validation.same_bits,
        "file": outcome.optimized,
        "text": best.candidate.text,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
