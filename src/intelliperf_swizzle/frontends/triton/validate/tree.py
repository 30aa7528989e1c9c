# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether an edited function is the original one but for its program ids.

Written without a look at how `kernel.splice` makes an edit: two syntax trees are walked in lock
step, and the one difference allowed is a `program_id(axis)` in the original, or the number of a
tile, against a name in the edited function that an inserted block of harmless statements binds.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from intelliperf_swizzle.records import SourceFunction

HARMLESS_CALLS = frozenset(
    ("program_id", "num_programs", "where", "minimum", "maximum", "min", "max", "cdiv", "range",
     "static_range", "static_assert", "to", "cast", "int")
)  # fmt: skip
"""What an inserted block may call: none of these touches memory."""


@dataclass(frozen=True)
class Difference:
    """Where two functions differ more than a swizzle may; `line` counts in the edited text."""

    line: int
    reason: str


@dataclass(frozen=True)
class Insertion:
    """The block that an edit inserted.

    Attributes:
        statements: its statements.
        outputs: axis -> the name that stands for the program id along it.
    """

    statements: tuple[ast.stmt, ...]
    outputs: Mapping[int, str]

    @property
    def lines(self) -> range:
        """Those of its text."""
        last = self.statements[-1]
        return range(self.statements[0].lineno, (last.end_lineno or last.lineno) + 1)


def same_tree(
    original: SourceFunction, edited_text: str, constexprs: Mapping[str, int] = {}
) -> Insertion | Difference:
    """Compares a function with its edited text.

    Args:
        original: the function as it was recorded.
        edited_text: the same function with a swizzle in it.
        constexprs: values of the parameters by which an axis may be given (`program_id(AXIS)`).

    Returns:
        The inserted block if the functions agree otherwise, else the first difference.
    """
    both = _both(original, edited_text)
    if isinstance(both, Difference):
        return both
    before, edited = both
    added = len(edited.body) - len(before.body)
    if added < 1:
        return Difference(edited.lineno, "no block was inserted")
    start = _first_difference(before.body, edited.body)
    return _compare(before, edited, slice(start, start + added), _meanings(original, constexprs))


def _both(
    original: SourceFunction, edited_text: str
) -> tuple[ast.FunctionDef, ast.FunctionDef] | Difference:
    """The function as it was and as it is now."""
    before, edited = _function(original.text), _function(edited_text)
    if before is None or edited is None:
        return Difference(1, "not one function definition")
    hidden = [node for node in ast.walk(edited) if _names_program_id(node)]
    if hidden:
        return Difference(getattr(hidden[0], "lineno", 1), "`program_id` is looked up by a string")
    return before, edited


@dataclass(frozen=True)
class LoopInsertion:
    """A block that an edit inserted into a loop.

    Attributes:
        statements: its statements.
        counter: the variable of the original for which it binds
        output: the name that stands for it.
        following: line of the statement after the block.
    """

    statements: tuple[ast.stmt, ...]
    counter: str
    output: str
    following: int


def same_loop(
    original: SourceFunction, edited_text: str, counters: Collection[str]
) -> tuple[LoopInsertion, ...] | Difference:
    """Compares a function with its text in which a loop's tiles are renumbered.

    Args:
        original: the function as it was recorded.
        edited_text: the same function with blocks in it.
        counters: the variables that hold the number of a tile.

    Returns:
        The inserted blocks if the functions agree otherwise, else the first difference.
    """
    both = _both(original, edited_text)
    if isinstance(both, Difference):
        return both
    before, edited = both
    new = _bound([edited]) - _names(before)
    walk = _LoopNumbers(new, counters=frozenset(counters))
    if not walk.same(before, edited):
        return Difference(walk.line, walk.reason)
    return tuple(
        LoopInsertion(tuple(block), walk.stands[output], output, following)
        for block, following in walk.blocks
        for output in sorted(_bound(block) & walk.stands.keys())
    )


def _first_difference(original: list[ast.stmt], edited: list[ast.stmt]) -> int:
    """Where the block begins: what stands before it reads no program id, so it is unchanged."""
    pairs = zip(original, edited, strict=False)
    differing = (n for n, (a, b) in enumerate(pairs) if ast.dump(a) != ast.dump(b))
    return next(differing, len(original))


def reads_program_id(function: SourceFunction) -> bool:
    """Whether a function reads the program id by any name."""
    names = _meanings(function, {}).program_id
    return any(
        (isinstance(node, ast.Attribute) and node.attr == "program_id")
        or (isinstance(node, ast.Name) and node.id in names)
        or _names_program_id(node)
        for node in ast.walk(ast.parse(function.text))
    )


