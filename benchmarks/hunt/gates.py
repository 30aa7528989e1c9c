# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the tool says of texts on an application; the only module here that touches it.

The tool's own loop runs: recording, proofs, order, splice, tree, waits, same bytes. What it does in
processes of its own (the application, the interpreter) is done in this one, by the same functions.
Left out: the build for the GPU, and whether an order is worth having (each is held to be better).
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import io
import json
import linecache
import os
import random
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import IO, Any

from hunt.applications import application
from hunt.swizzles import texts_for
from intelliperf_swizzle import children, cli
from intelliperf_swizzle.children import warm
from intelliperf_swizzle.errors import CaptureError, SwizzleError, UsageError
from intelliperf_swizzle.frontends import child_processes
from intelliperf_swizzle.frontends.triton.capture import (
    describe,
    recorder,
    recording,
    sources,
    unknown,
)
from intelliperf_swizzle.frontends.triton.capture.settings import Settings as AgentSettings
from intelliperf_swizzle.frontends.triton.capture.settings import load_settings
from intelliperf_swizzle.frontends.triton.ir import compile as compile_
from intelliperf_swizzle.frontends.triton.ir import render
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.hardware.target import Build
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose import CandidateBatch, Problem, ProposerReport
from intelliperf_swizzle.propose.nest import axis_choices, neighbours, plain
from intelliperf_swizzle.propose.offline import OfflineProposer, pattern_candidates
from intelliperf_swizzle.records import Candidate, Measurement
from intelliperf_swizzle.search import (
    builds,
    conclude,
    evaluators,
    examine,
    loop,
    plan,
    run,
)
from intelliperf_swizzle.search.attempts import Attempts
from intelliperf_swizzle.search.guard import SizeGuard
from intelliperf_swizzle.search.setup import prepare

TARGET = load_target("mi300x")


@dataclass(frozen=True)
class Verdict:
    """What became of one text.

    Attributes:
        text: the swizzle.
        accepted: whether a user would be given a patch.
        kind: the tool's verdict.
        reason: in its words.
        patch: a unified diff from the application's folder; None if there is none.
        guarded: the swizzle under the conditions of the patch.
        configs: the values of constexprs under which a kernel changes that no patch can change;
            empty = under all.
        contents: tensors of which the verdict says that nothing is known with other contents, or if
            they overlap.
    """

    text: str
    accepted: bool
    kind: str
    reason: str
    patch: str | None = None
    guarded: str = ""
    contents: tuple[str, ...] = ()
    configs: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Offers:
    """What the tool's own proposers offer for a kernel; nothing where it refuses the kernel."""

    problem: Problem | None = None

    @cached_property
    def patterns(self) -> Sequence[str]:
        """The catalogue, with all choices of its parameters."""
        return (
            [candidate.text for candidate in pattern_candidates(self.problem)]
            if self.problem
            else []
        )

    def nest(self, source: random.Random) -> str:
        """An order of the local search, some steps from the launch order."""
        assert self.problem is not None
        launch = max(self.problem.launches, key=lambda launched: launched.programs)
        linear = sum(extent > 1 for extent in launch.grid) <= 1
        axes = source.choice(axis_choices(self.problem.launches))
        nest = plain(axes, linear=linear, chunk=source.choice((None, 1)))
        for _ in range(source.randint(1, 4)):
            nest = next(neighbours(nest, source))
        return nest.text()


Texts = Callable[[Offers], Sequence[str]]
"""Given what the tool itself would offer, the texts to judge."""


def judge(folder: Path, texts: Texts) -> tuple[Verdict, ...]:
    """Runs the tool's loop on the application in a folder, in this process; a verdict a text."""
    with _in_this_process():
        return _judge(folder, texts, (sys.executable, "main.py"), "kernel")


def judge_program(folder: Path, texts: Texts) -> tuple[Verdict, ...]:
    """The same of a HIP program, which is built, recorded and executed in processes of its own."""
    return _judge(folder, texts, ("./app",), "work", "make")


def _judge(
    folder: Path, texts: Texts, command: tuple[str, ...], kernel: str, build: str | None = None
) -> tuple[Verdict, ...]:
    proposer = _Proposer(texts)
    with (
        tempfile.TemporaryDirectory(prefix="hunt-") as records,
        contextlib.chdir(folder),
        _replaced(
            *_ALL_BETTER,
            (plan, "is_promising", lambda *_: True),
            (conclude, "is_promising", lambda *_: True),
            (examine, "add_cautions", lambda kernel, *_: kernel),
            (Attempts, "screen", _screen_anew),
            (SizeGuard, "_model", lambda *_: ()),
            (loop, "search", proposer.search),
        ),
    ):
        options = Options(
            project_directory=str(folder), profiler="model", proposer="offline", kernel=kernel,
            build_command=build,
        )  # fmt: skip
        try:
            setup = prepare(options, command, Silent(), target=TARGET)
            outcome = run.optimize(setup, [proposer], Path(records))
            outcome.lock.release()
            if known := outcome.run.independence:
                named = (*known.contents, *chain(*known.apart))
                proposer.verdicts = [
                    replace(verdict, contents=named) for verdict in proposer.verdicts
                ]
        except SwizzleError as error:
            unrecorded = isinstance(error, CaptureError) and build is None
            if unrecorded or isinstance(error, UsageError):  # nothing was looked at, nor refused
                raise
            proposer.refuse_all(error)
    return tuple(proposer.verdicts)


