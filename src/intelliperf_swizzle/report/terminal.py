# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A run on the terminal, in tables that fit it; code, and all that is piped, is never wrapped."""

import sys
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from intelliperf_swizzle import formulas, hardware, progress, rank, records
from intelliperf_swizzle.readers import count, percent, size
from intelliperf_swizzle.report import causes, sentences

PIPE_WIDTH = 100_000
"""Columns if the stream is not a terminal: enough for any line to stay whole."""

LEADERS = 10
"""Attempts that `-v` lists."""

TWO_SCALES = (
    "screened: by a faster model of the L2 alone, which only decides what is evaluated; its rates "
    "are compared with each other, never with the L2 hit rate beside them"
)


def console(stream: TextIO) -> Console:
    """A console on a stream; if it is not a terminal, nothing is wrapped or coloured."""
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False)


def show(shown: RenderableType, stream: TextIO) -> None:
    """Prints on a stream; `_whole` lines may be longer than it is wide, all else fits."""
    console(stream).print(shown, crop=False)


def _whole(text: str, style: str = "") -> Text:
    """Text whose lines stay whole, as people copy them."""
    return Text(text, style=style, no_wrap=True, overflow="ignore")


def summary(run: records.Run, written: Sequence[str] = (), verbosity: int = 0) -> RenderableType:
    """The end of a run: kernels, before and after, the swizzle, what was written where.

    Args:
        run: the run.
        written: a line for each file.
        verbosity: -1 = the verdict and no more; 1 = the leading attempts and the first tiles
            of any grid too; 2 = all attempts.
    """
    patch = next((line[7:] for line in written if line.startswith("patch: ")), "best.patch")
    verdict = _verdict(sentences.outcome(run, patch), run.cautions)
    if verbosity < 0:
        return verdict
    table: list[RenderableType] = ["", kernels(run.kernels)] if len(run.kernels) > 1 else []
    parts: list[RenderableType] = [Text(sentences.together(run))] if table else []
    title = f"{run.kernel} on {run.baseline.device}"
    numbers = _comparison(title, sentences.numbers(run), run.ceiling, with_after=bool(run.best))
    parts += [verdict, *map(Text, causes.reasons(run)), *table, "", numbers]
    if len(run.by_hand) > 1:
        parts += ["", _by_hand(run)]
    if run.best:
        parts += ["", _whole(run.best.candidate.text.strip(), "cyan")]
    if run.best or run.interrupted:  # else the verdict says so
        parts += ["", Text(f"{count(len(run.attempts), 'attempt')}: {sentences.outcomes(run)}")]
    if run.attempts and verbosity > 0:
        parts += ["", attempts(run, None if verbosity > 1 else LEADERS), Text(TWO_SCALES)]
    parts += [Text(f"note: {note}", style="dim") for note in run.notes]
    if written:
        parts += ["", *(_whole(line) for line in written)]
    return Group(*parts)


def _verdict(outcome: Sequence[str], cautions: Sequence[str]) -> RenderableType:
    lines = (_whole(line) if line.startswith("Patch: ") else Text(line) for line in outcome)
    return Group(*lines, *(_whole(line) for line in sentences.cautions(cautions)))