def _names_program_id(node: ast.AST) -> bool:
    """Whether a node is the string by which `getattr` would find `program_id`."""
    return isinstance(node, ast.Constant) and node.value == "program_id"


def _function(text: str) -> ast.FunctionDef | None:
    body = ast.parse(text).body
    return body[0] if len(body) == 1 and isinstance(body[0], ast.FunctionDef) else None


@dataclass(frozen=True)
class _Meanings:
    """What names mean in a function: those of `program_id` itself, and those of axes."""

    program_id: frozenset[str]
    axes: Mapping[str, int]


def _meanings(function: SourceFunction, constexprs: Mapping[str, int]) -> _Meanings:
    return _Meanings(
        frozenset(
            name
            for name, meaning in function.names.items()
            if meaning[0] == "attribute" and meaning[2].rpartition(".")[2] == "program_id"
        ),
        {
            **{n: m[1] for n, m in function.names.items() if m[0] in ("constant", "constexpr")},
            **constexprs,
        },
    )


def _compare(
    original: ast.FunctionDef, edited: ast.FunctionDef, place: slice, meanings: _Meanings
) -> Insertion | Difference:
    block = edited.body[place]
    bound = _bound(block)
    for statement in block:
        if reason := _harm(statement):
            return Difference(statement.lineno, reason)
    taken = bound & _names(original)
    if taken:
        return Difference(block[0].lineno, f"the block binds the kernel's own {sorted(taken)}")
    rebound = _bound(edited.body[: place.start]) & _names(*block)
    if rebound:
        return Difference(block[0].lineno, f"the block reads {sorted(rebound)} after a change")
    walk = _ProgramIds(bound, meanings=meanings)
    rest = ast.FunctionDef(
        **{
            **dict(ast.iter_fields(edited)),
            "body": edited.body[: place.start] + edited.body[place.stop :],
        }
    )
    if not walk.same(original, rest):
        return Difference(walk.line, walk.reason)
    if not walk.outputs:
        return Difference(edited.lineno, "no program id is read from the block")
    early = _names(*edited.body[: place.start]) & bound
    if early:
        return Difference(block[0].lineno, f"{sorted(early)} are read before the block")
    return Insertion(tuple(block), walk.outputs)


def _bound(block: list[ast.stmt]) -> set[str]:
    return {
        node.id
        for statement in block
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }


def _names(*trees: ast.AST) -> set[str]:
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.arg for node in nodes if isinstance(node, ast.arg)
    }


def _harm(statement: ast.stmt) -> str | None:
    """Why a statement may not stand in the block, or None: it must be plain integer arithmetic."""
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.Assign | ast.For | ast.Expr):
            return f"the block contains `{ast.unparse(node).splitlines()[0]}`"
        if isinstance(node, ast.Assign) and not all(isinstance(t, ast.Name) for t in node.targets):
            return f"the block assigns to `{ast.unparse(node.targets[0])}`"
        if isinstance(node, ast.Expr) and not _is_call(node.value, "static_assert"):
            return f"the block contains `{ast.unparse(node)}`"
        if isinstance(node, ast.Call) and not _is_call(node, *HARMLESS_CALLS):
            return f"the block calls `{ast.unparse(node.func)}`"
        if isinstance(node, ast.Subscript | ast.Lambda | ast.Starred | ast.NamedExpr | ast.Await):
            return f"the block contains `{ast.unparse(node)}`"
    return None


def _is_call(node: object, *names: str) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    return last in names


@dataclass
class _LockStep:
    """Walks two trees at once.

    Attributes:
        bound: the names that may stand for what is renumbered.
        line: of the first difference, in the edited text.
        reason: what differs there.
    """

    bound: set[str]
    line: int = 1
    reason: str = ""

    def same(self, original: object, edited: object) -> bool:
        """Whether two nodes, lists or values agree but for what is renumbered."""
        if isinstance(edited, ast.AST):
            self.line = getattr(edited, "lineno", self.line)
        if isinstance(edited, ast.Name) and edited.id in self.bound:
            return self._stands_for(original, edited)
        if forbidden := self._forbidden(edited):
            return self._differ(forbidden)
        if type(original) is not type(edited):
            return self._differ(_describe(original, edited))
        if isinstance(original, ast.AST):
            return all(
                self.same(getattr(original, name, None), getattr(edited, name, None))
                for name in original._fields
                if name != "type_comment"
            )
        if isinstance(original, list) and isinstance(edited, list):
            kept = self._kept(edited)
            if kept is None or len(original) != len(kept):
                return self._differ(self.reason or "the numbers of statements or operands differ")
            return all(self.same(a, b) for a, b in zip(original, kept, strict=True))
        return bool(original == edited) or self._differ(_describe(original, edited))

    def _stands_for(self, original: object, edited: ast.Name) -> bool:
        """Whether a bound name may stand where it does."""
        raise NotImplementedError

    def _forbidden(self, edited: object) -> str | None:
        """Why a node may not be in the edited tree at all."""
        return None

    def _kept(self, edited: list[object]) -> list[object] | None:
        """A list of the edited tree without what was inserted; None if that may do harm."""
        return edited

    def _differ(self, reason: str) -> bool:
        self.reason = reason
        return False


