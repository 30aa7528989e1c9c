# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The faults of Triton's interpreter, fixed in place (Triton 3.6 to 3.9).

Each function below fixes one fault and says which. `fix_interpreter` applies them all; it is meant
for the process of the user's application too, before that imports Triton's language.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.frontends.triton.ir.driver import (
    StandInCompiled,
    StandInDriver,
    do_bench_once_of,
)

if TYPE_CHECKING:
    import triton.language as tl
    from triton.runtime.interpreter import (
        GridExecutor,
        InterpretedFunction,
        InterpreterBuilder,
        TensorHandle,
    )

Span: TypeAlias = tuple[int, int]
"""First address of some memory, and the address after its last byte."""

_fixed = False


def fix_interpreter(stand_in: StandInDriver | None = None) -> None:
    """Fix the interpreter once; later calls do nothing.

    Args:
        stand_in: answers to host code that asks for the GPU.

    Raises:
        RuntimeError: `TRITON_INTERPRET=1` was not set before Triton was imported.
    """
    global _fixed
    if _fixed:
        return
    if os.environ.get("TRITON_INTERPRET") != "1":
        raise RuntimeError("TRITON_INTERPRET=1 must be set before Triton is imported")
    import triton.testing
    from triton.runtime import driver, interpreter

    driver.set_active(stand_in or StandInDriver())
    triton.testing.do_bench = do_bench_once_of()
    triton.testing.do_bench_cudagraph = do_bench_once_of()
    _fix_scalar_index()
    _fix_overflow_checks(interpreter)
    _fix_bfloat16_dot(interpreter)
    _fix_splat(interpreter)
    _fix_repeated_patching(interpreter)
    _fix_libdevice(interpreter)
    _fix_launch(interpreter)
    _fixed = True


def _fix_scalar_index() -> None:
    """Triton 3.6 turns 1-element arrays into int by a conversion that NumPy 2.4 removed."""
    from triton.runtime import interpreter

    original = interpreter._patch_lang_tensor

    def patch_lang_tensor(tensor: type[tl.tensor], scope: interpreter._LangPatchScope) -> None:
        original(tensor, scope)
        scope.set_attr(
            tensor, "__index__", lambda self: int(np.asarray(self.handle.data).reshape(-1)[0])
        )

    interpreter._patch_lang_tensor = patch_lang_tensor


def _fix_overflow_checks(interpreter: ModuleType) -> None:
    """Every integer operation is checked for overflow, which a GPU does not do."""
    builder = interpreter.interpreter_builder
    builder.options = dataclasses.replace(builder.options, sanitize_overflow=False)


def _fix_bfloat16_dot(interpreter: ModuleType) -> None:
    """`tl.dot` multiplies the bit patterns of bfloat16 as if they were integers."""
    original = interpreter.InterpreterBuilder.create_dot

    def create_dot(
        self: InterpreterBuilder,
        a: TensorHandle,
        b: TensorHandle,
        d: TensorHandle,
        *options: object,
    ) -> TensorHandle:
        return original(self, widen(a), widen(b), d, *options)

    def widen(operand: TensorHandle) -> TensorHandle:
        import triton.language as tl

        if operand.dtype.scalar != tl.bfloat16:
            return operand
        return interpreter.TensorHandle(bfloat16_as_float32(operand.data), tl.float32)

    interpreter.InterpreterBuilder.create_dot = create_dot