def judge_by_command(folder: Path, seed: int) -> tuple[Verdict, ...]:
    """Runs the whole command in a process of its own, child processes and build included.

    Only the proposer, which offers one text of `texts_for`, and what the cache model says of it are
    replaced. The patch is the file that the user gets.
    """
    with tempfile.TemporaryDirectory(prefix="hunt-") as records:
        child = subprocess.run(
            [sys.executable, "-m", "hunt.gates", str(seed), records],
            cwd=folder,
            env={
                **{k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "DEV")},
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        answer = Path(records) / "verdict.json"
        if not answer.exists():
            raise RuntimeError(f"the command died: {child.stderr[-300:]}")
        verdict = Verdict(**json.loads(answer.read_text()))
        patch = Path(records) / "kernel" / "best.patch"
        if verdict.accepted != patch.exists():
            raise RuntimeError(f"{verdict.kind}, and a patch: {patch.exists()}; {child.stderr}")
        return (replace(verdict, patch=patch.read_text() if patch.exists() else None),)


def main() -> None:
    """The process of `judge_by_command`."""
    seed, records = int(sys.argv[1]), Path(sys.argv[2])
    source = random.Random(f"text {seed}")
    app = application(seed)

    def text(offers: Offers) -> Sequence[str]:
        return [source.choice(list(texts_for(app, offers, source)))]

    proposer = _Proposer(text)
    with _replaced(
        *_ALL_BETTER,
        (plan, "is_promising", lambda *_: True),
        (conclude, "is_promising", lambda *_: True),
        (OfflineProposer, "propose", lambda _, problem: proposer.propose(problem)),
        (loop, "search", proposer.search),
    ):
        arguments = ["--proposer", "offline", "--profiler", "model", "--target", TARGET.name]
        arguments += ["--report_dir", str(records), "-k", "kernel", "--", sys.executable, "main.py"]
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            code = cli.main(arguments)
    if not proposer.verdicts:
        proposer.refuse_all(SwizzleError(f"exit code {code}: {err.getvalue()[-250:]}"))
    (records / "verdict.json").write_text(json.dumps(asdict(proposer.verdicts[0])))


class _Proposer:
    name = "offline"
    effort = ProposerReport()

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self.verdicts: list[Verdict] = []
        self._held: Any = None

    def search(self, *given: Any) -> Any:
        """`loop.search` with its last stage, the guard, for each text, not for the best alone."""
        *_, guard = given
        confirm = loop._confirm

        def confirm_guarded(evaluator: Any, edited: Any, _: Any = None) -> Any:
            self._held = confirm(evaluator, edited, guard)
            return self._held

        with _replaced((loop, "_confirm", confirm_guarded)):
            return _search(*given)

    def propose(self, problem: Problem) -> Iterator[CandidateBatch]:
        for text in self._texts(Offers(problem)):
            batch = CandidateBatch([Candidate(text, "hunted", "user")], evaluate_from=0.0)
            try:
                yield batch
            except SwizzleError as error:
                self.verdicts.append(Verdict(text, False, type(error).__name__, str(error)))
                continue
            [attempt] = batch.outcomes
            kind, reason = attempt.verdict.kind, attempt.verdict.reason
            if self._held is not None:
                held, rules = self._held.attempt, self._held.edit.rules
                configs = rules[0]["configs"] if rules else []
                self.verdicts.append(
                    Verdict(text, True, kind, "", held.diff, held.candidate.text, configs=configs)
                )
            elif attempt.verdict.gains:
                self.verdicts.append(Verdict(text, False, "not guarded", "no condition suffices"))
            else:
                self.verdicts.append(Verdict(text, False, kind, reason))

    def refuse_all(self, error: SwizzleError) -> None:
        """The tool refuses the application, whatever the text."""
        if not self.verdicts:
            kind, reason = type(error).__name__, str(error)
            texts = self._texts(Offers())
            self.verdicts = [Verdict(text, False, kind, reason) for text in texts]


_screen, _search = Attempts.screen, loop.search


def _screen_anew(attempts: Attempts, *given: Any) -> Any:
    """Has each text judged by itself, also if it is a permutation that is known."""
    attempts._screened.clear()
    return _screen(attempts, *given)


def _modelled(rate: float) -> Callable[..., Measurement]:
    return lambda *_, **__: Measurement("model", "none", rate, l2_requests=1)


_ALL_BETTER = (
    (builds, "model_launches", _modelled(0.0)),
    (evaluators, "model_swizzle", _modelled(0.5)),
)
"""A model to which every swizzle is better than the unmodified kernel."""


# --- instead of child processes -------------------------------------------------------------------


@contextmanager
def _in_this_process() -> Iterator[None]:
    """What the tool starts as a child process is run here while this lasts."""
    try:
        here = _WarmHere()
        with _replaced(
            (children, "_warm_for", lambda *_: (here, True)),
            (recording, "start", _start),
            (ast, "parse", _parse),
        ):
            yield
    finally:
        _clean()


@contextmanager
def _replaced(*replacements: tuple[Any, str, Any]) -> Iterator[None]:
    """Attributes that are others for a while: owner, name, other value."""
    before = [getattr(owner, name) for owner, name, _ in replacements]
    for owner, name, other in replacements:
        setattr(owner, name, other)
    try:
        yield
    finally:
        for (owner, name, _), original in zip(replacements, before, strict=True):
            setattr(owner, name, original)


sources._INSTALLED.add(__name__.partition(".")[0])  # what is set here, no application sets

_one_at_a_time = threading.RLock()
_parsing = threading.RLock()


_parse_of_python = ast.parse


def _parse(*given: Any, **named: Any) -> Any:
    """`ast.parse`, alone: CPython 3.11 counts its depth of recursion for all threads together."""
    with _parsing:
        return _parse_of_python(*given, **named)


class _WarmHere:
    """`children.Warm`, here; a build succeeds unseen."""

    def prepare(self, function: str) -> None:
        """It is imported when it is called."""

    def call(self, folder: Path, function: str, output: IO[bytes]) -> _Ended:
        if function.endswith(":compile_here"):
            warm.answer(folder, Build(None, None, None, 0, 4, 0.0))
            return _Ended(0)
        with _one_at_a_time, _undone_afterwards():
            try:
                warm.perform(function, folder)
            except Exception:
                output.write(traceback.format_exc().encode())
                return _Ended(1)
        return _Ended(0)


def _start(
    command: Sequence[str], folder: Path, cwd: Any, environment: Any, *, on_gpu: bool
) -> _Ended:
    """`recording.start` here: the application runs to its end, watched."""
    from triton import knobs

    from intelliperf_swizzle.frontends.triton.capture import virtual_gpu

    settings: AgentSettings = load_settings(folder)
    (folder / child_processes.LOG).touch()
    assert settings.gpu is not None
    sys.path.insert(0, str(cwd))
    exit_code = 0
    at_exit: list[Callable[[], object]] = []
    register, atexit.register = atexit.register, at_exit.append
    try:
        with (
            _one_at_a_time,  # a call that ends meanwhile would leave the hooks of this application
            _undone_afterwards(),
            contextlib.redirect_stdout(io.StringIO()),
            _replaced((knobs.cache, "dir", str(folder / "triton-cache"))),
        ):
            virtual_gpu.install(settings.gpu, lambda *_: None)
            recorder.install(folder, settings)
            runpy.run_path(str(Path(cwd) / "main.py"))
        for function in at_exit:
            function()
    except Exception:
        (folder / child_processes.LOG).write_text(traceback.format_exc())
        exit_code = 1
    finally:
        atexit.register = register
        sys.path.remove(str(cwd))
        for name in ("kernels", "others"):
            sys.modules.pop(name, None)
    return _Ended(exit_code)


@dataclass(frozen=True)
class _Ended:
    """A process that is over."""

    exit_code: int
    has_begun: bool = True

    def wait(self, seconds: float) -> int:
        return self.exit_code

    def end(self, patience_seconds: float = 0.0) -> None:
        """Nothing is left of it."""


@contextmanager
def _undone_afterwards() -> Iterator[None]:
    """What a child patches in Triton for itself is taken back."""
    import triton.testing
    from triton import knobs
    from triton.compiler.compiler import AsmDict, CompiledKernel
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction, KernelInterface

    classes = (
        AsmDict,
        Autotuner,
        CompiledKernel,
        InterpretedFunction,
        JITFunction,
        KernelInterface,
    )
    owners = (*classes, triton.testing, knobs.runtime)
    before = [dict(vars(owner)) for owner in owners]
    try:
        yield
    finally:
        for owner, names in zip(owners, before, strict=True):
            for name, value in vars(owner).copy().items():
                if names.get(name) is not value and name in names:
                    setattr(owner, name, names[name])
                elif name not in names:
                    delattr(owner, name)


def _clean() -> None:
    """Forgets the kernels of this application."""
    linecache.clearcache()
    describe._read_once.cache_clear()
    for kept in (compile_._compiled, render._made, unknown._marks, unknown._lasting):
        kept.clear()  # by places in memory, which the next application has other things in


if __name__ == "__main__":
    main()
