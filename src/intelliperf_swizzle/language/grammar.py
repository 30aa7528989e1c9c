# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Text to swizzle: Python's syntax, a small part of it, never executed."""

from __future__ import annotations

import ast
import difflib
import itertools
import math
import re
import threading
import warnings
from collections.abc import Collection, Sequence

from intelliperf_swizzle.errors import LanguageError
from intelliperf_swizzle.language import syntax

MAX_CHARACTERS = 10_000
MAX_DEPTH = 64
"""Nesting of an expression; the printers and the evaluation recurse this deep."""
MAX_OPERATIONS = 4096
"""Operations of a swizzle with its loops unrolled; a Hilbert curve of 2**32 tiles needs 400."""
LARGEST = 2**31 - 1
MAX_MEMBERS = 64
"""Of a family; each is proved and screened in milliseconds, on a large launch in a second."""
MAX_FAMILY_CHARACTERS = 100_000
"""Of all members of a family together, as each is kept with its text."""

PARSING = threading.RLock()
"""Held by who parses: Python 3.11 cannot in two threads (github.com/python/cpython/issues/106905),
and `warnings` keeps its filters for all."""

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_LOGIC = {ast.And: "and", ast.Or: "or"}

_STATEMENTS = "a swizzle is assignments and `for _ in range(CONSTANT)` loops"
_EXPRESSIONS = (
    "integers, names, + - * // % << >> & | ^, comparisons, and, or, not, `a if c else b`, "
    "min, max, cdiv, where"
)
_PARAMETERS = "write `w in 4, 6, 8` or `w in range(4, 65, 4)`, a line each"
_REMEDIES: dict[type[ast.AST], tuple[str, str]] = {
    ast.Attribute: ("an attribute", "a kernel's argument is read by its plain name"),
    ast.Expr: ("a statement that assigns nothing", _STATEMENTS),
    ast.In: ("`in`", "compare with `==` and `or`"),
    ast.If: ("an `if` statement", "write `x = where(condition, a, b)`"),
    ast.While: ("a `while` loop", _STATEMENTS),
    ast.FunctionDef: ("a function definition", "write its body with `pid` as input and output"),
    ast.Return: ("a `return`", "assign to `pid` instead"),
    ast.Import: ("an import", _STATEMENTS),
    ast.ImportFrom: ("an import", _STATEMENTS),
    ast.AugAssign: ("an augmented assignment", "write `x = x + 1`"),
    ast.Div: ("`/`", "integers are divided with `//`"),
    ast.Pow: ("`**`", "write `1 << k` or a product"),
    ast.Invert: ("`~`", "write `-x - 1`"),
    ast.Subscript: ("an index", "there are no lists or tables in the language"),
    ast.Tuple: ("a tuple", "write one assignment per name"),
    ast.List: ("a list", "there are no lists or tables in the language"),
    ast.Lambda: ("a lambda", _EXPRESSIONS),
    ast.NamedExpr: ("`:=`", "write a separate assignment"),
}


def parse(text: str) -> syntax.Swizzle:
    """Read a swizzle; nothing of it is executed and nothing is repaired.

    Names that are neither assigned nor inputs are taken for arguments of a kernel that is not
    known yet; `check` and `evaluate` refuse those that stay unbound.

    Raises:
        LanguageError: anything outside the grammar, with `line:column` and the reason.
    """
    statements = _SyntaxReader().block(_module(text).body)
    return syntax.Swizzle(
        text, statements, frozenset(syntax.free_names(statements)), _outputs(statements)
    )


