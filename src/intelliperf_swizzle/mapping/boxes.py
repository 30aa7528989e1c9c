# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""That a swizzle takes each number of a range to a different one, whatever the sizes.

Sizes are symbols. The programs are split into boxes of digits until every operation has one
polynomial as its value on each box: `pid // 8` splits `pid` into `8 * a + b`, a comparison splits
a digit where it changes. The values on a box are then `c + Σ digit * weight`; boxes of values are
joined until one is left, which must be `0 … programs - 1`. As many values as programs, so each
program has its own. Whatever is not decided for all sizes at once splits these into cases.
"""

from collections.abc import Sequence
from typing import cast

from intelliperf_swizzle.language import syntax
from intelliperf_swizzle.mapping.polynomial import (
    ZERO,
    Bounds,
    Box,
    Case,
    NotProvedError,
    Part,
    Polynomial,
    SplitError,
    fuse,
    join,
    number,
    symbol,
)

MOST_VALUES = 64
"""Values that a digit or size may have if each becomes a separate case."""
MOST_BOXES = 200
MOST_STEPS = 16
"""By which a quotient of leading terms may be off."""
STEEPEST = 64
"""No value may be more than this many times the sum of programs, extents of the grid and arguments,
and 2**29: 32 bits then hold all up to a sum of 2**24, 2**23 programs at least."""


def prove_everywhere(graph: syntax.Graph, root: int, case: Case, programs: Polynomial) -> None:
    """Proves that a node takes the programs of a case to 0 … programs - 1, each to its own.

    Raises:
        NotProvedError: that is not known.
        SplitError: sizes must be distinguished first.
    """
    if programs == ZERO:
        return
    program = graph.leaf("pid")
    if program is not None and not graph.leaves(root) & {*syntax.AXES}:
        operator, operands = graph.nodes[root]
        if operator == "where" and program in operands[1:]:
            other = operands[1] if operands[2] == program else operands[2]
            part = _first_programs(graph, operands[0], case, programs, operands[2] == program)
            if part is not None:
                prove_everywhere(graph, other, _with_programs(case, part), part)
                return
    boxes = [_box(values[0], inner) for inner, values in _pieces(graph, (root,), case)]
    whole = join([box for box in boxes if box is not None])
    if programs.number != 1 and whole != Box(ZERO, ((number(1), programs),)):
        raise NotProvedError("the boxes of values do not make up all programs")


def _with_programs(case: Case, programs: Polynomial) -> Case:
    """The case with fewer programs, that are numbered by one digit."""
    digits = {name for name, bound in case.bounds.items() if bound.digit}
    bounds = {name: bound for name, bound in case.bounds.items() if name not in digits}
    bounds["p"] = Bounds(0, programs - 1, digit=True)
    return Case(bounds, {**case.inputs, "pid": symbol("p")}, case.work)


def _first_programs(
    graph: syntax.Graph, condition: int, case: Case, programs: Polynomial, wanted: bool
) -> Polynomial | None:
    """How many of the first programs a condition holds for, if for none of the others."""
    try:
        pieces = _pieces(graph, (condition, graph.leaf("pid") or 0), case)
    except NotProvedError:
        return None
    boxes = [_box(values[1], inner) for inner, values in pieces if (values[0] != ZERO) is wanted]
    whole = join([box for box in boxes if box is not None])
    if whole is None:
        return ZERO
    if not whole.digits:
        return number(1) if whole.first == ZERO else None
    [(weight, extent), *others] = whole.digits
    return extent if whole.first == ZERO and weight == number(1) and not others else None


def _pieces(
    graph: syntax.Graph, nodes: Sequence[int], case: Case
) -> list[tuple[Case, list[Polynomial]]]:
    """The case in boxes, with the value of each node on each."""
    waiting = [case]
    done: list[tuple[Case, list[Polynomial]]] = []
    while waiting:
        if len(waiting) + len(done) > MOST_BOXES:
            raise NotProvedError(f"more than {MOST_BOXES} boxes")
        piece = waiting.pop()
        if any(bound.digit and bound.high == number(-1) for bound in piece.bounds.values()):
            continue
        values = _Values(graph, piece)
        try:
            found = [values.of(node) for node in nodes]
            if nodes == (graph.root,) or graph.nodes[nodes[0]][0] == "tiles":
                values.check_coordinates(nodes[0])
            values.check_divisors(nodes)
        except SplitError as split:
            if not piece.bounds[split.parts[0].symbol].digit:
                raise
            waiting += [piece.put(part) for part in split.parts]
        else:
            done.append((piece, found))
    return done


class _Values:
    """The values of nodes on one box, each a polynomial; of a choice only what it chooses."""

    def __init__(self, graph: syntax.Graph, case: Case):
        self._graph, self._case = graph, case
        self._known: dict[int, Polynomial] = {}
        self._fresh = f"_{len(case.bounds)}_{sum(map(len, case.bounds))}"

    def of(self, node: int) -> Polynomial:
        """The value of a node.

        Raises:
            SplitError: it has several.
            NotProvedError: it has none that is known, or one that may not fit into 32 bits.
        """
        if node not in self._known:
            self._case.work.spend(10)
            value = self._value(node)
            if self._graph.nodes[node][0] != "number":
                self._check_size(value)
            self._known[node] = value
        return self._known[node]

    def truth(self, node: int) -> bool:
        """Whether a condition holds."""
        operator, operands = self._graph.nodes[node]
        if operator == "not":
            return not self.truth(operands[0])
        if operator == "and":
            return self.truth(operands[0]) and self.truth(operands[1])
        if operator == "or":
            return self.truth(operands[0]) or self.truth(operands[1])
        if operator not in syntax.COMPARISONS:
            value = self.of(node)
            return not (self._decide(value) and self._decide(-value))
        left, right = (self.of(operand) for operand in operands)
        if operator in ("==", "!="):
            same = self._decide(left - right) and self._decide(right - left)
            return same is (operator == "==")
        if operator in ("<", ">="):
            return self._decide(left - right) is (operator == ">=")
        return self._decide(right - left) is (operator == "<=")

    def _value(self, node: int) -> Polynomial:
        operator, operands = self._graph.nodes[node]
        if operator == "number":
            return number(operands[0])
        if operator == "input":
            name = self._graph.names[operands[0]]
            if name not in self._case.inputs:
                raise NotProvedError(f"`{name}` may be anything")
            return self._case.inputs[name]
        if operator == "where":
            return self.of(operands[1 if self.truth(operands[0]) else 2])
        if operator in syntax.CONDITIONS:
            return number(int(self.truth(node)))
        if operator == "tiles":
            total, stride = ZERO, number(1)
            for axis, operand in enumerate(operands):
                total = total + stride * self.of(operand)
                stride = stride * self._case.inputs[syntax.GRID[axis]]
            return total
        return self._compute(operator, *(self.of(operand) for operand in operands))

    def _compute(self, operator: str, left: Polynomial, right: Polynomial) -> Polynomial:
        if operator in ("min", "max"):
            if self._any_digit(left):
                return right if self._decide(left - right) is (operator == "min") else left
            return left if self._decide(right - left) is (operator == "min") else right
        if operator in "+-*":
            return cast(Polynomial, syntax.ARITHMETIC[operator](left, right))
        if operator in ("//", "%", ">>") and not self._decide(left):
            raise NotProvedError("what is divided may be negative")
        if operator in ("//", "%"):
            return self._divide(left, right)[operator == "%"]
        if operator in ("<<", ">>"):
            if right.number is None or not 0 <= right.number <= 30:
                self._each_value(right)
            power = number(1 << (right.number or 0))
            return left * power if operator == "<<" else self._divide(left, power)[0]
        return self._bits(operator, left, right)

    def _bits(self, operator: str, left: Polynomial, right: Polynomial) -> Polynomial:
        if right.number is None:
            left, right = right, left
        mask = right.number
        if mask is None or mask < 0:
            return self._each_value(right)
        power = number(1 << mask.bit_length())
        high, low = self._divide(left, power)
        if operator == "&" and power == number(mask + 1):
            return low
        if low.number is None:
            return self._each_value(low)
        inside = number(syntax.ARITHMETIC[operator](low.number, mask))
        return inside if operator == "&" else high * power + inside

    def _divide(self, left: Polynomial, right: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Quotient and rest, rounded down."""
        if not self._decide(right - 1):
            raise NotProvedError("a divisor may be 0")
        quotient, rest = left.over(right)
        holds = self._case.holds
        for _ in range(MOST_STEPS):
            more = rest - right
            if not self._decide(rest):
                small = not holds(rest + right) and rest.over(right)[0] == ZERO
                if small and not holds(-rest - right - 1):  # sizes that are bounded decide that
                    self._decide(rest + right)
                quotient, rest = quotient - 1, rest + right
            elif holds(right - 1 - rest):
                return quotient, rest
            elif holds(more) or (holds(right - 1 - more) and self._decide(more)):
                quotient, rest = quotient + 1, more
            else:
                break
        if holds(rest):
            for name in self._by_age(rest):
                parts = rest.linear(name)
                step = parts and parts[0].terms and right.exactly_over(parts[0])
                if step and holds(step - 1) and name not in step.symbols:
                    self._split_by(name, step)
        return self._each_value(rest, right), ZERO

    def _by_age(self, value: Polynomial) -> list[str]:
        """The symbols of a polynomial: digits first, then sizes, what is newest first."""
        order = [*self._case.bounds]
        digit = self._case.bounds
        return sorted(value.symbols, key=lambda s: (not digit[s].digit, -order.index(s)))

    def _split_by(self, name: str, step: Polynomial) -> None:
        """Splits a symbol into `step * slow + fast`; raises SplitError."""
        known = self._case.bounds[name]
        slow, fast = f"{name}{self._fresh}s", f"{name}{self._fresh}f"
        inner = Bounds(0, step - 1, known.digit)
        if not known.digit:
            if any(self._case.bounds[s].digit for s in step.symbols):
                raise NotProvedError("a size is divided by what differs between programs")
            high = known.high and known.high.exactly_over(step)
            if known.high is not None and known.high.number is not None and step.number:
                high = number(known.high.number // step.number)
            value = step * symbol(slow) + symbol(fast)
            raise SplitError(
                [Part(name, value, {slow: Bounds(0, high), fast: inner})], divisor=step
            )
        assert known.high is not None
        times, left = self._divide(known.high + 1, step)
        if not times.terms:
            return
        whole = Part(
            name,
            step * symbol(slow) + symbol(fast),
            {slow: Bounds(0, times - 1, digit=True), fast: inner},
        )
        tail = Part(name, step * times + symbol(fast), {fast: Bounds(0, left - 1, digit=True)})
        raise SplitError([part for part, size in ((whole, times), (tail, left)) if size.terms])

    def _decide(self, value: Polynomial) -> bool:
        """Whether a value is 0 or more; raises SplitError where it is here and there."""
        if self._case.holds(value):
            return True
        if self._case.holds(-value - 1):
            return False
        for name in self._by_age(value):
            parts = value.linear(name)
            if parts is None:
                continue
            times, rest = parts
            rising = self._case.holds(times - 1)
            if not rising and not self._case.holds(-times - 1):
                continue
            whole, left = rest.over(times if rising else -times)
            if not (self._case.holds(left) and
                    self._case.holds((times if rising else -times) - 1 - left)):  # fmt: skip
                if self._any_digit(left) or not self._any_digit(rest):
                    try:
                        whole, _ = self._divide(rest, times if rising else -times)
                    except NotProvedError:
                        continue
                else:
                    continue
            first = -whole if rising else whole + 1
            if not self._any_digit(first) and name not in first.symbols:
                self._split_at(name, first)
        raise NotProvedError("a comparison is not decided")

    def _any_digit(self, value: Polynomial) -> bool:
        return any(self._case.bounds[s].digit for s in value.symbols)

    def _split_at(self, name: str, first: Polynomial) -> None:
        """Splits a symbol into what is less than a value, and what is not; raises SplitError."""
        known = self._case.bounds[name]
        below, above = f"{name}{self._fresh}b", f"{name}{self._fresh}a"
        if not self._decide(first - known.low):
            return
        high = None if known.high is None else known.high - first
        if high is not None and not self._decide(high + 1):
            return
        parts = (
            Part(name, symbol(below), {below: Bounds(known.low, first - 1, known.digit)}),
            Part(name, first + symbol(above), {above: Bounds(0, high, known.digit)}),
        )
        raise SplitError([_settle(part) for part in parts])

    def _each_value(self, *values: Polynomial) -> Polynomial:
        """Splits a symbol into its values; raises SplitError, or NotProvedError."""
        for value in values:
            for name in self._by_age(value):
                known = self._case.bounds[name]
                high = known.high.number if known.high is not None else None
                if high is not None and high - known.low < MOST_VALUES:
                    every = range(known.low, high + 1)
                    raise SplitError([Part(name, number(choice), {}) for choice in every])
        raise NotProvedError("an operation is not understood")

    def _check_size(self, value: Polynomial) -> None:
        """That 32 bits hold it as long as sizes are not beyond the bound."""
        inputs = self._case.inputs
        total = number(1)
        for name, size in inputs.items():
            if name in ("num_pids", *syntax.GRID) or name.startswith("="):
                total = total + (size if self._case.holds(size) else -size)
        most = total * STEEPEST + (1 << 29)
        if not (self._case.holds(most - value) and self._case.holds(most + value)):
            raise NotProvedError("a value may not fit into 32 bits")

    def check_coordinates(self, root: int) -> None:
        """That outputs `pid_k` lie inside their axes."""
        operator, operands = self._graph.nodes[root]
        if operator == "tiles":
            for axis, operand in enumerate(operands):
                value, extent = self.of(operand), self._case.inputs[syntax.GRID[axis]]
                if not (self._decide(value) and self._decide(extent - 1 - value)):
                    raise NotProvedError("a coordinate lies outside of its axis")

    def check_divisors(self, nodes: Sequence[int]) -> None:
        """That none is 0, on sides that a choice leaves out neither: hardware computes both."""
        for node in self._graph.below(nodes):
            operator, operands = self._graph.nodes[node]
            if operator not in ("//", "%") or self._positive(operands[1]):
                continue
            if not self._decide(self.of(operands[1]) - 1):
                raise NotProvedError("a divisor may be 0")

    def _positive(self, node: int) -> bool:
        """Whether a node is 1 or more by how it is written."""
        operator, operands = self._graph.nodes[node]
        if operator == "number":
            return operands[0] > 0
        if operator == "input":
            value = self._case.inputs.get(self._graph.names[operands[0]])
            return value is not None and self._case.holds(value - 1)
        if operator == "max":
            return any(self._positive(operand) for operand in operands)
        return operator in ("*", "min") and all(self._positive(operand) for operand in operands)


def _settle(part: Part) -> Part:
    """With a number for the new symbol if that can have but one value."""
    [(name, known)] = part.bounds.items()
    if known.high is not None and known.high == number(known.low):
        return Part(part.symbol, part.value.put(name, known.high), {})
    return part


def _box(value: Polynomial, case: Case) -> Box | None:
    """The values on a box; None if it is empty."""
    first, digits = value, []
    for name, known in case.bounds.items():
        if not known.digit or known.high is None:
            continue
        extent = known.high + 1
        parts = value.linear(name)
        if parts is None or any(case.bounds[s].digit for s in parts[0].symbols):
            raise NotProvedError("a value is not a sum of digits")
        weight = parts[0]
        if not extent.terms:
            return None
        if extent == number(1):
            first = first.put(name, ZERO)
            continue
        if not case.holds(weight):
            if not case.holds(-weight):
                raise NotProvedError("the sign of a weight is not known")
            first = first + weight * (extent - 1)
            weight = -weight
        first = first.put(name, ZERO)
        digits.append((weight, extent))
    return Box(first, fuse(digits))
