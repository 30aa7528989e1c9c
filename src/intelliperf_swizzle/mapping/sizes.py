# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""At which sizes a swizzle is a permutation: at all of them, under a condition, or not known.

Whatever a text reads is free and independent: the number of programs along each axis, and what it
computes from arguments alone (`cdiv(N, BLOCK_N)`), which is one unknown number.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from intelliperf_swizzle.language import Swizzle, parse
from intelliperf_swizzle.language.grammar import LARGEST, bound_divisors
from intelliperf_swizzle.language.syntax import AXES, GRID, INPUTS, Graph, assigned_names, graph_of
from intelliperf_swizzle.mapping import polynomial
from intelliperf_swizzle.mapping.boxes import prove_everywhere
from intelliperf_swizzle.records import Certificate, Launch, Proof, launched_axes

MOST_CASES = 150
"""Of sizes that are distinguished in one proof."""
LONGEST = 4096
"""Tiles of a run whose number is read from memory: longer ones are cut, so all can be tried."""

MOST_RECORDED = 24
"""Launches whose values one patch may test."""
ROUNDS = 5
"""Conditions that are added, one after the other, until a proof succeeds."""


@dataclass(frozen=True)
class _Moduli:
    """What is assumed of sizes: `positive` arguments, and each a multiple of something."""

    positive: bool = False
    of: Mapping[str, polynomial.Polynomial] = field(default_factory=dict)


class _FailedError(Exception):
    """A proof failed; its argument is the divisions of sizes that the case had seen."""


def holds_everywhere(swizzle: Swizzle, *, axes: int, loop: bool, **gpu: int) -> str | None:
    """The condition under which a swizzle is a permutation for all its inputs.

    Args:
        swizzle: any.
        axes: of the grid, that may have more than one program.
        loop: whether programs take several numbers each.
        gpu: as of `language.evaluate`.

    Returns:
        The condition, empty if none is needed; None if no condition is known.
    """
    proof = _Proof(swizzle, gpu, axes, loop)
    assumed = _Moduli()
    for positive in (False, True):
        assumed = _Moduli(positive)
        for _ in range(ROUNDS):
            try:
                proof.check(assumed)
            except _FailedError as failed:
                more = _and(assumed, *failed.args)
                if more.of == assumed.of:
                    break
                assumed = more
            else:
                return proof.text(proof.fewest(assumed))
        if not proof.opaque:
            break
    return None


def certify(swizzle: Swizzle, launches: Sequence[Launch], **gpu: int) -> Certificate:
    """For which sizes a swizzle is a permutation that is one on recorded launches of a kernel.

    Cost: a tenth of a second for what people write, up to five seconds for what is not understood.
    """
    axes = max(launched_axes(launch.numbers) for launch in launches)
    loop = any(launch.loop for launch in launches)
    return _certificate(holds_everywhere(swizzle, axes=axes, loop=loop, **gpu))


def extend(proof: Proof, swizzle: Swizzle, **gpu: int) -> Proof:
    """A proof for one grid with what holds at other sizes; as of `certify`."""
    axes = launched_axes(proof.grid)
    found = _certificate(holds_everywhere(swizzle, axes=axes, loop=False, **gpu))
    return replace(proof, extent=found.extent, condition=found.condition)


def _certificate(needed: str | None) -> Certificate:
    if needed is None:
        return Certificate("the recorded sizes", None)
    return Certificate("under a condition" if needed else "every size", needed or None)


