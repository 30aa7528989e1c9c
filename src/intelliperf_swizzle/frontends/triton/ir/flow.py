# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What follows from what in a kernel's IR: by data, by branches and by how often a loop turns.

So also what decides where it reads and writes: addresses, masks, branches, loop bounds.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.ssa import reached
from intelliperf_swizzle.frontends.triton.ir.parse import Kernel, Op

ACCESSES = {
    "tt.load": (0, 1), "tt.store": (0, 2), "tt.atomic_rmw": (0, 2), "tt.atomic_cas": (0,),
    "tt.atomic_load": (0, 1), "tt.atomic_store": (0, 2), "tt.atomic_poll": (0, 1),
}  # fmt: skip
"""Operations that access memory -> which of their operands are addresses and masks."""
_FOREIGN = ("tt.elementwise_inline_asm", "tt.extern_elementwise")
_PLACE = re.compile(
    r'"[^"]*(?:%(?!\d)|ctaid|smid|s_getreg|ttmp|(?<![.\w])s\[?\d|\\25|group.id)[^"]*"|path = "[^"]'
)
"""Assembly, or a library's function, that may read where the program runs: `%ctaid.x`, the
hardware's registers, on AMD `s6`. What a library of the user's does is not known."""
_MEMORY = re.compile(
    r'"[^"]*(?:(?<![vsa:])\[|\b(?:t?buffer|flat|global|image|scratch|s_\w*(?:load|store|atomic))_?'
    r'|\bds_(?!b?permute|swizzle)|\bcall|swappc)[^"]*"|path = "[^"]'
)
"""Assembly that may access memory (in PTX an address stands in brackets, and AMD's instructions are
named after memories) or call what does, or a function of a library of the user's."""
_CHANGES = ("tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_store")
CONTROL = ("scf.for", "scf.while", "scf.if", "tt.call")
Meeting: TypeAlias = frozenset[tuple[str, str]]
"""Arguments, each with one that lies in part of its memory."""


def asks_where_it_runs(op: Op) -> bool:
    """Whether inline assembly, or a library function, may read where a program runs."""
    return op.name in _FOREIGN and bool(_PLACE.search(op.text))


def check(kernel: Kernel) -> None:
    """Raises TraceError if a kernel may access memory otherwise than by operations of Triton."""
    for op in kernel.every():
        if op.name in _FOREIGN and _MEMORY.search(op.text):
            raise TraceError(f"`{op.name}` at {kernel.line(op)} may access unknown memory")


