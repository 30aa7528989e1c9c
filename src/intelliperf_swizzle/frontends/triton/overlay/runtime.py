# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Swizzles on Triton kernels at compile time, with no source touched; Triton 3.6 to 3.9.

    with applied("swizzles.json"): …  # or install("swizzles.json") once at start-up

A kernel that the file names is compiled from another text, or each `program_id` in its IR becomes a
call of the swizzle; a launch costs the same. One whose source, or Triton, has changed since the
proof is left alone, with a warning. The module depends on Triton alone: take a copy of it.
"""

import ast
import contextlib
import functools
import gc
import hashlib
import inspect
import json
import os
import re
import runpy
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

VARIABLE = "INTELLIPERF_SWIZZLE_OVERLAY"  # names a file of swizzles to whoever imports this module
FORMAT = 1
_FUNCTION = "swizzled_program_ids"
_READ = re.compile(r"(%[\w$.-]+) = tt\.get_program_id ([xyz]) : i32(.*)")
_ARGUMENT = re.compile(r'(%[\w$.-]+): (i32|i64)\b[^%]*?loc\("(\w+)"')  # an integer
_GENERATED = "torch._inductor"  # whose kernels have other names and modules in each process
_active: dict[str, list[dict[str, Any]]] = {}
_warned: set[str] = set()
applied_to: list[str] = []  # names of kernels, each time that one is compiled with a swizzle


@contextlib.contextmanager
def applied(path: str | os.PathLike[str]) -> Iterator[list[str]]:
    """Applies a file of swizzles to what is launched inside; yields `applied_to`; as `install`."""
    before = dict((first := watch_compilations())["_active"])
    install(path)
    try:
        yield first["applied_to"]
    finally:
        first["_switch"](before)


def install(path: str | os.PathLike[str]) -> None:
    """Applies a file of swizzles from now on; raises ValueError if it is not one of swizzles."""
    try:
        read, first = json.loads(Path(path).read_text("utf-8")), watch_compilations()
        if read["format"] != first["FORMAT"]:
            raise ValueError(f"{path} has format {read['format']}, not {first['FORMAT']}")
        rules: dict[str, list[dict[str, Any]]] = {}
        for rule in read["kernels"]:
            name = rule["source" if rule["module"] == _GENERATED else "kernel"]
            rules.setdefault(f"{rule['module']}:{name}", []).append(rule)
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a file of swizzles: {error!r}") from error
    first["_switch"](rules)


def _switch(rules: dict[str, list[dict[str, Any]]]) -> None:
    """Makes rules the active ones; kernels whose rule changes forget what was compiled."""
    from triton.runtime.jit import JITFunction

    changed = {key for key in (*rules, *_active) if rules.get(key) != _active.get(key)}
    _active.clear()
    _active.update(rules)
    for kernel in [found for found in gc.get_objects() if issubclass(type(found), JITFunction)]:
        if changed and _key(kernel) in changed:
            kernel.device_caches.clear()


def source_digest(kernel: Any, passed: Any = (), known: dict[int, str] | None = None) -> str:
    """Hex digest of a `JITFunction`'s source, what it reaches and is `passed`; `known`: of all."""
    from triton.runtime.jit import JITCallable as Jit

    known, function, name = {} if known is None else known, kernel.fn, kernel.fn.__name__
    if id(function) not in known:
        own = known[id(function)] = "generated" if _module(kernel) == _GENERATED else name
        found, names = inspect.getclosurevars(function), function.__code__.co_names
        values = [*found.globals.items(), *found.nonlocals.items(), *passed]
        for at, value in values:  # which grows, by what is in modules and in aggregates
            inner = names if inspect.ismodule(value) and at.count(".") < 4 else ()
            values += [(f"{at}.{n}", getattr(value, n)) for n in inner if hasattr(value, n)]
            methods = vars(value).get("hash_attrs", ()) if isinstance(value, type) else ()
            values += [(f"{at}.{n}", method) for n, method in enumerate(methods)]
        parts = [f"{n}={source_digest(v, (), known)}" for n, v in values if isinstance(v, Jit)]
        text = "\0".join((f"{own}:{kernel.src.replace(name, own)}", *sorted(parts)))
        known[id(function)] = hashlib.sha256(text.encode()).hexdigest()[:32]
    return known[id(function)]


