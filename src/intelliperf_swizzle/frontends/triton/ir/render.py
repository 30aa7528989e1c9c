# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A recorded kernel as importable Python: one module per function, so that no names clash."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import math
import os
import re
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from intelliperf_swizzle import records

PACKAGE = "rendered_"
"""How the names of rendered packages begin."""
RULE = "rule"
"""In place of a function's key: the edit is made when the kernel is compiled (`overlay.runtime`),
and its text is a rule of it, JSON."""
_RUNTIME = "intelliperf_swizzle.frontends.triton.overlay.runtime"
_LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Load)
_KEPT_JIT_OPTIONS = ("do_not_specialize", "do_not_specialize_on_alignment", "noinline")


def render_module(
    source: records.KernelSource, folder: str | os.PathLike[str], edits: Mapping[str, str] = {}
) -> Path:
    """Write a package with the kernel, the jit functions it reaches and the globals they read.

    The package's name is a digest of its text: rendering the same source twice writes the same
    files, and differently edited kernels can live in one process. Decorators but
    `constexpr_function` become `@triton.jit`: what a tuner chose is in the launch's constexprs.

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
        folder: where the package is written; created if missing.
        edits: function key -> its other text (in the form of `SourceFunction.text`).

    Returns:
        Path of the package's `__init__.py`; `import_functions` imports it.

    Raises:
        SyntaxError: a text does not parse or holds no function definition.
        ValueError: a name's meaning is of no kind above.
    """
    modules = {key: f"f{number}" for number, key in enumerate(source.functions)}
    texts = {
        modules[key]: _function_module(function, edits.get(key, function.text), source, modules)
        for key, function in source.functions.items()
    }
    named = (f"{key!r}: {name}.{source.functions[key].name}" for key, name in modules.items())
    functions = f"FUNCTIONS = {{{', '.join(named)}}}"
    swizzled = [
        f"import json as _json, {_RUNTIME} as _runtime",
        "_runtime.watch_compilations()",
        f"FUNCTIONS[{source.kernel!r}].swizzle_rule = _json.loads({edits[RULE]!r})",
    ] if RULE in edits else []  # fmt: skip
    imported = f"from . import {', '.join(modules.values())}"
    lines = (imported, *_aggregates(source, modules), "", functions, *swizzled, "")
    texts["__init__"] = "\n".join(lines)
    digest = hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest()[:16]
    package = Path(folder) / f"{PACKAGE}{digest}"
    package.mkdir(parents=True, exist_ok=True)
    for module, text in texts.items():
        (package / f"{module}.py").write_text(text, encoding="utf-8")
    return package / "__init__.py"


