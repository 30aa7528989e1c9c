# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From a live jit function to text: the kernel, the functions it reaches, the globals they read."""

import ast
import builtins
import functools
import importlib.util
import inspect
import linecache
import re
import symtable
import sys
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from intelliperf_swizzle.frontends.triton.capture.calls import JitFunction
from intelliperf_swizzle.frontends.triton.overlay.runtime import identity, source_digest
from intelliperf_swizzle.records import KernelSource, SourceFunction

_INSTALLED = {"triton", "torch", "numpy", "intelliperf_swizzle"} | sys.stdlib_module_names
"""Top-level modules that are there wherever a kernel is interpreted; all others are the user's."""

_Uses: TypeAlias = dict[str, "_Uses"]
"""Attributes read below a name: {"sub": {"CONSTANT": {}}} for `name.sub.CONSTANT`."""


class UnreadableKernelError(Exception):
    """A kernel's text cannot be recorded; the message says why in one sentence."""


class NotUtf8Error(UnreadableKernelError):
    """The name of a kernel's file cannot be written down."""

    def __init__(self, file: str) -> None:
        super().__init__(f"the name of its file is not UTF-8: {file!a}")


def is_utf8(file: str) -> bool:
    """Whether the name of a file can be written down."""
    return file.isascii() or file == file.encode("utf-8", "replace").decode()


def is_jit_function(value: object) -> TypeGuard[JitFunction]:
    """Whether `value` is a Triton function, compiled or interpreted, tuned or not."""
    return type(value).__module__.startswith("triton.runtime.") and hasattr(value, "fn")


def is_aggregate(value: object) -> bool:
    """Whether `value` is a class below `@aggregate`."""
    return isinstance(value, type) and "__triton_aggregate__" in vars(value)


def python_function(jit_function: JitFunction | types.FunctionType) -> types.FunctionType:
    """The plain function below `@triton.jit` (and an autotuner or heuristics around it)."""
    while not inspect.isfunction(jit_function):
        jit_function = jit_function.fn
    return jit_function


def read_source(
    kernel: JitFunction, passed: Iterable[tuple[str, JitFunction]] = ()
) -> tuple[KernelSource, Mapping[int, str]]:
    """Read a kernel's text and that of every jit function it reaches, as `ir.render` wants it.

    Args:
        kernel: a live jit function.
        passed: jit functions that a launch passes as arguments, with their names.

    Returns:
        The source, and for each passed function its key, by `id` of its plain function.

    Raises:
        UnreadableKernelError: a text is not in a file (`exec`), or is a lambda.
    """
    read = _SourceReader(python_function(kernel))
    entry = read.key_of(kernel)
    for _, function in passed:
        read.key_of(function)
    plain: Any = kernel
    while not hasattr(plain, "src"):  # an autotuner or heuristics around it
        plain = plain.fn
    digests: dict[int, str] = {}
    source_digest(plain, passed, digests)
    known = {key for at, key in read.keys.items() if at in digests}
    computed = {
        name: value[:1] if isinstance(value, list) and not known.issuperset(value[1:]) else value
        for name, value in read.computed.items()
    }
    source = KernelSource(entry, read.functions, identity(plain, passed), read.aggregates, computed)
    return source, read.keys


