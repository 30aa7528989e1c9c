# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The TTIR of a launch: as recorded, or compiled from the kernel's text, with no GPU.

For child processes only: Triton is imported without `TRITON_INTERPRET`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triton._C.libtriton import ir
from triton.compiler.compiler import make_backend
from triton.runtime import driver

from intelliperf_swizzle.frontends.triton.ir.driver import StandInDriver
from intelliperf_swizzle.frontends.triton.ir.render import import_functions, render_module
from intelliperf_swizzle.frontends.triton.ir.stand_in_arguments import stand_in_arguments
from intelliperf_swizzle.records import KernelSource, Launch


def ttir_of(launch: Launch, *, edits: Mapping[str, str] = {}, general: bool = False) -> str:
    """The kernel of a launch in Triton's IR, for gfx942 (there host descriptors are pointers).

    40 ms; the first one of a process 100 ms.

    Args:
        launch: gives signature, specialisation, constexprs and options.
        edits: function key -> its other text.
        general: no argument is specialised, so that counts and sizes stay visible.

    Returns:
        What was recorded, if that is what is asked for; else it is compiled from the text.

    Raises:
        Exception: whatever Triton raises of the kernel.
    """
    recorded = getattr(launch, "ttir", None)
    if recorded and not edits and not general:
        return Path(recorded).read_text(encoding="utf-8")
    driver.set_active(StandInDriver())
    with tempfile.TemporaryDirectory() as folder:
        functions = _live_functions(launch.source, folder, edits)
        return _compile(functions, launch, general)


def _live_functions(
    source: KernelSource, folder: str | os.PathLike[str], edits: Mapping[str, str]
) -> Mapping[str, Any]:
    """The jit functions by key; their locations are those of the user's files."""
    functions = import_functions(render_module(source, folder, edits))
    for key, function in functions.items():
        user = source.functions[key]
        line = user.first_line + _lines_ahead(edits.get(key, user.text))
        function.fn.__code__ = function.fn.__code__.replace(co_filename=user.file)  # Triton 3.6
        function.starting_line_number = line - _lines_ahead("".join(function.raw_src))
        function.file_name, function.def_file_line_number = user.file, line  # from 3.9 on
    return functions


def _lines_ahead(text: str) -> int:
    """Lines before the one with `def`, as Triton counts them."""
    lines = text.splitlines()
    return next(i for i, line in enumerate(lines) if line.strip().startswith("def "))


def _compile(functions: Mapping[str, Any], launch: Launch, general: bool) -> str:
    kernel = functions[launch.source.kernel]
    arguments = stand_in_arguments(launch, functions)
    backend = make_backend(driver.active.get_current_target())
    known = vars(backend.parse_options({}))
    options = {k: v for k, v in launch.options.items() if k in known and v is not None}
    kept = [parameter.do_not_specialize for parameter in kernel.params]
    printed: list[str] = []

    def stop_at_ttir(
        key: object, signature: Any, device: object, constexprs: Any, options: Any, attrs: Any,
        warmup: bool,
    ) -> None:  # fmt: skip
        source = kernel.ASTSource(kernel, signature, constexprs, attrs)
        printed.append(_ttir(source, backend, options))

    try:
        for parameter in kernel.params if general else ():
            parameter.do_not_specialize = not parameter.is_constexpr
        kernel.device_caches.clear()
        kernel._do_compile = stop_at_ttir
        kernel.warmup(grid=launch.grid, **arguments, **options)
    finally:
        del kernel._do_compile
        kernel.device_caches.clear()
        for parameter, value in zip(kernel.params, kept, strict=True):
            parameter.do_not_specialize = value
    return printed[0]


def _ttir(source: Any, backend: Any, options: Any) -> str:
    """The module of a kernel after the passes on TTIR."""
    target = driver.active.get_current_target()
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(
        target, options, backend.get_codegen_implementation(options), backend.get_module_map(),
        context,
    )  # fmt: skip
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, source.language)
    return str(stages["ttir"](module, {}).str())