def parse_family(text: str) -> syntax.Family:
    """Read a family of swizzles: lines that give names their values, then statements.

    A text without such lines is a family without parameters, and what is wrong with its statements
    is for `parse` to say.

    Raises:
        LanguageError: anything outside the grammar, a parameter that no statement reads, or more
            than `MAX_MEMBERS` members.
    """
    body = _module(text).body
    declared = list(itertools.takewhile(_declares, body))
    if not declared:
        return syntax.Family({}, text)
    reader = _SyntaxReader()
    parameters: dict[str, Sequence[int]] = {}
    for node in declared:
        name, values = reader.parameter(node)
        if name in parameters:
            raise _refusal(node, f"`{name}` already has values", "one line per parameter")
        parameters[name] = values
    statements = reader.block(body[len(declared) :])
    _outputs(statements)
    read = syntax.free_names(statements)
    for node, name in zip(declared, parameters, strict=True):
        if name not in read:
            raise _refusal(node, f"no statement reads the parameter `{name}`", "leave it out")
    members = math.prod(len(values) for values in parameters.values())
    rest = _after(text, declared[-1])
    if members > MAX_MEMBERS:
        raise LanguageError(
            f"a family has at most {MAX_MEMBERS} members, this one has {members}",
            hint="members are all choices of the values: name fewer values",
        )
    if members * len(rest) > MAX_FAMILY_CHARACTERS:
        raise LanguageError(
            f"the members of a family have at most {MAX_FAMILY_CHARACTERS} characters together, "
            f"these have {members * len(rest)}",
            hint="name fewer values, or write fewer statements",
        )
    return syntax.Family({name: tuple(values) for name, values in parameters.items()}, rest)


def check(swizzle: syntax.Swizzle, constants: Collection[str]) -> None:
    """Refuse a swizzle that reads a name which is neither an input nor among `constants`.

    Raises:
        LanguageError: with the place of the name and what it may have been meant to be.
    """
    if swizzle.names <= {*syntax.INPUTS, *constants}:
        return
    known = (*syntax.INPUTS, *sorted(set(constants) - set(syntax.INPUTS)))
    assigned = syntax.assigned_names(swizzle.statements)
    for name, occurrence in syntax.free_names(swizzle.statements).items():
        if name not in known:
            early = name in assigned
            fact = f"`{name}` is read before it is assigned" if early else f"unknown name `{name}`"
            raise _refusal(occurrence.place, fact, _meant(name, known, assigned))


def _meant(name: str, known: tuple[str, ...], assigned: set[str]) -> str:
    lowered = {other.lower(): other for other in (*assigned - {name}, *known)}
    close = difflib.get_close_matches(name.lower(), lowered, n=1)
    exists = f"there are {', '.join(known)}"
    return f"did you mean `{lowered[close[0]]}`? {exists}" if close else exists


def _module(text: str) -> ast.Module:
    if len(text) > MAX_CHARACTERS:
        raise LanguageError(
            f"a swizzle has at most {MAX_CHARACTERS} characters, this one has {len(text)}",
            hint="a remap is a few integer operations",
        )
    try:
        with PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise _refusal((error.lineno or 1, error.offset or 1), error.msg, None) from None
    except ValueError as error:
        raise LanguageError(f"the text cannot be read: {error}") from None
    except (MemoryError, RecursionError):
        raise LanguageError(
            "the text is nested too deeply to be read", hint="name parts of it"
        ) from None


def bound_divisors(text: str) -> str:
    """The same text with no divisor below 1; raises LanguageError.

    Where the text may be computed it is the same, and elsewhere it divides by no zero.
    """
    tree = _module(text)
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    others = {ast.unparse(node.targets[0]) for node in assigned if not _is_at_least_1(node.value)}
    least = {ast.unparse(node.targets[0]) for node in assigned if _begins(node, text)}
    least = (least | {*syntax.COUNTS}) - others
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod):
            node.right = _at_least_1(node.right, least)
        elif isinstance(node, ast.Call) and _called(node.func) == "cdiv":
            node.args[1] = _at_least_1(node.args[1], least)
    return ast.unparse(tree)


def _begins(assignment: ast.Assign, text: str) -> bool:
    """Whether a name is assigned before it is read, so that it is not an argument of the kernel."""
    first = re.search(rf"\b{ast.unparse(assignment.targets[0])}\b(\s*=(?!=))?", text)
    return first is not None and first[1] is not None