class Sources:
    """What the values of a kernel are computed from."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._branches: dict[str, list[str]] = {}
        self._decided: dict[str, list[str]] = {}
        self.calls: dict[Op, list[Op]] = {}
        for op in kernel.every():
            if op.name == "tt.func":
                self._follow_branches(op)
            elif op.name == "tt.call":
                self.calls.setdefault(kernel.functions[op.symbol], []).append(op)

    def _follow_branches(self, function: Op) -> None:
        """What branches hand to the arguments of basic blocks, and what decides on them."""
        blocks = {block.label: block for block in function.regions[0]}
        for end in (block.ops[-1] for block in blocks.values() if block.ops):
            decides = end.operands[:1] if end.name == "cf.cond_br" else []
            for label, values in end.successors:
                for argument, value in zip(blocks[label].args, values, strict=True):
                    self._branches.setdefault(argument, []).append(value)
                    self._decided.setdefault(argument, []).extend(decides)

    def leaves(self, value: str) -> set[Op]:
        """The operations that a value is computed from; what is loaded is followed no further."""
        defs = self.kernel.defs
        return set(self.kernel.made(reached([value], lambda name: (
            () if name in defs and defs[name].name in ACCESSES else self.before(name)
        ))))  # fmt: skip

    def read_memory(self, values: Iterable[str]) -> bool:
        """Whether values are computed from what is loaded."""
        return any(leaf.name in ACCESSES for value in values for leaf in self.leaves(value))

    def before(self, value: str) -> list[str]:
        """The values that a value is computed from, one step back; not what decides branches."""
        op = self.kernel.defs.get(value)
        if op is None:
            return self._passes(value)
        place = op.results.index(value)
        if op.name == "scf.for":
            return [op.inits[place], op.last().operands[place]]
        if op.name == "scf.while":
            return [op.last(0).operands[1 + place]]
        if op.name == "scf.if":
            return [op.last(region).operands[place] for region in range(len(op.regions))]
        if op.name == "tt.call":
            ends = (block.ops[-1] for block in self.kernel.functions[op.symbol].regions[0])
            return [end.operands[place] for end in ends if end.name == "tt.return"]
        return [operand for inner in op.walk() for operand in inner.operands]

    def _passes(self, value: str) -> list[str]:
        """What an argument of a basic block is given."""
        op, place = self.kernel.owner[value]
        if op.name == "scf.for":
            if value == op.induction:
                return [op.start, op.step]
            return [op.inits[place - 1], op.last().operands[place - 1]]
        if op.name == "scf.while" and value in op.regions[0][0].args:
            return [op.inits[place], op.last(1).operands[place]]
        if op.name == "scf.while":
            return [op.last(0).operands[1 + place]]
        if value in self._branches:
            return self._branches[value]
        return [call.operands[place] for call in self.calls.get(op, ())]

    def deciding(self, value: str) -> list[str]:
        """The values that decide which one a value is of those that are handed to it."""
        op = self.kernel.defs.get(value)
        if op is None:
            return self._decided.get(value, [])
        place = op.results.index(value)
        if op.name == "scf.if":
            return op.operands[:1]
        if op.name == "scf.for" and op.last().operands[place] != op.carried[place]:
            return [op.start, op.stop, op.step]
        if op.name == "scf.while" and op.last(0).operands[1 + place] in op.carried:
            return op.last(0).operands[:1]
        return []


def of_the_program(kernel: Kernel) -> set[str]:
    """Values that depend on the program id; a function that is called may return it."""
    sources = Sources(kernel)
    readers: dict[str, list[str]] = {}
    for value in kernel.types:
        for source in (*sources.before(value), *sources.deciding(value)):
            readers.setdefault(source, []).append(value)
    own = (
        result
        for op in kernel.every()
        if op.name in ("tt.get_program_id", "tt.call") or asks_where_it_runs(op)
        for result in op.results
    )
    return set(reached(own, lambda value: readers.get(value, ())))


# --- the part of a kernel that decides ------------------------------------------------------------


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
    ops = {*kernel.every()}
    return Slice(ops, {value for op in ops for value in op.results} | set(kernel.owner))


def address_slice(kernel: Kernel, further: Iterable[str] = ()) -> Slice:
    """What reaches an address, a mask, a branch or a loop bound.

    Args:
        kernel: any.
        further: values that are wanted beside them.
    """
    sources = Sources(kernel)
    begin: list[Op | str] = [*further]
    for op in kernel.every():
        if op.name in ACCESSES:
            begin += [op, *_where(op)]
        elif op.name in ("scf.for", "scf.if") and not sources.read_memory(_deciding(op)):
            begin.append(op)  # what it computes is counted
    found = reached(begin, lambda node: _back(node, sources))
    values = {node for node in found if isinstance(node, str)}
    return Slice({node for node in found if isinstance(node, Op)}, values)


def _back(node: Op | str, sources: Sources) -> Iterator[Op | str]:
    """What an operation is in, or a value is computed from, one step back."""
    if isinstance(node, Op):
        yield from _leading(node, sources)
        return
    op = sources.kernel.defs.get(node)
    around = op if op is not None else sources.kernel.owner[node][0]
    if op is not None and op.name not in CONTROL and op.regions:  # reductions: as a whole
        for inner in op.walk():
            yield inner
            yield from inner.results
            yield from (arg for block in inner.blocks() for arg in block.args)
    if around.name != "tt.func":
        yield around
    yield from sources.before(node)


@lru_cache(maxsize=64)
def placed_by_contents(kernel: Kernel) -> frozenset[str] | None:
    """The arguments to whose memory contents say where, or whether, a load or a store goes; None =
    not known. What goes elsewhere is the same whatever tensors hold."""
    sources, roots = Sources(kernel), set[str]()
    for op in (op for op in kernel.every() if op.name in ("tt.load", "tt.store")):
        leading = reached([op, *_where(op)], lambda node: _back(node, sources))
        made = kernel.made(node for node in leading if isinstance(node, str))
        if any(leaf.name in ACCESSES for leaf in made):
            roots |= _roots(sources, op.operands[0])
    return _names(kernel, roots)


def _where(op: Op) -> list[str]:
    """Address and mask of an access."""
    return [op.operands[place] for place in ACCESSES[op.name] if place < len(op.operands)]


def _deciding(op: Op) -> list[str]:
    """What decides whether, or how often, the regions of an operation are executed."""
    if op.name == "scf.while":
        return op.last(0).operands[:1]
    return op.operands[: {"scf.for": 3, "scf.if": 1, "cf.cond_br": 1}.get(op.name, 0)]


def _leading(op: Op, sources: Sources) -> Iterator[Op | str]:
    """What an operation is in, and what decides whether it is executed."""
    yield from op.parents()
    yield from _deciding(op)
    if op.name == "tt.func":
        for end in (block.ops[-1] for block in op.regions[0] if block.ops):
            yield from _deciding(end)
        yield from sources.calls.get(op, ())


@dataclass(frozen=True)
class Accessed:
    """The arguments of a kernel whose memory it accesses.

    Attributes:
        read: by loads, and by atomics of which something uses the answer; None = not known.
        changed: by stores and atomics; None = not known.
        numbered: changed to more than constants that are exchanged, as in locks; None = not known.
        answers: whether it uses what an atomic answers.
        hands_over: whether programs may exchange data through atomics at some size: their return
            values are used, their sequence matters, or what they change is loaded or stored to.
    """

    read: frozenset[str] | None
    changed: frozenset[str] | None
    numbered: frozenset[str] | None
    answers: bool
    hands_over: bool


def accessed_by(kernel: Kernel, meeting: Meeting = frozenset()) -> Accessed:
    """What the loads, stores and atomics of a kernel go to."""
    loaded, answered, changed, numbered, plain = (set[str]() for _ in range(5))
    kinds: dict[str, set[str]] = {}
    sources = Sources(kernel)
    for op in (op for op in kernel.every() if op.name in ACCESSES):
        roots = _roots(sources, op.operands[0], meeting)
        changed |= roots if op.name in _CHANGES else set()
        if op.name in ("tt.load", "tt.store"):
            plain |= roots
            (loaded if op.results else numbered).update(roots)
            continue
        answered |= roots if any(kernel.uses.get(value) for value in op.results) else set()
        how = op.text.split(",")[0].split()[-1] if op.name == "tt.atomic_rmw" else "exch"
        given = op.operands[1 : 3 if op.name == "tt.atomic_cas" else 2]
        if how != "exch" or any(kernel.constant(value) is None for value in given):
            numbered |= roots & changed
        for root in roots:
            kinds.setdefault(root, set()).add(how)
    if kinds and not {*plain, *kinds} <= set(kernel.args):  # what points anywhere points to all
        kinds = dict.fromkeys(plain or [""], set().union(*kinds.values()))
    ordered = any(len(kind) > 1 or "exch" in kind for kind in kinds.values())
    return Accessed(
        _names(kernel, loaded | answered), _names(kernel, changed), _names(kernel, numbered),
        bool(answered), hands_over=bool(answered) or ordered or not plain.isdisjoint(kinds),
    )  # fmt: skip


def conflicting(kernel: Kernel, meeting: Meeting = frozenset()) -> list[Op]:
    """Its stores, and the loads of what it stores to."""
    sources = Sources(kernel)
    ops = (op for op in kernel.every() if op.name in ("tt.load", "tt.store"))
    of = {op: _roots(sources, op.operands[0], meeting) for op in ops}
    stored = set[str]().union(*(of[op] for op in of if not op.results))
    known = {*kernel.args}.issuperset
    return [op for op in of if not op.results or not known(of[op] | stored) or of[op] & stored]


_FOLDS = ("remsi", "remui", "divsi", "divui", "shrsi", "shrui", "andi", "trunci", "minsi", "minui",
          "maxsi", "maxui", "select", "cmpi", "if")  # fmt: skip
_BITS = ("andi", "ori", "xori")
_LANES = ("tt.broadcast", "tt.expand_dims", "tt.splat", "tt.reshape")
_MASKS = ("arith.andi", "arith.cmpi", *_LANES)
_BOUNDS = ("arith.extsi", "arith.minsi", *_LANES)
_ALONE = ("addi", "subi", "muli", "xori")
_APART = (
    *_ALONE, "addptr", "splat", "broadcast", "expand_dims", "extsi", "extui", "reshape", "trans",
    "unsplat", "index_cast", "index_castui", "bitcast", "get_program_id", "load", "call", "for",
    "while", "int_to_ptr", "ptr_to_int", "join", "cat", "split", "make_tensor_ptr", "advance",
    "make_tensor_descriptor", "descriptor_load", "atomic_rmw", "atomic_cas",
)  # fmt: skip
"""Operations that bring no two programs together, `_ALONE` if one operand alone follows from a
program's number."""