def identity(kernel: Any, passed: Any = ()) -> dict[str, str]:
    """What a `JITFunction` is known by in a file of swizzles, with what is passed to it."""
    from triton import __version__ as version

    return {
        "module": _module(kernel),
        "kernel": kernel.fn.__name__,
        "source": source_digest(kernel, passed),
        "triton": ".".join(version.split(".")[:2]),
    }


def _module(kernel: Any) -> str:  # a script has another name in the processes that it spawns
    name = str(kernel.fn.__module__).replace("__mp_main__", "__main__")
    return _GENERATED if name.startswith(_GENERATED) else name


def _key(kernel: Any) -> str:
    generated = _module(kernel) == _GENERATED
    return f"{_module(kernel)}:{source_digest(kernel) if generated else kernel.fn.__name__}"


def _compiled_in(source: Any, name: str) -> Any:
    """What a kernel is compiled with under a name: a constexpr, a pointer's type, a global."""
    from triton.language import str_to_ty

    kernel, function, (root, *inner) = source.fn, source.fn.fn, name.split(".")
    scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    fixed = {kernel.arg_names[at[0]]: c for at, c in source.constants.items() if not at[1:]}
    types = {n: str_to_ty(kind, None) for n, kind in source.signature.items() if kind[:1] == "*"}
    found = {**scope, **dict.fromkeys(kernel.arg_names, ...), **types, **fixed}.get(root, ...)
    value = functools.reduce(lambda whole, part: getattr(whole, part, ...), inner, found)
    value = getattr(value, "value", value)
    return getattr(value, "name", value)


def _rule_for(source: Any) -> Any:
    """The first rule for what an `ASTSource` is compiled with, or its own: `swizzle_rule`."""
    own, refused = getattr(source.fn, "swizzle_rule", None), None
    for rule in [own] if own else _active.get(_key(source.fn), ()) if _active else ():
        configs, names = rule.get("configs") or [{}], source.fn.arg_names
        if any(c == {name: _compiled_in(source, name) for name in c} for c in configs):
            given = [(f"{names[k]}{i or ''}", v) for (k, *i), v in source.constants.items()]
            changed = [n for n, value in identity(source.fn, given).items() if rule[n] != value]
            if own or changed in ([], ["kernel"]):  # the name of what is generated is not its own
                return rule
            what = "Triton's version" if changed == ["triton"] else "its source"
            refused = refused or (rule, f"{what} has changed since the swizzle was proved")
    return refused and _warn(*refused)


def _warn(rule: dict[str, Any], reason: str) -> Any:
    text = f"{rule['module']}.{rule['kernel']} runs without its swizzle: {reason}"
    if text not in _warned:
        warnings.warn(text, stacklevel=2)
    _warned.add(text)


def watch_compilations() -> Any:
    """Wraps how Triton makes a kernel's IR and knows it again; the first copy's globals."""
    from triton.compiler.compiler import ASTSource

    if ASTSource.hash.__name__ == "identify_swizzled":  # one copy of this module does it for all
        return ASTSource.hash.__globals__
    make_ir, identify = ASTSource.make_ir, ASTSource.hash

    def make_swizzled(self: Any, *given: Any) -> Any:
        if (rule := _rule_for(self)) is None:
            return make_ir(self, *given)
        if "text" in rule:
            applied_to.append(rule["kernel"])
            parse, self.fn.parse = self.fn.parse, functools.partial(ast.parse, rule["text"])
            try:
                return make_ir(self, *given)
            finally:
                self.fn.parse = parse
        module = make_ir(self, *given)
        return _renumber(module, rule, self, lambda source: make_ir(source, *given), given[-1])

    def identify_swizzled(self: Any) -> str:
        rule = _rule_for(self)
        text = identify(self) + (json.dumps(rule, sort_keys=True) if rule else "")
        return hashlib.sha256(text.encode()).hexdigest() if rule else text

    ASTSource.make_ir, ASTSource.hash = make_swizzled, identify_swizzled
    return globals()


