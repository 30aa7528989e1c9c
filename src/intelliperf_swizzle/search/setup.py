# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From options to what a run works with: GPU, profiler, formula, language, proposers, commands."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from intelliperf_swizzle.disk import Kept, kept_for_user, temporary_folder
from intelliperf_swizzle.edit import PLACE, Edit, carry
from intelliperf_swizzle.edit import run_build as run_command
from intelliperf_swizzle.errors import CaptureError, SpliceError, UsageError, ValidationError
from intelliperf_swizzle.formulas import Formula, load_formula
from intelliperf_swizzle.frontends.ports import (
    Builder,
    GpuLanguage,
    KernelLanguage,
    RecordRequest,
    frontends,
)
from intelliperf_swizzle.hardware import Device, Target, devices, load_target, unknown
from intelliperf_swizzle.options import DEFAULT_TARGET, FORMULAS, PREFIX, PROPOSERS, Options
from intelliperf_swizzle.profile import Profiler
from intelliperf_swizzle.profile.application import Application
from intelliperf_swizzle.profile.choose import choose_profiler
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.propose import Proposer
from intelliperf_swizzle.propose.llm import Endpoint, LanguageModelProposer, Model, find_endpoint
from intelliperf_swizzle.propose.llm.transport import KEY_VARIABLE
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.readers import utf8
from intelliperf_swizzle.records import Attempt, Verdict


@dataclass(frozen=True)
class Setup:
    """What a run works with.

    Attributes:
        options: as they were given.
        command: the application, as the user starts it.
        project: where it is started.
        formula: the optimization target.
        target: the GPU that is optimized for.
        device: the GPU that the application runs on; None = it is recorded without one.
        profiler: reads hit rates on hardware; None = the model does.
        language: that the kernels are written in.
        invocation: shell text that repeats the run, for its report; empty if there is none.
        share: part of the work on finalists that this kernel may cost; 1 = all.
        kept: what earlier runs have worked out.
    """

    options: Options
    command: tuple[str, ...]
    project: Path
    formula: Formula
    target: Target
    device: Device | None
    profiler: Profiler | None
    language: KernelLanguage
    invocation: str = ""
    share: float = 1.0
    kept: Kept = field(default_factory=lambda: Kept(None))

    @property
    def script(self) -> str:
        """The file that the command runs; empty if it names none, as `python -m package`."""
        named = (self.project / word for word in (*self.command[1:], self.command[0]))
        return next((str(path.resolve()) for path in named if path.is_file()), "")

    @property
    def patch_roots(self) -> tuple[Path, ...]:
        """Folders that a patch may be made for: here, the project, those of scripts named.

        What a link out of these leads to is not to be reached by a patch.
        """
        named = [self.project / word for word in self.command]
        return (Path.cwd(), self.project, *(path.parent for path in named if path.is_file()))

    def record_request(self, folder: Path) -> RecordRequest:
        """The application, with its records in a folder."""
        return RecordRequest(
            command=self.command, cwd=self.project, folder=folder, target=self.target,
            device=self.device, limit_seconds=self.options.limit_seconds,
            compute=self.options.compute, build_command=self.options.build_command,
        )  # fmt: skip


def prepare(
    options: Options,
    command: Sequence[str],
    progress: Progress,
    *,
    target: Target | None = None,
    language: KernelLanguage | None = None,
    invocation: str = "",
) -> Setup:
    """Finds out what the options ask for and what is here.

    Args:
        options: IntelliPerf's and ours.
        command: the application.
        progress: told of what is chosen.
        target: in place of the one that the options name.
        language: of the kernels; by default that of a program with device code, or of one that
            the build command is still to build, else Triton.
        invocation: shell text that repeats the run.

    Raises:
        UsageError: there is no such project directory, formula, target, GPU or profiler.
        ProfileError: the profiler that is asked for cannot work here.
    """
    project = Path(options.project_directory)
    utf8(str(Path.cwd()), "the directory")
    utf8(str(project.absolute()), "the project directory")
    if not project.is_dir():
        raise UsageError(f"there is no directory {project}", hint="-p names the project directory")
    language = language or choose_language(options, command, project, progress)
    setup = Setup(
        options=options, command=tuple(command), project=project.resolve(),
        formula=load_formula(options.formula),
        target=target or choose_target(options, progress, language.default_target), device=None,
        profiler=None, language=language, invocation=invocation,
        kept=Kept(None) if options.no_cache or isinstance(language, Builder) else kept_for_user(),
    )  # fmt: skip
    return with_hardware(setup, progress)


