# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A program that is built and ready to be run on the stand-in; with an edit, too."""

import hashlib
import os
import shutil
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.children import CallError, Ended, call, run
from intelliperf_swizzle.codec import decode, dumps, encode, loads
from intelliperf_swizzle.edit import Edit, moved_command
from intelliperf_swizzle.errors import BuildError, CaptureError, SwizzleError
from intelliperf_swizzle.frontends.cpp.compile import building, gpu_builds
from intelliperf_swizzle.frontends.cpp.compile.building import build
from intelliperf_swizzle.frontends.cpp.compile.extensions import MODULE, read_build_files
from intelliperf_swizzle.frontends.cpp.compile.toolchain import Toolchain
from intelliperf_swizzle.frontends.cpp.record import device_code
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.hardware import Build, Target
from intelliperf_swizzle.records import Launch

_RECIPE = "recipe.json"
_LIMIT_SECONDS = 900.0


def make(
    recipe: building.Recipe,
    folder: Path,
    toolchain: Toolchain,
    environment: Mapping[str, str],
    edit: Edit | None = None,
) -> building.Built:
    """Builds a program in a folder and prepares its device code there.

    Raises:
        SwizzleError: as of `built`.
        CaptureError: its device code cannot be read.
    """
    (folder / _RECIPE).write_text(dumps(encode(recipe)), "utf-8")
    (folder / device_code.STANDIN).symlink_to(toolchain.root / "lib" / toolchain.runtime)
    program = build(recipe, folder, toolchain, environment, edit)
    moved = program.folder, Path(recipe.project)
    asked = device_code.PreparationRequest(
        program.objects, program.others, folder, moved, toolchain.clang
    )
    try:  # LLVM may crash on it
        function = "intelliperf_swizzle.frontends.cpp.record.device_code:prepare"
        call(function, asked, limit_seconds=_LIMIT_SECONDS)
    except CallError as error:
        raise CaptureError(
            f"reading the device code {error.how}", details=error.ended.last_lines(20)
        ) from None
    return program


def recipe_of(recording: Path) -> building.Recipe:
    """How the program of a recording was built."""
    return decode(building.Recipe, loads((recording / _RECIPE).read_bytes()))


_MAKING = threading.Lock()
"""A program is built while it is asked for a second time."""


def make_edited(recording: Path, edit: Edit) -> Path:
    """The folder of the recorded program with an edit, built and prepared; once for each edit.

    Raises:
        BuildError: it does not compile.
    """
    with _MAKING:
        digest = hashlib.blake2b(edit.diff.encode(), digest_size=8).hexdigest()
        folder = recording / f"edited-{digest}"
        if (folder / "kernels.txt").is_file():
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            recipe = recipe_of(recording)
            make(recipe, folder, recipe.toolchain.find(os.environ), os.environ, edit)
        except SwizzleError as error:
            fact = "the swizzled program does not build"
            raise building.as_build_error(error, fact, folder / building.PROJECT) from None
        finally:
            shutil.rmtree(folder / building.PROJECT, ignore_errors=True)
        return folder


def run_again(recording: Path, place: Path, limit_seconds: float) -> Ended:
    """Runs the recorded program on the stand-in, which compares kernels as a folder says."""
    for name in ("kernels.txt", "globals.txt", "kernels.so"):
        (place / name).symlink_to(recording / name)
    (place / "contents").mkdir()
    recipe = recipe_of(recording)
    project = recording / building.PROJECT
    environment = recipe.toolchain.find(os.environ).run_environment(os.environ) | {
        "SWIZZLE_HIP_FOLDER": str(place),
        "SWIZZLE_HIP_COMPARE": str(place),
    }
    command = moved_command(recipe.command, Path(recipe.project), project)
    return run(command, cwd=project, environment=environment, limit_seconds=limit_seconds)


def read_build(launch: Launch, target: Target, edit: Edit | None = None) -> Build:
    """What a kernel takes of a CU by its metadata, with the edit if there is one.

    Raises:
        BuildError: the edited program does not build, or has another kernel.
    """
    code = device_code.read_kernel(launch).code
    if edit is not None:
        kernels = device_code.read_kernels(make_edited(device_code.recording_of(launch), edit))
        if code.symbol not in kernels:
            raise BuildError(f"the swizzled program has no `{launch.kernel}` of this kind")
        code = kernels[code.symbol][1].code
    x, y, z = launch.options["block"]
    return Build(
        registers=code.registers,
        scalar_registers=code.scalar_registers,
        stack_bytes=code.stack_bytes,
        lds_bytes=code.lds_bytes + launch.options["shared"],
        num_warps=-(-x * y * z // target.warp_size),
        seconds=0.0,
    )


# --- extensions of PyTorch ------------------------------------------------------------------------


def make_on_gpu(
    request: RecordRequest, recipe: building.Recipe, folder: Path
) -> tuple[building.Built, Mapping[str, str]]:
    """Builds an extension for the GPU and for its bitcode; what to run, and its environment.

    Raises:
        SwizzleError: it does not build.
        CaptureError: there is no GPU to run it on, or nothing that could be patched.
    """
    if request.device is None:
        raise CaptureError(
            f"`{' '.join(request.command)}` builds a C++ extension of PyTorch ({MODULE}), which is "
            "recorded on a GPU only: without one PyTorch itself launches no kernel",
            hint=f"run it where the target GPU is, with {recipe.toolchain.name_of_compiler} and "
            "g++ on the path, and without --profiler model",
        )
    toolchain = recipe.toolchain.find(request.environment)
    recipe = replace(recipe, build_files={})
    environment = gpu_builds.gpu_environment(recipe, request.variables)
    program = gpu_builds.build_program(recipe, folder / gpu_builds.GPU_BUILDS, environment)
    build = recipe.build_command or " ".join(request.command)
    known = read_build_files(program.folder, Path(recipe.project), build)
    recipe = replace(recipe, build_files=known)
    built = make(recipe, folder, toolchain, request.environment)
    device_code.refuse_shared_names(folder)
    variables = {**environment, **program.variables, "SWIZZLE_TRIAL_FOLDER": str(folder)}
    ready = replace(built, folder=program.folder, command=program.command)
    return ready, gpu_builds.preload(recipe.language, folder, variables)
