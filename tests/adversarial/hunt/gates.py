# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the tool says of texts on an application; the only module here that touches it.

The tool's own loop runs: recording, proofs, order, splice, tree, waits, same bytes. What it does in
processes of its own (the application, the interpreter) is done in this one, by the same functions.
Left out: the build for the GPU, and whether an order is worth having (each is held to be better).
"""

from __future__ import annotations

import atexit
import contextlib
import io
import linecache
import pickle
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from intelliperf_swizzle import children, loop, workbench
from intelliperf_swizzle.capture import describe, process, recorder
from intelliperf_swizzle.capture.settings import Settings as AgentSettings
from intelliperf_swizzle.capture.settings import load_settings
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.loop import Settings
from intelliperf_swizzle.propose import Effort, Problem, Trial
from intelliperf_swizzle.propose.axes import axis_choices
from intelliperf_swizzle.propose.nest import neighbours, plain
from intelliperf_swizzle.propose.offline import pattern_candidates
from intelliperf_swizzle.records import Candidate, Measurement

TARGET = load_target("mi300x")


@dataclass(frozen=True)
class Verdict:
    """What became of one text.

    Attributes:
        text: the swizzle.
        accepted: whether a user would be given a patch.
        kind: the tool's verdict.
        reason: in its words.
        patch: a unified diff from the application's folder; None where there is none.
    """

    text: str
    accepted: bool
    kind: str
    reason: str
    patch: str | None = None


Texts = Callable[["Offers"], Sequence[str]]
"""Given what the tool itself would offer, the texts to judge."""


@dataclass(frozen=True)
class Offers:
    """What the tool's own proposers offer for a kernel: the catalogue, and random nests."""

    problem: Problem

    @cached_property
    def patterns(self) -> Sequence[str]:
        """The catalogue, with all choices of its parameters."""
        return [one.text for one in pattern_candidates(self.problem)]

    def nest(self, source: Any) -> str:
        """A mixed-radix order some steps from the launch order."""
        launch = max(self.problem.launches, key=lambda one: one.programs)
        linear = sum(extent > 1 for extent in launch.grid) <= 1
        axes = source.choice(axis_choices(self.problem.launches))
        nest = plain(axes, linear=linear, chunk=source.choice((None, 1)))
        for _ in range(source.randint(1, 4)):
            steps = neighbours(nest, source)
            nest = next(steps)
        return nest.text()


def judge(folder: Path, texts: Texts, *, in_process: bool = True) -> tuple[Verdict, ...]:
    """Runs the tool's loop on the application in a folder.

    Args:
        folder: holds `main.py`.
        texts: what to judge.
        in_process: without child processes, and without the build.

    Returns:
        A verdict each; none where the tool refuses the application before it looks at a text.
    """
    proposer = _Proposer(texts)
    with tempfile.TemporaryDirectory(prefix="hunt-") as records, _working_in(folder):
        settings = Settings(
            command=(sys.executable, "main.py"),
            project_directory=folder,
            output_directory=Path(records),
            kernel="kernel",
        )
        with _in_this_process() if in_process else contextlib.nullcontext(), _always_searching():
            try:
                loop.optimize(settings, TARGET, _AllBetter(), proposer)
            except SwizzleError as error:
                proposer.refuse_all(error)
    return tuple(proposer.verdicts)


class _Proposer:
    name = "hunt"

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self.verdicts: list[Verdict] = []

    def propose(self, problem: Problem, trial: Trial) -> Effort:
        texts = self._texts(Offers(problem))
        for text in texts:
            _forget(trial)
            try:
                [attempt] = trial([Candidate(text, "hunted", "user")])
                if attempt.screened_l2_hit_rate is not None:
                    attempt = trial.settle(attempt)
            except SwizzleError as error:
                self.verdicts.append(Verdict(text, False, "error", str(error)))
                continue
            kind, reason = attempt.verdict.kind, attempt.verdict.reason
            accepted = attempt.verdict.kind == "better"
            self.verdicts.append(
                Verdict(text, accepted, kind, reason, attempt.diff if accepted else None)
            )
        return Effort()

    def refuse_all(self, error: SwizzleError) -> None:
        """The tool refuses the application, whatever the text."""
        if not self.verdicts:
            offers = Offers(Problem((), TARGET, 0.0, 0.0, 0))
            kind = type(error).__name__
            self.verdicts = [Verdict(text, False, kind, str(error)) for text in self._texts(offers)]


def _forget(trial: Trial) -> None:
    """Has the next text judged by itself, also where it is a permutation that is known."""
    bench = getattr(trial, "_bench", None)
    if bench is not None:
        bench._known.clear()