def choose_language(
    options: Options, command: Sequence[str], project: Path, progress: Progress
) -> KernelLanguage:
    """The language of an application's kernels, by what the command names, else what that imports.

    If that has kernels of several languages, or of none, the default's, unless `--kernel` is a
    kernel of another.
    """
    languages = frontends()
    default = languages[-1]
    builders = [one for one in languages if isinstance(one, Builder)]
    backend = load_target(options.target).backend if options.target else None

    def building() -> list[KernelLanguage]:
        build = str(options.build_command)
        return [one for one in builders if one.builds_program(project, build, backend)]

    def naming(words: Sequence[str]) -> list[KernelLanguage]:
        return [one for one in languages if one.names_program(words, project)]

    first = command[0] if command else ""
    if builders and options.build_command and "/" in first and not (project / first).exists():
        fitting = [one for one in builders if backend in (None, one.backend)]
        return (building() or fitting or builders)[-1]
    named = naming(command) or naming(_imported(command, project))
    both = named[1:] and named[-1] is default
    if named and not both:
        return named[0]
    built = options.build_command and not any("python" in one for one in command)
    if built and not named and (found := building()):  # it is started by a shell, or a script
        return found[0]
    kernel = options.kernel
    owners = [one for one in builders if kernel and one.has_kernel(kernel, project)]
    chosen = owners[0] if owners else default
    if both:
        progress.note(
            f"`{shlex.join(command)}` has kernels of {' and '.join(one.name for one in named)}: "
            f"those of {chosen.name} are searched (-k NAME: those of the kind that NAME is of)"
        )
    return chosen


def _imported(command: Sequence[str], project: Path) -> list[str]:
    """Python files beside those that a command names, or one level below, which these import."""
    modules = (word.replace(".", "/") + ".py" for word in command)
    named = (project / one for one in (*command, *modules) if one.endswith(".py"))
    found = []
    for script in filter(Path.is_file, named):
        text = script.read_text(encoding="utf-8", errors="replace")
        words = set(re.findall(r"\w+", " ".join(re.findall(r"(?m)^\s*(?:from|import)\b.*", text))))
        folder = script.resolve().parent
        for word in sorted(words):
            found += [folder / f"{word}.py", *sorted((folder / word).glob("*.py"))]
    return list(map(str, found))


def with_hardware(setup: Setup, progress: Progress) -> Setup:
    """The setup with the GPU and the profiler that measure, if any do.

    Raises:
        UsageError: there is no such GPU or profiler.
        ProfileError: the profiler that is asked for cannot work here.
    """
    name = setup.options.profiler
    measures = isinstance(setup.language, GpuLanguage) and setup.language.measures
    device = choose_device(setup.options, setup.target) if measures else None
    if not measures and name not in ("auto", "model"):
        raise UsageError(
            f"{setup.language.name} programs cannot be measured here (`doctor` says more), yet "
            f"`{name}` is asked for",
            hint="--profiler model",
        )
    application = None
    if device is not None or name not in ("auto", "model"):
        built = setup.options.build_command if isinstance(setup.language, Builder) else None
        application = Application(
            setup.command, setup.project, setup.language, device, build_command=built,
            limit_seconds=setup.options.limit_seconds,
        )  # fmt: skip
    profiler = choose_profiler(name, setup.target, application, progress)
    return replace(setup, device=device, profiler=profiler)


