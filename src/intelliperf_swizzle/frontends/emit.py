# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A swizzle as Triton, and as HIP or CUDA C++."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from intelliperf_swizzle.language import syntax
from intelliperf_swizzle.language.evaluation import simplify


@dataclass(frozen=True)
class Code:
    """Statements to put at the top of a kernel.

    Attributes:
        lines: one statement each; what is inside a loop is indented by four spaces.
        outputs: axis -> expression of the program id that the kernel is to use, after `lines`.
    """

    lines: tuple[str, ...]
    outputs: Mapping[int, str]


def emit_triton(
    swizzle: syntax.Swizzle,
    axes_read: Collection[int],
    *,
    axes: int,
    inputs: Mapping[str, str] | None = None,
    factors: Mapping[str, syntax.Expression | None] = {},
    prefix: str = "swizzle_",
    tl: str = "tl",
    **gpu: int,
) -> Code:
    """The swizzle as Python statements for the body of a Triton kernel.

    Equal to `evaluate` on every grid that it accepts, in 32-bit arithmetic.

    Args:
        swizzle: the remap.
        axes_read: the axes whose program id the kernel reads.
        axes: how many axes of the grid the launches use, 1 to 3; the others have one program.
        inputs: expressions for names that are not to be read the usual way. Usual are
            `tl.program_id(k)`, `tl.num_programs(k)` and a kernel argument by its own name.
        factors: two variables of the kernel whose product is `num_pids`, with their values if
            these are known; they save a division and, in a loop, the registers for its result.
        prefix: of every variable that is introduced; the caller sees to it that no name of the
            kernel begins like this.
        tl: what the kernel calls `triton.language`.
        gpu: as of `evaluate`; literals in the code.
    """
    usual = {
        **{name: f"{tl}.program_id({axis})" for axis, name in enumerate(syntax.AXES)},
        **{name: f"{tl}.num_programs({axis})" for axis, name in enumerate(syntax.GRID)},
    }
    body = _lower(swizzle, axes_read, axes, gpu, {**usual, **(inputs or {})}, factors)
    symbols, lines = {}, []
    for name, expression in body.bindings.items():
        symbols[name] = prefix + name
        if expression.isidentifier() and name not in body.assigned:
            symbols[name] = expression
        else:
            lines.append(f"{prefix}{name} = {expression}")
    printer = _Printer(_triton(tl), symbols, prefix)
    lines += printer.python(body.statements, f"for {prefix}_ in {tl}.static_range({{}}):")
    return Code(tuple(lines), printer.outputs(body))


def emit_cpp(
    swizzle: syntax.Swizzle,
    axes_read: Collection[int],
    *,
    axes: int,
    inputs: Mapping[str, str] | None = None,
    prefix: str = "swizzle_",
    **gpu: int,
) -> Code:
    """The swizzle as C++ statements for the body of a HIP or CUDA kernel; see `emit_triton`.

    `min` and `max` are lambdas: a parameter of the kernel may have either name.
    """
    usual = {
        **{name: f"blockIdx.{letter}" for name, letter in zip(syntax.AXES, "xyz", strict=True)},
        **{name: f"gridDim.{letter}" for name, letter in zip(syntax.GRID, "xyz", strict=True)},
    }
    body = _lower(swizzle, axes_read, axes, gpu, {**usual, **(inputs or {})})
    read = body.bindings.items()
    lines = [f"int {prefix}{name} = static_cast<int>({value});" for name, value in read]
    extremes = {name: _call(f"{prefix}{name}({{}}, {{}})", 2) for name in ("min", "max")}
    printer = _Printer({**_CPP, **extremes}, {}, prefix)
    own = list(printer.cpp(body.statements, set(body.bindings)))
    a, b = f"{prefix}a", f"{prefix}b"
    for name, sign in (("min", "<"), ("max", ">")):
        if any(f"{prefix}{name}(" in line for line in own):
            chosen = f"{{ return {a} {sign} {b} ? {a} : {b}; }};"
            lines.append(f"const auto {prefix}{name} = [](int {a}, int {b}) {chosen}")
    lines += own
    return Code(tuple(lines), printer.outputs(body))


