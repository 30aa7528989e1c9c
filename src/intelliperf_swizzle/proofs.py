# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Is it a permutation: a swizzle on a grid, or the remap that a kernel of an application has."""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from intelliperf_swizzle import disk, mapping, options, readers
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.formulas import Pattern, load_pattern
from intelliperf_swizzle.frontends.ports import RecordRequest, examiner
from intelliperf_swizzle.hardware import Target, load_target
from intelliperf_swizzle.language import INPUTS, Swizzle, parse
from intelliperf_swizzle.progress import Progress, Silent
from intelliperf_swizzle.records import Launch, Proof, RemapVerdict, Witness

AnySwizzle: TypeAlias = "str | Pattern | Swizzle"
"""A swizzle's text, the name of a pattern of the catalogue, a pattern, or a parsed swizzle."""


AnyTarget: TypeAlias = "str | Target"
"""A GPU's name, the path of its YAML file, or a loaded target."""


def target_of(target: AnyTarget) -> Target:
    """The target itself, or by its name; raises UsageError."""
    return target if isinstance(target, Target) else load_target(target)


def close_swizzle(swizzle: AnySwizzle, parameters: Mapping[str, int]) -> tuple[str, str, set[str]]:
    """A name for messages, the text with the pattern's parameters bound, and their names."""
    text = swizzle if isinstance(swizzle, str) else swizzle.text
    if "=" in text and not isinstance(swizzle, Pattern):
        return "swizzle", text, set()
    pattern = swizzle if isinstance(swizzle, Pattern) else load_pattern(text)
    bound = {name: value for name, value in parameters.items() if name in pattern.parameters}
    return pattern.name, pattern.bind(**bound), set(pattern.parameters)


def refuse_unread(
    name: str, given: Iterable[str], read: Iterable[str], parameters: Iterable[str] = ()
) -> None:
    """Refuses a value that a swizzle has no use for."""
    for unread in sorted({*given} - {*read})[:1]:
        raise UsageError(
            f"`{name}` does not read `{unread}`",
            hint=f"its parameters are: {', '.join(parameters) or 'none'}",
        )


def prove(
    swizzle: AnySwizzle,
    grid: int | Sequence[int],
    *,
    target: AnyTarget = options.DEFAULT_TARGET,
    sizes: bool = True,
    **constants: int,
) -> Proof | Witness:
    """Is a swizzle a permutation of a launch's tiles?

    Args:
        swizzle: its text, a pattern or its name, or a parsed swizzle.
        grid: programs of the launch, along up to three axes.
        target: gives the number of XCDs.
        sizes: also prove it for other sizes, up to some seconds: for the proof's `extent`.
        constants: integer arguments of the kernel, and parameters of the pattern, by name.

    Returns:
        A proof, or a witness against it, whose `failure` is set where the text has no value on
        this grid.

    Raises:
        LanguageError: the text is not a swizzle, or reads a name that is not given.
        UsageError: there is no such pattern or target, or no such grid.
    """
    return prove_with(swizzle, grid, constants, target, sizes)


def prove_with(
    swizzle: AnySwizzle, grid: int | Sequence[int], constants: Mapping[str, int],
    target: AnyTarget = options.DEFAULT_TARGET, sizes: bool = True,
) -> Proof | Witness:  # fmt: skip
    """The same; constants may have the names of our parameters, too."""
    name, text, parameters = close_swizzle(swizzle, constants)
    parsed = parse(text)
    refuse_unread(name, constants, parameters | parsed.names, parameters)
    readers.refuse_reserved(constants, INPUTS)
    own = {constant: value for constant, value in constants.items() if constant not in parameters}
    gpu = target_of(target).inputs
    proof = mapping.prove(parsed, readers.grid_of(grid), own, **gpu)
    if isinstance(proof, Witness) or not sizes:
        return proof
    return mapping.extend(proof, parsed, **gpu)


def prove_source(
    command: Sequence[str],
    source: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    target: AnyTarget = options.DEFAULT_TARGET,
    project_directory: str | os.PathLike[str] = ".",
    limit_seconds: float = 300.0,
    sweep: bool = False,
    no_cache: bool = False,
    progress: Progress | None = None,
) -> tuple[RemapVerdict, ...]:
    """Does a kernel, with the remap that its source has, compute each tile exactly once?

    Args:
        command: the application, as an argument list.
        source: the file that the kernel, or a jit function that it calls, is written in.
        kernel: only this one of the file.
        target: the target GPU.
        project_directory: where the application is started.
        limit_seconds: recording ends at the latest.
        sweep: also look at each launch at other sizes, some seconds each: `RemapVerdict.sizes`.
        no_cache: ignore what earlier runs have proved.
        progress: receives each step.

    Returns:
        A verdict for each distinct launch.

    Raises:
        UsageError: there is no such file, or no kernel of it was launched.
        CaptureError: the application launched no kernel.
    """
    file, folder = Path(source), Path(project_directory)
    if not file.is_file():
        raise UsageError(f"there is no file {file}", hint="--source names the kernel's file")
    if not folder.is_dir():
        raise UsageError(f"there is no directory {folder}", hint="-p names the project directory")
    gpu = target_of(target)
    progress, language = progress or Silent(), examiner()
    kept = disk.DiskCache(None) if no_cache else disk.user_cache()
    with disk.temporary_folder("source") as records:
        progress.phase(f"recording {shlex.join(command)}")
        request = RecordRequest(command, folder, records, gpu, limit_seconds=limit_seconds)
        recorded = language.record(request)
        for note in recorded.cautions:
            progress.note(note)
        launches = launches_of(recorded.launches, file, kernel)
        progress.phase(f"checking {readers.count(len(launches), 'launch', 'launches')}")
        return language.prove_launches(launches, sweep=sweep, kept=kept)


def launches_of(
    launches: Sequence[Launch], source: Path, kernel: str | None = None
) -> tuple[Launch, ...]:
    """The launches of kernels that are written in a file, or call a jit function of it.

    Raises:
        UsageError: there is none.
    """
    file = source.resolve()
    named = [launch for launch in launches if kernel in (None, launch.kernel)]
    if not named:
        found = sorted({launch.kernel for launch in launches})
        raise UsageError(
            f"the application launched no kernel `{kernel}`",
            hint=f"it launched: {', '.join(found)}",
        )
    chosen = tuple(launch for launch in named if file in _files(launch))
    if not chosen:
        found = sorted({str(path) for launch in named for path in _files(launch)})
        raise UsageError(
            f"no kernel that was launched is written in {source}",
            hint=f"they are in: {', '.join(found)}",
        )
    return chosen


def _files(launch: Launch) -> set[Path]:
    return {Path(function.file).resolve() for function in launch.source.functions.values()}
