# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The TTIR of a launch, compiled from the kernel's text with no GPU.

For child processes only: Triton is imported without `TRITON_INTERPRET`.
"""

import ast
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import triton.compiler.code_generator  # noqa: F401 - else each fork of this process does
import triton.language as tl
from triton._C.libtriton import ir, passes
from triton.backends.amd.compiler import HIPBackend
from triton.compiler.compiler import make_backend
from triton.runtime import driver

from intelliperf_swizzle.frontends.triton.ir import render
from intelliperf_swizzle.frontends.triton.ir.driver import StandInDriver
from intelliperf_swizzle.frontends.triton.ir.parse import MARK
from intelliperf_swizzle.records import KernelSource, Launch, TensorArgument

HIPBackend._torch_available = False  # no argument is torch's, and to import it takes seconds


def ttir_of(
    launch: Launch,
    *,
    edits: Mapping[str, str] = {},
    general: bool = False,
    raw: bool = False,
    inline: bool = False,
    marks: Mapping[int, Sequence[str]] = {},
) -> str:
    """The kernel of a launch in Triton's IR, for gfx942 (there host descriptors are pointers).

    40 ms; the first one of a process 100 ms.

    Args:
        launch: gives signature, specialisation, constexprs and options.
        edits: function key -> its other text.
        general: no argument is specialised, so that counts and sizes stay visible.
        raw: before any pass, so that each operation of the text is in its place.
        inline: `raw`, but for calls.
        marks: line of the kernel's text -> lists of expressions, `"tile, count"`; for each, a
            `tt.print` of `MARK` with their values stands before the statement there.

    Raises:
        Exception: whatever Triton raises of the kernel.
    """
    driver.set_active(StandInDriver())
    with tempfile.TemporaryDirectory() as folder:
        functions = _live_functions(launch.source, folder, edits)
        kernel = functions[launch.source.kernel]
        ahead = _lines_ahead(edits.get(launch.source.kernel, launch.source.entry.text))
        kernel.parse = partial(_mark, kernel.parse, marks, ahead)
        try:
            given, options = _bind(functions, launch, general)
            places = [(text.file, text.first_line) for text in launch.source.functions.values()]
            alike = repr((id(kernel), places, marks, given, options.hash(), raw, inline))
            if alike not in _compiled:  # many launches specialise alike
                signature, constexprs, attrs = given
                source = kernel.ASTSource(kernel, signature, constexprs, attrs)
                _compiled[alike] = _ttir(source, options, raw, inline)
            return _compiled[alike]
        finally:
            del kernel.parse


def _live_functions(
    source: KernelSource, folder: str | os.PathLike[str], edits: Mapping[str, str]
) -> Mapping[str, Any]:
    """The jit functions by key; their locations are those of the user's files."""
    functions = render.live_functions(source, folder, edits)
    for key, function in functions.items():
        user = source.functions[key]
        line = user.first_line + _lines_ahead(edits.get(key, user.text))
        function.fn.__code__ = function.fn.__code__.replace(co_filename=user.file)  # Triton 3.6
        function.starting_line_number = line - _lines_ahead("".join(function.raw_src))
        function.file_name, function.def_file_line_number = user.file, line  # from 3.9 on
    return functions


def _mark(
    parse: Callable[[], ast.Module], marks: Mapping[int, Sequence[str]], ahead: int
) -> ast.Module:
    """The syntax tree of a kernel with prints in it."""
    tree = parse()
    for body in [*render.bodies(tree)]:
        firsts = {statement.lineno: n for n, statement in reversed([*enumerate(body)])}
        for line, place in firsts.items():
            for values in reversed(marks.get(line + ahead, ())):
                print_ = ast.parse(f"_tl.device_print({MARK!r}, {values})").body[0]
                for node in ast.walk(print_):
                    ast.copy_location(node, body[place])
                body.insert(place, print_)
    return tree


def _lines_ahead(text: str) -> int:
    """Lines before the one with `def`, as Triton counts them."""
    return next(i for i, line in enumerate(text.splitlines()) if line.strip().startswith("def "))


_compiled: dict[str, str] = {}  # what was compiled in this process


def _bind(functions: Mapping[str, Any], launch: Launch, general: bool) -> tuple[Any, Any]:
    """Signature, constexprs and attributes of a launch's arguments, and its options."""
    kernel, bound = functions[launch.source.kernel], []
    kept = [parameter.do_not_specialize for parameter in kernel.params]
    kernel._do_compile = lambda key, signature, device, constexprs, options, attrs, warmup: (
        bound.append(((signature, constexprs, attrs), options))
    )
    try:
        for parameter in kernel.params if general else ():
            parameter.do_not_specialize = not parameter.is_constexpr
        kernel.device_caches.clear()
        warm_up(launch, functions)
    finally:
        del kernel._do_compile
        kernel.device_caches.clear()
        for parameter, value in zip(kernel.params, kept, strict=True):
            parameter.do_not_specialize = value
    return bound[0]


def _ttir(source: Any, options: Any, raw: bool, inline: bool) -> str:
    """The module of a kernel, after the passes on TTIR or before."""
    target = driver.active.get_current_target()
    backend = make_backend(target)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(
        target, options, backend.get_codegen_implementation(options), backend.get_module_map(),
        context,
    )  # fmt: skip
    if inline:
        manager = ir.pass_manager(context)
        passes.common.add_inliner(manager)
        manager.run(module, "inline")
    if raw:
        return str(module.str())
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, source.language)
    return str(stages["ttir"](module, {}).str())


# --- the arguments of a launch, without memory --------------------------------------------------


class ElementType(str):
    """A dtype by its Triton name, which is all that Triton wants of a tensor's dtype here."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(tl.dtype(str(self)).primitive_bitwidth) // 8


class Tensor:
    """A tensor argument without memory: what Triton asks of one to choose a kernel."""

    def __init__(self, argument: TensorArgument, launch: Launch):
        self.dtype = ElementType(argument.dtype)
        self.shape = argument.shape
        self._strides = argument.strides
        self._offset_bytes = argument.offset_bytes
        self._storage_bytes = launch.storages[argument.storage].bytes

    def stride(self, axis: int | None = None) -> int | tuple[int, ...]:
        """Strides in elements."""
        return self._strides if axis is None else self._strides[axis]

    def data_ptr(self) -> int:
        """An address with the alignment of the real one (allocations are aligned to 256 bytes)."""
        return self._offset_bytes

    def ptr_range(self) -> int:
        """Bytes behind the address; below 2**31 an AMD GPU can use 32-bit offsets."""
        return self._storage_bytes


def warm_up(launch: Launch, functions: Mapping[str, Any]) -> Any:
    """Has Triton compile the kernel of a launch for the active target.

    Launch options that its backend does not know (`waves_per_eu` on an NVIDIA GPU) are left out.

    Args:
        launch: as recorded.
        functions: the live jit functions by key.
    """
    arguments = render.live_arguments(launch, functions, lambda argument: Tensor(argument, launch))
    known = vars(make_backend(driver.active.get_current_target()).parse_options({}))
    options = {k: v for k, v in launch.options.items() if k in known and v is not None}
    return functions[launch.source.kernel].warmup(grid=launch.grid, **arguments, **options)
