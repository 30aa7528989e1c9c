# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Finds where a jit function reads its program id, and what of it a launch's IR leaves out."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from intelliperf_swizzle import records
from intelliperf_swizzle.edit import Place
from intelliperf_swizzle.errors import SpliceError, SwizzleError
from intelliperf_swizzle.frontends.triton.ir.render import bodies
from intelliperf_swizzle.language import INPUTS, parse
from intelliperf_swizzle.language.syntax import Expression, Loop
from intelliperf_swizzle.language.syntax import reads as reads_of
from intelliperf_swizzle.records import Argument, Counter, Launch, SourceFunction, TileLoop


def scope_of(tree: ast.FunctionDef, counter: Counter) -> list[ast.stmt] | None:
    """The statements in which a counter holds the number: up to the next that assigns it.

    None if that is unknown: another statement begins the line, or an assignment is nested.
    """
    for body in bodies(tree):
        for place, statement in enumerate(body):
            if statement.lineno != counter.line:
                continue
            scope: list[ast.stmt] = []
            for later in body[place:]:
                if counter.name in bound_names(later):
                    plain = isinstance(later, ast.Assign | ast.AugAssign | ast.AnnAssign)
                    return scope if plain else None
                scope.append(later)
            return scope
    return None


AXES = (0, 1, 2)


@dataclass(frozen=True)
class Read:
    """One `tl.program_id(axis)`.

    Attributes:
        axis: the axis it reads.
        place: the call in the function's text.
        statement: index of the top-level statement of the body that contains the call.
        language: how the call spells `triton.language` (`tl`), None if it does not.
        named: the constexpr whose value is the axis; empty if a literal is.
    """

    axis: int
    place: Place
    statement: int
    language: str | None
    named: str = ""


def definition(function: SourceFunction) -> ast.FunctionDef:
    """The syntax tree of a function's own text.

    Raises:
        SpliceError: if the text is not one function of that name.
    """
    try:
        body = ast.parse(function.text).body
    except SyntaxError as error:
        line = function.first_line + (error.lineno or 1) - 1
        raise SpliceError(f"{function.file}:{line}: the kernel's text is not Python") from error
    found = [n for n in body if isinstance(n, ast.FunctionDef) and n.name == function.name]
    if len(found) != 1 or len(body) != 1:
        raise SpliceError(f"{where(function, 1)}: the recorded text is not `def {function.name}`")
    return found[0]


def where(function: SourceFunction, line: int) -> str:
    """`file:line` of a line of a function's text."""
    return f"{function.file}:{function.first_line + line - 1}"


def language_name(function: SourceFunction) -> str | None:
    """An expression that means `triton.language` in a function, by what its globals mean."""
    modules = {m[1]: name for name, m in function.names.items() if m[0] == "module"}
    if "triton.language" in modules:
        return modules["triton.language"]
    return f"{modules['triton']}.language" if "triton" in modules else None


def find_reads(
    function: SourceFunction, constants: Mapping[str, Argument] = {}
) -> tuple[Read, ...]:
    """Finds the reads of the program id in a function, in the order of its text.

    Args:
        function: of a kernel.
        constants: the values of its constexprs, which may name an axis.

    Raises:
        SpliceError: if an axis is not known or `program_id` is used other than by a call.
    """
    tree = definition(function)
    local = bound_names(tree)
    objects = {name: of for name, (kind, *of) in function.names.items() if kind == "attribute"}
    bare = {name for name, of in objects.items() if of[1].split(".")[-1] == "program_id"} - local
    reads: list[Read] = []
    for index, statement in enumerate(tree.body):
        calls = {id(n.func): n for n in ast.walk(statement) if isinstance(n, ast.Call)}
        for node in ast.walk(statement):
            by_string = isinstance(node, ast.Constant) and node.value == "program_id"
            if not by_string and not _is_program_id(node, bare, local):
                continue
            call = calls.get(id(node))
            if call is None:  # `getattr(tl, "program_id")` too
                place_of = where(function, getattr(node, "lineno", 1))
                raise SpliceError(
                    f"{place_of}: `program_id` is used without calling it",
                    hint="call it where the program id is needed",
                )
            reads.append(_read(function, call, index, constants))
    return tuple(sorted(reads, key=lambda read: (read.place.line, read.place.column)))


def bound_names(tree: ast.AST) -> frozenset[str]:
    """The names that a piece of code binds: parameters and assignments."""
    stored = (node.id for node in names_in(tree) if not isinstance(node.ctx, ast.Load))
    return frozenset(stored).union(n.arg for n in ast.walk(tree) if isinstance(n, ast.arg))


