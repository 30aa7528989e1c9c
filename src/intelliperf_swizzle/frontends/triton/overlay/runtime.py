# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Swizzles on Triton kernels at compile time, with no source touched; Triton 3.6 to 3.9.

    with applied("swizzles.json"): …  # or install("swizzles.json") once at start-up

A kernel that the file names is compiled from another text, or the swizzle is put where its IR reads
a program id; a launch costs the same. One whose source, or Triton, has changed since the proof is
left alone, with a warning. The module depends on Triton alone: take a copy of it.
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
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VARIABLE = "INTELLIPERF_SWIZZLE_OVERLAY"  # names a file of swizzles to whoever imports this module
FORMAT = 1
_READ = re.compile(r"(%[\w$.-]+) = tt\.get_program_id ([xyz]) : i32(.*)")
_ARGUMENT = re.compile(r'(%[\w$.-]+): (i32|i64)\b[^%]*?loc\("(\w+)"')  # an integer
_GENERATED = "torch._inductor"  # whose kernels have other names and modules in each process
_OPERATIONS = {"Add": "addi", "Sub": "subi", "Mult": "muli", "FloorDiv": "divsi", "Mod": "remsi"}
_OPERATIONS |= {"BitAnd": "andi", "BitOr": "ori", "BitXor": "xori", "LShift": "shli"}
_OPERATIONS |= {"RShift": "shrsi", "minimum": "minsi", "maximum": "maxsi", "where": "select"}
_OPERATIONS |= {"Eq": "cmpi eq,", "NotEq": "cmpi ne,", "Lt": "cmpi slt,", "LtE": "cmpi sle,"}
_OPERATIONS |= {"Gt": "cmpi sgt,", "GtE": "cmpi sge,"}
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
        return _renumber(make_ir(self, *given), rule, self, given[-1])

    def identify_swizzled(self: Any) -> str:
        rule = _rule_for(self)
        text = identify(self) + (json.dumps(rule, sort_keys=True) if rule else "")
        return hashlib.sha256(text.encode()).hexdigest() if rule else text

    ASTSource.make_ir, ASTSource.hash = make_swizzled, identify_swizzled
    return globals()


def _renumber(module: Any, rule: dict[str, Any], source: Any, context: Any) -> Any:
    """The module with each program id read through the swizzle; unchanged where that cannot be."""
    from triton._C.libtriton import ir, passes

    manager = ir.pass_manager(context)
    passes.common.add_inliner(manager)
    manager.run(module, "inline")
    head, _, rest = (text := module.str()).partition(" public ")[2].partition(") attributes")
    if not {str("xyz".index(found[2])) for found in _READ.finditer(text)} & rule["outputs"].keys():
        return module
    arguments = {found[3]: (found[1], found[2]) for found in _ARGUMENT.finditer(head)}
    values = {name: arguments.get(name) or _compiled_in(source, name) for name in rule["reads"]}
    if not all(isinstance(value, int | tuple) for value in values.values()):
        return _warn(rule, "an argument that its swizzle reads is not an integer") or module
    given = any(isinstance(value, tuple) for value in values.values())
    if given and len(_READ.findall(text)) > len(_READ.findall(rest[: rest.index("\n  }")])):
        return _warn(rule, "a function that is not inlined reads a program id") or module
    applied_to.append(rule["kernel"])
    with tempfile.NamedTemporaryFile(buffering=0) as file:
        file.write(_READ.sub(functools.partial(_renumbered, rule, values), text).encode())
        module = ir.parse_mlir_module(file.name, context)
    module.context = context
    return module


def _renumbered(rule: dict[str, Any], values: dict[str, Any], read: re.Match[str]) -> str:
    """A read of a program id, by the rule's lines in IR; a value is a number, or name and type."""
    (name, axis, rest), names, lines = read.groups(), dict(values), list[str]()
    if (output := rule["outputs"].get(str("xyz".index(axis)))) is None:
        return read[0]

    def write(operation: str, kind: str, result: str | None = None) -> tuple[str, str]:
        lines.append(f"%swizzled_{read.start()}_{len(lines)} = {operation} : {kind}{rest}")
        return lines[-1].partition(" ")[0], result or kind

    def as_kind(value: Any, kind: str) -> str:
        name, own = value if isinstance(value, tuple) else write(f"arith.constant {value:d}", kind)
        how = "trunci" if own > kind else "extsi"  # a condition is never a number
        return name if own in (kind, "i1") else write(f"arith.{how} {name}", f"{own} to {kind}")[0]

    def evaluate(node: Any) -> Any:
        if isinstance(node, ast.Constant | ast.Name):
            return node.value if isinstance(node, ast.Constant) else names[node.id]
        parts, kinds = [*ast.iter_child_nodes(node)], (ast.operator, ast.cmpop, ast.Attribute)
        (word,) = (getattr(p, "attr", type(p).__name__) for p in parts if isinstance(p, kinds))
        given = [evaluate(part) for part in parts if not isinstance(part, kinds)]
        if word in ("program_id", "num_programs"):
            return write(f"tt.get_{word} {'xyz'[given[0]]}", "i32")
        kind = max(value[1] if isinstance(value, tuple) else "i32" for value in given)
        operation, operands = _OPERATIONS[word], ", ".join(as_kind(value, kind) for value in given)
        return write(f"arith.{operation} {operands}", kind, "i1" if "cmpi" in operation else kind)

    body: list[Any] = [*ast.parse("\n".join((*rule["lines"], f"swizzled = {output}"))).body]
    while body:
        if hasattr(line := body.pop(0), "body"):  # for … in tl.static_range(count)
            body[:0] = line.body * line.iter.args[0].value
        else:
            names[line.targets[0].id] = evaluate(line.value)
    result = as_kind(names["swizzled"], "i32")
    return "\n    ".join((*lines, f"{name} = arith.ori {result}, {result} : i32{rest}"))


if os.environ.get(VARIABLE):
    install(os.environ[VARIABLE])
