# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What of a kernel decides where it reads and writes: addresses, masks, branches, loop bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from intelliperf_swizzle.frontends.ssa import reached
from intelliperf_swizzle.frontends.triton.ir.flow import ACCESSES, Sources
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op

_CHANGES = ("tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_store")
CONTROL = ("scf.for", "scf.while", "scf.if", "tt.call")


@dataclass
class Slice:
    """The part of a kernel that is executed.

    Attributes:
        ops: the operations.
        values: values that are computed.
    """

    ops: set[Op] = field(default_factory=set)
    values: set[str] = field(default_factory=set)


def everything(kernel: Kernel) -> Slice:
    """The whole kernel."""
    ops = {op for function in kernel.functions for op in function.walk()}
    values = {value for op in ops for value in op.results}
    return Slice(ops, values | set(kernel.owner))


def address_slice(kernel: Kernel, further: Iterable[str] = ()) -> Slice:
    """What reaches an address, a mask, a branch or a loop bound.

    Args:
        kernel: any.
        further: values that are wanted beside them.
    """
    return _Slicer(kernel, further).found


class _Slicer:
    def __init__(self, kernel: Kernel, further: Iterable[str]) -> None:
        self.kernel = kernel
        self.found = Slice()
        self._todo: list[str] = list(further)
        self._sources = Sources(kernel)
        for function in kernel.functions:
            for op in function.walk():
                if op.name in ACCESSES:
                    self._execute(op)
                    self._want(op.operands[i] for i in ACCESSES[op.name] if i < len(op.operands))
        self._complete()
        for function in kernel.functions:
            for op in function.walk():
                decided = [op.start, op.stop, op.step] if op.name == "scf.for" else op.operands[:1]
                if op.name in ("scf.for", "scf.if") and not self._sources.read_memory(decided):
                    self._execute(op)  # what it computes is counted
        self._complete()

    def _complete(self) -> None:
        while self._todo:
            value = self._todo.pop()
            if value not in self.found.values:
                self.found.values.add(value)
                self._follow(value)

    def _want(self, values: Iterable[str]) -> None:
        self._todo.extend(value for value in values if value not in self.found.values)

    def _execute(self, op: Op) -> None:
        """An operation is executed, and so is all that leads to it."""
        if op in self.found.ops:
            return
        self.found.ops.add(op)
        for around in (op, *op.parents()):
            if around.name == "scf.for":
                self._want((around.start, around.stop, around.step))
            elif around.name == "scf.if":
                self._want(around.operands[:1])
            elif around.name == "scf.while":
                self._want(around.last(0).operands[:1])
            elif around.name == "tt.func":
                self._lead_to(around)
            self.found.ops.add(around)

    def _lead_to(self, function: Op) -> None:
        if function in self.found.ops:
            return
        for block in function.regions[0]:
            for op in block.ops[-1:]:
                if op.name == "cf.cond_br":
                    self._want(op.operands[:1])
        for call in self._sources.calls.get(function, ()):
            self._execute(call)

    def _follow(self, value: str) -> None:
        op = self.kernel.defs.get(value)
        around = op if op is not None else self.kernel.owner[value][0]
        if op is not None and op.name not in CONTROL and op.regions:  # reductions: as a whole
            for inner in op.walk():
                self.found.ops.add(inner)
                self.found.values.update(inner.results)
                self.found.values.update(arg for region in inner.regions for block in region
                                         for arg in block.args)  # fmt: skip
        if around.name != "tt.func":
            self._execute(around)
        self._want(self._sources.before(value))


@dataclass(frozen=True)
class Accessed:
    """The arguments of a kernel whose memory it accesses.

    Attributes:
        read: by loads, and by atomics of which something uses the answer; None = not known.
        changed: by stores and atomics; None = not known.
        answers: whether it uses what an atomic answers.
        hands_over: whether programs may exchange data through atomics at some size: their return
            values are used, their sequence matters, or what they change is loaded or stored to.
    """

    read: frozenset[str] | None
    changed: frozenset[str] | None
    answers: bool
    hands_over: bool


def accessed_by(kernel: Kernel) -> Accessed:
    """What the loads, stores and atomics of a kernel go to."""
    loaded, answered, changed, plain = (set[str]() for _ in range(4))
    kinds: dict[str, set[str]] = {}
    sources = Sources(kernel)
    for op in (op for function in kernel.functions for op in function.walk()):
        if op.name not in ACCESSES:
            continue
        roots = _roots(sources, op.operands[0])
        changed |= roots if op.name in _CHANGES else set()
        if op.name in ("tt.load", "tt.store"):
            plain |= roots
            loaded |= roots if op.results else set()
            continue
        answered |= roots if any(kernel.uses.get(value) for value in op.results) else set()
        how = op.text.split(",")[0].split()[-1] if op.name == "tt.atomic_rmw" else "exch"
        for root in roots:
            kinds.setdefault(root, set()).add(how)
    if kinds and not {*plain, *kinds} <= set(kernel.args):  # what points anywhere points to all
        kinds = dict.fromkeys(plain or [""], set().union(*kinds.values()))
    ordered = any(len(kind) > 1 or "exch" in kind for kind in kinds.values())
    return Accessed(
        _known(kernel, loaded | answered), _known(kernel, changed), bool(answered),
        hands_over=bool(answered) or ordered or not plain.isdisjoint(kinds),
    )  # fmt: skip


def conflicting(kernel: Kernel) -> list[Op]:
    """Its stores, and the loads of what it stores to."""
    sources = Sources(kernel)
    ops = [op for function in kernel.functions for op in function.walk()]
    of = {op: _roots(sources, op.operands[0]) for op in ops if op.name in ("tt.load", "tt.store")}
    stored = set[str]().union(*(of[op] for op in of if not op.results))
    known = {*kernel.args}.issuperset
    return [op for op in of if not op.results or not known(of[op] | stored) or of[op] & stored]


@lru_cache(maxsize=64)
def deciding_floats(kernel: Kernel) -> frozenset[str] | None:
    """The arguments of whose floats an access, a mask or a branch depends; None = not known."""
    decides, sources = address_slice(kernel), Sources(kernel)
    loads = (op for op in decides.ops if op.name in ACCESSES and re.search(r"ptr<b?f", op.types))
    used = [op for op in loads if not decides.values.isdisjoint(op.results)]
    return _known(kernel, {root for op in used for root in _roots(sources, op.operands[0])})


def _known(kernel: Kernel, roots: set[str]) -> frozenset[str] | None:
    return frozenset(roots) if roots <= set(kernel.args) else None


def _roots(sources: Sources, pointer: str) -> set[str]:
    """The values that a pointer is made of and that are made of no other pointer."""

    def pointers(value: str) -> list[str]:
        op = sources.kernel.defs.get(value)
        before = [] if op and op.name == "tt.load" else sources.before(value)
        return [one for one in before if "!tt.ptr" in sources.kernel.types[one]]

    return {value for value in reached([pointer], pointers) if not pointers(value)}
