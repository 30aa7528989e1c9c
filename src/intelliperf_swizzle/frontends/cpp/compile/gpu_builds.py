# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The user's project, copied and built by the vendor's own compiler, for runs on a GPU."""

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from intelliperf_swizzle import children
from intelliperf_swizzle.disk import DiskCache, cache_folder
from intelliperf_swizzle.edit import Edit, copy_project, moved_command, run_build
from intelliperf_swizzle.errors import BuildError, CaptureError, SwizzleError, ValidationError
from intelliperf_swizzle.frontends.cpp.code.binaries import read_fat_binaries
from intelliperf_swizzle.frontends.cpp.compile import building, extensions
from intelliperf_swizzle.frontends.cpp.compile.toolchain import RUNTIME, digest_of

LINKER = RUNTIME / "linker"
"""Folder of a linker that takes the shared CUDA runtime for the static one, which is nvcc's and
CMake's default: another library can stand before that one alone."""
GPU_BUILDS = "gpu"
"""Folder of a recording in which programs are built for a GPU."""
_SHIM_FLAGS = (
    "-std=gnu++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-z,initfirst",
)  # fmt: skip


@dataclass(frozen=True)
class GpuProgram:
    """A program built for a real GPU.

    Attributes:
        folder: where it runs.
        command: the application, paths into the project turned into the copy's.
        code: files of device code that a driver can load.
        variables: that it runs with besides the environment of its build.
    """

    folder: Path
    command: tuple[str, ...]
    code: tuple[Path, ...]
    variables: Mapping[str, str]


def preload(language: str, folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """An environment with our library before the runtime, compiled once from the source shipped.

    Args:
        language: `CUDA` or `HIP`.
        folder: where the library lies while it is used.
        environment: of the program.

    Raises:
        ValidationError: it does not compile.
    """
    library = folder / "trial_shim.so"
    compiler = shutil.which("g++", path=environment.get("PATH")) or "g++"
    command = [compiler, *_SHIM_FLAGS, *["-DFOR_HIP"] * (language == "HIP")]

    def compiled() -> bytes:
        words = [*command, str(RUNTIME / "trial_shim.cpp"), "-ldl", "-o", str(library)]
        built = children.run(words, environment=environment)
        if built.exit_code != 0:
            raise ValidationError(
                "the library that is preloaded into the program does not compile with g++",
                details=tuple(built.output.splitlines()[:20]),
            )
        return library.read_bytes()

    kept = DiskCache(cache_folder(environment) / "preloaded")
    decided_by = digest_of(" ".join(command), Path())
    library.write_bytes(kept.get_or_compute("trial-shim", decided_by, compiled))
    libraries = (str(library), environment.get("LD_PRELOAD"))
    return {**environment, "LD_PRELOAD": ":".join(filter(None, libraries))}


def builds_for_gpu(language: str, environment: Mapping[str, str]) -> bool:
    """Whether the vendor's compiler of a language and g++ are on the path."""
    names = ("nvcc" if language == "CUDA" else "hipcc", "g++")
    return all(shutil.which(name, path=environment.get("PATH")) for name in names)


def gpu_environment(recipe: building.Recipe, environment: Mapping[str, str]) -> dict[str, str]:
    """The user's environment for a build and a run with the vendor's own software."""
    if recipe.language != "CUDA" or recipe.build_files is not None:  # PyTorch brings libraries
        return dict(environment)
    search = (environment.get("LD_LIBRARY_PATH"), *_library_folders(environment))
    programs = (str(LINKER), environment.get("COMPILER_PATH"))
    return {
        **environment,
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, search)),
        "COMPILER_PATH": os.pathsep.join(filter(None, programs)),
        "SWIZZLE_LINKER": _output(["g++", "-print-prog-name=ld"], environment).strip(),
    }


def _library_folders(environment: Mapping[str, str]) -> list[str]:
    """Where nvcc links libraries from, which is not always where they are looked for later."""
    printed = _output(["nvcc", "--dryrun", "-x", "cu", os.devnull, "-o", "a.out"], environment)
    named = dict.fromkeys(re.findall(r'"-L([^"]+)"', printed))
    return [str(Path(folder).resolve()) for folder in named if not folder.endswith("/stubs")]


