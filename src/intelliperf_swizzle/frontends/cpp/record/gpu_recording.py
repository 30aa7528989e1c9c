# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""An extension of PyTorch, made ready to be recorded: on a GPU, as PyTorch has no stand-in.

It is built by the vendor's compiler, then its CUDA sources once more for their bitcode. The
application runs with the library preloaded that writes launches down (`runtime/trial_record.h`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from intelliperf_swizzle.errors import CaptureError
from intelliperf_swizzle.frontends.cpp.compile.building import Built, Recipe
from intelliperf_swizzle.frontends.cpp.compile.extensions import MODULE, read_build_files
from intelliperf_swizzle.frontends.cpp.compile.gpu_builds import (
    GPU_BUILDS,
    build_program,
    build_shim,
    gpu_environment,
    preloaded,
)
from intelliperf_swizzle.frontends.cpp.record.device_code import (
    contents_of,
    read_kernels,
    refuse_shared_names,
)
from intelliperf_swizzle.frontends.cpp.record.preparing import make

if TYPE_CHECKING:
    from intelliperf_swizzle.frontends.ports import RecordRequest


def make_on_gpu(
    request: RecordRequest, recipe: Recipe, folder: Path
) -> tuple[Built, Mapping[str, str]]:
    """Builds an extension for the GPU and for its bitcode; what to run, and its environment.

    Raises:
        SwizzleError: it does not build.
        CaptureError: there is no GPU to run it on, or nothing that could be patched.
    """
    if request.device is None:
        raise CaptureError(
            f"`{' '.join(request.command)}` builds a C++ extension of PyTorch ({MODULE}), which is "
            "recorded on a GPU only: without one PyTorch itself launches no kernel",
            hint=f"run it where the target GPU is, with {recipe.flavour.compiler} and g++ on the "
            "path, and without --profiler model",
        )
    toolchain = recipe.flavour.find_toolchain(request.environment)
    recipe = replace(recipe, build_files={})
    environment = gpu_environment(recipe, request.variables)
    program = build_program(recipe, folder / GPU_BUILDS, environment)
    build = recipe.build_command or " ".join(request.command)
    known = read_build_files(program.folder, Path(recipe.project), build)
    recipe = replace(recipe, build_files=known)
    built = make(recipe, folder, toolchain, request.environment)
    refuse_shared_names(folder)
    (folder / "order.txt").write_text("\n".join(_order(folder)), "utf-8")
    shim = build_shim(recipe.language, folder, environment)
    variables = {**environment, **program.variables, "SWIZZLE_TRIAL_FOLDER": str(folder)}
    ready = replace(built, folder=program.folder, command=program.command)
    return ready, preloaded(shim, variables)


def _order(folder: Path) -> list[str]:
    """Which kernels' launches are to be written down, a line each, and all device variables."""
    lines: list[str] = []
    variables: dict[str, tuple[int, int]] = {}
    for symbol, (_, kernel) in read_kernels(folder).items():
        if kernel.source is not None:
            sizes = " ".join(str(one.bytes) for one in kernel.code.parameters)
            plain = kernel.source.entry.name
            lines.append(f"kernel {symbol} {plain} {contents_of(kernel.slice)} {sizes}")
        variables |= kernel.variables
    return [*lines, *(f"variable {name} {at} {size}" for name, (at, size) in variables.items()), ""]
