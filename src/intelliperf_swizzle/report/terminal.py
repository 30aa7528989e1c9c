# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A run on the terminal: tables that fit 80 columns, and progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from intelliperf_swizzle.formulas import Pattern
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.records import Attempt, Ceiling, KernelSummary, Measurement, Run
from intelliperf_swizzle.report import words
from intelliperf_swizzle.units import percent, size

PIPE_WIDTH = 80


def console(stream: TextIO) -> Console:
    """A console on a stream; 80 columns and no colours where it is not a terminal."""
    return Console(
        file=stream,
        width=None if stream.isatty() else PIPE_WIDTH,
        highlight=False,
        soft_wrap=False,
        markup=False,
    )


def summary(run: Run, written: Sequence[str] = ()) -> RenderableType:
    """The end of a run: kernels, before and after, the swizzle, what was written where."""
    parts: list[RenderableType] = []
    if len(run.kernels) > 1:
        parts += [kernels(run.kernels), ""]
    measured = run.best.measurement if run.best else None
    parts += [Text(words.message(run)), ""]
    parts += [_comparison(run.kernel, run.baseline, measured, run.ceiling)]
    if run.best:
        parts += ["", Text(run.best.candidate.text.strip(), style="cyan")]
    if run.attempts:
        parts += ["", Text(f"{len(run.attempts)} attempts: {words.outcomes(run)}")]
    parts += [Text(f"note: {note}", style="dim") for note in run.notes]
    if written:
        parts += ["", *(Text(line) for line in written)]
    return Group(*parts)


def kernels(rows: Sequence[KernelSummary]) -> Table:
    """The table of captured kernels, most to gain first."""
    table = Table(title="captured kernels, most to gain first", title_justify="left")
    for name in ("kernel", "launches", "programs", "L2 hit rate", "ceiling"):
        table.add_column(name, justify="left" if name == "kernel" else "right", overflow="fold")
    for row in rows:
        if row.note:
            table.add_row(f"{row.kernel}: {row.note}", str(row.launches), str(row.programs), "", "")
        else:
            table.add_row(
                row.kernel,
                str(row.launches),
                str(row.programs),
                percent(row.baseline_l2_hit_rate),
                percent(row.ceiling_l2_hit_rate),
            )
    return table


def scored(
    kernel: str, baseline: Measurement, ceiling: Ceiling, attempt: Attempt
) -> RenderableType:
    """One candidate beside the kernel as it is."""
    verdict = Text(f"{attempt.verdict.kind.capitalize()}. {attempt.verdict.reason}")
    table = _comparison(kernel, baseline, attempt.measurement, ceiling)
    return Group(table, verdict) if attempt.measurement else Group(verdict)


def catalogue(patterns: Sequence[Pattern]) -> RenderableType:
    """The patterns: name, parameters and condition, and what each does."""
    lines: list[RenderableType] = []
    for pattern in patterns:
        head = Text(pattern.name, style="bold")
        if pattern.parameters:
            head.append(f"  ({', '.join(pattern.parameters)})", style="not bold")
        if pattern.condition:
            head.append(f"  only where {pattern.condition}", style="not bold yellow")
        lines += [head, Padding(Text(" ".join(pattern.summary.split())), (0, 0, 0, 4))]
    return Group(*lines)


def gpus(targets: Sequence[Target]) -> Table:
    """The targets, one a row."""
    table = Table(title="targets")
    for name in ("name", "GPU", "L2s", "CUs", "L2 each", "last level", "memory"):
        table.add_column(name, justify="left" if name in ("name", "GPU") else "right")
    for target in targets:
        table.add_row(
            target.name,
            target.product,
            str(target.num_xcds),
            str(target.cus),
            size(target.l2_bytes_per_xcd),
            size(target.llc_bytes) if target.llc_bytes else "none",
            f"{target.memory_gb_s / 1000:.1f} TB/s",
        )
    return table


def _comparison(
    kernel: str, baseline: Measurement, measured: Measurement | None, ceiling: Ceiling
) -> Table:
    source = "modelled" if baseline.profiler == "model" else "measured"
    table = Table(title=f"{kernel} on {baseline.device}, {source}", title_justify="left")
    table.add_column("")
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    for row in words.comparison(baseline, measured):
        before, after = row.texts()
        table.add_row(row.name, before, after if measured else "")
    table.add_row("ceiling of the L2 hit rate", percent(ceiling.l2_hit_rate), "")
    return table


class Lines:
    """Progress as plain lines, at most one every two seconds; for pipes and log files."""

    def __init__(self, stream: TextIO = sys.stderr):
        self._stream = stream
        self._last = 0.0

    def phase(self, sentence: str) -> None:
        """Prints it."""
        print(sentence, file=self._stream, flush=True)

    def step(self, done: int, total: int, best: str) -> None:
        """Prints it if the last one is two seconds ago."""
        if time.monotonic() - self._last >= 2:
            self._last = time.monotonic()
            print(f"  {done}/{total} {best}", file=self._stream, flush=True)

    def note(self, sentence: str) -> None:
        """Prints it."""
        print(f"note: {sentence}", file=self._stream, flush=True)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *failure: object) -> None:
        pass


class Live:
    """Progress as one moving line with the time that is left; for terminals."""

    def __init__(self, stream: TextIO = sys.stderr):
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._console = console(stream)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[best]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=None, best="")

    def phase(self, sentence: str) -> None:
        """Begins a new bar."""
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(sentence, total=None, best="")

    def step(self, done: int, total: int, best: str) -> None:
        """Moves the bar."""
        self._progress.update(self._task, completed=done, total=total, best=best)

    def note(self, sentence: str) -> None:
        """Prints it above the bar."""
        self._console.print(f"note: {sentence}")

    def __enter__(self) -> Live:
        self._progress.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._progress.stop()