@dataclass
class _ProgramIds(_LockStep):
    """Names that stand for program ids.

    Attributes:
        meanings: what names mean in the original.
        outputs: axis -> the name found in its place.
    """

    meanings: _Meanings = field(default_factory=lambda: _Meanings(frozenset(), {}))
    outputs: dict[int, str] = field(default_factory=dict)

    def _stands_for(self, original: object, edited: ast.Name) -> bool:
        if not self._is_program_id(original):
            return self._differ(_describe(original, edited))
        axis = _axis(original, self.meanings.axes)
        if axis is None:
            return self._differ(f"the axis of `{ast.unparse(original)}` is not known")
        known = self.outputs.setdefault(axis, edited.id)
        if known != edited.id:
            return self._differ(f"axis {axis} is read from `{known}` and from `{edited.id}`")
        if list(self.outputs.values()).count(edited.id) > 1:
            return self._differ(f"`{edited.id}` stands for two axes")
        return True

    def _forbidden(self, edited: object) -> str | None:
        return f"`{ast.unparse(edited)}` is still read" if self._is_program_id(edited) else None

    def _is_program_id(self, node: object) -> TypeGuard[ast.Call]:
        return _is_call(node, "program_id", *self.meanings.program_id) and (
            len(node.args) + len(node.keywords) == 1
        )


@dataclass
class _LoopNumbers(_LockStep):
    """Names that stand for numbers of tiles.

    Attributes:
        counters: the names for which they may stand.
        blocks: runs of inserted statements, with the line of the statement after each.
        stands: new name -> the counter for which it stands.
    """

    counters: frozenset[str] = frozenset()
    blocks: list[tuple[list[ast.stmt], int]] = field(default_factory=list)
    stands: dict[str, str] = field(default_factory=dict)

    def _kept(self, edited: list[object]) -> list[object] | None:
        kept: list[object] = []
        block: list[ast.stmt] = []
        for one in edited:
            if isinstance(one, ast.stmt) and self._is_inserted(one):
                if reason := _harm(one):
                    self.line, self.reason = one.lineno, reason
                    return None
                block.append(one)
                continue
            kept.append(one)
            if block and isinstance(one, ast.stmt):
                self.blocks.append((block, one.lineno))
                block = []
        if block:
            self.line, self.reason = block[0].lineno, "nothing follows the block"
            return None
        return kept

    def _is_inserted(self, statement: ast.stmt) -> bool:
        """Whether a statement binds new names and no others (a loop's own variable may be any)."""
        bound = _bound([statement])
        return bool(bound) and bound - {"_"} <= self.bound

    def _stands_for(self, original: object, edited: ast.Name) -> bool:
        if not isinstance(original, ast.Name) or original.id not in self.counters:
            return self._differ(_describe(original, edited))
        if not isinstance(original.ctx, ast.Load):
            return self._differ(f"`{original.id}` is assigned to `{edited.id}`")
        known = self.stands.setdefault(edited.id, original.id)
        if known != original.id:
            return self._differ(f"`{edited.id}` stands for `{known}` and `{original.id}`")
        return True


def _axis(call: ast.Call, axes: Mapping[str, int]) -> int | None:
    given = call.args[0] if call.args else call.keywords[0].value
    if isinstance(given, ast.Constant) and type(given.value) is int:
        return given.value
    value = axes.get(given.id) if isinstance(given, ast.Name) else None
    return value if type(value) is int else None


def _describe(original: object, edited: object) -> str:
    return f"`{_written(original)}` became `{_written(edited)}`"


def _written(node: object) -> str:
    text = ast.unparse(node) if isinstance(node, ast.AST) else str(node)
    return text.splitlines()[0] if text else ""
