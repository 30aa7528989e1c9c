# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Start the user's command with our hook in its Pythons, watch it, and read the launches."""

import math
import os
import re
import shlex
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from intelliperf_swizzle.children import Child, prepare
from intelliperf_swizzle.errors import CaptureError, UsageError, did_you_mean
from intelliperf_swizzle.frontends import child_processes
from intelliperf_swizzle.frontends.child_processes import Ending, watch_to_end
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.trials import journal
from intelliperf_swizzle.frontends.trials.journal import Journal
from intelliperf_swizzle.frontends.triton.capture import settings as shared
from intelliperf_swizzle.frontends.triton.capture.counts import read_counts
from intelliperf_swizzle.frontends.triton.capture.tuning import VARIABLES
from intelliperf_swizzle.frontends.triton.capture.uses import with_other_users
from intelliperf_swizzle.frontends.triton.versions import find_triton, untested
from intelliperf_swizzle.frontends.triton.walk import CHILD_ENVIRONMENT
from intelliperf_swizzle.records import NOT_RECORDED, Capture, Launch, load_launch, save_launch

RECORDER = "intelliperf_swizzle.frontends.triton.capture.recorder"
"""What is installed in the application."""
_EXTENSION = re.compile(
    r"cpp_extension\.py|lib(?:cudart|c10_cuda|torch_cuda|amdhip64|c10_hip|torch_hip)\.so\S*: cannot"
)
"""Says that a C++ extension of PyTorch cannot be built or loaded."""

_STARTUP = Path(__file__).parent / "startup"
_WITHOUT_GPU = "OPENBLAS_NUM_THREADS", "TRITON_DEFAULT_FP_FUSION", "TORCHDYNAMO_SUPPRESS_ERRORS"
"""Variables, 1 by default, of an application whose launches are executed on the CPU."""
_LEFT_OUT = "TRITON_INTERPRET", "INTELLIPERF_SWIZZLE_OVERLAY"
"""Variables that it does not get: kernels are recorded unmodified."""
_LATER = ("tracing.execute", "tile_loops.find", "source.compile_child", "validate.numbers")
"""What calls are made of afterwards."""


def record(request: RecordRequest) -> Capture:
    """As `capture`, while what looks at the launches afterwards is imported."""
    for name in _LATER:
        prepare(f"intelliperf_swizzle.frontends.triton.{name}:", CHILD_ENVIRONMENT)
    return capture(request)


def capture(request: RecordRequest, *, compute_budget_seconds: float = 10.0) -> Capture:
    """Run a command that launches Triton kernels, and record the launches.

    Nothing of the command is left when this returns or raises, Ctrl-C included.

    Args:
        request: the command; its folder also gets `app.log`, what the application prints. Without
            a device and a target, the application sees an MI300X. `compute="auto"` executes
            launches of less than half a second, others as far as the budget goes, and beyond it
            those that write integers, from which later launches may compute addresses: they have
            a budget of a minute.
        compute_budget_seconds: seconds that `auto` spends on executing launches.

    Raises:
        CaptureError: no launch was recorded, or the folder cannot be written.
        UsageError: … because the name of the kernel's file is not UTF-8.
    """
    triton = find_triton()
    if triton.found is None:
        raise CaptureError(f"no Triton kernel can be recorded: {triton.gap}", hint=triton.command)
    begun = time.monotonic()
    gpu = None if request.device else shared.gpu_of(request.target)
    settings = shared.Settings(RECORDER, gpu, request.compute, compute_budget_seconds)
    place = _prepare(Path(request.folder), settings)
    application = start(request.command, place, request.cwd, request.variables, on_gpu=gpu is None)
    ending = watch_to_end(application, request, place, begun + request.limit_seconds)
    log = _Log(Journal(place).read_new())
    launches = _launches(place, log, whole=ending.exit_code == 0)
    if not launches:
        raise _no_launch(log, ending)
    return Capture(
        launches=tuple(launches),
        ended_by=ending.ended_by,
        exit_code=ending.exit_code,
        seconds=time.monotonic() - begun,
        notes=(
            *untested(),
            *_left_out(launches, log, compute_budget_seconds),
            *dict.fromkeys(log.notes),
        ),
        last_lines=ending.last_lines,
        folder=place,
        cautions=(
            *ending.cautions(all(launch.computed for launch in launches)),
            *dict.fromkeys(log.refusals + log.cautions),
        ),
        gpu_seconds={
            launch.ordinal: log.executions[record].seconds or math.nan
            for launch, record in zip(launches, log.records, strict=True)
            if gpu is None and launch.computed
        },
    )