def bfloat16_as_float32(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """The values of bfloat16 numbers that are held as their bit patterns."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _fix_splat(interpreter: ModuleType) -> None:
    """A comparison of scalars that is spread over a block becomes integers, and is no mask then."""

    def create_splat(self: InterpreterBuilder, ret_ty: tl.dtype, arg: TensorHandle) -> TensorHandle:
        value = np.asarray(arg.data)
        spread = np.full(ret_ty.shape, value.reshape(-1)[0], dtype=value.dtype)
        return interpreter.TensorHandle(spread, arg.dtype.scalar)

    interpreter.InterpreterBuilder.create_splat = create_splat


def _fix_repeated_patching(interpreter: ModuleType) -> None:
    """Each call of a jit function patches the whole language again, half of the run time."""
    language_modules: dict[FunctionType, list[ModuleType]] = {}

    def call(self: InterpretedFunction, *args: object, **kwargs: object) -> object:
        import triton.language as tl

        if self.fn not in language_modules:
            forward_builtins(self.fn.__globals__)
            language_modules[self.fn] = [
                module for module in (tl, tl.core) if module in self.fn.__globals__.values()
            ]
        if any(tl.core.is_builtin(module.load) for module in language_modules[self.fn]):
            interpreter._patch_lang(self.fn)
        try:
            return self.rewrite()(*args, **kwargs)
        except interpreter.InterpreterError:
            raise
        except Exception as error:
            raise interpreter.InterpreterError(repr(error)) from error

    interpreter.InterpretedFunction.__call__ = call


def forward_builtins(namespace: dict[str, object]) -> None:
    """Builtins imported by name (`from triton.language import arange`) escape the patching."""
    import triton.language as tl

    for name, value in list(namespace.items()):
        if inspect.isfunction(value) and tl.core.is_builtin(value):
            namespace[name] = _forwarder(value)


def _forwarder(builtin: FunctionType) -> Callable[..., object]:
    @functools.wraps(builtin, updated=())
    def forwarder(*args: object, **kwargs: object) -> object:
        patched = getattr(sys.modules[builtin.__module__], builtin.__name__)
        return patched(*args, **kwargs)

    return forwarder


LIBDEVICE: Mapping[str, Callable[..., npt.NDArray[np.generic]]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "div_rn": np.divide,
    "exp": np.exp,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fast_cosf": np.cos,
    "fast_dividef": np.divide,
    "fast_expf": np.exp,
    "fast_logf": np.log,
    "fast_powf": np.power,
    "fast_sinf": np.sin,
    "fast_tanhf": np.tanh,
    "floor": np.floor,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "isfinited": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "llrint": np.rint,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "nearbyint": np.rint,
    "pow": np.power,
    "rint": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "signbit": np.signbit,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
"""The functions of libdevice that NumPy has; results may differ from a GPU's in the last bits."""


def _fix_libdevice(interpreter: ModuleType) -> None:
    """The functions of `triton.language.extra.libdevice` are empty under the interpreter."""
    from triton.language.extra import libdevice

    for name, stub in inspect.getmembers(libdevice, inspect.isfunction):
        setattr(libdevice, name, _libdevice_function(interpreter, name, stub))


def _libdevice_function(
    interpreter: ModuleType, name: str, stub: FunctionType
) -> Callable[..., tl.tensor]:
    def call(*operands: tl.tensor | float, _semantic: object = None, **_: object) -> tl.tensor:
        import triton.language as tl

        semantic = interpreter.interpreter_semantic
        tensors = [semantic.to_tensor(operand) for operand in operands]
        shaped = max(tensors, key=lambda tensor: len(tensor.shape))
        tensors = [
            tensor
            if tensor.shape == shaped.shape
            else semantic.broadcast_impl_value(tensor, shaped)[0]
            for tensor in tensors
        ]
        builder = interpreter.interpreter_builder
        handle = builder.create_libdevice(name, [tensor.handle for tensor in tensors])
        shape = list(shaped.shape)
        return tl.tensor(handle, tl.block_type(handle.dtype, shape) if shape else handle.dtype)

    def create_libdevice(
        self: InterpreterBuilder, name: str, operands: list[TensorHandle]
    ) -> TensorHandle:
        function = LIBDEVICE.get(name)
        if function is None:
            raise NotImplementedError(f"libdevice.{name} is not known to the interpreter")
        handle = operands[0]
        values = function(*(operand.data for operand in operands))
        return interpreter.TensorHandle(values.astype(handle.data.dtype), handle.dtype.scalar)

    interpreter.InterpreterBuilder.create_libdevice = create_libdevice
    call.__name__, call.__qualname__, call.__module__ = name, name, stub.__module__
    return call


def _fix_launch(interpreter: ModuleType) -> None:
    """A launch takes no list as grid, returns None, and hangs where a program waits for another."""

    def call(self: GridExecutor, *args_dev: object, **kwargs: object) -> StandInCompiled:
        names = inspect.getfullargspec(self.fn)
        kwargs = {k: v for k, v in kwargs.items() if k in names.args or k in names.kwonlyargs}
        args_host, kwargs_host = self._init_args_hst(args_dev, kwargs)
        for hook in self.pre_run_hooks:
            hook(*args_host, **kwargs_host)
        _run_launch(interpreter, self, inspect.getcallargs(self.fn, *args_host, **kwargs_host))
        self._restore_args_dev(args_dev, args_host, kwargs, kwargs_host)
        return StandInCompiled()

    interpreter.GridExecutor.__call__ = call


def _run_launch(
    interpreter: ModuleType, executor: GridExecutor, bound: Mapping[str, object]
) -> None:
    from intelliperf_swizzle.frontends.triton.interpreter.sequential import (
        patched_language,
        run_programs,
    )

    forward_builtins(executor.fn.__globals__)
    with patched_language():
        arguments = {
            name: value if name in executor.constexprs else interpreter._implicit_cvt(value)
            for name, value in bound.items()
        }
        grid = executor.grid(arguments) if callable(executor.grid) else executor.grid
        extents = [int(extent) for extent in grid]
        if not 1 <= len(extents) <= 3:
            raise ValueError(f"a grid has 1 to 3 dimensions, not {len(extents)}")
        x, y, z = (*extents, 1, 1)[:3]
        try:
            run_programs(executor.fn, arguments, (x, y, z), space=HostMemory(bound))
        except interpreter.InterpreterError:
            raise
        except Exception as error:
            raise interpreter.InterpreterError(repr(error)) from error


@contextmanager
def reaching(spans: Iterable[Span]) -> Iterator[None]:
    """Launches may touch this memory, too: what arrays of pointers lead to."""
    HostMemory.further = tuple(spans)
    try:
        yield
    finally:
        HostMemory.further = ()


class HostMemory:
    """The storages of a launch's torch tensors: addresses are the host's own.

    Lanes outside are cut off, because the allocator would abort the process; but if no argument is
    a tensor, nothing is known to be outside.
    """

    further: ClassVar[tuple[Span, ...]] = ()

    def __init__(self, arguments: Mapping[str, object]) -> None:
        spans = sorted({*_spans(tuple(arguments.values())), *self.further})
        self._begin = np.array([begin for begin, _ in spans], np.uint64)
        self._end = np.array([end for _, end in spans], np.uint64)

    def locate(
        self, addresses: npt.NDArray[np.uint64], mask: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
        """The addresses as they are, and which active lanes lie inside a storage."""
        if not len(self._begin):
            return addresses, mask
        places = np.searchsorted(self._begin, addresses, side="right") - 1
        inside = (places >= 0) & (addresses < self._end[places])
        return addresses, (mask if inside.all() else mask & inside)


def _spans(value: Any) -> list[Span]:
    if isinstance(value, (tuple, list)):
        return [span for item in value for span in _spans(item)]
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        return _spans(value.base)
    if not hasattr(value, "data_ptr"):
        return []
    tensor = value.base if type(value).__name__ == "TensorWrapper" else value
    storage = tensor.untyped_storage()
    return [(storage.data_ptr(), storage.data_ptr() + storage.nbytes())] if storage.nbytes() else []
