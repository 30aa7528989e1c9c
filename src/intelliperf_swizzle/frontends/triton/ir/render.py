# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A recorded kernel as live Python: each function in a file, where Triton reads its text."""

import ast
import hashlib
import importlib
import json
import os
import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any

from intelliperf_swizzle import records

RULE = "rule"
"""In place of a function's key: the edit is made when the kernel is compiled (`overlay.runtime`),
and its text is a rule of it, JSON."""
_LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Load)
_KEPT_JIT_OPTIONS = ("do_not_specialize", "do_not_specialize_on_alignment", "noinline")
_made: dict[str, Mapping[str, Any]] = {}
"""The functions of this process by a digest of all that they are made of."""


def live_functions(
    source: records.KernelSource, folder: str | os.PathLike[str], edits: Mapping[str, str] = {}
) -> Mapping[str, Any]:
    """The kernel and the jit functions that it reaches, by key; made once in a process.

    Differently edited kernels can live in one process. Decorators but `constexpr_function` become
    `@triton.jit`: what a tuner chose is in the launch's constexprs.

    `SourceFunction.names` says what each global or closure name in a function's text (body,
    annotations, default values; builtins left out) means, as a pair or triple:

    ======================================  =======================================================
    `("module", "triton.language")`          an importable module that is not the user's own
    `("namespace", {"helper": meaning, …})`  a module of the user's, reduced to what is read from it
    `("attribute", module, "cdiv")`          an object in an importable module (dotted path allowed)
    `("function", key)`                      a jit function, by its key in `KernelSource.functions`
    `("aggregate", key)`                     a class, by its key in `KernelSource.aggregates`
    `("constant", value)`                    int, float, bool, str, None, or a tuple, list or dict
                                             of these
    `("constexpr", value)`                   such a value inside `tl.constexpr`
    `("dtype", "fp16")`                      a Triton dtype, by its Triton name
    `("pointer", "fp16")`                    `tl.pointer_type` to it
    `("unknown", "what it is")`              anything else; reading it raises NameError, as late as
                                             possible
    ======================================  =======================================================

    Args:
        source: the kernel.
        folder: where the files are written; created if missing.
        edits: function key -> its other text (in the form of `SourceFunction.text`).

    Raises:
        SyntaxError: a text does not parse or holds no function definition.
        ValueError: a name's meaning is of no kind above.
    """
    texts = {key: edits.get(key, function.text) for key, function in source.functions.items()}
    names = {key: function.names for key, function in source.functions.items()}
    parts = repr((texts, names, source.aggregates, edits.get(RULE)))
    digest = hashlib.sha256(parts.encode()).hexdigest()[:16]
    if digest not in _made:
        functions = _make(source, texts, Path(folder) / f"rendered_{digest}")
        if RULE in edits:
            from intelliperf_swizzle.frontends.triton.overlay import runtime

            runtime.watch_compilations()
            functions[source.kernel].swizzle_rule = json.loads(edits[RULE])
        _made[digest] = functions
    return _made[digest]


