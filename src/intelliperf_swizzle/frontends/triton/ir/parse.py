# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Reads Triton's IR from its printed form (Triton 3.6 to 3.9): operations in SSA form with regions.

Triton's Python bindings hide attributes, dense constants and blocks, so the text is read, of which
nothing is lost: operands are values, what else stands in a line is in `Op.text` and `Op.types`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

VALUE = re.compile(r"%[\w$.\-]+(?:#\d+)?")
"""A value as it is printed."""
MARK = "intelliperf-swizzle"
"""The text of the prints that `compile` inserts to find the value of a name."""
_NAME = r"%[\w$.\-]+"
_RESULTS = re.compile(rf"({_NAME})(?::(\d+))?((?:, {_NAME})*) = ")
_OPERATION = re.compile(r'"?([a-z_]+\.[\w.]+)"?\s*')
_LOCATION = re.compile(r" ?loc\((#\w+|unknown)\)$")
_FOR = re.compile(rf"(?:unsigned )?({_NAME}) = (\S+) to (\S+) step (\S+)(.*)$")
_FILE_LINE = re.compile(r'"([^"]+)":(\d+):\d+')
_TARGET = re.compile(r"(\^\w+)(?:\(([^)]*)\))?")


@dataclass(eq=False)
class Block:
    """A basic block of a region.

    Attributes:
        label: as printed, "" of a first block without one.
        args: values that its predecessors, or the operation around it, hand over.
        arg_types: of these.
        ops: its operations.
    """

    label: str
    args: list[str] = field(default_factory=list)
    arg_types: list[str] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)


@dataclass(eq=False)
class Op:
    """An operation.

    Attributes:
        name: with its dialect, `tt.load`.
        results: values that it defines, unique in the kernel.
        operands: values that it reads.
        text: what else is printed: attributes, and the operands in their places.
        types: after the last ` : `, or of a structured operation what follows `->`.
        regions: each a list of blocks.
        successors: of a branch, labels with the values handed to each.
        loc: of its source; `Kernel.line` reads it.
        parent: the operation around it; None of a function.
        start, stop, step, induction: of an `scf.for`.
        inits: of a loop, the first ones of the carried values.
    """

    name: str
    results: list[str]
    operands: list[str]
    text: str
    types: str
    regions: list[list[Block]] = field(default_factory=list)
    successors: list[tuple[str, list[str]]] = field(default_factory=list)
    loc: str = ""
    parent: Op | None = field(default=None, repr=False)
    start: str = ""
    stop: str = ""
    step: str = ""
    induction: str = ""
    inits: list[str] = field(default_factory=list)

    @property
    def carried(self) -> list[str]:
        """Of a loop, the values in its (first) region that are carried from turn to turn."""
        return self.regions[0][0].args[1 if self.name == "scf.for" else 0 :]

    @property
    def symbol(self) -> str:
        """The name of a function, or of the one that a `tt.call` calls."""
        found = re.search(r'@("[^"]*"|[\w.$]+)', self.text)
        return found[1].strip('"') if found else ""

    def walk(self) -> Iterator[Op]:
        """Itself and all operations in it, in the order of the text."""
        yield self
        for block in self.blocks():
            for op in block.ops:
                yield from op.walk()

    def blocks(self) -> Iterator[Block]:
        """The basic blocks of its regions."""
        return (block for region in self.regions for block in region)

    def parents(self) -> Iterator[Op]:
        """The operations around it, the nearest first; a function is the last."""
        op = self.parent
        while op is not None:
            yield op
            op = op.parent

    def last(self, region: int = 0) -> Op:
        """What ends a region, if that is printed: an `scf.yield` without operands is not."""
        return self.regions[region][-1].ops[-1]

    def attr(self, name: str) -> int:
        """An attribute that is an integer; raises KeyError without one."""
        found = re.search(rf"\b{name} = (-?\d+)", self.text)
        if found is None:
            raise KeyError(name)
        return int(found[1])