class _SourceReader:
    def __init__(self, kernel: types.FunctionType) -> None:
        self.kernel = kernel
        self.computed: dict[str, Any] = {}
        self.functions: dict[str, SourceFunction] = {}
        self.keys: dict[int, str] = {}
        self.aggregates: dict[str, dict[str, Any]] = {}
        self._classes: dict[int, str] = {}

    def key_of(self, jit_function: JitFunction) -> str:
        function = python_function(jit_function)
        if id(function) not in self.keys:
            file = Path(function.__code__.co_filename)  # in a spawned process modules differ
            key = self.keys[id(function)] = self._new_key(f"{file.stem}.{function.__qualname__}")
            self.functions[key] = SourceFunction(function.__name__, "", 0, "")  # keeps the order
            self.functions[key] = self._read(function)
            self._note_computed(function, self.functions[key])
        return self.keys[id(function)]

    def _new_key(self, wanted: str) -> str:
        key, number = wanted, 1
        while key in self.functions:
            number += 1
            key = f"{wanted}#{number}"
        return key

    def _read(self, function: types.FunctionType) -> SourceFunction:
        try:
            lines, first_line = inspect.getsourcelines(function)
            file = str(Path(inspect.getsourcefile(function) or "").resolve(strict=True))
        except (OSError, TypeError) as error:
            fact = f"the source of `{function.__name__}` is in no file"
            raise UnreadableKernelError(fact) from error
        if not is_utf8(file):
            raise NotUtf8Error(file)
        indent = lines[0].removesuffix(lines[0].lstrip(" \t"))
        text = "".join(line.removeprefix(indent) for line in lines)
        return SourceFunction(
            name=function.__name__,
            file=file,
            first_line=first_line,
            text=text,
            indent=indent,
            names=self._names(function, _definition(function.__name__, text)),
        )

    def _names(
        self, function: types.FunctionType, definition: ast.FunctionDef
    ) -> Mapping[str, tuple[Any, ...]]:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        scope = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}
        uses = _attributes_read(definition)
        return {
            name: self._meaning(scope[name], uses.get(name, {}))
            for name in sorted(_names_read(definition))
            if name in scope and getattr(builtins, name, NOT_A_CONSTANT) is not scope[name]
        }

    def _note_computed(self, function: types.FunctionType, read: SourceFunction) -> None:
        """Notes what a function reads that no text decides."""
        scope, code, own = function.__globals__, self.kernel.__code__, function.__code__
        file = str(scope.get("__file__") or read.file)
        place, digested = f"{read.file}:{read.first_line}", {*own.co_names, *own.co_freevars}
        made = "<locals>" in function.__qualname__ or not is_decided(file, read.name, "function")
        if function is not self.kernel and made:
            self.computed[read.name] = [place, self.keys[id(function)]]
        for name, (kind, value) in _leaves(read.names):
            root = name.partition(".")[0]
            local = root in own.co_freevars
            places = [(file, name)]
            if isinstance(module := scope.get(root), types.ModuleType):
                places.append((str(module.__file__), name.partition(".")[2]))
            if kind in _LASTING or (not local and all(is_decided(*at, kind) for at in places)):
                continue
            known = self.computed.get(name)
            if isinstance(known, list) and not known[1:]:
                continue  # another one of this name, of which no more is known
            same = self.kernel.__globals__.get(root) is scope.get(root) or function is self.kernel
            constant = same and root not in code.co_varnames and kind in _CONSTANTS
            by_digest = kind == "function" and root in digested and name.count(".") < len(places)
            self.computed[name] = value if constant else [place, value] if by_digest else [place]

    def _meaning(self, value: object, uses: _Uses) -> tuple[Any, ...]:
        if isinstance(value, types.ModuleType):
            if _is_installed(value.__name__):
                return ("module", value.__name__)
            return self._namespace(value, uses) or ("namespace", {})
        if is_jit_function(value) and not _is_installed(python_function(value).__module__):
            return ("function", self.key_of(value))
        if (plain := constant(value)) is not NOT_A_CONSTANT:
            return ("constant", plain)
        return (
            _triton_meaning(value)
            or _installed_meaning(value)
            or self._aggregate_meaning(value)
            or self._namespace(value, uses)
            or ("unknown", f"{type(value).__name__} {value!r}"[:200])
        )

    def _aggregate_meaning(self, value: Any) -> tuple[Any, ...] | None:
        """A class of the user's below `@aggregate`; its methods are functions of the source."""
        if not is_aggregate(value):
            return None
        own = inspect.getclosurevars(value.__new__).nonlocals["cls"]  # the user's own class
        if inspect.isfunction(own.__init__):
            return None  # plain Python, of which no more is known
        if id(value) not in self._classes:
            key = self._classes[id(value)] = f"{value.__qualname__}#{len(self._classes)}"
            members = dict(inspect.getmembers(own, is_jit_function))
            parts = {
                "fields": getattr(value, "__annotations__", None) or own.__annotations__,
                "members": {**getattr(value, "__aggregate_defaults__", {}), **members},
            }
            self.aggregates[key] = {  # after those that are parts of it
                part: {name: self._meaning(item, {}) for name, item in values.items()}
                for part, values in parts.items()
            }
        return ("aggregate", self._classes[id(value)])

    def _namespace(self, value: object, uses: _Uses) -> tuple[Any, ...] | None:
        there = (name for name in uses if hasattr(value, name))
        inner = {name: self._meaning(getattr(value, name), uses[name]) for name in there}
        return ("namespace", inner) if inner else None