def recorded_condition(
    swizzle: Swizzle, launches: Sequence[Launch], decisive: Collection[str] = ()
) -> str | None:
    """That all which a swizzle reads is as in a recorded launch.

    None of too many launches, or where a value is too large to be tested.

    `decisive`: names of arguments that are, too.
    """

    def size(launch: Launch, tiles: int) -> dict[str, int]:
        known = {"num_pids": tiles}
        if launch.numbers[1:] != (1, 1):
            known = {f"grid_{axis}": extent for axis, extent in enumerate(launch.numbers)}
        if launch.loop and (decisive or swizzle.names & {"program", "num_programs"}):
            known["num_programs"] = launch.programs
        read = (swizzle.names | {*decisive}) & launch.constants.keys()
        return known | {name: launch.constants[name] for name in sorted(read)}

    sizes = [size(launch, tiles).items() for launch in launches for tiles in _run_lengths(launch)]
    shared = set(sizes[0]).intersection(*sizes)
    others = (" and ".join(f"{n} == {v}" for n, v in row if (n, v) not in shared) for row in sizes)
    distinct = [f"({place})" for place in dict.fromkeys(others) if place]
    if len(distinct) > MOST_RECORDED or any(abs(v) > LARGEST for row in sizes for _, v in row):
        return None
    parts = [f"{name} == {value}" for name, value in sizes[0] if (name, value) in shared]
    return " and ".join([*parts, *[f"({' or '.join(distinct)})"] * bool(distinct)])


def _run_lengths(launch: Launch) -> list[int]:
    """The numbers of tiles that a swizzle can read in a launch."""
    starts = launch.loop.starts if launch.loop else (0,)
    return [end - start for start, end in zip(starts, [*starts[1:], launch.tiles], strict=True)]


def conditional(
    text: str, outputs: Sequence[str], condition: str, total: bool = False, own: str = "own"
) -> str:
    """A swizzle that renumbers where a condition holds, and elsewhere nothing.

    What has that condition already, as in a resumed run, is left alone. `own` begins the names of
    what is kept, arguments too that have the name of a variable of the text. Elsewhere the text is
    computed, too: unless it is `total`, so that it can be, its divisors are kept from 0.
    """
    hidden = assigned_names(parse(text).statements) & {*re.findall(r"\w+", condition)}
    kept = "".join(f"{own}_{name} = {name}\n" for name in (*outputs, *sorted(hidden)))
    tested = re.sub(rf"\b({'|'.join(hidden) or '(?!)'})\b", rf"{own}_\1", condition)
    chosen = "".join(f"\n{name} = where({tested}, {name}, {own}_{name})" for name in outputs)
    bare = text.strip().removeprefix(kept).removesuffix(chosen)
    if f"{own}_" in bare:
        return conditional(text, outputs, condition, total, f"{own}_")
    return f"{kept}{bare if total else bound_divisors(bare)}{chosen}"


def _and(assumed: _Moduli, trail: Mapping[str, polynomial.Polynomial]) -> _Moduli:
    both = dict(assumed.of)
    for name, modulus in trail.items():
        before = both.get(name, polynomial.number(1))
        if before.number and modulus.number:
            both[name] = polynomial.number(math.lcm(before.number, modulus.number))
        elif before.number == 1:
            both[name] = modulus
    return _Moduli(assumed.positive, both)