@lru_cache(maxsize=64)
def folds(kernel: Kernel, meeting: Meeting = frozenset()) -> dict[Op, tuple[int, ...]]:
    """What may bring programs together at one size and not at a smaller one: operations that lead
    from a program's number to its `conflicting` accesses.

    Empty if no outcome says what else it may do. Of a sum of two such numbers: of which
    constant each is a multiple, unless the other one is bounded; else 0.
    """
    own, sources = of_the_program(kernel), Sources(kernel)
    wanted = [value for op in conflicting(kernel, meeting) for value in _placing(kernel, op)]
    leading = reached(wanted, lambda value: (*sources.before(value), *sources.deciding(value)))

    def outcomes(op: Op) -> tuple[int, ...] | None:
        kind, name = re.findall(r"i\d+", kernel.types[op.results[0]])[-1:], op.name.split(".")[-1]
        several = len({*op.operands} & own) > 1
        if (name, kind) in (("trunci", ["i32"]), *((how, ["i1"]) for how in _BITS)):
            return None
        if name == "cmpi":  # sizes are compared at all sizes
            fixed = several or any(kernel.constant(operand) is not None for operand in op.operands)
            return (0, 0) if fixed else None
        if name in ("addi", "subi", "addptr") and (several or _grows(sources, op, own)):
            bounded = (_is_bounded(kernel, operand) and several for operand in op.operands[::-1])
            return tuple(0 if near or o not in own else _multiple(kernel, sources, o, own)
                         for o, near in zip(op.operands, bounded, strict=True))  # fmt: skip
        known = _divides(kernel, op) or (name in _APART and not (several and name in _ALONE))
        return None if known else (0, 0) if name in _FOLDS else ()

    found = {op: outcomes(op) for op in kernel.made(leading) if not own.isdisjoint(op.results)}
    return {op: sides for op, sides in found.items() if sides is not None}