def _is_at_least_1(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and bool(re.match(r"max\(.*, 1\)$", ast.unparse(value)))


def _at_least_1(divisor: ast.expr, least: Collection[str]) -> ast.expr:
    factors = ast.unparse(divisor).split(" * ")
    if all(factor.isdigit() or factor in least for factor in factors) or _is_at_least_1(divisor):
        return divisor
    return ast.Call(ast.Name("max", ast.Load()), [divisor, ast.Constant(1)], [])


def _refusal(at: ast.AST | syntax.Place, fact: str, hint: str | None) -> LanguageError:
    line, column = _place(at) if isinstance(at, ast.AST) else at
    return LanguageError(f"{line}:{column}: {fact}", hint=hint)


def _place(node: ast.AST) -> syntax.Place:
    return (getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1)


def _declares(node: ast.stmt) -> bool:
    """Whether a statement gives a name its values, as `w in 4, 6, 8` does."""
    value = node.value if isinstance(node, ast.Expr) else None
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return any(isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.In) for part in parts)


def _after(text: str, node: ast.stmt) -> str:
    """What follows a statement, the rest of its line first; places are in bytes of UTF-8."""
    lines = re.split(r"\r\n|\r|\n", text)
    line, column = node.end_lineno or 1, node.end_col_offset or 0
    return "\n".join((lines[line - 1].encode()[column:].decode(), *lines[line:]))


def _not_in_language(part: ast.AST, at: ast.AST, hint: str) -> LanguageError:
    what, remedy = _REMEDIES.get(type(part), (f"`{type(part).__name__}`", hint))
    return _refusal(at, f"{what} is not part of the swizzle language", remedy)


def _outputs(statements: tuple[syntax.Statement, ...]) -> tuple[str, ...]:
    assigned = syntax.assigned_names(statements)
    axes = tuple(axis for axis in syntax.AXES if axis in assigned)
    if "pid" in assigned and axes:
        raise LanguageError(
            f"both `pid` and `{axes[0]}` are assigned, so the outcome is ambiguous",
            hint="use another name for the intermediate one",
        )
    if not axes and "pid" not in assigned:
        raise LanguageError(
            "neither `pid` nor `pid_0`, `pid_1`, `pid_2` is assigned",
            hint="the last line usually is `pid = …`",
        )
    return axes or ("pid",)