def serial_divisions(
    swizzle: syntax.Swizzle, *, axes: int, literals: Collection[str], **gpu: int
) -> int:
    """The number of divisions on the longest dependence chain of the emitted code.

    A division by a number that the compiler knows is a multiplication and does not count.

    Args:
        swizzle: the remap.
        axes: as of `emit_triton`, like `gpu`.
        literals: inputs that the compiler knows.
        gpu: of the target.
    """
    usual = {name: name for name in (*syntax.AXES, *syntax.GRID)}
    body = _lower(swizzle, range(axes), axes, gpu, usual)
    known = {name: (0, name in literals) for name in body.bindings}

    def depth(expression: syntax.Expression) -> tuple[int, bool]:
        """The divisions that it waits for, and whether the compiler knows it."""
        if isinstance(expression, syntax.Number):
            return 0, True
        if isinstance(expression, syntax.Name):
            return known[expression.name]
        depths, literal = zip(*map(depth, expression.operands), strict=True)
        divides = expression.operator in ("//", "%") and not literal[1]
        return max(depths) + divides, all(literal)

    def walk(statements: tuple[syntax.Statement, ...]) -> None:
        for statement in statements:
            if isinstance(statement, syntax.Loop):
                for _ in range(statement.count):
                    walk(statement.body)
            else:
                known[statement.target] = depth(statement.value)

    walk(body.statements)
    return max((depth(result)[0] for result in body.results.values()), default=0)


# --- what all emitters share --------------------------------------------------------------------


@dataclass(frozen=True)
class _Lowered:
    """Simplified statements from program ids to program ids.

    Attributes:
        statements: what is left to compute.
        bindings: input name -> expression in the kernel, for those that are read.
        assigned: names that the statements assign.
        results: axis -> name or number.
    """

    statements: tuple[syntax.Statement, ...]
    bindings: Mapping[str, str]
    assigned: frozenset[str]
    results: Mapping[int, syntax.Expression]


def _lower(
    swizzle: syntax.Swizzle,
    axes_read: Collection[int],
    axes: int,
    constants: Mapping[str, int],
    expressions: Mapping[str, str],
    factors: Mapping[str, syntax.Expression | None] = {},
) -> _Lowered:
    """From what the kernel has (`expressions` by input name) to the program ids that it reads."""
    expressions = {**expressions, **{_own(text).name: text for text in factors}}
    if axes == 1:
        whole = {"pid": expressions["pid_0"], "num_pids": expressions["grid_0"]}
        expressions = {**whole, **expressions}
    unused = {**dict.fromkeys(syntax.AXES[axes:], 0), **dict.fromkeys(syntax.GRID[axes:], 1)}
    known = {**constants, **unused}
    known |= {name: int(text) for name, text in expressions.items() if text.isdecimal()}
    before = [step for step in _linear_inputs(axes) if step.target not in expressions]
    linear = swizzle.outputs == ("pid",)
    after = _axes_of_pid(axes) if linear and axes > 1 else ()
    names = ("pid", *syntax.AXES[1:]) if linear and axes == 1 else syntax.AXES
    results = {axis: names[axis] for axis in sorted(axes_read)}
    own = (*swizzle.statements, *after)
    if linear and "pid" not in expressions:
        own = _reuse(own, _quotients(axes))
    elif factors:
        own = _reuse(own, _factors(factors, syntax.assigned_names(own)))
    statements, constants = simplify((*before, *own), known, set(results.values()))
    assigned = syntax.assigned_names(statements)
    made = assigned | constants.keys()
    unassigned = (name for name in results.values() if name not in made)
    free = dict.fromkeys((*syntax.free_names(statements), *unassigned))
    return _Lowered(
        statements,
        {name: expressions.get(name, name) for name in free},
        frozenset(assigned),
        {
            axis: syntax.Number(constants[name]) if name in constants else syntax.Name(name)
            for axis, name in results.items()
        },
    )


_PID = tuple(map(syntax.Name, syntax.AXES))
_EXTENT = tuple(map(syntax.Name, syntax.GRID))