def _renumber(module: Any, rule: dict[str, Any], source: Any, plain: Any, context: Any) -> Any:
    """The module with each program id read through the swizzle; unchanged where that cannot be."""
    from triton._C.libtriton import ir, passes

    manager = ir.pass_manager(context)
    passes.common.add_inliner(manager)
    manager.run(module, "inline")
    head, _, rest = (text := module.str()).partition(" public ")[2].partition(") attributes")
    read = {"xyz".index(found[2]) for found in _READ.finditer(text)}
    if not (axes := sorted(read & set(map(int, rule["outputs"])))):
        return module
    arguments = {found[3]: (found[1], found[2]) for found in _ARGUMENT.finditer(head)}
    values = {name: arguments.get(name) or _compiled_in(source, name) for name in rule["reads"]}
    if not all(isinstance(value, int | tuple) for value in values.values()):
        return _warn(rule, "an argument that its swizzle reads is not an integer") or module
    given = {name: value for name, value in values.items() if isinstance(value, tuple)}
    if given and len(_READ.findall(text)) > len(_READ.findall(rest[: rest.index("\n  }")])):
        return _warn(rule, "a function that is not inlined reads a program id") or module
    function = _swizzle_function(rule, axes, values, given, plain)
    applied_to.append(rule["kernel"])
    body = _READ.sub(functools.partial(_call, axes, list(given.values())), text)
    body = body.replace("  tt.func ", f"{function}  tt.func ", 1)
    with tempfile.TemporaryDirectory() as folder:
        (file := Path(folder) / "swizzled.ttir").write_text(body, "utf-8")
        module = ir.parse_mlir_module(str(file), context)
    module.context = context
    return module


def _call(axes: Sequence[int], given: Sequence[tuple[str, str]], read: re.Match[str]) -> str:
    name, axis, rest, at = read[1], "xyz".index(read[2]), read[3], read.start()
    if axis not in axes:
        return read[0]
    values, kinds = (", ".join(pair[part] for pair in given) for part in (0, 1))
    all_, zero, i32s = f"%swizzled_{at}", f"%zero_{at}", ", ".join(["i32"] * len(axes))
    called = f"{all_}:{len(axes)} = tt.call @{_FUNCTION}({values}) : ({kinds}) -> ({i32s}){rest}"
    chosen = f"{name} = arith.addi {all_}#{axes.index(axis)}, {zero} : i32{rest}"
    return f"{called}\n    {zero} = arith.constant 0 : i32{rest}\n    {chosen}"


def _swizzle_function(rule: Any, axes: Sequence[int], values: Any, given: Any, plain: Any) -> str:
    """The swizzle as a function of the IR, compiled by Triton from the rule's lines."""
    from triton.compiler.compiler import ASTSource

    fixed = [f"{name} = {int(value)}" for name, value in values.items() if name not in given]
    names = ", ".join(given)
    results = "".join(f"tl.cast({rule['outputs'][str(axis)]}, tl.int32), " for axis in axes)
    calls = "".join(f"    tl.store(out + {n}, got[{n}])\n" for n in range(len(axes)))
    body = "\n    ".join((*fixed, *rule["lines"], f"return ({results})"))
    text = (
        f"import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef {_FUNCTION}({names}):\n"
        f"    {body}\n\n\n@triton.jit\n"
        f"def caller(out, {names}):\n    got = {_FUNCTION}({names})\n{calls}"
    )
    with tempfile.TemporaryDirectory() as folder:  # Triton reads a function's text from its file
        (file := Path(folder) / f"swizzle_{hash(text)}.py").write_text(text, "utf-8")
        signature = {"out": "*i32", **{name: kind for name, (_, kind) in given.items()}}
        compiled = plain(ASTSource(runpy.run_path(str(file))["caller"], signature)).str_nodebug()
    private = rf'^ *tt\.func private @"?[^("]*{_FUNCTION}[^("]*"?(\(.*?\n  }}$)'
    return f"  tt.func private @{_FUNCTION}{re.findall(private, compiled, re.M | re.S)[0]}\n"


if os.environ.get(VARIABLE):
    install(os.environ[VARIABLE])