class _AllBetter:
    """A profiler to which every swizzle is better than the kernel as it is."""

    name = "model"
    device = "none"
    runs_application = False
    _calls = 0

    def measure(self, launches: Any, proofs: Any, edit: Any = None) -> Measurement:
        self._calls += 1
        return Measurement(self.name, self.device, 0.5 if self._calls > 1 else 0.0, l2_requests=1)


# --- instead of child processes -------------------------------------------------------------------


@contextmanager
def _in_this_process() -> Iterator[None]:
    """What the tool starts as a child process is run here while this lasts."""
    replaced = [
        (module, name, getattr(module, name))
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("intelliperf_swizzle")
        for name, original in (("run_child", children.run_child), ("start", process.start),
                               ("end", process.end))
        if getattr(module, name, None) is original
    ]  # fmt: skip
    stand_in = {"run_child": _run_child, "start": _start, "end": lambda process: None}
    for module, name, _ in replaced:
        setattr(module, name, stand_in[name])
    try:
        yield
    finally:
        for module, name, original in replaced:
            setattr(module, name, original)
        _clean()


@contextmanager
def _always_searching() -> Iterator[None]:
    """Tiny kernels have nothing to gain, and are searched all the same; nothing is ranked."""
    replaced = [
        (loop, "promising", lambda *_: True),
        (loop, "doubted", lambda subject, *_: subject),
        (workbench, "sweep_grids", lambda _: ()),
    ]
    before = [getattr(module, name) for module, name, _ in replaced]
    for module, name, stand_in in replaced:
        setattr(module, name, stand_in)
    try:
        yield
    finally:
        for (module, name, _), original in zip(replaced, before, strict=True):
            setattr(module, name, original)


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    with contextlib.chdir(folder):
        yield


_one_at_a_time = threading.RLock()


def _run_child(
    module: str, folder: Path, *, environment: Mapping[str, str], limit_seconds: float
) -> subprocess.CompletedProcess[str]:
    """`children.run_child` here; a build succeeds unseen."""
    if module.endswith("compile_child"):
        return _unseen_build(folder)
    with _one_at_a_time, _undone_afterwards():
        code, err = 0, ""
        arguments, sys.argv = sys.argv, [module, str(folder)]
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=False)
        except SystemExit as end:
            code = int(end.code or 0)
        except Exception:
            code, err = 1, traceback.format_exc()
        finally:
            sys.argv = arguments
    return subprocess.CompletedProcess([module], code, "", err)


def _unseen_build(folder: Path) -> subprocess.CompletedProcess[str]:
    request = pickle.loads((folder / "request.pickle").read_bytes())
    build = '{"registers": null, "scalar_registers": null, "stack_bytes": null, "lds_bytes": 0, '
    build += '"num_warps": 4, "seconds": 0}'
    (folder / "builds.json").write_text(f"[{', '.join([build] * len(request[4]))}]")
    return subprocess.CompletedProcess(["build"], 0, "", "")


def _start(
    command: Sequence[str], folder: Path, cwd: Any, environment: Any, *, interpreted: bool
) -> _Ended:
    """`capture.process.start` here: the application runs to its end, watched."""
    from intelliperf_swizzle.capture import standin_triton

    settings: AgentSettings = load_settings(folder)
    (folder / process.LOG).touch()
    assert settings.gpu is not None
    standin_triton.install(settings.gpu)
    sys.path.insert(0, str(cwd))
    exit_code = 0
    at_exit: list[Callable[[], object]] = []
    register, atexit.register = atexit.register, at_exit.append
    try:
        with _undone_afterwards(), contextlib.redirect_stdout(io.StringIO()):
            recorder.install(folder, settings)
            runpy.run_path(str(Path(cwd) / "main.py"))
        for function in at_exit:
            function()
    except Exception:
        (folder / process.LOG).write_text(traceback.format_exc())
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

    returncode: int
    pid: int = 0

    def poll(self) -> int:
        return self.returncode


@contextmanager
def _undone_afterwards() -> Iterator[None]:
    """What a child patches in Triton for itself is taken back."""
    from triton.runtime import interpreter, jit

    classes = (interpreter.InterpretedFunction, interpreter.InterpreterBuilder, jit.JITFunction)
    before = [dict(vars(one)) for one in classes]
    try:
        yield
    finally:
        for one, names in zip(classes, before, strict=True):
            for name, value in vars(one).copy().items():
                if names.get(name) is not value and name in names:
                    setattr(one, name, names[name])
                elif name not in names:
                    delattr(one, name)


def _clean() -> None:
    """Forgets the kernels of this application."""
    for name in [name for name in sys.modules if name.startswith("rendered_")]:
        del sys.modules[name]
    linecache.clearcache()
    read_once = getattr(describe, "_read_once", None)
    if read_once is not None:
        read_once.cache_clear()