# --- what the text of a program decides -----------------------------------------------------------

_LASTING = ("aggregate", "attribute", "module", "unknown")
_CONSTANTS = ("constant", "constexpr")
_PURE = {"tl", "constexpr", "math", "float", "int"}
"""What a constant may be made of, beside numbers and words."""


def is_decided(file: str, name: str, kind: str) -> bool:
    """Whether text alone decides what a global, or an attribute of a module, is: no environment,
    file or GPU; `kind` is as in `SourceFunction.names`.

    Its module sets it once, under no condition, to what is made of literals and of `_PURE`, or
    defines or imports it; and no module of the user's sets an attribute of that name, or of one
    that it computes: of functions, which no patch tests, in their own module or of what may be a
    module. A function that is defined under conditions is if each of its definitions is a function
    of real numbers: that decides no access.
    """
    root, last = name.partition(".")[0], name.rpartition(".")[2]
    modules = [module for named, module in [*sys.modules.items()] if not _is_installed(named)]
    files = {str(getattr(module, "__file__", None)) for module in modules}
    own = [path for path in files if path.endswith(".py") and "-packages" not in path]
    handed = frozenset[str]().union(*map(_given_modules, own))
    computed = _ANY_OF_MODULES if kind == "function" else _ANY
    if any({last, _ANY if path == file else computed} & _set_outside(path, handed) for path in own):
        return False
    bound = [top for name, top in _bindings(file) if name in (root, "*")]
    bound = [bind for bind in bound if not _is_star(bind) or [*_origin(file, root, bind, modules)]]
    if len(bound) == 1 and isinstance(bound[0], (ast.Assign, ast.AnnAssign)) and bound[0].value:
        made = ast.parse(ast.unparse(bound[0].value).replace("triton.language.", "tl."))
        return _variables(made) <= _PURE
    if kind == "function" and len(bound) == 1 and isinstance(bound[0], ast.ImportFrom):
        return all(is_decided(*at, kind) for at in _origin(file, root, bound[0], modules))
    if kind == "function" and len(bound) > 1:
        found = (node for top in dict.fromkeys(bound) for node in ast.walk(top))
        defined = [n for n in found if isinstance(n, ast.FunctionDef) and n.name == root]
        known = len(defined) == len(bound) and all(len(node.body) == 1 for node in defined)
        return known and all(_is_real(node.body[0]) for node in defined)
    defines = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    return kind not in _CONSTANTS and len(bound) < 2 and all(isinstance(x, defines) for x in bound)


_SETATTR = ("setattr", "delattr")
_SETTERS = {*_SETATTR, "patch", "globals", "vars", "__dict__"}
_ANY, _ANY_OF_MODULES = "__dict__", "*"
"""Of the names that a module sets: any, as it is computed; and any of what may be a module."""


@functools.cache
def _set_outside(file: str, handed: frozenset[str]) -> frozenset[str]:
    """The names that a module sets of others than `self`, or by words; or `_ANY`."""
    found: set[str | None] = set()
    nodes = [*ast.walk(ast.parse(_text(file)))]
    held = [node for node in nodes if isinstance(node, ast.Assign) and _is_scope(node.value, ())]
    scopes = {ast.unparse(target) for node in held for target in node.targets}
    modules = _modules(nodes, handed)
    for node in nodes:
        match node:
            case ast.Attribute(ast.Name("self")):
                pass
            case ast.Attribute(_, name, ast.Store() | ast.Del()):
                found.add(name)
            case ast.Call() | ast.Subscript():
                inner = [*ast.walk(node)]
                named = {getattr(x, "id", getattr(x, "attr", "")) for x in inner}
                if not named.isdisjoint(_SETTERS | scopes):
                    words = (part.value for part in inner if isinstance(part, ast.Constant))
                    found |= {str(word).rpartition(".")[2] for word in words}
                    found |= {part.arg for part in inner if isinstance(part, ast.keyword)}
                if owner := _sets_any(node, scopes):
                    found |= {_ANY, _ANY_OF_MODULES} if _variables(owner) & modules else {_ANY}
    return frozenset(filter(None, found))