def names_in(tree: ast.AST) -> Iterator[ast.Name]:
    """The names in a piece of code, in no order."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Name))


def _is_program_id(node: ast.AST, bare: Collection[str], local: frozenset[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in bare
    if not isinstance(node, ast.Attribute) or node.attr != "program_id":
        return False
    root: ast.AST = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id not in local


def _read(
    function: SourceFunction, call: ast.Call, statement: int, constants: Mapping[str, Argument]
) -> Read:
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "axis")]
    argument = given[0] if len(given) == 1 else None
    named = argument.id if isinstance(argument, ast.Name) else ""
    axis = argument.value if isinstance(argument, ast.Constant) else constants.get(named)
    if not isinstance(axis, int) or axis not in AXES:
        raise SpliceError(
            f"{where(function, call.lineno)}: the axis of `{ast.unparse(call)}` is not known",
            hint="give the axis as a literal",
        )
    language = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else None
    return Read(axis, place(function.text, call), statement, language, named)


def place(text: str, node: ast.expr | ast.stmt) -> Place:
    """Where a node stands, in characters (the syntax tree counts UTF-8 bytes)."""
    lines = text.split("\n")
    end_line, end_bytes = node.end_lineno or node.lineno, node.end_col_offset or 0
    return Place(
        node.lineno,
        _characters(lines[node.lineno - 1], node.col_offset),
        end_line,
        _characters(lines[end_line - 1], end_bytes),
    )


def _characters(line: str, utf8_bytes: int) -> int:
    return len(line.encode()[:utf8_bytes].decode())


def jit_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """The functions of a module that Triton compiles."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [f for f in functions if any("jit" in ast.unparse(d) for d in f.decorator_list)]


def first_line_of(function: ast.FunctionDef) -> int:
    """The line of its first decorator, or its own."""
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def mention_on_host(tree: ast.Module, name: str) -> int | None:
    """The first line outside all jit functions that has a name, None if there is none."""
    inside = {id(node) for function in jit_functions(tree) for node in ast.walk(function)}
    mentions = (n.lineno for n in names_in(tree) if n.id == name and id(n) not in inside)
    return min(mentions, default=None)


def names(function: ast.FunctionDef, name: str) -> bool:
    """Whether a function reads a name that is not one of its variables."""
    return name in {node.id for node in names_in(function)} - bound_names(function)


def free_prefix(tree: ast.FunctionDef, taken: int = 0) -> str:
    """A prefix that no name of the function begins with; not one of the first that are taken."""
    names = {*bound_names(tree), *(node.id for node in names_in(tree))}
    prefixes = ("swizzle_" if number == 1 else f"swizzle{number}_" for number in count(1))
    free = (p for p in prefixes if not any(name.startswith(p) for name in names))
    return next(islice(free, taken, None))