class Kernel:
    """A module of TTIR: the kernel and the functions that were not inlined into it.

    Attributes:
        functions: all, by their symbols.
        entry: the kernel.
        args, arg_types: its arguments, as they are called in the source.
        defs: value -> the operation that defines it.
        owner: block argument -> (operation around the block, position).
        uses: value -> operations that read it.
        types: value -> its type.
    """

    def __init__(self, functions: list[Op], locations: Mapping[str, str]) -> None:
        self.functions = {function.symbol: function for function in functions}
        self._locations = locations
        public = [function for function in functions if function.text.startswith("public")]
        if len(public) != 1:
            raise ValueError(f"a TTIR module has one kernel, not {len(public)}")
        self.entry = public[0]
        self.args = self.entry.regions[0][0].args
        self.arg_types = self.entry.regions[0][0].arg_types
        self.defs: dict[str, Op] = {}
        self.owner: dict[str, tuple[Op, int]] = {}
        self.uses: dict[str, list[Op]] = {}
        self.types: dict[str, str] = {}
        for op in self.every():
            self._enter(op)

    def _enter(self, op: Op) -> None:
        for value in op.operands:
            self.uses.setdefault(value, []).append(op)
        for block in op.blocks():
            self.types.update(zip(block.args, block.arg_types, strict=True))
            self.owner.update({arg: (op, i) for i, arg in enumerate(block.args)})
        self.defs.update(dict.fromkeys(op.results, op))
        kinds = _result_types(op)
        if len(kinds) != len(op.results):
            raise LookupError(f"{op.name} {op.text} : {op.types}")
        self.types.update(zip(op.results, kinds, strict=True))

    @classmethod
    def parse(cls, text: str) -> Kernel:
        """Reads a printed module.

        Raises:
            ValueError: the text is not one; with the line.
        """
        reader = _Reader()
        for number, line in enumerate(text.splitlines(), 1):
            try:
                reader.read(line.strip())
            except (AssertionError, LookupError, StopIteration, ValueError) as error:
                raise ValueError(f"line {number} of a TTIR module: {line.strip()!r}") from error
        locations = dict(re.findall(r"^(#\w+) = loc\((.*)\)$", text, re.M))
        try:
            return cls(reader.functions, locations)
        except LookupError as error:
            raise ValueError(f"a TTIR module with an operation of unknown form: {error}") from error

    def every(self) -> Iterator[Op]:
        """All functions, and the operations in each: a function comes before its own."""
        return (op for function in self.functions.values() for op in function.walk())

    def ops(self) -> Iterator[Op]:
        """The operations of the kernel itself."""
        return self.entry.walk()

    def made(self, values: Iterable[str]) -> list[Op]:
        """The operations that values are results of; none of an argument."""
        return [self.defs[value] for value in values if value in self.defs]

    def constant(self, value: str) -> int | float | bool | None:
        """What a value always is (in all elements); None if it is not constant."""
        op = self.defs.get(value)
        if op is None or op.name != "arith.constant":
            return None
        text = re.sub(r"^\{.*?\}\s*", "", op.text)
        if splat := re.search(r"dense<([^>\[]+)>", text):
            text = splat[1]
        if text in ("true", "false"):
            return text == "true"
        if re.fullmatch(r"-?\d+", text):
            return int(text)
        if re.fullmatch(r"-?(0x[0-9A-F]+|[\d.]+(E[+-]?\d+)?)", text, re.I):
            return float(text) if "0x" not in text else int(text, 16)
        return None

    def places(self, op: Op) -> list[tuple[str, int]]:
        """Files and lines that an operation comes from, the innermost call first."""
        return [(file, int(line)) for file, line in _FILE_LINE.findall(self._location(op.loc))]

    def place(self, op: Op) -> tuple[str, int] | None:
        """File and line that an operation comes from, in the user's code if any of it is."""
        users = (place for place in self.places(op) if "/triton/language/" not in place[0])
        return next(users, next(iter(self.places(op)), None))

    def line(self, op: Op) -> str:
        """The same as `file.py:12`, for people; `?` if it is not known."""
        place = self.place(op)
        return f"{place[0].rsplit('/', 1)[-1]}:{place[1]}" if place else "?"

    def name(self, op: Op) -> str | None:
        """The variable of the source that an operation was assigned to, if it is known."""
        found = re.match(r'"(\w+)"\(', self._locations.get(op.loc, ""))
        return found[1] if found else None

    def _location(self, text: str) -> str:
        """A location with all that it refers to written out, the innermost call first."""
        for _ in range(64):
            new = re.sub(r"#\w+", lambda found: self._locations.get(found[0], ""), text)
            if new == text:
                break
            text = new
        return text


