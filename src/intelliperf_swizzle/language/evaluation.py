# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The value of a swizzle for every program of a grid, with every intermediate value checked.

The checks make NumPy (64 bits), Triton, HIP and CUDA (32 bits, division towards zero, undefined
shifts) agree: where a text passes them, all targets agree.

And what of a swizzle is known before it is executed: `simplify`.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from intelliperf_swizzle.errors import LanguageError
from intelliperf_swizzle.language import syntax
from intelliperf_swizzle.language.grammar import LARGEST, check
from intelliperf_swizzle.records import Constants, Grid, Int64Array

LARGEST_SHIFT = 30
CHUNK = 1 << 15
"""Programs evaluated together: temporaries stay in a core's L2 cache, which is 3 times faster."""

Values: TypeAlias = "int | Int64Array"
Truth: TypeAlias = "bool | npt.NDArray[np.bool_]"


@dataclass(frozen=True, eq=False)
class Owners:
    """The programs that take numbers of which each takes several.

    Attributes:
        program: int32[numbers] or int64[numbers].
        programs: how many there are.
        starts: the first numbers of the runs that are renumbered each as if it were all there is.
    """

    program: npt.NDArray[np.integer[Any]]
    programs: int
    starts: tuple[int, ...] = (0,)


def evaluate(
    swizzle: syntax.Swizzle,
    grid: Grid,
    constants: Constants,
    *,
    owners: Owners | None = None,
    **gpu: int,
) -> Int64Array:
    """The tile that each program computes.

    Args:
        swizzle: the remap.
        grid: programs along the three axes.
        constants: the kernel's integer arguments by name; inputs of the language come first.
        owners: who takes the numbers, where a program takes several; then the grid is of these.
        gpu: what is read of the target: `Target.inputs`.

    Returns:
        int64[programs]; launch index (axis 0 fastest) -> tile. Nothing is known yet about its
        range: an output `pid` may be any number; where an output `pid_k` lies outside its axis the
        tile is -1.

    Raises:
        LanguageError: an unbound name, or a value on this grid that the language forbids. Both
            sides of a choice must be legal for every program, as hardware computes both.

    Cost: linear in programs × operations; ten to thirty milliseconds for a pattern on a million
    programs.
    """
    check(swizzle, constants)
    programs = grid[0] * grid[1] * grid[2]
    if owners and len(owners.starts) > 1:
        runs = []
        for at, end in pairwise((*owners.starts, programs)):
            some = Owners(owners.program[at:end], owners.programs)
            runs.append(at + evaluate(swizzle, (end - at, 1, 1), constants, owners=some, **gpu))
        return np.concatenate(runs)
    tile = np.empty(programs, np.int64)
    numbers = _numbers(swizzle.names, grid, constants, gpu)
    if owners and "num_programs" in numbers:
        numbers["num_programs"] = owners.programs
    for first in range(0, programs, CHUNK):
        pid = np.arange(first, min(first + CHUNK, programs), dtype=np.int64)
        own = owners.program[first : first + CHUNK].astype(np.int64) if owners else pid
        tile[first : first + CHUNK] = _tiles(swizzle, pid, own, grid, numbers)
    return tile


def _tiles(
    swizzle: syntax.Swizzle,
    pid: Int64Array,
    own: Int64Array,
    grid: Grid,
    numbers: Mapping[str, Values],
) -> Int64Array | int:
    """A tile for each program, or one for all; `own` are the numbers of those that take them."""
    ids = _program_ids(swizzle.names, pid, grid)
    if "program" in swizzle.names:
        ids["program"] = own
    evaluation = _Evaluation({**numbers, **ids})
    try:
        evaluation.run(swizzle.statements)
    except _IllegalValueError as illegal:
        raise illegal.refusal(int(pid[0])) from None
    if swizzle.outputs == ("pid",):
        return evaluation.variables["pid"]
    return _linear(swizzle, evaluation.variables, pid, grid)


def outside_axis(
    swizzle: syntax.Swizzle, grid: Grid, constants: Constants, program: int, **gpu: int
) -> tuple[str, int, int] | None:
    """The first coordinate that a program is given outside its axis: its name, value and extent.

    None if there is none, as of an output `pid`. Arguments as of `evaluate`, which has succeeded.
    """
    pid = np.array([program], np.int64)
    numbers = _numbers(swizzle.names, grid, constants, gpu)
    ids = {**_program_ids(swizzle.names, pid, grid), "program": pid}
    evaluation = _Evaluation({**numbers, **ids})
    evaluation.run(swizzle.statements)
    for axis, name in enumerate(syntax.AXES):
        if name in swizzle.outputs:
            value = int(np.ravel(evaluation.variables[name])[0])
            if not 0 <= value < grid[axis]:
                return name, value, grid[axis]
    return None