class _SyntaxReader:
    """Turns Python's syntax tree into ours and counts what it makes."""

    def __init__(self) -> None:
        self._operations = 0
        self._repeats = 1

    def block(self, body: list[ast.stmt]) -> tuple[syntax.Statement, ...]:
        return tuple(self._statement(node) for node in body)

    def parameter(self, node: ast.stmt) -> tuple[str, Sequence[int]]:
        """A name and its values, of a statement that `_declares`."""
        value = node.value if isinstance(node, ast.Expr) else None
        compared, *others = value.elts if isinstance(value, ast.Tuple) else [value]
        match compared:
            case ast.Compare(left=ast.Name() as target, ops=[_], comparators=[first]):
                name = self._name(target)
            case _:
                raise _refusal(node, "a parameter is one name with its values", _PARAMETERS)
        if name in syntax.INPUTS:
            raise _refusal(node, f"`{name}` is given by the launch", "use another name")
        if isinstance(first, ast.Call) and _called(first.func) == "range" and not others:
            return name, self._range(first)
        return name, [self._literal(v) for v in (first, *others)]

    def _range(self, node: ast.Call) -> range:
        bounds = [self._literal(argument) for argument in node.args]
        if node.keywords or not 1 <= len(bounds) <= 3 or 0 in bounds[2:]:
            raise _refusal(node, "`range` takes one to three integers", _PARAMETERS)
        values = range(*bounds)
        if not values:
            raise _refusal(node, f"`{ast.unparse(node)}` has no values", _PARAMETERS)
        return values

    def _literal(self, node: ast.expr) -> int:
        if not isinstance(node, ast.Constant):
            raise _refusal(
                node, "the values of a parameter are integers of at least 0", _PARAMETERS
            )
        return self._number(node).value

    def _statement(self, node: ast.stmt) -> syntax.Statement:
        self._count(_place(node))
        if isinstance(node, ast.Assign):
            return self._assignment(node)
        if isinstance(node, ast.For):
            return self._loop(node)
        if _declares(node):
            raise _refusal(
                node, "only a family has a parameter, before its first statement", _STATEMENTS
            )
        raise _not_in_language(node, node, _STATEMENTS)

    def _assignment(self, node: ast.Assign) -> syntax.Assignment:
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Name):
            raise _refusal(target, "only one plain name can be assigned", "write one per line")
        if self._name(target) in syntax.GRID:
            raise _refusal(target, f"`{target.id}` is given by the launch", "use another name")
        value = _used_as_number(self._expression(node.value, 0))
        return syntax.Assignment(target.id, value, _place(node))

    def _loop(self, node: ast.For) -> syntax.Loop:
        match node:
            case ast.For(
                ast.Name("_"), ast.Call(ast.Name("range"), [ast.Constant(count)], []), orelse=[]
            ) if type(count) is int and count >= 1:
                before = self._repeats
                self._repeats *= count
                self._count(_place(node))
                body = self.block(node.body)
                self._repeats = before
                return syntax.Loop(count, body, _place(node))
        raise _refusal(
            node,
            "the only loop is `for _ in range(CONSTANT)`",
            "write the number of rounds as an integer of at least 1; use where() to stop",
        )

    def _count(self, place: syntax.Place) -> None:
        self._operations += self._repeats
        if self._operations > MAX_OPERATIONS:
            raise _refusal(
                place,
                f"more than {MAX_OPERATIONS} operations, loops unrolled",
                "a remap is a few integer operations",
            )

    def _check_depth(self, depth: int, place: syntax.Place) -> None:
        if depth > MAX_DEPTH:
            raise _refusal(
                place, f"nested more than {MAX_DEPTH} deep", "assign parts of it to variables"
            )

    def _name(self, node: ast.Name) -> str:
        if not node.id.isascii() or node.id == "_" or node.id in syntax.FUNCTIONS:
            raise _refusal(node, f"`{node.id}` cannot be a variable", "use another name")
        return node.id

    def _expression(self, node: ast.expr, depth: int) -> syntax.Expression:
        place = _place(node)
        self._count(place)
        self._check_depth(depth, place)
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name():
                return syntax.Name(self._name(node), place)
            case ast.BinOp(op=operator) if type(operator) in _BINARY:
                read = self._operands([node.left, node.right], depth)
                return _operation(_BINARY[type(operator)], read, place)
            case ast.BinOp(op=operator) | ast.UnaryOp(op=ast.Invert() as operator):
                raise _not_in_language(operator, node, _EXPRESSIONS)
            case ast.UnaryOp(op=ast.Not()):
                return _operation("not", self._operands([node.operand], depth), place)
            case ast.UnaryOp(op=ast.UAdd()):
                return _used_as_number(self._expression(node.operand, depth + 1))
            case ast.UnaryOp():
                operand = self._expression(node.operand, depth + 1)
                return _operation("-", [syntax.Number(0, place), operand], place)
            case ast.BoolOp():
                read = self._operands(node.values, depth)
                return self._chain(_LOGIC[type(node.op)], read, place, depth)
            case ast.Compare():
                return self._comparison(node, depth)
            case ast.IfExp():
                read = self._operands([node.test, node.body, node.orelse], depth)
                return _operation("where", read, place)
            case ast.Call():
                return self._call(node, depth)
        raise _not_in_language(node, node, _EXPRESSIONS)

    def _number(self, node: ast.Constant) -> syntax.Number:
        value = node.value
        if type(value) is not int:
            kind = {float: "a float", str: "a string", bool: "a truth value"}.get(
                type(value), f"`{value!r}`"
            )
            raise _refusal(node, f"{kind} is not an integer", "write integers only")
        if value > LARGEST:
            literal = value if value < 2**64 else f"an integer of {value.bit_length()} bits"
            raise _refusal(node, f"{literal} does not fit in 31 bits", f"the largest is {LARGEST}")
        return syntax.Number(value, _place(node))

    def _operands(self, nodes: list[ast.expr], depth: int) -> list[syntax.Expression]:
        return [self._expression(node, depth + 1) for node in nodes]

    def _comparison(self, node: ast.Compare, depth: int) -> syntax.Expression:
        sides = [node.left, *node.comparators]
        links: list[syntax.Expression] = []
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if type(operator) not in _COMPARE:
                raise _not_in_language(operator, node, _EXPRESSIONS)
            read = self._operands([left, right], depth)
            links.append(_operation(_COMPARE[type(operator)], read, _place(node)))
        return self._chain("and", links, _place(node), depth)

    def _call(self, node: ast.Call, depth: int) -> syntax.Expression:
        place = _place(node)
        function = _called(node.func)
        if function not in syntax.FUNCTIONS:
            plain = function.rpartition(".")[2]
            known = ", ".join(syntax.FUNCTIONS)
            calls = f"the only calls are {known}; program ids are `pid`, `pid_0`, …"
            raise _refusal(
                place,
                f"`{function}` cannot be called",
                f"write `{plain}`" if plain in syntax.FUNCTIONS else calls,
            )
        arity = syntax.FUNCTIONS[function]
        number = len(node.args)
        if node.keywords or (number < 2 if function in ("min", "max") else str(number) != arity):
            raise _refusal(place, f"`{function}` takes {arity} operands", None)
        operands = self._operands(node.args, depth)
        if function == "cdiv":
            divisor = self._expression(node.args[1], depth + 1)  # counted again: it occurs twice
            less_one = _operation("-", [divisor, syntax.Number(1, place)], place)
            total = _operation("+", [operands[0], less_one], place)
            return _operation("//", [total, operands[1]], place)
        if function in ("min", "max"):
            return self._chain(function, operands, place, depth)
        return _operation(function, operands, place)

    def _chain(
        self, operator: str, operands: list[syntax.Expression], place: syntax.Place, depth: int
    ) -> syntax.Expression:
        """`a op b op c` as nested binary operations; a single operand is itself."""
        self._check_depth(depth + len(operands) - 1, place)
        chained = operands[0]
        for operand in operands[1:]:
            chained = _operation(operator, [chained, operand], place)
        return chained


def _called(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}"
    return "an expression"


def _operation(
    operator: str, operands: list[syntax.Expression], place: syntax.Place
) -> syntax.Operation:
    wants_truth = len(operands) if operator in syntax.LOGIC else 1 if operator == "where" else 0
    for operand in operands[wants_truth:]:
        _used_as_number(operand)
    return syntax.Operation(operator, tuple(operands), place)


def _is_truth_value(expression: syntax.Expression) -> bool:
    """Whether Python, too, would answer True or False here."""
    if not syntax.is_condition(expression):
        return False
    joins = expression.operator in ("and", "or")
    return not joins or all(map(_is_truth_value, expression.operands))


def _used_as_number(expression: syntax.Expression) -> syntax.Expression:
    """Refuse `a and b` of numbers where its value counts: Python answers a or b, a GPU 1 or 0."""
    if syntax.is_condition(expression) and not _is_truth_value(expression):
        raise _refusal(
            expression.place,
            f"the value of `{expression.operator}` between numbers is ambiguous",
            "compare them, as in `x != 0 and y != 0`",
        )
    return expression