class _Reader:
    """The state between two lines.

    MLIR's printed names are unique per region only (`%4` may occur in two sibling regions), so
    names are looked up in scopes, and a name that was taken before gets a suffix.
    """

    def __init__(self) -> None:
        self.functions: list[Op] = []
        self._stack: list[Op] = []
        self._scopes: list[dict[str, str]] = [{}]
        self._taken: set[str] = set()

    def read(self, line: str) -> None:
        if not line or line.startswith(("#", "//", "module", "{-#")):
            return
        location = ""
        if found := _LOCATION.search(line):
            location, line = found[1], line[: found.start()]
        if line.startswith("^"):
            self._block(line)
        elif line.startswith("}"):
            self._close(line, location)
        else:
            self._operation(line, location)

    def _define(self, name: str) -> str:
        unique, number = name, 1
        while unique in self._taken:
            unique, number = f"{name}'{number}", number + 1
        self._taken.add(unique)
        self._scopes[-1][name] = unique
        return unique

    def _use(self, name: str) -> str:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), name)

    def _block(self, line: str) -> None:
        """`^bb1(%a: i32 loc(…), …):  // pred: ^bb0`."""
        label = re.match(r"\^\w+", line)
        assert label
        rest = line[label.end() :]
        names, types = _types(_bracket(rest)) if rest.startswith("(") else ([], [])
        made = Block(label[0], [self._define(name) for name in names], types)
        region = self._stack[-1].regions[-1]
        first = region[0]
        if len(region) == 1 and not (first.label or first.ops or first.args):
            region[0] = made
        else:
            region.append(made)

    def _close(self, line: str, location: str) -> None:
        if not self._stack:
            return
        op = self._stack[-1]
        self._scopes.pop()
        if line.endswith("{"):  # `} else {`, `} do {`, `}, {`
            op.regions.append([Block("")])
            self._scopes.append({})
            return
        self._stack.pop()
        op.loc = location or op.loc
        rest = line[1:].strip()
        if rest.startswith(")"):
            text, types = _cut_types(rest[1:])
            op.text, op.types = f"{op.text} {text}".strip(), types
        elif rest:
            op.text = f"{op.text} {rest}"

    def _operation(self, line: str, location: str) -> None:
        op = _read_op(line, location)
        op.start, op.stop, op.step = map(self._use, (op.start, op.stop, op.step))
        op.inits = list(map(self._use, op.inits))
        op.operands = list(map(self._use, op.operands))
        op.successors = [(to, list(map(self._use, values))) for to, values in op.successors]
        op.results = list(map(self._define, op.results))
        if self._stack:
            op.parent = self._stack[-1]
            self._stack[-1].regions[-1][-1].ops.append(op)
        if op.name == "tt.func":
            self.functions.append(op)
        if line.endswith("{"):
            self._stack.append(op)
            self._scopes.append({})
            for block in op.regions[-1]:
                block.args = list(map(self._define, block.args))
            if op.induction:
                op.induction = op.regions[-1][0].args[0]


def _read_op(line: str, location: str) -> Op:
    """One operation with the names of its line, its first region still empty."""
    body = line.removesuffix("{").rstrip()
    results: list[str] = []
    if found := _RESULTS.match(body):
        several = int(found[2] or 0)
        results = [f"{found[1]}#{i}" for i in range(several)] if several else [found[1]]
        results += VALUE.findall(found[3])
        body = body[found.end() :]
    operation = _OPERATION.match(body)
    assert operation, line
    op = Op(operation[1], results, [], body[operation.end() :], "", loc=location)
    _STRUCTURED.get(op.name, _read_plain)(op)
    if line.endswith("{") and not op.regions:
        op.regions.append([Block("")])
    return op


def _read_plain(op: Op) -> None:
    op.text, op.types = _cut_types(op.text)
    if not op.types and " -> " in without_strings(op.text):  # assembly without operands
        op.text, _, op.types = op.text.rpartition(" -> ")
    op.operands = VALUE.findall(without_strings(op.text))


def _read_function(op: Op) -> None:
    """`public @kernel(%x: !tt.ptr<f32> {…} loc(…), …) attributes {…}`."""
    head = without_strings(op.text).index("(")
    inside = _bracket(op.text[head:])
    op.regions.append([Block("", *_types(inside))])
    op.text = op.text[:head] + op.text[head + len(inside) + 2 :]


def _read_for(op: Op) -> None:
    """`%i = %a to %b step %c iter_args(%x = %y) -> (f32) : i32`."""
    found = _FOR.match(op.text)
    assert found
    induction, op.start, op.stop, op.step, rest = found.groups()
    names, op.inits = _pairs(rest) if "iter_args" in rest else ([], [])
    _, _, op.types = rest.partition("-> ")
    types, kind = _cut_types(op.types or rest)
    op.operands = [op.start, op.stop, op.step, *op.inits]
    carried = split_commas(_unwrap(types)) if names else []
    op.induction, op.text = induction, ""
    op.regions.append([Block("", [induction, *names], [kind or "index", *carried])])