def _numbers(
    names: frozenset[str], grid: Grid, constants: Constants, gpu: Mapping[str, int]
) -> dict[str, Values]:
    """The inputs that are the same for all programs; the language's own come first."""
    numbers = {
        **{name: int(value) for name, value in constants.items()},
        "num_pids": grid[0] * grid[1] * grid[2],
        "num_programs": grid[0] * grid[1] * grid[2],
        **dict(zip(syntax.GRID, grid, strict=True)),
        **gpu,
    }
    return {name: numbers[name] for name in names & {*numbers}}


def _program_ids(names: frozenset[str], pid: Int64Array, grid: Grid) -> dict[str, Values]:
    """Those of `pid`, `pid_0`, `pid_1`, `pid_2` that are asked for."""
    ids: dict[str, Values] = {"pid": pid} if "pid" in names else {}
    for axis, name in enumerate(syntax.AXES):
        if name in names:
            ids[name] = _remainder(pid // math.prod(grid[:axis]), grid[axis])
    return ids


def _linear(
    swizzle: syntax.Swizzle, variables: dict[str, Values], pid: Int64Array, grid: Grid
) -> Int64Array:
    """`pid_0 + grid_0 * (pid_1 + grid_1 * pid_2)`, -1 where a coordinate is out of range."""
    kept = frozenset(syntax.AXES) - {*swizzle.outputs}
    along = {**variables, **_program_ids(kept, pid, grid)}
    tile = np.zeros_like(pid)
    inside = np.ones(len(pid), np.bool_)
    for axis, name in enumerate(syntax.AXES):
        coordinate = along[name]
        tile += coordinate * math.prod(grid[:axis])
        inside &= (coordinate >= 0) & (coordinate < grid[axis])
    return np.where(inside, tile, -1)


class _Evaluation:
    """Runs statements for a chunk of programs; `variables` are the values so far."""

    def __init__(self, inputs: dict[str, Values]) -> None:
        self.variables = inputs

    def run(self, statements: tuple[syntax.Statement, ...]) -> None:
        for statement in statements:
            if isinstance(statement, syntax.Assignment):
                self.variables[statement.target] = self._number(statement.value)
            else:
                for _ in range(statement.count):
                    self.run(statement.body)

    def _number(self, expression: syntax.Expression) -> Values:
        if isinstance(expression, syntax.Number):
            return expression.value
        if isinstance(expression, syntax.Name):
            value = self.variables[expression.name]
            return _fits(value, expression) if isinstance(value, int) else value
        if expression.operator in syntax.CONDITIONS:
            truth = self._truth(expression)
            return truth + 0 if isinstance(truth, bool) else truth.astype(np.int64)
        if expression.operator == "where":
            truth = self._truth(expression.operands[0])
            yes, no = (self._number(operand) for operand in expression.operands[1:])
            return np.where(truth, yes, no) if isinstance(truth, np.ndarray) else (no, yes)[truth]
        left, right = (self._number(operand) for operand in expression.operands)
        _check_operands(expression, left, right)
        value = _VALUES[expression.operator](left, right)
        return _fits(value, expression) if expression.operator in _MAY_OVERFLOW else value

    def _truth(self, expression: syntax.Expression) -> Truth:
        if not syntax.is_condition(expression):
            return self._number(expression) != 0
        if expression.operator == "not":
            truth = self._truth(expression.operands[0])
            return not truth if isinstance(truth, bool) else ~truth
        if expression.operator in syntax.COMPARISONS:
            left, right = (self._number(operand) for operand in expression.operands)
            compared: Truth = syntax.COMPARISONS[expression.operator](left, right)
            return compared
        first, second = (self._truth(operand) for operand in expression.operands)
        return first & second if expression.operator == "and" else first | second


def _either(
    choose: Callable[[int, int], int], ufunc: np.ufunc
) -> Callable[[Values, Values], Values]:
    def apply(a: Values, b: Values) -> Values:
        if isinstance(a, int) and isinstance(b, int):
            return choose(a, b)
        chosen: Int64Array = ufunc(a, b)
        return chosen

    return apply


def _remainder(a: Values, b: Values) -> Values:
    """`a % b` of legal operands; where `b` is one number, NumPy has a faster `//` than `%`."""
    if isinstance(a, int) or not isinstance(b, int):
        return a % b
    whole = a // b
    whole *= b
    return np.subtract(a, whole, out=whole)


_VALUES: dict[str, Callable[[Values, Values], Values]] = {
    **syntax.ARITHMETIC,
    "%": _remainder,
    "min": _either(min, np.minimum),
    "max": _either(max, np.maximum),
}


_MAY_OVERFLOW = frozenset(["+", "-", "*", "<<", "&", "|", "^"])
"""What may leave 31 bits though its operands do not."""


def _fits(values: Values, expression: syntax.Expression) -> Values:
    """Values below 2**31 in magnitude, or a refusal."""
    _check(values, -LARGEST, LARGEST, expression, "a value of {} overflows 31 bits", None)
    return values


_BOTH_COMPUTED = "both sides of a choice are computed; `max(x, {})` keeps {} legal"
_LEFT = (
    "the left operand of `{1}` is {0}; it must not be negative",
    _BOTH_COMPUTED.format(0, "an operand"),
)
_DIVISOR = (
    "the divisor of `{1}` is {0}; it must be positive",
    _BOTH_COMPUTED.format(1, "a divisor"),
)
_COUNT = (
    f"the shift count of `{{1}}` is {{0}}; it must be from 0 to {LARGEST_SHIFT}",
    "a mask keeps a count legal, as in `x & 15`",
)


def _check_operands(expression: syntax.Operation, left: Values, right: Values) -> None:
    """Refuses operands of an operation for which hardware and Python would disagree."""
    if expression.operator in ("//", "%"):
        _check(left, 0, LARGEST, expression, *_LEFT)
        _check(right, 1, LARGEST, expression, *_DIVISOR)
    elif expression.operator in ("<<", ">>"):
        _check(left, 0, LARGEST, expression, *_LEFT)
        _check(right, 0, LARGEST_SHIFT, expression, *_COUNT)


def _check(
    values: Values, low: int, high: int, of: syntax.Expression, reason: str, hint: str | None
) -> None:
    if isinstance(values, int):
        least = greatest = values
    else:  # `values.min()` takes twice as long
        least, greatest = int(np.minimum.reduce(values)), int(np.maximum.reduce(values))
    if not low <= least <= greatest <= high:
        worst = least if least < low else greatest
        lane = None if isinstance(values, int) else int(np.argmax(values == worst))
        raise _IllegalValueError(of, reason, worst, lane, hint)


class _IllegalValueError(Exception):
    """A value that the language forbids, at a lane of a chunk (None: the same for all)."""

    def __init__(
        self, of: syntax.Expression, reason: str, value: int, lane: int | None, hint: str | None
    ) -> None:
        super().__init__(of, reason, value, lane, hint)
        self.of, self.reason, self.value, self.lane, self.hint = of, reason, value, lane, hint

    def refusal(self, first: int) -> LanguageError:
        who = "" if self.lane is None else f" for program {first + self.lane}"
        fact = self.reason.format(f"{self.value}{who}", getattr(self.of, "operator", ""))
        return LanguageError("{}:{}: {}".format(*self.of.place, fact), hint=self.hint)


_FOLD: Mapping[str, Callable[[int, int], int]] = {
    **syntax.ARITHMETIC,
    **syntax.COMPARISONS,
    "min": min,
    "max": max,
}
_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_NEUTRAL_RIGHT = {"+": 0, "-": 0, "*": 1, "//": 1, "<<": 0, ">>": 0, "|": 0, "^": 0}
_NEUTRAL_LEFT = {"+": 0, "*": 1, "|": 0, "^": 0}

FALSE, TRUE = syntax.Number(0), syntax.Number(1)


def simplify(
    statements: tuple[syntax.Statement, ...], known: Mapping[str, int], wanted: Collection[str]
) -> tuple[tuple[syntax.Statement, ...], Mapping[str, int]]:
    """Statements that give the `wanted` names the same values, and the names known afterwards.

    In what comes out a comparison, `and` or `or` stands only where a condition is wanted (and
    nothing else stands there), `not` nowhere.

    Args:
        statements: of a swizzle that `evaluate` accepts.
        known: names whose value is a constant at the beginning.
        wanted: names read afterwards.
    """
    constants = dict(known)
    folded = _fold_block(statements, constants)
    kept, _ = _liveness(folded, {name for name in wanted if name not in constants})
    return kept, constants


def _fold_block(
    statements: tuple[syntax.Statement, ...], known: dict[str, int]
) -> tuple[syntax.Statement, ...]:
    """Fold in order; `known` is brought up to date."""
    folded: list[syntax.Statement] = []
    for statement in statements:
        if isinstance(statement, syntax.Loop):
            for name in syntax.assigned_names(statement.body):
                known.pop(name, None)
            folded.append(syntax.Loop(statement.count, _fold_block(statement.body, known)))
            continue
        value = _number(statement.value, known)
        known.pop(statement.target, None)
        if isinstance(value, syntax.Number):
            known[statement.target] = value.value
        if value != syntax.Name(statement.target):
            folded.append(syntax.Assignment(statement.target, value))
    return tuple(folded)


def _liveness(
    statements: tuple[syntax.Statement, ...], live: set[str]
) -> tuple[tuple[syntax.Statement, ...], set[str]]:
    """The statements that matter to the names live afterwards, and the names live before."""
    kept: list[syntax.Statement] = []
    for statement in reversed(statements):
        if isinstance(statement, syntax.Loop):
            while True:
                body, before = _liveness(statement.body, live)
                if before <= live:
                    break
                live = live | before
            if body:
                kept.append(syntax.Loop(statement.count, body))
        elif statement.target in live:
            live = live - {statement.target} | {name.name for name in syntax.reads(statement.value)}
            kept.append(statement)
    return tuple(reversed(kept)), live


def _number(expression: syntax.Expression, known: Mapping[str, int]) -> syntax.Expression:
    """The expression where a number is wanted."""
    if isinstance(expression, syntax.Number):
        return expression
    if isinstance(expression, syntax.Name):
        value = known.get(expression.name)
        return expression if value is None else syntax.Number(value)
    if expression.operator in syntax.CONDITIONS:
        return _choice(_truth(expression, known), TRUE, FALSE)
    if expression.operator == "where":
        test, yes, no = expression.operands
        return _choice(_truth(test, known), _number(yes, known), _number(no, known))
    left, right = (_number(operand, known) for operand in expression.operands)
    return _binary(expression.operator, left, right)


def _choice(
    truth: syntax.Expression, yes: syntax.Expression, no: syntax.Expression
) -> syntax.Expression:
    if isinstance(truth, syntax.Number):
        return yes if truth.value else no
    return yes if yes == no else syntax.Operation("where", (truth, yes, no))


def _binary(name: str, left: syntax.Expression, right: syntax.Expression) -> syntax.Expression:
    match left, right:
        case syntax.Number(a), syntax.Number(b) if _foldable(name, a, b):
            return syntax.Number(int(_FOLD[name](a, b)))
    if isinstance(right, syntax.Number) and _NEUTRAL_RIGHT.get(name) == right.value:
        return left
    if isinstance(left, syntax.Number) and _NEUTRAL_LEFT.get(name) == left.value:
        return right
    if (name in "*&" and FALSE in (left, right)) or (name == "%" and right == TRUE):
        return FALSE
    return syntax.Operation(name, (left, right))


def _foldable(name: str, left: int, right: int) -> bool:
    """Whether two constants have a value that every target agrees on."""
    if name in ("//", "%") and (left < 0 or right < 1):
        return False
    if name in ("<<", ">>") and (left < 0 or not 0 <= right <= LARGEST_SHIFT):
        return False
    return abs(_FOLD[name](left, right)) <= LARGEST


def _truth(expression: syntax.Expression, known: Mapping[str, int]) -> syntax.Expression:
    """The expression where a condition is wanted: `TRUE`, `FALSE` or a condition."""
    if not syntax.is_condition(expression):
        return _is_not_zero(_number(expression, known))
    if expression.operator in syntax.COMPARISONS:
        left, right = (_number(operand, known) for operand in expression.operands)
        return _binary(expression.operator, left, right)
    truths = [_truth(operand, known) for operand in expression.operands]
    if expression.operator == "not":
        return _negate(truths[0])
    return _join(expression.operator, truths[0], truths[1])


def _is_not_zero(number: syntax.Expression) -> syntax.Expression:
    match number:
        case syntax.Operation("where", (truth, yes, no)) if (yes, no) == (TRUE, FALSE):
            return truth
    return _binary("!=", number, FALSE)


def _join(name: str, left: syntax.Expression, right: syntax.Expression) -> syntax.Expression:
    neutral, absorbing = (TRUE, FALSE) if name == "and" else (FALSE, TRUE)
    if absorbing in (left, right):
        return absorbing
    if left == neutral:
        return right
    return left if right == neutral else syntax.Operation(name, (left, right))


def _negate(truth: syntax.Expression) -> syntax.Expression:
    if not isinstance(truth, syntax.Operation):
        return TRUE if truth == FALSE else FALSE
    if truth.operator in _NEGATED:
        return syntax.Operation(_NEGATED[truth.operator], truth.operands)
    left, right = (_negate(operand) for operand in truth.operands)
    return _join("or" if truth.operator == "and" else "and", left, right)