def _make(
    source: records.KernelSource, texts: Mapping[str, str], package: Path
) -> Mapping[str, Any]:
    """Each function with separate globals; names of later functions are bound at the end."""
    import triton
    import triton.language as tl
    from triton.language.core import _aggregate

    package.mkdir(parents=True, exist_ok=True)
    functions: dict[str, Any] = {}
    classes: dict[str, Any] = {}

    def live(name: str, meaning: tuple[Any, ...]) -> Any:
        kind, value, *path = meaning
        if kind == "namespace":
            space = ModuleType(name)
            vars(space).update({inner: live(inner, item) for inner, item in value.items()})
            return space
        if kind in ("module", "attribute"):
            parts = [part for dotted in path for part in dotted.split(".")]
            return reduce(getattr, parts, importlib.import_module(value))
        if kind == "pointer":
            return tl.pointer_type(tl.dtype(value))
        if kind == "function":
            return functions[value]
        known = {"constexpr": tl.constexpr, "dtype": tl.dtype, "aggregate": classes.get}
        if kind != "constant" and kind not in known:
            raise ValueError(f"the name {name!r} has a meaning of unknown kind {kind!r}")
        return value if kind == "constant" else known[kind](value)

    def bind(scope: dict[str, Any], names: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
        for name, meaning in names.items():
            if meaning[0] != "unknown":
                with suppress(KeyError):
                    scope[name] = live(name, meaning)
        return scope

    scopes: dict[str, dict[str, Any]] = {}
    for number, (key, function) in enumerate(source.functions.items()):
        file, text = package / f"f{number}.py", "\n".join(_undecorate(texts[key]))
        file.write_text(text, encoding="utf-8")
        scope = {"__name__": f"{package.name}.f{number}", "_triton": triton, "_tl": tl}
        scopes[key] = bind(scope, function.names)
        exec(compile(text, str(file), "exec"), scopes[key])
        functions[key] = scopes[key][function.name]
    for key, parts in source.aggregates.items():
        members, fields = (bind({}, parts[part]) for part in ("members", "fields"))
        own = {**members, "__annotations__": fields}
        classes[key] = _aggregate(type(key.partition("#")[0], (), own))
    every = {k: v for function in source.functions.values() for k, v in function.names.items()}
    for key, function in source.functions.items():  # a patch may test what a helper reads
        bind(scopes[key], {**every, **function.names})
    return functions


def live_arguments(
    launch: records.Launch,
    functions: Mapping[str, Any],
    tensor: Callable[[records.TensorArgument], object],
) -> dict[str, Any]:
    """The arguments of a recorded launch by name, as a kernel is called with them.

    Args:
        launch: as recorded.
        functions: the live jit functions by key.
        tensor: makes each tensor.
    """
    import triton.language as tl

    def live(name: str, argument: records.Argument) -> object:
        if isinstance(argument, records.TensorArgument):
            return tensor(argument)
        if isinstance(argument, records.DescriptorArgument):
            from triton.tools.tensor_descriptor import TensorDescriptor

            extents = map(list, (argument.shape, argument.strides, argument.block_shape))
            return TensorDescriptor(tensor(argument.base), *extents)
        if isinstance(argument, records.DtypeArgument):
            package, _, dtype = argument.name.rpartition(".")
            return getattr(importlib.import_module(package), dtype) if package else tl.dtype(dtype)
        if isinstance(argument, records.FunctionArgument):
            return functions[argument.key]
        if not isinstance(argument, tuple):
            return argument
        names = launch.fields.get(name)
        parts = zip(names or range(len(argument)), argument, strict=True)
        items: list[Any] = [live(f"{name}.{part}", value) for part, value in parts]
        return namedtuple("Fields", names)(*items) if names else tuple(items)

    return {name: live(name, argument) for name, argument in launch.arguments.items()}


def _undecorate(text: str) -> list[str]:
    """The lines of a function with its decorators replaced by `@triton.jit`."""
    definitions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    if len(definitions) != 1:
        raise SyntaxError(f"expected one function definition, found {len(definitions)}")
    definition = definitions[0]
    return [_jit_decorator(definition.decorator_list), *text.splitlines()[definition.lineno - 1 :]]


def _jit_decorator(decorators: list[ast.expr]) -> str:
    for decorator in decorators:
        if ast.unparse(decorator).endswith("constexpr_function"):
            return "@_triton.constexpr_function"
        if isinstance(decorator, ast.Call) and re.search(r"\bjit$", ast.unparse(decorator.func)):
            kept = [
                ast.unparse(keyword)
                for keyword in decorator.keywords
                if keyword.arg in _KEPT_JIT_OPTIONS
                and all(isinstance(node, _LITERALS) for node in ast.walk(keyword.value))
            ]
            if kept:
                return f"@_triton.jit({', '.join(kept)})"
    return "@_triton.jit"


def bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a syntax tree."""
    parts = (getattr(node, name, None) for node in ast.walk(tree) for name in ("body", "orelse"))
    return (body for body in parts if isinstance(body, list))