@functools.cache
def _given_modules(file: str) -> frozenset[str]:
    """The last names of what a file calls with something that may be a module."""
    nodes = [*ast.walk(ast.parse(_text(file)))]
    names, calls = _modules(nodes, ()), [node for node in nodes if isinstance(node, ast.Call)]
    live = next((vars(m) for m in [*sys.modules.values()] if vars(m).get("__file__") == file), {})
    names = {name for name in names if isinstance(live.get(name, ast), types.ModuleType)}
    given = ((c, x) for c in calls for x in (*c.args, *(word.value for word in c.keywords)))
    found = (call.func for call, value in given if getattr(value, "id", "") in names)
    return frozenset(getattr(func, "attr", getattr(func, "id", "")) for func in found)


def _modules(nodes: Iterable[ast.AST], handed: Collection[str]) -> set[str]:
    """The variables that may be modules: imported, or given such, as are parameters of `handed`."""
    found = {"__import__"}
    for node in nodes:
        match node:
            case ast.Import(aliases) | ast.ImportFrom(_, aliases):
                found |= {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
            case ast.Assign([target, *_], value) | ast.For(target, value):
                is_call = isinstance(value, ast.Call) and "import" not in ast.unparse(value.func)
                found |= _variables(target) if not is_call and _variables(value) & found else set()
            case ast.FunctionDef(name) | ast.ClassDef(name) if name in handed:
                found |= {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    return found


def _variables(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _sets_any(node: ast.Call | ast.Subscript, scopes: Collection[str]) -> ast.expr | None:
    """What it sets a name of that is computed, or that a text has, if that is not `self`."""
    match node:
        case ast.Call(ast.Name("exec"), [_, *where]):
            return node if not where or _is_scope(where[0], scopes) else None
        case ast.Call(setter, [of, *rest]) if ast.unparse(setter).strip("_").endswith(_SETATTR):
            own = ast.unparse(of) in ("self", "cls") or ast.unparse(setter).startswith("super()")
            return None if own or any(isinstance(x, ast.Constant) for x in (of, *rest[:1])) else of
        case ast.Call(ast.Attribute(of, "update" | "setdefault" | "pop"), given):
            literal = any(isinstance(name, ast.Constant) for name in given[:1])
            return of if _is_scope(of, scopes) and not literal else None
        case ast.Subscript(of, key, ast.Store() | ast.Del()):
            return of if _is_scope(of, scopes) and not isinstance(key, ast.Constant) else None
    return None


def _is_scope(node: ast.AST, held: Collection[str]) -> bool:
    """Whether it is what others than `self` hold by name, or a variable that was given that."""
    match node:
        case ast.Call(ast.Name("globals" | "locals" | "vars"), given):
            return [*map(ast.unparse, given)] != ["self"]
        case ast.Attribute(of, "__dict__"):
            return ast.unparse(of) != "self"
    return ast.unparse(node) in held


def _is_star(top: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(top, ast.ImportFrom) and top.names[0].name == "*"


_REAL = re.compile(r"tl(device|\.math)?\.(fast_)?(exp|exp2|log|log2|tanh|sin|cos|dot)f?")


def _is_real(node: ast.AST) -> bool:
    """Whether it returns, or is, what one of Triton's functions of real numbers makes."""
    match node:
        case ast.Return(made) if made:
            return _is_real(made)
        case ast.Call(function, given, named):
            if ast.unparse(function) == "tl.inline_asm_elementwise":
                lists = [keyword.value for keyword in named if keyword.arg == "args"]
                return any(isinstance(x, ast.List) and all(map(_is_real, x.elts)) for x in lists)
            inner = (c for part in given for c in ast.walk(part) if isinstance(c, ast.Call))
            plain = all(ast.unparse(call.func).endswith(".to") for call in inner)
            return plain and _REAL.fullmatch(ast.unparse(function)) is not None
    return False


def _origin(
    file: str, name: str, top: ast.ImportFrom, modules: Iterable[types.ModuleType]
) -> Iterator[tuple[str, str]]:
    """The file of the user's from which a module imports a name, and what it is called there."""
    package = next((m.__package__ for m in modules if m.__dict__.get("__file__") == file), "")
    with suppress(ImportError):
        named = importlib.util.resolve_name("." * top.level + (top.module or ""), package)
        found = sys.modules.get(named)
        if found is not None and found.__file__ and not _is_installed(named):
            if _is_star(top) and hasattr(found, name):
                yield found.__file__, name
            yield from ((found.__file__, a.name) for a in top.names if name in (a.asname, a.name))


@functools.cache
def _bindings(file: str) -> list[tuple[str, ast.stmt]]:
    """The globals that a module binds, with the statement that does: of its top level, if known."""
    tree = ast.parse(_text(file))
    inner = (node for node in ast.walk(tree) if isinstance(node, ast.Global))
    bound: list[tuple[str, ast.stmt]] = [(name, node) for node in inner for name in node.names]
    for top in tree.body:
        local = isinstance(top, (ast.FunctionDef, ast.ClassDef))
        for node in [top] if local else ast.walk(top):
            match node:
                case ast.Name(name, ast.Store()) | ast.FunctionDef(name) | ast.ClassDef(name):
                    bound.append((name, top))
                case ast.alias(name, other):
                    bound.append(((other or name).partition(".")[0], top))
    return bound


def _text(file: str) -> str:
    return "".join(linecache.getlines(file))


def _leaves(names: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, Any]]]:
    for name, (kind, value, *_) in names.items():
        if kind == "namespace":
            yield from ((f"{name}.{inner}", leaf) for inner, leaf in _leaves(value))
        else:
            yield name, (kind, value)


NOT_A_CONSTANT = object()
"""What `constant` answers for anything else (None is a constant)."""


def constant(value: object) -> Any:
    """An int, float, bool, str, None or a container of these, freed of NumPy and enum types."""
    if value is None or isinstance(value, bool):
        return value
    for plain in (int, float, str):
        if isinstance(value, plain):
            return plain(getattr(value, "value", value))
    if isinstance(value, np.generic):
        return constant(value.item())
    if isinstance(value, (tuple, list)):
        items = [constant(item) for item in value]
        fits = all(item is not NOT_A_CONSTANT for item in items)
        return (tuple(items) if isinstance(value, tuple) else items) if fits else NOT_A_CONSTANT
    if isinstance(value, dict):
        pairs = {constant(key): constant(item) for key, item in value.items()}
        parts = [*pairs.keys(), *pairs.values()]
        return pairs if all(item is not NOT_A_CONSTANT for item in parts) else NOT_A_CONSTANT
    return NOT_A_CONSTANT


def _triton_meaning(value: Any) -> tuple[Any, ...] | None:
    import triton.language as tl

    if isinstance(value, tl.constexpr):
        plain = constant(value.value)
        return _triton_meaning(value.value) if plain is NOT_A_CONSTANT else ("constexpr", plain)
    if isinstance(value, tl.pointer_type):
        return ("pointer", value.element_ty.name)
    if type(value) is tl.dtype:
        return ("dtype", value.name)
    return None


def _installed_meaning(value: object) -> tuple[Any, ...] | None:
    """The place of an object of Triton, torch, NumPy or the standard library, if it has one."""
    plain = python_function(value) if is_jit_function(value) else value
    value_module = getattr(plain, "__module__", None) or type(plain).__module__
    name = getattr(plain, "__qualname__", None) or str(plain).rpartition(".")[2]
    if not isinstance(value_module, str) or not _is_installed(value_module):
        return None
    for place in (value_module, value_module.rpartition(".")[0], value_module.partition(".")[0]):
        if place in sys.modules and getattr(sys.modules[place], name, None) is value:
            return ("attribute", place, name)
    return None


def _is_installed(module: str) -> bool:
    return module.partition(".")[0] in _INSTALLED and module != "__main__"


def _definition(name: str, text: str) -> ast.FunctionDef:
    with suppress(SyntaxError):
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                node.decorator_list = []
                return node
    raise UnreadableKernelError(f"`{name}` is not written as a `def`")


def _names_read(definition: ast.FunctionDef) -> set[str]:
    """Names that the function takes from outside: body, annotations, default values."""
    tables = [symtable.symtable(ast.unparse(definition), "<kernel>", "exec")]
    for table in tables:
        tables += table.get_children()
    symbols = (symbol for table in tables for symbol in table.get_symbols())
    return {s.get_name() for s in symbols if s.is_global() and not s.is_assigned()}


def _attributes_read(definition: ast.FunctionDef) -> _Uses:
    """For each name the attributes read below it, as a tree."""
    uses: _Uses = {}
    for node in ast.walk(definition):
        path = ast.unparse(node).split(".") if isinstance(node, ast.Attribute) else []
        branch = uses
        for name in path if all(map(str.isidentifier, path)) else ():
            branch = branch.setdefault(name, {})
    return uses