def _linear_inputs(axes: int) -> tuple[syntax.Assignment, ...]:
    """What counts all programs, from the axes; what is not needed is dropped later."""
    pid, programs = _linear(0, axes)
    values = {"program": pid, "num_programs": programs, "pid": pid, "num_pids": programs}
    return tuple(syntax.Assignment(name, value) for name, value in values.items())


def _linear(first: int, axes: int) -> tuple[syntax.Expression, syntax.Expression]:
    """The launch index over the axes from the first one on, and the number of its values."""
    pid: syntax.Expression = _PID[axes - 1]
    programs: syntax.Expression = _EXTENT[axes - 1]
    for axis in reversed(range(first, axes - 1)):
        pid = syntax.Operation("+", (_PID[axis], syntax.Operation("*", (_EXTENT[axis], pid))))
        programs = syntax.Operation("*", (_EXTENT[axis], programs))
    return pid, programs


def _reuse(
    statements: tuple[syntax.Statement, ...], forms: Mapping[syntax.Expression, syntax.Expression]
) -> tuple[syntax.Statement, ...]:
    """The statements, with what the kernel already has where they divide for it again.

    For two axes, `pid % grid_0` is `pid_0`, `pid // grid_0` is `pid_1` and `num_pids // grid_0` is
    `grid_1`: a division less each, of the twenty instructions that one takes. So it goes on until
    `pid` is assigned.
    """
    names: dict[str, syntax.Name] = {}  # local names of what the kernel has
    had = {*map(syntax.Name, syntax.INPUTS), *forms.values()}

    def undivided(expression: syntax.Expression) -> syntax.Expression:
        if isinstance(expression, syntax.Name):
            return names.get(expression.name, forms.get(expression, expression))
        if isinstance(expression, syntax.Number):
            return expression
        whole = syntax.Operation(expression.operator, tuple(map(undivided, expression.operands)))
        return forms.get(whole, whole)

    done: list[syntax.Statement] = []
    for index, statement in enumerate(statements):
        if isinstance(statement, syntax.Loop):
            return (*done, *statements[index:])
        target, value = statement.target, undivided(statement.value)
        if target in syntax.INPUTS and value != syntax.Name(target):
            return (*done, syntax.Assignment(target, value), *statements[index + 1 :])
        names.pop(target, None)
        if isinstance(value, syntax.Name) and value in had:
            names[target] = value
        done.append(syntax.Assignment(target, value))
    return tuple(done)


def _factors(
    factors: Mapping[str, syntax.Expression | None], assigned: Collection[str]
) -> dict[syntax.Expression, syntax.Expression]:
    """What the values of two factors of `num_pids`, and it divided by one, are called.

    A value with a name that the statements assign is another.
    """
    forms: dict[syntax.Expression, syntax.Expression] = {
        value: _own(text)
        for text, value in factors.items()
        if value and not any(name.name in assigned for name in syntax.reads(value))
    }
    first, second = map(_own, factors)
    forms[syntax.Operation("//", (syntax.Name("num_pids"), first))] = second
    forms[syntax.Operation("//", (syntax.Name("num_pids"), second))] = first
    return forms


def _own(text: str) -> syntax.Name:
    """A variable of the kernel, apart from all names that a swizzle may have."""
    return syntax.Name(f"kernel's {text}")


def _quotients(axes: int) -> dict[syntax.Expression, syntax.Expression]:
    """What the launch index and the number of programs are, divided by the extents in turn."""
    forms: dict[syntax.Expression, syntax.Expression] = {}
    index: syntax.Expression = syntax.Name("pid")
    count: syntax.Expression = syntax.Name("num_pids")
    for axis in range(axes - 1):
        above, programs = _linear(axis + 1, axes)
        forms[syntax.Operation("%", (index, _EXTENT[axis]))] = _PID[axis]
        forms[syntax.Operation("//", (index, _EXTENT[axis]))] = above
        forms[syntax.Operation("//", (count, _EXTENT[axis]))] = programs
        index, count = above, programs
    return forms