def _table(
    names: Sequence[str], left: Collection[str], rows: Iterable[Sequence[str]], **style: Any
) -> Table:
    """Rows under their names; the columns in `left` begin there, the others end to the right."""
    table = Table(**style)
    for name in names:
        table.add_column(name, justify="left" if name in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _by_hand(run: records.Run) -> Table:
    """What people use without a search, beside the best."""
    header, rows = sentences.BY_HAND_COLUMNS, sentences.by_hand(run)
    return _table(header, header[::3], rows, title="by hand", title_justify="left")


def attempts(run: records.Run, most: int | None = None) -> Table:
    """The attempts: the winner, what was evaluated, best first, then the others by screened rate.

    All of them, or the first few.
    """
    winner = [attempt for attempt in run.attempts if run.best and attempt.number == run.best.number]
    evaluated = [attempt for attempt in rank.order(run.attempts) if attempt not in winner]
    listed = {attempt.number for attempt in (*winner, *evaluated)}
    others = [attempt for attempt in run.attempts if attempt.number not in listed]
    others.sort(key=lambda other: (-(other.screened_l2_hit_rate or 0), other.number))
    rows = (
        (
            str(attempt.number),
            attempt.candidate.name,
            attempt.verdict.kind,
            _rate(attempt.screened_l2_hit_rate),
            _rate(attempt.measurement.l2_hit_rate if attempt.measurement else None),
        )
        for attempt in [*winner, *evaluated, *others][:most]
    )
    names, title = ("#", "swizzle", "verdict", "screened", "L2 hit rate"), "attempts, best first"
    return _table(names, ("swizzle", "verdict"), rows, title=title, title_justify="left")


def _rate(rate: float | None) -> str:
    return "" if rate is None else percent(rate)


def kernels(rows: Sequence[records.KernelSummary]) -> Table:
    """The table of recorded kernels, what saves most time first."""
    names = ("kernel", "launches", "share", "hit rate", "ceiling", "best", "saved", "verdict")
    texts = (
        (
            f"{row.kernel}\n{row.place}".strip(),
            str(row.launches),
            _rate(row.time_share),
            _rate(row.baseline_l2_hit_rate),
            _rate(row.ceiling_l2_hit_rate),
            _rate(row.best_l2_hit_rate),
            _rate(row.time_saved),
            row.outcome,
        )
        for row in rows
    )
    style = {"caption": sentences.KERNELS, "caption_justify": "left", "padding": (0, 1, 0, 0)}
    return _table(names, ("kernel", "verdict"), texts, box=SIMPLE_HEAD, **style)


def scores(found: records.Score, known: records.Accuracy | None, target: str) -> RenderableType:
    """One candidate beside the unmodified kernel; `known` of the model on such kernels."""
    attempt = found.attempt
    sentence = f"{attempt.verdict.kind}. {attempt.verdict.reason}."
    sentence = sentence[0].upper() + sentence[1:]
    if attempt.proof is not None:
        sentence = f"Proved: {sentences.permutation(attempt.proof, '')}. {sentence}"
    if attempt.measurement is not None and attempt.measurement.profiler == "model":
        sentence = f"{sentence} {sentences.of_model(known, target)}"
    verdict = _verdict([sentence], found.cautions)
    if attempt.measurement is None:
        return verdict
    rows = sentences.comparison(found.baseline, attempt.measurement)
    title = f"{found.kernel} on {found.baseline.device}"
    table = _comparison(title, rows, found.ceiling, with_after=True)
    if attempt.validation is not None:
        return Group(table, verdict)
    built = "not built, " if attempt.measurement.profiler == "model" else ""
    note = f"The swizzled kernel was {built}not validated: a search, without `score`, does that."
    return Group(table, verdict, Text(note))


def catalogue(patterns: Sequence[formulas.Pattern]) -> RenderableType:
    """The patterns: name, parameters and condition, and what each does."""
    lines: list[RenderableType] = []
    for pattern in patterns:
        head = Text(pattern.name, style="bold")
        if pattern.parameters:
            head.append(f"  ({', '.join(pattern.parameters)})", style="not bold")
        if pattern.condition:
            head.append(f"  only if {pattern.condition}", style="not bold yellow")
        summary = Text(" ".join(pattern.summary.split()))
        lines += [head, Padding(summary, (0, 0, 0, 4), expand=False)]
    return Group(*lines)


def gpus(targets: Sequence[hardware.Target]) -> Table:
    """The targets, one per row."""
    rows = (
        (
            target.name,
            target.product,
            str(target.num_xcds),
            str(target.cus),
            size(target.l2_bytes_per_xcd),
            size(target.llc_bytes) if target.llc_bytes else "none",
            f"{target.memory_gb_s / 1000:.1f} TB/s",
        )
        for target in targets
    )
    names = ("name", "GPU", "L2s", "CUs", "L2 each", "last level", "memory")
    return _table(names, ("name", "GPU"), rows, title="targets")


def _comparison(
    title: str, rows: Sequence[sentences.Row], ceiling: records.Ceiling, *, with_after: bool
) -> Table:
    """A table of numbers; if some are modelled and some measured, it says which."""
    sources = {row.source for row in rows if row.before is not None}
    source = f", {min(sources)}" if len(sources) == 1 else ""
    shown = [(row.name, *row.texts(), row.source if row.before is not None else "") for row in rows]
    shown.append(("ceiling of the L2 hit rate", percent(ceiling.l2_hit_rate), "", "computed"))
    kept = [0, 1, *[2] * with_after, *[3] * (not source)]
    names = [("", "before" if with_after else "unmodified", "after", "source")[n] for n in kept]
    texts = ([row[n] for n in kept] for row in shown)
    return _table(names, ("", "source"), texts, title=title + source, title_justify="left")


SILENCE_SECONDS = 2.0
"""After this, a phase that reports nothing is shown as going on."""


COMPILING = ", while the cache model is compiled (once on this machine)"


class Pace:
    """How long the rest of a phase takes by the steps after the first, which waits for more."""

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None

    def left(self, done: int, total: int) -> str:
        """The time left if it goes on like this; empty if that is not known."""
        if self._first is None and done:
            self._first = done, time.monotonic()
        first, began = self._first or (done, 0.0)
        if not first < done < total:
            return ""
        left = (time.monotonic() - began) / (done - first) * (total - done)
        return f"about {left:.0f} s left" if left < 120 else f"about {left / 60:.0f} min left"


class Quiet(progress.Silent):
    """No progress at all."""

    def __enter__(self) -> "Quiet":
        progress.compiling.append(self._compiling)
        return self

    def __exit__(self, *failure: object) -> None:
        progress.compiling.remove(self._compiling)

    def _compiling(self) -> None:
        """The cache model is being compiled."""


class Lines(Quiet):
    """Progress as plain lines, at most one step every two seconds; for pipes and log files.

    A phase that reports nothing shows how long it has taken so far: after two seconds, and
    then whenever twice as many have passed.
    """

    def __init__(self, stream: TextIO = sys.stderr, silence_seconds: float = SILENCE_SECONDS):
        self._stream = stream
        self._last = 0.0
        self._begun = time.monotonic()
        self._silence_seconds = silence_seconds
        self._sentence, self._pace = "", Pace()
        self._until = self._begun + silence_seconds
        self._over = threading.Event()

    def phase(self, sentence: str) -> None:
        """Prints it."""
        self._sentence, self._begun, self._pace = sentence, time.monotonic(), Pace()
        self._until = self._begun + self._silence_seconds
        print(sentence, file=self._stream, flush=True)

    def step(self, done: int, total: int, best: str) -> None:
        """Prints it if the last one is two seconds ago."""
        now, left = time.monotonic(), self._pace.left(done, total)
        self._until = max(self._until, now + 2 * self._silence_seconds)
        if now - self._last >= 2:
            self._last = now
            step = f"{done} of {total}" if done < total else f"{done} so far"
            print("  " + ", ".join(filter(None, (step, best, left))), file=self._stream, flush=True)

    def note(self, sentence: str) -> None:
        """Prints it."""
        print(f"note: {sentence}", file=self._stream, flush=True)

    def _tell_time(self) -> None:
        while not self._over.wait(self._silence_seconds / 4):
            now = time.monotonic()
            if self._sentence and now >= self._until:
                self._until = now + (now - self._begun)
                print(f"  {now - self._begun:.0f} s so far", file=self._stream, flush=True)

    def _compiling(self) -> None:
        if COMPILING not in self._sentence:
            self.phase(f"{self._sentence}{COMPILING}")

    def __enter__(self) -> Quiet:
        threading.Thread(target=self._tell_time, daemon=True).start()
        return super().__enter__()

    def __exit__(self, *failure: object) -> None:
        super().__exit__(*failure)
        self._over.set()


class Live(Quiet):
    """Progress for terminals: what is over as a line each, below them what is going on now."""

    def __init__(self, stream: TextIO = sys.stderr):
        from rich.live import Live as Moving
        from rich.spinner import Spinner

        self._console = console(stream)
        self._spinner = Spinner("dots")
        self._sentence = ""
        self._begun, self._pace = time.monotonic(), Pace()
        self._step: tuple[int, int, str, str] | None = None
        self._moving = Moving(
            get_renderable=self._now, console=self._console, transient=True, refresh_per_second=8
        )

    def phase(self, sentence: str) -> None:
        """The phase before is over and this one begins."""
        self._finish()
        self._sentence, self._step = sentence, None
        self._begun, self._pace = time.monotonic(), Pace()

    def step(self, done: int, total: int, best: str) -> None:
        """Moves the bar."""
        self._step = (done, total, best, self._pace.left(done, total))

    def note(self, sentence: str) -> None:
        """Prints it above what is going on."""
        self._console.print(Text(f"note: {sentence}", style="dim"))

    def _compiling(self) -> None:
        if COMPILING not in self._sentence:
            self._sentence += COMPILING

    def __enter__(self) -> Quiet:
        self._moving.start()
        return super().__enter__()

    def __exit__(self, *failure: object) -> None:
        if failure[0] is None:
            self._finish()
        self._sentence = ""
        super().__exit__(*failure)
        self._moving.stop()

    def _finish(self) -> None:
        sentence, self._sentence = self._sentence, ""
        if sentence:
            outcome = f": {self._step[2]}" if self._step and self._step[2] else ""
            seconds = time.monotonic() - self._begun
            self._console.print(Text(f"✓ {sentence}{outcome} ({seconds:.1f} s)"))

    def _now(self) -> RenderableType:
        if not self._sentence:
            return ""
        seconds = time.monotonic() - self._begun
        took = f" ({seconds:.0f} s)" if self._step is None and seconds >= SILENCE_SECONDS else ""
        self._spinner.update(text=Text(self._sentence + took))
        if self._step is None:
            return self._spinner
        done, total, best, left = self._step
        moved = ProgressBar(total, done, width=20, complete_style="cyan")
        bar = Table.grid(padding=(0, 1))
        bar.add_row("  ", moved, f"{done}/{total}", left)
        return Group(self._spinner, bar, Text(f"   {best}", style="bold"))