def _prepare(folder: Path, settings: shared.Settings) -> Path:
    """The folder, with the settings and with nothing of an earlier capture."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / journal.FILE).unlink(missing_ok=True)
        for name in ("launches", "contents", "counts"):
            shutil.rmtree(folder / name, ignore_errors=True)
        shared.save_settings(settings, folder)
    except OSError as error:
        raise CaptureError(f"the folder for the records cannot be written: {error}") from error
    return folder.resolve()


# --- watching -----------------------------------------------------------------------------------


class _Log:
    """What the journal of a recording says, once that is over.

    Attributes:
        kinds: of its events.
        records: names of the launches, in the order in which they were first made.
        executions: of these.
        refused: names of kernels of which not every launch was recorded.
        refusals, cautions, notes: sentences.
        not_utf8: the sentence if the name of a kernel's file cannot be written down.
        uses: of functions; see `uses.with_other_users`.
        unseen: how many processes did not look at the launches of a record.
        same: how many say which other record these have turned out to be.
    """

    def __init__(self, events: Sequence[dict[str, Any]]) -> None:
        self._events, self.kinds = events, {event["event"] for event in events}
        self.records = [*dict.fromkeys(self._all("new", "record"))]
        self.executions = {
            event["record"]: shared.Execution(event["computed"], event["seconds"])
            for event in events if event["event"] == "ran"
        }  # fmt: skip
        self.refused, self.refusals = self._all("refused", "kernel"), self._all("refused", "text")
        self.cautions, self.notes = self._all("caution", "text"), self._all("note", "text")
        unusable = [e["text"] for e in events if e["event"] == "refused" and e["usage"]]
        self.not_utf8 = next(reversed(unusable), None)
        self.uses = [event for event in events if event["event"] == "uses"]
        self.unseen = Counter(self._all("unseen", "record"))
        self.same = Counter(
            zip(self._all("same", "record"), self._all("same", "known"), strict=True)
        )

    def _all(self, event: str, field: str) -> list[str]:
        return [entry[field] for entry in self._events if entry["event"] == event]


def _launches(folder: Path, log: _Log, *, whole: bool) -> list[Launch]:
    """The recorded launches, completed with what the journal says of them, here and on disk.

    Unless recorded as a `whole`, others may follow whose tensors hold something else.
    """
    counts = read_counts(folder)
    for (record, known), times in log.same.items():
        if times == log.unseen[record]:  # in all processes
            counts[known] += counts.pop(record, 0)
    # what was captured into a graph that is never replayed was not launched
    log.records = [record for record in log.records if counts[record]]
    paths = [folder / "launches" / f"{record}.json" for record in log.records]
    launches = [
        replace(
            load_launch(path),
            count=counts[record],
            computed=record in log.executions and log.executions[record].computed,
            ordinal=ordinal,
        )
        for ordinal, (record, path) in enumerate(zip(log.records, paths, strict=True))
    ]
    for at, launch in enumerate(launches):
        others = (NOT_RECORDED,) if launch.kernel in log.refused else tuple(dict(launch.tensors()))
        if launch.kernel in log.refused or not whole:
            launches[at] = replace(launch, varying=(*launch.varying, *others))
    launches = with_other_users(launches, log.uses)
    for launch, path in zip(launches, paths, strict=True):
        save_launch(launch, path)
    return launches


# --- words --------------------------------------------------------------------------------------


def _left_out(launches: Sequence[Launch], log: _Log, budget_seconds: float) -> list[str]:
    """Which launches were not computed, and why."""
    left = [
        (f"`{launch.kernel}`", known.seconds or 0.0)
        for launch in launches
        if (known := log.executions.get(log.records[launch.ordinal])) and not known.computed
    ]
    if not left:
        return []
    names, total = [*dict.fromkeys(name for name, _ in left)], sum(seconds for _, seconds in left)
    several = ", ".join(names[:4]) + (f" and {len(names) - 4} others" if len(names) > 4 else "")
    reason = f" (about {total:.0f} s; the limit for all kernels is {budget_seconds:g} s)"
    return [
        f"{several} {'was' if len(names) == 1 else 'were'} recorded but not computed"
        f"{reason if total else ''}: ignore the application's own checks of outputs"
    ]


def _no_launch(log: _Log, ending: Ending) -> CaptureError | UsageError:
    if log.not_utf8:
        return UsageError(log.not_utf8, hint="rename it, or use a link with another name")
    if "python" not in log.kinds:
        hint = (
            "the command started no Python that could be watched, and named no HIP or CUDA program"
            " (-b/--build_command builds one); a script that sets PYTHONPATH must keep its old"
            " value, and Python must not run with -E, -I or -S"
        )
    elif log.refusals or log.cautions:
        hint = "what cannot be recorded is named above"
    elif any(map(_EXTENSION.search, ending.last_lines)):
        hint = (
            "it needs a C++ extension of PyTorch: the kernels of extensions are not recorded, those"
            " of a C++ program are, built by hipcc or nvcc"
        )
    elif "triton" not in log.kinds and not ending.exit_code:
        hint = "it never imported Triton, and of a Python program only Triton kernels are recorded"
    elif ending.ended_by == "limit":
        hint = "give it smaller inputs, or raise the time limit"
    elif ending.exit_code:
        before = "its first launch" if "triton" in log.kinds else "it imported Triton"
        hint = f"it failed before {before}; see its last lines above"
    else:
        hint = "it imported Triton and launched no kernel"
    return CaptureError(
        f"no Triton launch was recorded: {ending.sentence}",
        hint=hint,
        details=(*dict.fromkeys(log.refusals + log.cautions), *ending.last_lines),
    )


# --- the process ----------------------------------------------------------------------------------


def start(
    command: Sequence[str], folder: Path, cwd: Path, environment: Mapping[str, str], *, on_gpu: bool
) -> Child:
    """Starts the command; its settings are in the folder, its output goes to `app.log` there.

    Args:
        command: as the user would type it.
        folder: of the settings and the journal.
        cwd: where it runs.
        environment: as the user has it; ours is added.
        on_gpu: whether kernels are compiled to the end; an autotuner then keeps its choices in
            `triton-cache` beside the folder's files.

    Raises:
        UsageError: there is no such program, or it cannot be started.
    """
    search = [str(_STARTUP), *filter(None, [environment.get("PYTHONPATH")])]
    caches = folder.parent if on_gpu else folder
    without = {name: environment.get(name, "1") for name in _WITHOUT_GPU}
    hooked = {
        **{name: text for name, text in environment.items() if name not in _LEFT_OUT},
        shared.FOLDER_VARIABLE: str(folder),
        "PYTHONPATH": os.pathsep.join(search),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "TRITON_CACHE_DIR": str(caches / "triton-cache"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "torch-cache"),
        **VARIABLES,
        **({"TRITON_CACHE_AUTOTUNING": "1"} if on_gpu else without),
    }
    try:
        return child_processes.start(command, folder, cwd, hooked)
    except (OSError, ValueError) as error:
        gone = isinstance(error, FileNotFoundError)
        fact = f"there is no program `{command[0]}`"
        fact = fact if gone else f"`{command[0]}` cannot be started: {error}"
        raise UsageError(fact, hint=_another_program(command, Path(cwd))) from error


def _another_program(command: Sequence[str], cwd: Path) -> str:
    """What to type in place of a program that cannot be started."""
    first, *rest = command
    if len(first.split()) > 1 and shutil.which(first.split()[0]):
        return f"without quotation marks: -- {shlex.join([*first.split(), *rest])}"
    if first.endswith(".py") and (cwd / first).is_file():
        return f"-- python {shlex.join(command)}"
    if (cwd / first).exists():
        return "it is there, but cannot be executed: see its mode and its first line"
    other = did_you_mean(first, ("python", "python3", "pytest", "torchrun"))
    return f"{other}it is looked for on PATH, and a path with a slash from {cwd}"