def choose_target(
    options: Options,
    progress: Progress,
    default: str | None = None,
    present: Sequence[Device] | None = None,
) -> Target:
    """The GPU that is asked for, else the one present, else the default."""
    if options.target:
        return load_target(options.target)
    default = default or DEFAULT_TARGET
    fact, hint = "no GPU found", "--target names another"
    present = devices() if present is None else present
    for device in present[options.device or 0 :][:1]:
        if device.target is not None:
            progress.note(f"target {device.target.name}: the GPU present")
            return device.target
        fact, hint = unknown(device)
    progress.note(f"{fact}: target {default}, modelled ({hint})")
    return load_target(default)


def choose_device(
    options: Options, target: Target, present: Sequence[Device] | None = None
) -> Device | None:
    """The GPU that the application runs on; None if all is to be modelled.

    That is so without a GPU, if another one is the target, and with `--profiler model`.

    Raises:
        UsageError: there is no GPU of the index that is asked for.
    """
    present = devices() if present is None else present
    if options.device is not None and options.device >= len(present):
        listed = ", ".join(f"{one.number}: {one.product}" for one in present) or "none"
        raise UsageError(f"there is no GPU {options.device}", hint=f"visible: {listed}")
    if options.profiler == "model" or not present:
        return None
    device = present[options.device or 0]
    return device if device.target and device.target.name == target.name else None


def choose_proposers(options: Options, progress: Progress) -> tuple[Proposer, ...]:
    """The proposers that are asked for; `auto` is `both` if a language model is configured.

    Raises:
        UsageError: there is no such proposer, or it needs a language model and none is configured.
    """
    endpoint = find_endpoint(options.model, options.provider, options.internal, os.environ)
    kind = proposer_kind(options, endpoint)
    if kind == "offline" or endpoint is None:
        if options.proposer == "auto":
            progress.note("no language model is configured: searching offline")
        return (OfflineProposer(),)
    progress.note(f"kernels and results are sent to {endpoint.describe()}")
    formula = _within_budget(load_formula(options.formula), options)
    model = LanguageModelProposer(
        formula,
        Model(endpoint, formula.temperature, formula.budgets.answer_tokens, options.seed),
        progress,
        options.samples,
        tunes=options.proposer != "llm",
        fallback=OfflineProposer() if options.proposer == "llm" else None,
    )
    return (model,) if kind == "llm" else (OfflineProposer(), model)


def proposer_kind(options: Options, endpoint: Endpoint | None) -> str:
    """`offline`, `llm` or `both`.

    Raises:
        UsageError: there is no such proposer, or it needs a language model and none is configured.
    """
    if options.proposer not in PROPOSERS:
        raise UsageError(
            f"there is no proposer `{options.proposer}`", hint=f"one of: {', '.join(PROPOSERS)}"
        )
    if options.proposer != "offline" and endpoint is not None:
        return "both" if options.proposer == "auto" else options.proposer
    needs_model = f"proposer `{options.proposer}`" if options.proposer in ("llm", "both") else None
    if options.formula in FORMULAS[1:]:
        needs_model = f"formula `{options.formula}`"
    if needs_model:
        raise UsageError(
            f"{needs_model} needs a language model",
            hint=f"set {KEY_VARIABLE}, or name an endpoint: -r http://localhost:8000/v1",
        )
    return "offline"