class _Proof:
    """Proofs of one text under different assumptions."""

    def __init__(self, swizzle: Swizzle, known: Mapping[str, int], axes: int, loop: bool):
        self._graph = graph_of(swizzle)
        self._axes, self._loop, self._work = axes, loop, polynomial.Work()
        self.opaque: dict[str, str] = {}
        self._root = self._hide(known)
        read, grid = self._graph.leaves(self._root), [*GRID[:axes]]
        unread = [name for name in grid if name not in read and not read & {*AXES}]
        self._grid = [name for name in grid if name not in unread[1:]]  # one stands for all these
        rest = f"({' * '.join(unread)})"
        self._called = self.opaque | {name: rest for name in unread[:1] if unread[1:]}

    def _hide(self, known: Mapping[str, int]) -> int:
        """The root with the GPU's numbers, and an input for each quotient of two arguments."""
        graph, places = self._graph, dict[int, int]()
        divided: set[int] = set()
        single = range(self._axes, 3)
        fixed = {**known, **{AXES[k]: 0 for k in single}, **{GRID[k]: 1 for k in single}}
        for node in graph.below([graph.root]):
            operator, operands = graph.nodes[node]
            arguments = graph.leaves(node) - {*INPUTS}
            alone = arguments and arguments == graph.leaves(node)
            if operator == "number":
                places[node] = node
            elif operator == "input":
                name = graph.names[operands[0]]
                places[node] = self._name(node, name) if alone else node
                if name in fixed:
                    places[node] = graph.add("number", (fixed[name],))
            elif (operator in ("//", "%") and alone and graph.leaves(operands[1])
                    and not divided & {*graph.below([node])}):  # fmt: skip
                divided.add(node)
                places[node] = self._name(node, _text(graph, node))
            else:
                places[node] = graph.add(operator, [places[operand] for operand in operands])
        root = places[graph.root]
        read = sorted(graph.leaves(root))
        self.opaque = {name: self.opaque[name] for name in read if name in self.opaque}
        return root

    def _name(self, node: int, text: str) -> int:
        """A new input, for what is not looked into."""
        self.opaque[f"={node}"] = text
        return self._graph.input(f"={node}")

    def check(self, assumed: _Moduli) -> None:
        """Raises _FailedError if a case of sizes is not proved."""
        self._check(self._root, assumed)

    def _check(self, root: int, assumed: _Moduli) -> None:
        """Checks parts by themselves first: what runs one after the other, and both of a choice."""
        graph = self._graph
        if (both := graph.choice(root, {"pid", *AXES})) is not None:
            with suppress(_FailedError):
                for part in both:
                    self._check(part, assumed)
                return None
        program = graph.leaf("pid")
        if program is not None and not graph.leaves(root) & {*AXES}:
            for cut in graph.cuts(root, program):
                try:
                    self._check(cut, assumed)
                except _FailedError:
                    continue
                return self._check(graph.substitute(root, cut, program), assumed)
        return self._check_cases(root, assumed)

    def _check_cases(self, root: int, assumed: _Moduli) -> None:
        own = {
            name: (name, assumed.of.get(name, polynomial.number(1))) for name in self._sizes(root)
        }
        waiting = [
            (case, own, dict[str, polynomial.Polynomial]()) for case in self._cases(root, assumed)
        ]
        for _ in range(MOST_CASES):
            if not waiting:
                return
            case, origins, trail = waiting.pop()
            try:
                prove_everywhere(self._graph, root, case, case.inputs["num_pids"])
            except polynomial.NotProvedError:
                raise _FailedError(trail) from None
            except polynomial.SplitError as split:
                name = split.parts[0].symbol
                if split.divisor is not None and name in origins:
                    origin, times = origins[name]
                    quotient = next(iter(split.parts[0].bounds))
                    origins = {**origins, quotient: (origin, times * split.divisor)}
                    trail = {**trail, origin: times * split.divisor}
                waiting += [(case.put(part), origins, trail) for part in split.parts]
        raise _FailedError({})

    def _sizes(self, root: int) -> list[str]:
        """The symbols: extents of the grid, or the number of programs; what is opaque."""
        flat = not self._graph.leaves(root) & {*AXES, *GRID} and root != self._root
        flat |= self._axes == 1 or not self._graph.leaves(self._root) & {*AXES, *GRID}
        grid = ["num_pids"] if flat else self._grid
        loop = ["num_programs"] if self._loop else []
        return [*grid, *(name for name in self.opaque if name in self._graph.leaves(root)), *loop]

    def _cases(self, root: int, assumed: _Moduli) -> Iterator[polynomial.Case]:
        """All values of all sizes; those of what is opaque by their sign."""
        sizes = self._sizes(root)
        opaque = [name for name in sizes if name in self.opaque]
        for signs in range(1 if assumed.positive else 1 << len(opaque)):
            negative = {name for at, name in enumerate(opaque) if signs >> at & 1}
            bounds, inputs = {}, dict[str, polynomial.Polynomial]()
            for name in sizes:
                bounds[name] = polynomial.Bounds(0 if name in negative else 1)
                modulus, value = assumed.of.get(name, polynomial.number(1)), polynomial.symbol(name)
                modulus = modulus if modulus.symbols <= {*sizes} else polynomial.number(1)
                inputs[name] = -value if name in negative else value * modulus
            yield self._with_programs(root, bounds, inputs)

    def _with_programs(
        self,
        root: int,
        bounds: dict[str, polynomial.Bounds],
        inputs: dict[str, polynomial.Polynomial],
    ) -> polynomial.Case:
        if "num_pids" in inputs:
            inputs[GRID[0]] = inputs["num_pids"]
        for name in GRID:
            inputs.setdefault(name, polynomial.number(1))
        programs = inputs[GRID[0]] * inputs[GRID[1]] * inputs[GRID[2]]
        inputs["num_pids"] = programs
        if self._graph.leaves(root) & {*AXES} and self._axes > 1:
            pid, stride = polynomial.number(0), polynomial.number(1)
            for axis, name in enumerate(AXES):
                bounds[f"p{axis}"] = polynomial.Bounds(0, inputs[GRID[axis]] - 1, digit=True)
                inputs[name] = polynomial.symbol(f"p{axis}")
                pid, stride = pid + stride * inputs[name], stride * inputs[GRID[axis]]
            inputs["pid"] = pid
        else:
            bounds["p"] = polynomial.Bounds(0, programs - 1, digit=True)
            inputs["pid"] = inputs[AXES[0]] = polynomial.symbol("p")
            inputs |= dict.fromkeys(AXES[1:], polynomial.number(0))
        if not self._loop:
            inputs["num_programs"], inputs["program"] = programs, inputs["pid"]
        return polynomial.Case(bounds, inputs, self._work)

    def fewest(self, assumed: _Moduli) -> _Moduli:
        """The weakest of these assumptions that suffice."""
        for name, modulus in assumed.of.items():
            fewer = [polynomial.number(n) for n in range(1, modulus.number or 2)
                     if modulus.number is None or modulus.number % n == 0]  # fmt: skip
            for divisor in fewer:
                tried = _Moduli(assumed.positive, {**assumed.of, name: divisor})
                try:
                    self.check(tried)
                except _FailedError:
                    continue
                assumed = tried
                break
        return assumed

    def text(self, assumed: _Moduli) -> str:
        """Assumptions as a condition of the language."""
        parts = [f"{text} > 0" for text in self.opaque.values()] if assumed.positive else []
        for name, modulus in assumed.of.items():
            if modulus != polynomial.number(1):
                parts.append(f"{self._called.get(name, name)} % {self._product(modulus)} == 0")
        return " and ".join(parts)

    def _product(self, modulus: polynomial.Polynomial) -> str:
        [(symbols, factor)] = modulus.terms
        names = [f"{self._called.get(symbol, symbol)}" for symbol in symbols]
        parts = [*([str(factor)] if factor != 1 or not names else []), *names]
        return parts[0] if len(parts) == 1 else f"({' * '.join(parts)})"


def _text(graph: Graph, node: int) -> str:
    """A node as the language writes it."""
    operator, operands = graph.nodes[node]
    if operator == "number":
        return str(operands[0])
    if operator == "input":
        return graph.names[operands[0]]
    if operator in ("where", "min", "max"):
        return f"{operator}({', '.join(_text(graph, operand) for operand in operands)})"
    if operator == "not":
        return f"(not {_text(graph, operands[0])})"
    left, right = operands
    if operator == "//":
        added, parts = graph.nodes[left]
        if added == "+" and graph.nodes[parts[1]] == ("-", (right, graph.add("number", (1,)))):
            return f"cdiv({_text(graph, parts[0])}, {_text(graph, right)})"
    return f"({_text(graph, left)} {operator} {_text(graph, right)})"