def _placing(kernel: Kernel, op: Op) -> Iterator[str]:
    """What decides where an access is made; of comparisons that can only leave out lanes, what they
    compare: where it is made they are true. As `x < min(a, b)` is `x < a and x < b`, so are these.
    """

    def parts(node: tuple[str, tuple[str, ...]]) -> Sequence[tuple[str, tuple[str, ...]]]:
        how = kernel.defs.get(node[0])
        if how is None or how.name not in node[1]:
            return ()
        compared = (), _BOUNDS if how.text.startswith("sl") else ()
        return [*zip(how.operands, compared if "cmp" in how.name else node[1:] * 2, strict=False)]

    address, *masks = _where(op)
    found = reached(((mask, _MASKS) for mask in masks), parts)
    yield from (address, *(node[0] for node in found if not parts(node)))


def _grows(sources: Sources, op: Op, own: set[str]) -> bool:
    """Whether what is added to a program's number, or added again and again, grows with the turns
    of a loop, and no constant says how many there are."""
    kernel, others = sources.kernel, {*op.operands} - own
    behind = reached(others, sources.before)
    loops = [kernel.owner[value][0] for value in behind if value in kernel.owner]
    again = op.results[0] in reached(op.operands, sources.before)
    if again and all(kernel.constant(value) is not None for value in others):
        loops += op.parents()
    elif all(_is_bounded(kernel, value) for value in others):
        return False
    return any(
        loop.name == "scf.while" or (loop.name == "scf.for" and kernel.constant(loop.stop) is None)
        for loop in loops
    )


