# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From options to what a run works with: GPU, profiler, formula, language, commands."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from intelliperf_swizzle import disk, edit, formulas, profile, readers
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.frontends import ports
from intelliperf_swizzle.hardware import Device, Target, devices, load_target, targets, unknown
from intelliperf_swizzle.options import DEFAULT_TARGET, PREFIX, Options
from intelliperf_swizzle.profile.installed import choose_profiler
from intelliperf_swizzle.progress import Progress


@dataclass(frozen=True)
class RunContext:
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
    formula: formulas.Formula
    target: Target
    device: Device | None
    profiler: profile.Profiler | None
    language: ports.KernelLanguage
    invocation: str = ""
    share: float = 1.0
    kept: disk.DiskCache = field(default_factory=lambda: disk.DiskCache(None))

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

    def record_request(self, folder: Path) -> ports.RecordRequest:
        """The application, with its records in a folder."""
        return ports.RecordRequest(
            command=self.command, cwd=self.project, folder=folder, target=self.target,
            device=self.device, limit_seconds=self.options.limit_seconds,
            compute=self.options.compute, build_command=self.options.build_command,
        )  # fmt: skip

    def make_ready(self, folder: Path) -> None:
        """Has a process started that tries candidates on the GPU, where the language has one."""
        if self.device is not None and isinstance(self.language, ports.ReplayingLanguage):
            self.language.make_ready(self.record_request(folder), self.device, self.target)

    def build(self) -> None:
        """Runs the user's build command in the project directory, if there is one.

        A language that must build a copy in its own way does so when it records.

        Raises:
            SwizzleError: it failed; with its last lines.
        """
        if self.options.build_command and not isinstance(self.language, ports.Builder):
            edit.run_build(self.options.build_command, self.project, os.environ)

    def prove_command(self, file: str, kernel: str) -> str:
        """Shell text that proves the remap which a kernel's source has already."""
        place = [] if self.project == Path.cwd() else ["-p", str(self.options.project_directory)]
        gpu = ["--target", self.target.name] if self.target.name in targets() else []
        words = ["--source", file, "-k", kernel, *place, *gpu, "--", *self.command]
        return shlex.join(["intelliperf-swizzle", "prove", *words])


def prepare(
    options: Options,
    command: Sequence[str],
    progress: Progress,
    *,
    target: Target | None = None,
    language: ports.KernelLanguage | None = None,
    invocation: str = "",
) -> RunContext:
    """Finds out what the options ask for and what is here.

    Args:
        options: IntelliPerf's and ours.
        command: the application.
        progress: receives what is chosen.
        target: in place of the one that the options name.
        language: of the kernels; by default that of a program with device code, or of one that
            the build command is still to build, else Triton.
        invocation: shell text that repeats the run.

    Raises:
        UsageError: there is no such project directory, formula, target, GPU or profiler.
        ProfileError: the profiler that is asked for cannot work here.
    """
    project = Path(options.project_directory)
    readers.utf8(str(Path.cwd()), "the directory")
    readers.utf8(str(project.absolute()), "the project directory")
    if not project.is_dir():
        raise UsageError(f"there is no directory {project}", hint="-p names the project directory")
    language = language or choose_language(options, command, project, progress)
    kept = not (options.no_cache or isinstance(language, ports.Builder))
    setup = RunContext(
        options=options, command=tuple(command), project=project.resolve(),
        formula=formulas.load_formula(options.formula),
        target=target or choose_target(options, progress, language.default_target), device=None,
        profiler=None, language=language, invocation=invocation,
        kept=disk.user_cache() if kept else disk.DiskCache(None),
    )  # fmt: skip
    return with_hardware(setup, progress)


def choose_language(
    options: Options, command: Sequence[str], project: Path, progress: Progress
) -> ports.KernelLanguage:
    """The language of an application's kernels, by what the command names, else what that imports.

    If that has kernels of several languages, or of none, the default's, unless `--kernel` is a
    kernel of another.
    """
    languages = ports.frontends()
    default = languages[-1]
    builders = [language for language in languages if isinstance(language, ports.Builder)]
    backend = load_target(options.target).backend if options.target else None

    def building() -> list[ports.KernelLanguage]:
        build = str(options.build_command)
        return [builder for builder in builders if builder.builds_program(project, build, backend)]

    def naming(words: Sequence[str]) -> list[ports.KernelLanguage]:
        return [language for language in languages if language.names_program(words, project)]

    first = command[0] if command else ""
    if builders and options.build_command and "/" in first and not (project / first).exists():
        fitting = [builder for builder in builders if backend in (None, builder.backend)]
        return (building() or fitting or builders)[-1]
    named = naming(command) or naming(_imports(command, project))
    both = named[1:] and named[-1] is default
    if named and not both:
        return named[0]
    built = options.build_command and not any("python" in word for word in command)
    if built and not named and (found := building()):  # it is started by a shell, or a script
        return found[0]
    kernel = options.kernel
    owners = [builder for builder in builders if kernel and builder.has_kernel(kernel, project)]
    chosen = owners[0] if owners else default
    if both:
        progress.note(
            f"`{shlex.join(command)}` has kernels of {' and '.join(kind.name for kind in named)}: "
            f"those of {chosen.name} are searched (-k NAME: those of NAME's language)"
        )
    return chosen


def _imports(command: Sequence[str], project: Path) -> list[str]:
    """Python files beside those that a command names, or one level below, which these import."""
    modules = (word.replace(".", "/") + ".py" for word in command)
    named = (project / word for word in (*command, *modules) if word.endswith(".py"))
    found = []
    for script in filter(Path.is_file, named):
        text = script.read_text(encoding="utf-8", errors="replace")
        words = set(re.findall(r"\w+", " ".join(re.findall(r"(?m)^\s*(?:from|import)\b.*", text))))
        folder = script.resolve().parent
        for word in sorted(words):
            found += [folder / f"{word}.py", *sorted((folder / word).glob("*.py"))]
    return list(map(str, found))


def with_hardware(setup: RunContext, progress: Progress) -> RunContext:
    """The setup with the GPU and the profiler that measure, if any do.

    Raises:
        UsageError: there is no such GPU or profiler.
        ProfileError: the profiler that is asked for cannot work here.
    """
    name = setup.options.profiler
    measures = isinstance(setup.language, ports.GpuLanguage) and setup.language.measures
    device = choose_device(setup.options, setup.target) if measures else None
    if not measures and name not in ("auto", "model"):
        raise UsageError(
            f"{setup.language.name} programs cannot be measured with `{name}` (`doctor` says why)",
            hint="--profiler model",
        )
    application = None
    if device is not None or name not in ("auto", "model"):
        built = setup.options.build_command if isinstance(setup.language, ports.Builder) else None
        application = profile.Application(
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
        listed = ", ".join(f"{d.number}: {d.product}" for d in present) or "none"
        raise UsageError(f"there is no GPU {options.device}", hint=f"visible: {listed}")
    if options.profiler == "model" or not present:
        return None
    device = present[options.device or 0]
    return device if device.target and device.target.name == target.name else None


def invocation(
    program: str, arguments: Sequence[str], environment: Mapping[str, str] = os.environ
) -> str:
    """Shell text that starts the same run again: directory, our variables, command line."""
    names = (name for name in sorted(environment) if name.startswith(PREFIX))
    ours = [f"{name}={shlex.quote(environment[name])}" for name in names]
    line = " ".join((*ours, shlex.join((program, *arguments))))
    return f"cd {shlex.quote(str(Path.cwd()))} && {line}"