def _output(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """What a program of the build's environment prints; empty if there is none."""
    try:
        return children.run(command, environment=environment).output
    except OSError:
        return ""


def build_program(
    recipe: building.Recipe, folder: Path, environment: Mapping[str, str], edit: Edit | None = None
) -> GpuProgram:
    """Builds a copy of the project and takes out its device code; once for each edit.

    Args:
        recipe: how the program that was recorded is made.
        folder: for all builds.
        environment: as of `gpu_environment`.
        edit: of files of the project.

    Raises:
        BuildError: it does not build, or has no device code.
    """
    made_of = f"{recipe} {edit.diff if edit else None}".encode()
    folder = folder / f"built-{hashlib.blake2b(made_of, digest_size=8).hexdigest()}"
    place = folder / building.PROJECT
    command = tuple(moved_command(recipe.command, Path(recipe.project), place))
    variables: dict[str, str] = {}
    if recipe.build_files is not None:
        variables = extensions.run_variables(environment, Path(recipe.project), place)
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _build(recipe, command, folder, {**environment, **variables}, edit)
            (folder / "done").touch()
        finally:
            if edit:
                shutil.rmtree(place, ignore_errors=True)
    return GpuProgram(place, command, tuple(sorted(folder.glob("*.code"))), variables)


def _build(
    recipe: building.Recipe,
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    edit: Edit | None,
) -> None:
    project, place = Path(recipe.project), folder / building.PROJECT
    folder.mkdir(parents=True)
    if not recipe.builds:
        raise BuildError(
            f"a {recipe.language} program is compared on a GPU only if it can be built",
            hint="give the build with -b/--build_command",
        )
    copy_project(project, place, edit)
    if recipe.build_files is not None:
        files = _build_extension(recipe, command, folder, environment, parts=edit is not None)
    else:
        build_copy(str(recipe.build_command), project, place, environment)
        files = building.device_files(command, place, recipe.language, below=True)
    code = [binary for file in files for binary in read_fat_binaries(file)]
    if not code:
        raise BuildError(f"the build for the GPU has left no device code in {place}")
    for number, binary in enumerate(code):
        (folder / f"{number}.code").write_bytes(binary)


def _build_extension(
    recipe: building.Recipe,
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    parts: bool,
) -> list[Path]:
    """Builds an extension of PyTorch, or parts of it: the objects of its CUDA sources.

    An application that builds it itself runs up to the first launch of a kernel of it.

    Raises:
        BuildError: a build fails.
        CaptureError: the application fails, or builds no source of the project.
    """
    place, build = folder / building.PROJECT, recipe.build_command or shlex.join(command)
    if parts:
        try:
            known = recipe.build_files or {}
            return extensions.compile_cuda(known, place, Path(recipe.project), environment)
        except SwizzleError as error:
            raise building.as_build_error(error, "the extension does not build", place) from None
    if recipe.build_command is not None:
        build_copy(build, Path(recipe.project), place, environment)
    else:
        stop = {**environment, "SWIZZLE_TRIAL_STOP": str(place)}
        try:
            run_build(build, place, preload(recipe.language, folder, stop))
        except SwizzleError as error:
            failure = building.as_build_error(error, f"`{build}` fails", place)
            raise CaptureError(failure.fact, details=failure.details) from None
    files = extensions.read_build_files(place, Path(recipe.project), build)
    return extensions.objects(files, place)


def build_copy(command: str, project: Path, copy: Path, environment: Mapping[str, str]) -> None:
    """Builds a copy of a project and compiles all its device code again; as of `frontends.ports`.

    Raises:
        BuildError: it does not build.
    """
    for file in building.built_files(copy):
        file.unlink()
    building.move_cmake(project, copy, None)
    try:
        run_build(command, copy, environment)
    except SwizzleError as error:
        fact = f"`{command}` fails with the compiler for the GPU"
        raise building.as_build_error(error, fact, copy) from None
