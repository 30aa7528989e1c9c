# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What an emitter prints: constants folded, unused assignments gone, conditions explicit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from intelliperf_swizzle.language import syntax
from intelliperf_swizzle.language.grammar import LARGEST

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
    kept, _ = _needed(folded, {name for name in wanted if name not in constants})
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


def _needed(
    statements: tuple[syntax.Statement, ...], live: set[str]
) -> tuple[tuple[syntax.Statement, ...], set[str]]:
    """The statements that matter to the names live afterwards, and the names live before."""
    kept: list[syntax.Statement] = []
    for statement in reversed(statements):
        if isinstance(statement, syntax.Loop):
            while True:
                body, before = _needed(statement.body, live)
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
    if (
        isinstance(left, syntax.Number)
        and isinstance(right, syntax.Number)
        and _foldable(name, left, right)
    ):
        return syntax.Number(int(_FOLD[name](left.value, right.value)))
    if isinstance(right, syntax.Number) and _NEUTRAL_RIGHT.get(name) == right.value:
        return left
    if isinstance(left, syntax.Number) and _NEUTRAL_LEFT.get(name) == left.value:
        return right
    if (name in "*&" and FALSE in (left, right)) or (name == "%" and right == TRUE):
        return FALSE
    return syntax.Operation(name, (left, right))


def _foldable(name: str, left: syntax.Number, right: syntax.Number) -> bool:
    """Whether two constants have a value that every target agrees on."""
    if name in ("//", "%") and (left.value < 0 or right.value < 1):
        return False
    if name in ("<<", ">>") and (left.value < 0 or not 0 <= right.value <= 30):
        return False
    return abs(_FOLD[name](left.value, right.value)) <= LARGEST


def _truth(expression: syntax.Expression, known: Mapping[str, int]) -> syntax.Expression:
    """The expression where a condition is wanted: `TRUE`, `FALSE` or a condition."""
    if not isinstance(expression, syntax.Operation) or expression.operator not in syntax.CONDITIONS:
        return _is_not_zero(_number(expression, known))
    if expression.operator in syntax.COMPARISONS:
        left, right = (_number(operand, known) for operand in expression.operands)
        return _binary(expression.operator, left, right)
    truths = [_truth(operand, known) for operand in expression.operands]
    if expression.operator == "not":
        return _negated(truths[0])
    return _joined(expression.operator, truths[0], truths[1])


def _is_not_zero(number: syntax.Expression) -> syntax.Expression:
    if (
        isinstance(number, syntax.Operation)
        and number.operator == "where"
        and number.operands[1:] == (TRUE, FALSE)
    ):
        return number.operands[0]
    return _binary("!=", number, FALSE)


def _joined(name: str, left: syntax.Expression, right: syntax.Expression) -> syntax.Expression:
    neutral, absorbing = (TRUE, FALSE) if name == "and" else (FALSE, TRUE)
    if absorbing in (left, right):
        return absorbing
    if left == neutral:
        return right
    return left if right == neutral else syntax.Operation(name, (left, right))


def _negated(truth: syntax.Expression) -> syntax.Expression:
    if not isinstance(truth, syntax.Operation):
        return TRUE if truth == FALSE else FALSE
    if truth.operator in _NEGATED:
        return syntax.Operation(_NEGATED[truth.operator], truth.operands)
    left, right = (_negated(operand) for operand in truth.operands)
    return _joined("or" if truth.operator == "and" else "and", left, right)