def _within_budget(formula: Formula, options: Options) -> Formula:
    """The formula with the budgets that the options set."""
    asked = {
        "tokens": options.max_tokens,
        "seconds": options.max_seconds,
        "call_seconds": options.call_seconds,
        "answer_tokens": options.answer_tokens,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    return replace(formula, budgets=replace(formula.budgets, **given))


def invocation(
    program: str, arguments: Sequence[str], environment: Mapping[str, str] = os.environ
) -> str:
    """Shell text that starts the same run again: directory, our variables, command line."""
    ours = [f"{name}={shlex.quote(value)}" for name, value in sorted(environment.items())
            if name.startswith(PREFIX)]  # fmt: skip
    line = " ".join((*ours, shlex.join((program, *arguments))))
    return f"cd {shlex.quote(str(Path.cwd()))} && {line}"


LIMIT_SECONDS = 600.0
"""A user's test that takes longer on a CPU is not worth its wait."""
_TIMES, _LEAST_SECONDS = 5, 30.0
"""With a swizzle it may take so many times as long as without, or so long."""


def run_build(setup: Setup) -> None:
    """Runs the user's build command in the project directory, if there is one.

    A language that must build a copy in its own way does so when it records.

    Raises:
        SwizzleError: it failed; with its last lines.
    """
    if setup.options.build_command and not isinstance(setup.language, Builder):
        run_command(setup.options.build_command, setup.project, os.environ)


class UnitTest:
    """Judges edits by `--unittest_command`; without one, or if nothing may be executed, all pass.

    Args:
        setup: of the run.
    """

    def __init__(self, setup: Setup):
        self._setup = setup
        self._limit_seconds: float | None = None
        self._endless: str | None = None

    @property
    def runs(self) -> bool:
        """Whether there is a test to run."""
        return bool(self._setup.options.unittest_command) and self._setup.options.compute != "never"

    def judge(self, attempt: Attempt, edit: Edit) -> Attempt:
        """The attempt, refused if the test fails on it; if it passes, that is noted.

        Raises as `failure`.
        """
        failure = self.failure(edit)
        if failure is not None:
            return replace(attempt, verdict=Verdict("unit test failed", failure))
        options, validation = self._setup.options, attempt.validation
        if validation is None or options.compute == "never":
            return attempt
        return replace(attempt, validation=replace(validation, unit_test=options.unittest_command))

    def check(self, progress: Progress | None = None) -> None:
        """Runs the test on the unmodified project, once; its limit on edits follows from that.

        Raises:
            ValidationError: it does not pass.
        """
        if not self.runs or self._limit_seconds is not None:
            return
        (progress or Silent()).phase("running the unit test on the unmodified project")
        begun = time.monotonic()
        if (without := self._run(None, LIMIT_SECONDS)) is not None:
            raise ValidationError(
                f"without a swizzle too, {without}",
                hint="--unittest_command must launch a kernel of the project and exit with 0",
            )
        most = max(_TIMES * (time.monotonic() - begun), _LEAST_SECONDS)
        self._limit_seconds = min(LIMIT_SECONDS, most)

    def failure(self, edit: Edit) -> str | None:
        """Why the test does not pass on a copy of the project with the edit; None if it does.

        Once it has not ended on one edit, it is run on no other: programs that wait for each other
        hang in most orders. Raises as `check`.
        """
        if not self.runs:
            return None
        if not edit.files:
            return "it is run on a patch, and this swizzle is for `apply` alone"
        self.check()
        return self._endless or self._run(edit, self._limit_seconds or LIMIT_SECONDS)

    def _run(self, edit: Edit | None, limit_seconds: float) -> str | None:
        """Why the test does not pass on a copy with the edit, in so many seconds."""
        setup = self._setup
        command, project = str(setup.options.unittest_command), setup.project
        with temporary_folder("unit-test") as folder:
            place = folder / PLACE
            try:
                words = shlex.split(command)
                carrier = carry(project, words, place, edit)
                for word, moved in zip(words, carrier.command, strict=True):
                    if word != moved:
                        command = command.replace(word, shlex.quote(moved))
                request = replace(
                    setup.record_request(folder / "records" / "capture"),
                    command=("sh", "-c", command), cwd=carrier.cwd, target=None,
                    limit_seconds=limit_seconds, compute="always",
                )  # fmt: skip
                tested = setup.language.record(request)
            except SpliceError as error:
                return f"the unit test cannot run: {error.fact}"
            except CaptureError as error:
                return f"the unit test launched no kernel: {error.fact}"
        if tested.exit_code == 0:
            return None
        if tested.exit_code is None:
            self._endless = f"the unit test took longer than {limit_seconds:.0f} s"
            return self._endless
        return f"the unit test failed with exit code {tested.exit_code}"