def begins_line(statement: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether nothing stands before a statement on its line."""
    return not lines[statement.lineno - 1].encode()[: statement.col_offset].strip()


# --- what a kernel calls the factors of its number of tiles: `tiles = rows * cols` --------------


def find_factors(tree: ast.FunctionDef, loop: TileLoop) -> dict[str, Expression | None]:
    """The kernel's two names whose product is the number of tiles; none if it has none.

    With each its value as an expression of the kernel's arguments, None if it is no such.
    Names are arguments, or assigned once, before the loop.
    """
    if loop.read_from:
        return {}
    count = ast.parse(loop.count, mode="eval").body
    if isinstance(count, ast.Name):
        count = _value_of(tree, loop, count.id) or count
    if not isinstance(count, ast.BinOp) or not isinstance(count.op, ast.Mult):
        return {}
    names = [side.id for side in (count.left, count.right) if isinstance(side, ast.Name)]
    values = {name: _value_of(tree, loop, name) for name in names}
    if len(values) != 2 or None in values.values():
        return {}
    arguments = {argument.arg for argument in tree.args.args}.difference(INPUTS)
    return {name: _expression(value, arguments) for name, value in values.items() if value}


def _value_of(tree: ast.FunctionDef, loop: TileLoop, name: str) -> ast.expr | None:
    """What an argument is, or a variable that one statement alone assigns, before the loop."""
    stored = [n for n in names_in(tree) if n.id == name and isinstance(n.ctx, ast.Store)]
    if not stored and name in {argument.arg for argument in tree.args.args}:
        return ast.Name(name, ast.Load())
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets == stored and node.lineno < loop.line:
            return node.value
    return None


def _expression(value: ast.expr, arguments: set[str]) -> Expression | None:
    """A value in the language of swizzles; None if it reads more than arguments."""
    text = re.sub(r"\b[A-Za-z_]\w*\.", "", ast.unparse(value))  # `cdiv(N, BN)` for `tl.cdiv(N, BN)`
    try:
        statement = parse(f"factor = {text}\npid = pid").statements[0]
    except SwizzleError:
        return None
    if isinstance(statement, Loop):
        return None
    return statement.value if {n.name for n in reads_of(statement.value)} <= arguments else None


# --- what is compiled -----------------------------------------------------------------------------

_ACCESS = re.compile(r"\b(load|store|gather|scatter|atomic_\w+)\(")
_ELSEWHERE = re.compile(r"\b(?:is_(?:cuda|hip)\w*|\w+_geq|num_(?:warps|threads))\(.*?\)")
"""Calls whose answer is known when a kernel is compiled, and is no argument's."""
_CUT = re.compile(r"\.to\([^)]*\bu?int|\b(int|cast)\(|bitwidth|itemsize|\.is_")
"""What makes an integer, maybe an address, of a float or a type."""


def find_uncompiled(launch: Launch, compiled: Collection[Any]) -> dict[str, tuple[str, ...]]:
    """Where parts of the text begin that may access memory and are not in a launch's IR -> what
    may decide that: arguments, types of tensors, or what no patch can test.

    The compiler leaves out a branch if it knows its condition: of constexprs, None, 1, types. So
    nothing is known of what another value does. What is no number counts always if it is compared;
    a constexpr counts if it is a tuple or function, or a float or type where integers are made.
    """
    compared, plain = _comparisons(launch), str | records.DtypeArgument | None
    words = (n for n, v in launch.arguments.items() if isinstance(v, plain) and n in compared)
    text = "".join(function.text for function in launch.source.functions.values())
    made = float | records.DtypeArgument if _CUT.search(text) else records.FunctionArgument
    kinds = tuple | records.FunctionArgument | made
    held = [(n, launch.arguments.get(n)) for n in launch.constexprs]
    exact = (n for n, v in held if isinstance(v, kinds) or ("int" in str(v) and f"to({n})" in text))
    types = (_test(launch, name) for name, _ in launch.tensors() if name in compared)
    always = [*words, *(t for t in types if "." in t), *exact]
    found: dict[str, tuple[str, ...]] = {name: (name,) for name in always}
    for key, function in launch.source.functions.items():
        tree = definition(function)
        assigned = frozenset[str]().union(*map(bound_names, tree.body))
        first = function.first_line - 1
        there = {line - first for file, line in filter(None, compiled) if file == function.file}
        whole, *parts = _parts(tree.body)
        for lines, test in parts if there.intersection(whole[0]) else ():
            text = "\n".join(function.text.splitlines()[lines.start - 1 : lines.stop - 1])
            if there.isdisjoint(lines) and _may_access(text, function, launch):
                read = {*re.findall(r"\w+", test)}
                known = key == launch.source.kernel and read.isdisjoint(assigned)
                names = read & launch.arguments.keys() if known else launch.arguments
                decide = [_test(launch, name) for name in names if _is_compiled_in(launch, name)]
                found[where(function, lines.start)] = tested = (*decide, *_ELSEWHERE.findall(test))
                there.update(lines if tested else ())  # what is in it goes with it
    return found


def _comparisons(launch: Launch) -> set[str]:
    """The names that conditions and comparisons read, or that functions are given which may."""
    read: list[ast.AST] = []
    helpers = {function.name for function in launch.source.functions.values()}
    for node in ast.walk(definition(launch.source.entry)):
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            read.append(node.test)
        elif isinstance(node, ast.Compare | ast.BoolOp):
            read.append(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in helpers:
            read += [*node.args, *node.keywords]
    return {node.id for part in read for node in names_in(part)}


def _test(launch: Launch, name: str) -> str:
    """What a patch can test of an argument; of a tensor, its type, if that is asked for."""
    asked = f"{name}.dtype.element_ty"
    tensor = isinstance(launch.arguments.get(name), records.TensorArgument)
    return asked if tensor and asked in launch.source.entry.text else name


def _parts(body: Sequence[ast.stmt], test: str = "") -> Iterator[tuple[range, str]]:
    """Lines of statements and the condition under which they stand; the outer ones first."""
    yield range(body[0].lineno, (body[-1].end_lineno or 0) + 1), test
    for number, node in enumerate(body):
        if isinstance(node, ast.If | ast.For | ast.While):
            inner = ast.unparse(node.iter if isinstance(node, ast.For) else node.test)
            returns = any(isinstance(x, ast.Return) for x in ast.walk(node))
            rest = body[number + 1 :] if returns else []
            for part in filter(None, (node.body, node.orelse, rest)):
                yield from _parts(part, inner)


def _may_access(text: str, function: SourceFunction, launch: Launch) -> bool:
    """Whether a text accesses memory, or calls a function that may."""
    others = {key: other for key, other in launch.source.functions.items() if other != function}
    meant = (function.names.get(name, "?") for name in re.findall(r"\b(\w+)\(", text))
    keys = {meaning[1] for meaning in meant if meaning[0] == "function"}
    called = (other for key, other in others.items() if key in keys or f".{other.name}(" in text)
    return bool(_ACCESS.search(text)) or any(_may_access(f.text, f, launch) for f in called)


def _is_compiled_in(launch: Launch, name: str) -> bool:
    """Whether the compiler knows the value of an argument, or the text asks what it is."""
    value, text = launch.arguments[name], launch.source.entry.text
    asked = not isinstance(value, int | float) and re.search(rf"\b{name}(\.|\[| is )", text)
    return name in launch.constexprs or value in (None, 1) or bool(asked)