def import_functions(rendered: Path) -> Mapping[str, Any]:
    """Import a rendered package: function key -> live jit function (imports Triton)."""
    name = rendered.parent.name
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, rendered, submodule_search_locations=[str(rendered.parent)]
        )
        if spec is None or spec.loader is None:
            raise ImportError(f"{rendered} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    functions: Mapping[str, Any] = sys.modules[name].FUNCTIONS
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
        items: list[Any] = [live(f"{name}.{part}", one) for part, one in parts]
        return namedtuple("Fields", names)(*items) if names else tuple(items)

    return {name: live(name, argument) for name, argument in launch.arguments.items()}


def literal(value: object) -> str:
    """A constant as Python text that evaluates to it, infinities and NaN included.

    Raises:
        ValueError: the value is no int, float, bool, str, None or container of these.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value!r}")'
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, tuple):
        return "(" + "".join(literal(item) + ", " for item in value) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    if isinstance(value, Mapping):
        pairs = (f"{literal(key)}: {literal(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    raise ValueError(f"{value!r} is not a constant that can be written as text")


def _function_module(
    function: records.SourceFunction,
    text: str,
    source: records.KernelSource,
    modules: Mapping[str, str],
) -> str:
    """Globals first, then the function, then other functions (they may need this one)."""
    early: list[str] = []
    late: list[str] = []
    for name, meaning in function.names.items():
        statements = _bind(name, meaning, source, modules)
        (late if _reaches_function(meaning) else early).extend(statements)
    imports = "import types as _types, triton as _triton, triton.language as _tl"
    return "\n".join([imports, *early, "", *_undecorated(text), "", *late, ""])


def _aggregates(source: records.KernelSource, modules: Mapping[str, str]) -> list[str]:
    """Statements that make the classes, once all functions are there, and bind their names.

    Of each, `fields` and `members` are mappings from a name to its meaning.
    """
    made = {key: f"_class_{number}" for number, key in enumerate(source.aggregates)}
    lines = [f"import types as _types, {__name__} as _render", "import triton.language as _tl"]

    def bind(name: str, meaning: tuple[Any, ...]) -> None:
        if meaning[0] == "namespace":
            for inner, one in meaning[1].items():
                bind(f"{name}.{inner}", one)
        elif meaning[0] == "aggregate":
            lines.append(f"{name} = {made[meaning[1]]}")

    for key, parts in source.aggregates.items():
        for part, names in parts.items():
            lines.extend(_bind(part, ("namespace", names), source, modules))
            bind(part, ("namespace", names))
        lines.append(
            f"{made[key]} = _render.make_aggregate({key.partition('#')[0]!r}, fields, members)"
        )
    for key, function in source.functions.items():
        bind(modules[key], ("namespace", function.names))
    return lines if made else []


def make_aggregate(name: str, fields: ModuleType, members: ModuleType) -> Any:
    """The class below `@aggregate` with what was bound in two empty modules."""
    from triton.language.core import _aggregate

    empty = vars(ModuleType(""))
    kinds = {name: kind for name, kind in vars(fields).items() if name not in empty}
    own = {name: one for name, one in vars(members).items() if name not in empty}
    return _aggregate(type(name, (), {**own, "__annotations__": kinds}))


def _reaches_function(meaning: tuple[Any, ...]) -> bool:
    if meaning[0] == "namespace":
        return any(_reaches_function(inner) for inner in meaning[1].values())
    return bool(meaning[0] == "function")


def _bind(
    name: str, meaning: tuple[Any, ...], source: records.KernelSource, modules: Mapping[str, str]
) -> list[str]:
    """Statements that bind a global name (dotted inside a namespace) to its meaning."""
    kind = meaning[0]
    if kind == "aggregate":
        return [f"{name} = None"]  # until all functions are there
    if kind == "unknown":
        return [f"# {name}: {' '.join(str(meaning[1]).split())}"]
    if kind in ("module", "attribute"):
        module = f"__import__('importlib').import_module({meaning[1]!r})"
        return [f"{name} = {'.'.join((module, *meaning[2:]))}"]
    if kind == "namespace":
        statements = [f"{name} = _types.ModuleType({name!r})"]
        for inner, inner_meaning in meaning[1].items():
            statements += _bind(f"{name}.{inner}", inner_meaning, source, modules)
        return statements
    if kind == "function":
        module, bound = modules[meaning[1]], source.functions[meaning[1]].name
        alias = f"_{module}_{bound}"
        return [f"from .{module} import {bound} as {alias}", f"{name} = {alias}"]
    if kind == "constant":
        return [f"{name} = {literal(meaning[1])}"]
    if kind == "constexpr":
        return [f"{name} = _tl.constexpr({literal(meaning[1])})"]
    if kind == "dtype":
        return [f"{name} = _tl.dtype({meaning[1]!r})"]
    if kind == "pointer":
        return [f"{name} = _tl.pointer_type(_tl.dtype({meaning[1]!r}))"]
    raise ValueError(f"the name {name!r} has a meaning of unknown kind {kind!r}")


def _undecorated(text: str) -> list[str]:
    """The lines of a function with its decorators replaced by `@triton.jit`."""
    definitions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    if len(definitions) != 1:
        raise SyntaxError(f"expected one function definition, found {len(definitions)}")
    definition = definitions[0]
    lines = text.splitlines()[definition.lineno - 1 :]
    return [_jit_decorator(definition.decorator_list), *lines]


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