def _axes_of_pid(axes: int) -> tuple[syntax.Assignment, ...]:
    """The program id along each axis from the linear `pid`."""
    rest: syntax.Expression = syntax.Name("pid")
    split = []
    for axis in range(axes):
        along = syntax.Operation("%", (rest, _EXTENT[axis])) if axis < axes - 1 else rest
        split.append(syntax.Assignment(syntax.AXES[axis], along))
        rest = syntax.Operation("//", (rest, _EXTENT[axis]))
    return tuple(split)


@dataclass(frozen=True)
class _Form:
    """How an operation is written: a template, its precedence, and what its operands need."""

    template: str
    level: int
    operands: tuple[int, ...]


_ATOM = 100


def _infix(symbol: str, level: int) -> _Form:
    return _Form(f"{{}} {symbol} {{}}", level, (level, level + 1))


def _call(template: str, operands: int) -> _Form:
    return _Form(template, _ATOM, (0,) * operands)


def _ladder(*levels: str) -> dict[str, _Form]:
    """Infix operators, the loosest level first; behind a colon how one is written otherwise."""
    forms: dict[str, _Form] = {}
    for level, row in enumerate(levels, 1):
        words = (word.partition(":") for word in row.split())
        forms |= {name: _infix(symbol or name, level) for name, _, symbol in words}
    return forms


_PYTHON = _ladder("== != < <= > >=", "or:| |", "^", "and:& &", "<< >>", "+ -", "* // %")
_CPP = {
    "where": _Form("{} ? {} : {}", 0, (1, 1, 1)),
    **_ladder("or:||", "and:&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* //:/ %"),
}


def _triton(tl: str) -> dict[str, _Form]:
    """The forms in a kernel that calls `triton.language` so."""
    return {
        **_PYTHON,
        "min": _call(f"{tl}.minimum({{}}, {{}})", 2),
        "max": _call(f"{tl}.maximum({{}}, {{}})", 2),
        "where": _call(f"{tl}.where({{}}, {{}}, {{}})", 3),
    }


@dataclass(frozen=True)
class _Printer:
    """Prints expressions by forms; names by `symbols`, the others with the prefix."""

    forms: Mapping[str, _Form]
    symbols: Mapping[str, str]
    prefix: str

    def expression(self, expression: syntax.Expression, level: int = 0) -> str:
        if isinstance(expression, syntax.Number):
            return str(expression.value)
        if isinstance(expression, syntax.Name):
            return self.symbols.get(expression.name, self.prefix + expression.name)
        form = self.forms[expression.operator]
        pairs = zip(expression.operands, form.operands, strict=True)
        operands = [self.expression(operand, needed) for operand, needed in pairs]
        text = form.template.format(*operands)
        return text if form.level >= level else f"({text})"

    def outputs(self, body: _Lowered) -> dict[int, str]:
        return {axis: self.expression(value) for axis, value in body.results.items()}

    def python(self, statements: tuple[syntax.Statement, ...], counter: str) -> Iterator[str]:
        for statement in statements:
            if isinstance(statement, syntax.Loop):
                yield counter.format(statement.count)
                yield from (f"    {line}" for line in self.python(statement.body, counter))
            else:
                yield f"{self.prefix}{statement.target} = {self.expression(statement.value)}"

    def cpp(self, statements: tuple[syntax.Statement, ...], declared: set[str]) -> Iterator[str]:
        """C++ statements; `declared` grows by what they declare."""
        for statement in statements:
            if isinstance(statement, syntax.Loop):
                for name in sorted(syntax.assigned_names(statement.body) - declared):
                    declared.add(name)
                    yield f"int {self.prefix}{name} = 0;"
                counter = f"{self.prefix}_"
                yield f"for (int {counter} = 0; {counter} < {statement.count}; ++{counter}) {{"
                yield from (f"    {line}" for line in self.cpp(statement.body, declared))
                yield "}"
                continue
            kind = "" if statement.target in declared else "int "
            declared.add(statement.target)
            yield f"{kind}{self.prefix}{statement.target} = {self.expression(statement.value)};"