def _divides(kernel: Kernel, op: Op) -> bool:
    """Whether `min(rows, 1)` does nothing but divide others (groups of one row): if it were less
    than 1, by 0."""
    users = kernel.uses.get(op.results[0], ())
    bound = op.name == "arith.minsi" and any(kernel.constant(o) == 1 for o in op.operands)
    return bound and all(
        re.search("div|rem", user.name) and [*user.operands[1:]] == [*op.results] for user in users
    )


def _multiple(kernel: Kernel, sources: Sources, value: str, own: set[str]) -> int:
    """The constant of which a program's number is a multiple; else 0."""
    last = {v for op in kernel.every() if op.name in (*ACCESSES, "arith.muli") for v in op.results}
    made = reached([value], lambda v: () if v in last else own.intersection(sources.before(v)))
    times = [v for op in kernel.made(made) if op.name == "arith.muli" for v in op.operands]
    return math.gcd(*(int(kernel.constant(factor) or 0) for factor in times))


def _is_bounded(kernel: Kernel, value: str) -> bool:
    """Whether constants alone say what a number that is not negative is at most."""
    op = kernel.defs.get(value)
    if op is None or op.regions or op.name in (*ACCESSES, "tt.call") or "tt.get_" in op.name:
        return False
    operands = op.operands[".rem" in op.name : 1 if ".div" in op.name else None]
    return (any if ".min" in op.name else all)(_is_bounded(kernel, operand) for operand in operands)


@lru_cache(maxsize=64)
def deciding_floats(kernel: Kernel) -> frozenset[str] | None:
    """The arguments of whose floats an access, a mask or a branch depends; None = not known."""
    decides, sources = address_slice(kernel), Sources(kernel)
    loads = (op for op in decides.ops if op.name in ACCESSES and re.search(r"ptr<b?f", op.types))
    used = [op for op in loads if not decides.values.isdisjoint(op.results)]
    return _names(kernel, {root for op in used for root in _roots(sources, op.operands[0])})


def _names(kernel: Kernel, roots: set[str]) -> frozenset[str] | None:
    return frozenset(roots) if roots <= set(kernel.args) else None


def _roots(sources: Sources, pointer: str, meeting: Meeting = frozenset()) -> set[str]:
    """The values that a pointer is made of and that are made of no other one; what meets them."""

    def pointers(value: str) -> list[str]:
        op = sources.kernel.defs.get(value)
        before = [] if op and op.name == "tt.load" else sources.before(value)
        return [source for source in before if "!tt.ptr" in sources.kernel.types[source]]

    roots = {value for value in reached([pointer], pointers) if not pointers(value)}
    return roots | {other for root, other in meeting if root in roots}