def _read_while(op: Op) -> None:
    """`(%x = %y) : (i32) -> i32`."""
    names, op.inits = _pairs(op.text)
    _, op.types = _cut_types(op.text)
    op.operands, op.text = list(op.inits), ""
    op.regions.append([Block("", names, split_commas(_unwrap(op.types.partition(" -> ")[0])))])


def _read_if(op: Op) -> None:
    op.text, _, op.types = op.text.partition(" -> ")
    op.operands = VALUE.findall(op.text)


def _read_branch(op: Op) -> None:
    """`%c, ^bb1(%x : i32), ^bb2`."""
    for label, values in _TARGET.findall(op.text):
        op.successors.append((label, VALUE.findall(values)))
    op.operands = VALUE.findall(op.text)
    op.text = op.text.partition("^")[0]


_STRUCTURED: dict[str, Callable[[Op], None]] = {
    "tt.func": _read_function,
    "scf.for": _read_for,
    "scf.while": _read_while,
    "scf.if": _read_if,
    "cf.br": _read_branch,
    "cf.cond_br": _read_branch,
}


def without_strings(text: str) -> str:
    """The text with blanks for what stands in quotes, so that positions stay."""
    return re.sub(r'"[^"]*"', lambda quoted: '"' + " " * (len(quoted[0]) - 2) + '"', text)


def _depths(text: str) -> Iterator[tuple[int, str, int]]:
    """Position, character and depth in brackets after it, of a text without strings."""
    depth = 0
    for place, character in enumerate(without_strings(text)):
        depth += character in "([{<"
        depth -= character in ")]}" or (character == ">" and text[place - 1] not in "-=")
        yield place, character, depth


def _bracket(text: str) -> str:
    """What stands in the bracket that the text begins with."""
    return text[1 : next(place for place, _, depth in _depths(text) if depth == 0)]


def _unwrap(text: str) -> str:
    """A list without the brackets around it."""
    return _bracket(text) if text.startswith("(") else text


def _cut_types(text: str) -> tuple[str, str]:
    """Cuts at the last ` : ` outside of brackets."""
    text = f" {text}"
    cuts = [place for place, character, depth in _depths(text) if character == ":" and not depth]
    cuts = [place for place in cuts if text[place - 1 : place + 2] == " : "]
    return (text[: cuts[-1]].strip(), text[cuts[-1] + 1 :].strip()) if cuts else (text.strip(), "")


def split_commas(text: str) -> list[str]:
    """Cuts at commas outside of brackets."""
    cuts = [-1, *(place for place, char, depth in _depths(text) if char == "," and not depth)]
    items = [text[a + 1 : b].strip() for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)]
    return items if text.strip() else []


def _pairs(text: str) -> tuple[list[str], list[str]]:
    """`%a = %x, %b = %y`: names, values."""
    found = re.findall(rf"({_NAME}) = ({VALUE.pattern})", text)
    return [name for name, _ in found], [value for _, value in found]


def _types(text: str) -> tuple[list[str], list[str]]:
    """`%a: i32 {…} loc(…), %b: f32`: names, types."""
    names, types = [], []
    for item in split_commas(text):
        name, _, kind = item.partition(":")
        names.append(name.strip())
        types.append(re.split(r" (?:loc\(|\{)", kind.strip())[0])
    return names, types


def _result_types(op: Op) -> list[str]:
    """The types of the results; the short printed forms leave some out."""
    if not op.results:
        return []
    if op.text in ("true", "false"):
        return ["i1"]
    if op.name == "scf.for":
        return split_commas(_unwrap(_cut_types(op.types)[0]))
    _, arrow, after = op.types.replace(" to ", " -> ").rpartition(" -> ")
    kinds = split_commas(_unwrap(after)) if op.name != "scf.if" else split_commas(_unwrap(op.types))
    if op.name in ("arith.cmpi", "arith.cmpf"):
        shape = re.match(r"tensor<((?:\d+x)*)", kinds[0])
        kinds = [f"tensor<{shape[1]}i1>" if shape else "i1"]
    elif op.name == "tt.load" and not arrow:
        kinds = [re.sub(r"!tt\.ptr<(.*?)(, [^>]+)?>", r"\1", kinds[0], count=1)]
    elif op.name in ("arith.select", "tt.make_tensor_descriptor"):
        kinds = kinds[-1:]
    return kinds[:1] * len(op.results) if len(kinds) != len(op.results) else kinds
