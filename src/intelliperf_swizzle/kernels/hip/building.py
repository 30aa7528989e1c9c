# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The user's project, copied and built so that its executable keeps device bitcode."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.edit.copy import copy_project, moved_command, run_build
from intelliperf_swizzle.errors import BuildError, CaptureError, SwizzleError
from intelliperf_swizzle.kernels.hip.binaries import (
    CodeObject,
    holds_device_code,
    read_code_objects,
)
from intelliperf_swizzle.kernels.hip.toolchain import Toolchain

PROJECT = "project"
"""The copy that is built, in the folder of a recording."""
_MOST_BYTES = 1 << 30
"""Of a file that is looked at."""
_CMAKE_CACHE = "CMakeCache.txt"
_CMAKE_TEXT = (".txt", ".make", ".cmake", ".ninja", ".marks", ".json", ".internal")
_REBUILD = "give the build with -b/--build_command, so that it keeps what is needed"


@dataclass(frozen=True)
class Recipe:
    """How a program is made and started.

    Attributes:
        command: the application.
        project: where it runs, links followed.
        build_command: as the user types it; None = it is built already, with bitcode.
        arch: the GPU of which code objects are taken where there are several.
    """

    command: tuple[str, ...]
    project: str
    build_command: str | None
    arch: str


@dataclass(frozen=True)
class Built:
    """A project that can be recorded.

    Attributes:
        folder: where it is: a copy, or the project where nothing was to be built.
        command: the application, paths into the project turned into the copy's.
        objects: its code objects with bitcode, one GPU's of each translation unit.
        notes: sentences for the report.
    """

    folder: Path
    command: tuple[str, ...]
    objects: tuple[CodeObject, ...]
    notes: tuple[str, ...]


def built(
    recipe: Recipe,
    folder: Path,
    toolchain: Toolchain,
    environment: Mapping[str, str],
    edit: Edit | None = None,
) -> Built:
    """Builds a copy of the project, and reads its device code.

    Args:
        recipe: how.
        folder: for the copy.
        toolchain: that is used where the user has none.
        environment: of the build.
        edit: of files of the project, for the copy.

    Raises:
        SwizzleError: the build failed.
        CaptureError: there is no device code, or none with bitcode.
    """
    command, build_command = recipe.command, recipe.build_command
    place = project = Path(recipe.project)
    if build_command:
        place = folder / PROJECT
        copy_project(project, place, edit)
        _forget_earlier_builds(project, place)
        try:
            run_build(build_command, place, toolchain.build_environment(environment))
        except SwizzleError as error:
            raise _with_hint(error, toolchain) from None
    moved = tuple(moved_command(command, project, place))
    files = list(dict.fromkeys((*_named(moved, place), *(_below(place) if build_command else ()))))
    if not files:
        hint = "hipcc builds one" if build_command else _REBUILD
        raise CaptureError(f"`{' '.join(command)}` names no program with device code", hint=hint)
    objects, without = _read(files, recipe.arch)
    if not objects:
        raise CaptureError(
            f"{', '.join(sorted(without))} was built without device bitcode"
            + (", although the build was asked to keep it" if build_command else ""),
            hint="CCC_OVERRIDE_OPTIONS must reach clang, which must be 18 or newer and not link "
            "device code itself (-fgpu-rdc)"
            if build_command
            else _REBUILD,
        )
    notes = [f"{name} was built without device bitcode" for name in sorted(without)]
    return Built(place, moved, tuple(objects), tuple(notes))


def _with_hint(error: SwizzleError, toolchain: Toolchain) -> SwizzleError:
    """The error of a build that wants what only ROCm has, with a hint that says so."""
    said = "\n".join(error.details)
    header = re.search(r"fatal error: '([^']+)' file not found", said)
    library = re.search(r"cannot find -l(\w+)|unable to find library -l(\w+)", said)
    if toolchain.has_hipcc or not (header or library):
        return error
    if header:
        hint = f"if `{header[1]}` is ROCm's, install ROCm: Triton's wheel has HIP's main headers"
    elif library and "omp" in library.groups():
        hint = f"clang's OpenMP: sudo apt install libomp-{toolchain.version}-dev"
    else:
        hint = "if the library is ROCm's, install ROCm: there are none of its libraries here"
    return SwizzleError(error.fact, hint=hint, details=error.details)


def names_device_code(command: Sequence[str], project: Path) -> bool:
    """Whether a word of a command is a program with a fat binary."""
    return any(True for _ in _named(command, project))


def _named(command: Sequence[str], place: Path) -> Iterator[Path]:
    for word in command:
        file = place / word
        if file.is_file() and holds_device_code(file):
            yield file.resolve()


def _below(place: Path) -> Iterator[Path]:
    """Programs, libraries and files of device code in a folder."""
    for file in sorted(place.rglob("*")):
        if _is_linked(file) and (holds_device_code(file) or file.suffix in (".hsaco", ".co")):
            yield file.resolve()


def _is_linked(file: Path) -> bool:
    """Whether it is no object file and no link."""
    if file.is_symlink() or not file.is_file() or not 64 < file.stat().st_size < _MOST_BYTES:
        return False
    with file.open("rb") as stream:
        head = stream.read(18)
    if head[:4] != b"\x7fELF":
        return file.suffix in (".hsaco", ".co")
    return bool(struct.unpack_from("<H", head, 16)[0] != 1)


def _read(files: Sequence[Path], arch: str) -> tuple[list[CodeObject], set[str]]:
    """One GPU's code objects with bitcode, and the names of files that have some without."""
    objects: list[CodeObject] = []
    without: set[str] = set()
    for file in files:
        found = read_code_objects(file)
        kept = [one for one in found if one.bitcode]
        if len(kept) < len(found):
            without.add(file.name)
        archs = list(dict.fromkeys(one.arch for one in kept))
        chosen = arch if arch in archs else archs[0] if archs else ""
        objects += [one for one in kept if one.arch == chosen]
    return objects, without


def _forget_earlier_builds(project: Path, copy: Path) -> None:
    """Removes what was built without bitcode, so that it is built again; moves CMake's paths."""
    for file in copy.rglob("*"):
        if file.is_file() and not file.is_symlink() and holds_device_code(file):
            try:
                stale = not all(one.bitcode for one in read_code_objects(file))
            except BuildError:
                stale = True
            if stale:
                file.unlink()
    for cache in copy.rglob(_CMAKE_CACHE):
        for file in cache.parent.rglob("*"):
            if file.is_file() and (file.suffix in _CMAKE_TEXT or file.name.startswith("Makefile")):
                text = file.read_bytes()
                file.write_bytes(text.replace(str(project).encode(), str(copy).encode()))
