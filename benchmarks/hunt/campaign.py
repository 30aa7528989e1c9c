# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Pairs of application and text by the thousand: what the gates say beside what is true.

    python -m hunt.campaign --pairs 20000 --jobs 2 --record build/hunt/record.jsonl

The record is only ever appended to; a campaign goes on after the applications that are in it. An
accepted pair that is harmful is kept as a folder that fails its own check (`python main.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, filterfalse
from itertools import count as count_from
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from hunt import swizzles
from hunt.applications import APPEARS, Application, application
from hunt.deciders import TURNED
from hunt.programs import Native, moved, program
from hunt.truth import LAUNCH, ORDERS, RENUMBERED, REVERSED, SHUFFLED, Outcome, Truth

if TYPE_CHECKING:
    from hunt.gates import Offers, Verdict

LIMIT_SECONDS = 150.0
"""An application that takes longer, all its texts together, has hung the worker: processor time of
the gates' process, which a busy machine does not change."""
WAITING_LIMIT_SECONDS = 900.0
"""The same by the clock, for what waits for ever."""
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "NUMBA", "OPENBLAS")}
"""Environment of a worker: there is one for each core."""

UNSEEN = {
    "OTHER": "wrong at another size", "SPLIT": "wrong in another configuration",
    TURNED: "wrong where something else decides",
}  # fmt: skip
"""Harm in a run that the tool has not seen, by the variable that asks for the run."""
Truthful = Literal["harmless", "harmful", "undefined", "unwritable", "told"]
"""`undefined`: the original's result already depends on how a GPU orders the programs, and the
patched one's is the same in launch order. `unwritable`: the function that reads the program id does
not know an argument that the text reads. `told`: harmful only where a tensor holds something else,
and the verdict of an accepted text names that: with other contents nothing is known."""


@dataclass(frozen=True)
class Pair:
    """An application and a text; a line of the record.

    Attributes:
        seed: of the application.
        source: kind of text: `pattern`, `nest`, `simple`, `identity`, `dropping`, `conditional`.
        text: the swizzle.
        effect: what the kernel's programs do to each other.
        traits: what else is in the application.
        truth: by Triton's plain interpreter.
        harm: which kind, where harmful.
        accepted: whether the gates let it pass.
        verdict: the tool's kind of verdict.
        reason: its words.
        outcomes: of the original and of the patched application, in the orders that were run.
        unseen: the run that the tool has not seen in which they differ, as `OTHER=1`.
    """

    seed: int
    source: str
    text: str
    effect: str
    traits: tuple[str, ...]
    truth: Truthful
    harm: str
    accepted: bool
    verdict: str
    reason: str
    outcomes: tuple[tuple[Outcome, ...], tuple[Outcome, ...]]
    unseen: str = ""


# --- one application ------------------------------------------------------------------------------


Kind = Literal["triton", "whole", "hip"]
"""Triton applications, with all gates in one process; the same through the whole command, with one
text; HIP programs."""


def hunt(seed: int, truth: Truth | Native, kept: Path, kind: Kind = "triton") -> Iterator[Pair]:
    """All pairs of one application.

    Args:
        seed: of the application.
        truth: runs applications of the kind.
        kept: folder for counterexamples.
        kind: of application, and how it is judged.
    """
    from hunt import gates

    app = program(seed) if kind == "hip" else application(seed)
    source = random.Random(f"texts {seed}")
    kinds: dict[str, str] = {}

    def texts(offers: Offers) -> Sequence[str]:
        kinds.update(swizzles.texts_for(app, offers, source))
        return list(kinds)

    with tempfile.TemporaryDirectory(prefix="hunt-") as name:
        folder = Path(name) / "app"
        _write(app, folder)
        if APPEARS in app.traits:  # nothing that was learnt without the file may be kept
            gates.judge(folder, texts)
            app = replace(app, files={**app.files, "late.txt": ""})
            shutil.rmtree(folder)
            _write(app, folder)
        original = truth.outcomes(folder, ORDERS)
        if not _is_digest(original[0]):
            raise ValueError(f"application {seed} fails as it is: {original[0]}")
        variants = [truth.outcomes(folder, ORDERS, variant=variant) for variant in app.variants]
        if kind == "whole":
            verdicts = gates.judge_by_command(folder, seed)
        else:
            verdicts = (gates.judge_program if kind == "hip" else gates.judge)(folder, texts)
        for verdict in verdicts:
            copy = Path(name) / "patched"
            _write(app, copy)
            _patch(app, verdict, copy)
            found = _patched_outcomes(truth, copy, original)
            truthful = _compare(app, original, found)
            unseen = ""
            if truthful in ("harmless", "undefined"):
                unseen = _differs_unseen(truth, app, copy, variants)
            harm = _harm(app, verdict.text, found[0]) if truthful == "harmful" else ""
            if unseen:
                told = verdict.accepted and {*app.contents} & {*verdict.contents}
                told = told and unseen.startswith(TURNED)
                truthful, harm = "told" if told else "harmful", UNSEEN[unseen.split("=")[0]]
            pair = Pair(
                seed, kinds.get(verdict.text, ""), verdict.text, app.effect, app.traits, truthful,
                harm, verdict.accepted, verdict.kind,
                verdict.reason.replace(f"{folder}/", "")[:300],
                (tuple(original), tuple(found)), unseen,
            )  # fmt: skip
            if pair.accepted and pair.truth == "harmful":
                _keep(pair, folder, copy, kept, verdict.patch or "")
            shutil.rmtree(copy)
            yield pair


def _write(app: Application, folder: Path) -> None:
    folder.mkdir()
    for name, text in app.files.items():
        (folder / name).write_text(text)


def _patch(app: Application, verdict: Verdict, folder: Path) -> None:
    """The tool's patch where there is one, or what changes when the kernel is compiled, and else
    the patch that it refused to make."""
    if not verdict.patch:
        if "app.hip.cpp" in app.files:
            changed = moved(app, verdict.guarded or verdict.text)
        elif verdict.accepted:
            changed = {RENUMBERED: json.dumps([verdict.guarded, verdict.configs])}
        else:
            changed = swizzles.patched(app, verdict.text)
        for name, text in changed.items():
            (folder / name).write_text(text)
        return
    subprocess.run(
        ["git", "apply", "-"], cwd=folder, input=verdict.patch, text=True, check=True,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
    )  # fmt: skip


def _patched_outcomes(
    truth: Truth | Native, folder: Path, original: Sequence[Outcome]
) -> list[Outcome]:
    """In launch order; in another order too where the original does not depend on it."""
    orders = [LAUNCH]
    if len(set(original)) == 1:
        orders.append(random.Random(original[0]).choice((REVERSED, SHUFFLED)))
    return truth.outcomes(folder, orders, original[0])


def _differs_unseen(
    truth: Truth | Native, app: Application, folder: Path, originals: Sequence[Sequence[Outcome]]
) -> str:
    """The first variant in which the patched application computes something else; empty if none."""
    for variant, original in zip(app.variants, originals, strict=True):
        if not _is_digest(original[0]):
            continue
        orders = ORDERS[: 2 if len(set(original)) == 1 else 1]
        found = truth.outcomes(folder, orders, original[0], variant)
        if any(outcome != original[0] for outcome in found):
            return ", ".join(f"{name}={value}" for name, value in variant.items())
    return ""


def _compare(app: Application, original: Sequence[Outcome], found: Sequence[Outcome]) -> Truthful:
    if found[0].startswith("error"):
        return "unwritable"
    if any(outcome != original[0] for outcome in found):
        return "harmful"
    ordered = len(set(original)) > 1 or app.race
    return "undefined" if ordered else "harmless"


def _is_digest(outcome: Outcome) -> bool:
    return len(outcome) == 16 and ":" not in outcome


def _harm(app: Application, text: str, outcome: Outcome) -> str:
    """Which kind of harm, for the table."""
    dropped = [swizzles.drops_tiles(text, launch) for launch in app.launches]
    if all(dropped):
        return "drops tiles"
    if any(dropped):
        return "drops tiles in some launches"
    family = app.family
    if outcome == "hang" and family != "wait":
        return "never ends"
    if any(trait.startswith("shared") for trait in app.traits) and family == "free":
        return "another user of the function"
    if "launches: late effect" in app.traits:
        return "order in a late launch"
    return {"order": "order of loads and stores", "wait": "order of programs that wait"}.get(
        family, family
    )


def _keep(pair: Pair, original: Path, patched: Path, kept: Path, patch: str) -> None:
    """The patched application with the digest that it ought to have."""
    folder = kept / f"{pair.seed}-{pair.source}"
    while folder.exists():
        folder = folder.with_name(folder.name + "-again")
    shutil.copytree(patched, folder, ignore=shutil.ignore_patterns("__pycache__", "*-backup"))
    if not pair.unseen:
        (folder / "expected.txt").write_text(pair.outcomes[0][0])
    (folder / "swizzle.txt").write_text(pair.text + "\n")
    (folder / "best.patch").write_text(patch)
    (folder / "pair.json").write_text(json.dumps(asdict(pair), indent=1) + "\n")


# --- many -----------------------------------------------------------------------------------------


def _work(pipe: Connection, kept: Path, kind: Kind) -> None:
    """A worker: its own interpreter for the gates, and beside it one for the truth."""
    os.environ.update(DEV="cpu", **ONE_THREAD)
    with (
        Native() if kind == "hip" else Truth() as truth,
        contextlib.suppress(EOFError, BrokenPipeError),
    ):  # it is over
        while True:
            seed, begun = pipe.recv(), time.monotonic()
            try:
                pairs = [asdict(pair) for pair in hunt(seed, truth, kept, kind)]
                line = {"seconds": round(time.monotonic() - begun, 2), "pairs": pairs}
            except Exception as error:
                line = {"failed": shortened(f"{type(error).__name__}: {error}")}
            pipe.send({"seed": seed, **line})


class Campaign:
    """Workers, each one application at a time; one that hangs or dies is replaced."""

    def __init__(self, jobs: int, record: Path, kept: Path, kind: Kind = "triton") -> None:
        self._context = multiprocessing.get_context("spawn")
        self._jobs = jobs
        self._record = record
        self._arguments = (kept, kind)
        record.parent.mkdir(parents=True, exist_ok=True)
        kept.mkdir(parents=True, exist_ok=True)

    def run(self, pairs: int, first_seeds: Sequence[int] = (0,), seconds: float = 1e9) -> None:
        """Goes on until the record holds so many pairs, or so many seconds are over.

        Args:
            pairs: how many.
            first_seeds: of applications that are not in the record, taken from each in turn.
            seconds: by the clock.

        Raises:
            RuntimeError: as many applications failed in a row; the reason of the last one.
        """
        in_a_row, until = 0, time.monotonic() + seconds
        lines = list(read(self._record))
        count = sum(len(line.get("pairs", ())) for line in lines)
        done = {
            line.get("seed") for line in lines if not line.get("failed", "").startswith("worker")
        }
        rows = [
            filterfalse(done.__contains__, count_from(first_seed)) for first_seed in first_seeds
        ]
        seeds = chain.from_iterable(zip(*rows, strict=True))
        workers = [_Worker(self._context, self._arguments) for _ in range(self._jobs)]
        try:
            with self._record.open("a", encoding="utf-8") as stream:
                made_by = [line["commit"] for line in lines if "commit" in line]
                if made_by[-1:] != [_commit()]:
                    stream.write(json.dumps({"commit": _commit()}) + "\n")
                while count < pairs and time.monotonic() < until:
                    for place, worker in enumerate(workers):
                        if worker.idle:
                            worker.give(next(seeds))
                        line = worker.answer()
                        if line is None:
                            continue
                        if line.get("failed", "").startswith("worker"):
                            worker.end()
                            workers[place] = _Worker(self._context, self._arguments)
                        count += len(line.get("pairs", ()))
                        in_a_row = in_a_row + 1 if "failed" in line else 0
                        if in_a_row > pairs:
                            raise RuntimeError(line["failed"])
                        stream.write(json.dumps(line, separators=(",", ":")) + "\n")
                        stream.flush()
                    time.sleep(0.02)
        finally:
            for worker in workers:
                worker.end()


def shortened(text: str, most: int = 600) -> str:
    """A text without its middle, if it is long: the end of a traceback says what happened."""
    return text if len(text) <= most else f"{text[: most // 3]} … {text[-2 * most // 3 :]}"


def _commit() -> str:
    """Of the gates; a copy of a checkout without its history is told by the variable."""
    if told := os.environ.get("HUNT_COMMIT"):
        return told
    ended = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    return ended.stdout.strip()


class _Worker:
    def __init__(self, context: Any, arguments: tuple[Any, ...]) -> None:
        self._pipe, pipe = context.Pipe()
        self._process = context.Process(target=_work, args=(pipe, *arguments), daemon=False)
        self._process.start()
        pipe.close()
        self._seed: int | None = None
        self._since = self._used = 0.0

    @property
    def idle(self) -> bool:
        return self._seed is None

    def give(self, seed: int) -> None:
        self._seed, self._since, self._used = seed, time.monotonic(), self._seconds()
        self._pipe.send(seed)

    def answer(self) -> dict[str, Any] | None:
        """A line of the record, None while there is none."""
        seed = self._seed
        with contextlib.suppress(EOFError):
            if self._pipe.poll():
                line: dict[str, Any] = self._pipe.recv()
                self._seed = None
                return line
            waited = time.monotonic() - self._since
            if waited < LIMIT_SECONDS:
                return None
            used = self._seconds() - self._used
            if used < LIMIT_SECONDS and waited < WAITING_LIMIT_SECONDS:
                return None
            if self._process.is_alive():
                took = f"{used:.0f} s of processor time, {waited:.0f} s by the clock"
                return {"seed": seed, "failed": f"worker took too long: {took}"}
        self._process.join()
        return {"seed": seed, "failed": f"worker died: exit code {self._process.exitcode}"}

    def _seconds(self) -> float:
        """Processor time of the worker's process and of those that it has waited for."""
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
            return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")
        return self._used

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def read(record: Path) -> Iterator[dict[str, Any]]:
    """The lines of a record, compressed or not; one that a kill cut short is left out."""
    if record.exists():
        data = record.read_bytes()
        text = gzip.decompress(data) if record.suffix == ".gz" else data
        for line in text.decode("utf-8").splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue


def pairs_of(record: Path) -> list[Pair]:
    """All pairs of a record."""
    return [Pair(**pair) for line in read(record) for pair in line.get("pairs", ())]


def main() -> None:
    """Runs a campaign and prints its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", type=Path, default=Path("build/hunt/record.jsonl"))
    parser.add_argument("--first_seed", type=int, nargs="+", default=[0])
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--kind", choices=get_args(Kind), default="triton")
    options = parser.parse_args()
    kept = options.record.parent / "counterexamples"
    campaign = Campaign(options.jobs, options.record, kept, options.kind)
    campaign.run(options.pairs, options.first_seed, options.seconds)
    from hunt.table import main as tables

    sys.argv[1:] = [str(options.record)]
    tables()


if __name__ == "__main__":
    main()
