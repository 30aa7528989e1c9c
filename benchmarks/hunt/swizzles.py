# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Texts to try on an application, what they mean in plain Python, and a patch made by hand.

The patch serves pairs that the tool refuses: what would have become of the application?
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from hunt.applications import RARE, Application, Launch, programs

NUM_XCDS, CUS_PER_XCD = 8, 38
"""Of an MI300X."""

AXES = ("pid_0", "pid_1", "pid_2")


class Offers(Protocol):
    """What the tool itself offers for a kernel."""

    @property
    def patterns(self) -> Sequence[str]:
        """The catalogue, with all choices of its parameters; empty where nothing is offered."""

    def nest(self, source: random.Random) -> str:
        """An order of the local search, some random steps from the launch order."""


def simple_text(app: Application, source: random.Random) -> str:
    """A permutation on most grids, in a line or two."""
    count = programs(app.launches[0])
    k = source.randint(1, 7)
    a, b = source.randrange(count), source.randrange(count)
    step = source.choice((3, 5, 7))
    choices = [
        "pid = num_pids - 1 - pid",
        f"pid = (pid + {k}) % num_pids",
        f"pid = where(pid == {a}, {b}, where(pid == {b}, {a}, pid))",
        "pid = where(pid >= num_pids - 2, 2 * num_pids - 3 - pid, pid)",
        "pid = where(pid < num_pids // 2 * 2, pid ^ 1, pid)",
        f"pid = where(num_pids % {step} == 0, pid, pid * {step} % num_pids)",
        "half = (num_pids + 1) // 2\npid = where(pid % 2 == 0, pid // 2, half + pid // 2)",
        "last = num_pids - 1\npid = last if pid == 0 else pid - 1 if pid > 0 else 0",
    ]
    if len(app.launches[0].grid) > 1:
        choices += [
            "pid_0 = grid_0 - 1 - pid_0",
            "pid_1 = (pid_1 + 1) % grid_1",
            "pid_0 = (pid_0 + pid_1) % grid_0",
            "pid_0 = pid // grid_1 % grid_0\npid_1 = pid % grid_1"
            if len(app.launches[0].grid) == 2
            else "pid_2 = grid_2 - 1 - pid_2",
        ]
    return source.choice(choices)


def identity_text(app: Application, source: random.Random) -> str:
    """Every program keeps its number, in words of some sort."""
    return source.choice(
        (
            "pid = pid",
            "pid = (pid + num_pids) % num_pids",
            "pid = num_pids - 1 - (num_pids - 1 - pid)",
            "pid = pid ^ 5 ^ 5",
            "swizzle_pid = pid\npid = swizzle_pid",
            "tl = pid\npid = tl",
            "x = pid // num_xcds\ny = pid % num_xcds\npid = x * num_xcds + y",
            "for _ in range(3):\n    pid = num_pids - 1 - pid\nfor _ in range(3):\n"
            "    pid = num_pids - 1 - pid",
        )
    )


def dropping_text(app: Application, source: random.Random) -> str:
    """Computes some tiles twice, on most grids."""
    k = source.randint(2, 5)
    return source.choice(
        (
            f"pid = pid // {k} * {k}",
            "pid = pid % max(num_pids - 1, 1)",
            "pid = max(num_pids - 2, 0) if pid == num_pids - 1 else pid",
            f"pid = min(pid, max(num_pids - {k}, 0))",
            f"pid = where(pid == {k}, 0, pid)",
            "pid = pid % num_xcds * (num_pids // num_xcds) + pid // num_xcds",
            "share = max(num_pids // num_xcds, 1)\n"
            "pid = pid // num_xcds % share + pid % num_xcds * share",
            f"pid = pid * {source.choice((2, 3, 4, 6))} % num_pids",
            "pid = pid ^ 1",
            "pid = min(pid ^ 3, num_pids - 1)",
            "pid_0 = where(pid_0 == grid_0 - 1, 0, pid_0)",
            "pid_0 = pid // grid_0 % grid_0",
            "pid = pid * pid % num_pids",
            "pid = min(pid + 1, num_pids - 1)",
            "cols = max(num_pids // 4, 1)\npid = pid % 4 * cols + pid // 4 % cols",
            "group = 4\npid = pid // group * group + (pid * 2 + 1) % group",
        )
    )


def conditional_text(app: Application, source: random.Random) -> str:
    """A permutation that drops tiles for one value of an argument or one size of the grid."""
    good = source.choice(("pid", "num_pids - 1 - pid", "(pid + 1) % num_pids"))
    bad = source.choice(("0 * new", "min(new, max(num_pids - 2, 0))", "new // 2"))
    launch = source.choice((app.launches[-1], source.choice(app.launches)))
    names = ["num_pids", "grid_0"]
    if app.renumbered == ("kernel",):  # a helper does not know the kernel's arguments
        names += ["M", "N", "SEED", "MODE"]
        differing = [n for n in names[2:] if len({la.constants[n] for la in app.launches}) > 1]
        names = source.choice((names, differing or names))
    name = source.choice(names)
    value = {"num_pids": programs(launch), "grid_0": launch.grid[0], **launch.constants}[name]
    if source.random() < 0.15:
        value += 1000  # a value that no launch has
    return f"new = {good}\npid = where({name} == {value}, {bad}, new)"


_WRITERS = {
    "simple": simple_text,
    "identity": identity_text,
    "dropping": dropping_text,
    "conditional": conditional_text,
}
TEXTS = ("pattern", "pattern", "nest", "nest", "simple", "simple", "identity", "dropping",
         "dropping", "conditional", "conditional")  # fmt: skip
"""Kinds of the texts that are tried on each application."""
TEXTS_OF_RARE = ("pattern", "pattern", "nest", "simple", "simple")
"""The same for those with a rare kind of harm, which permutations do."""


def texts_for(app: Application, offers: Offers, source: random.Random) -> dict[str, str]:
    """Text -> its kind; each text once."""
    chosen: dict[str, str] = {}
    for kind in TEXTS_OF_RARE if app.seed >= RARE else TEXTS:
        if kind in ("pattern", "nest"):
            if not offers.patterns:
                continue
            text = source.choice(offers.patterns) if kind == "pattern" else offers.nest(source)
        else:
            text = _WRITERS[kind](app, source)
        chosen.setdefault(text, kind)
    return chosen


# --- what a text means ----------------------------------------------------------------------------


def renumber(text: str, launch: Launch) -> list[int] | None:
    """Tile of each program by plain Python; None if the text fails or leaves the grid."""
    extents = (*launch.grid, 1, 1)[:3]
    count = programs(launch)
    code = compile(text, "<swizzle>", "exec")
    tiles = []
    for pid in range(count):
        place = (pid % extents[0], pid // extents[0] % extents[1], pid // extents[0] // extents[1])
        names = {
            **launch.constants,
            **{f"grid_{axis}": extent for axis, extent in enumerate(extents)},
            **dict(zip(AXES, place, strict=True)),
            "pid": pid, "num_pids": count, "num_xcds": NUM_XCDS, "cus_per_xcd": CUS_PER_XCD,
            "where": lambda c, a, b: a if c else b, "cdiv": lambda a, b: -(-a // b),
        }  # fmt: skip
        try:
            exec(code, names)
        except (ArithmeticError, ValueError, NameError):
            return None
        if "pid" in _assigned(text):
            tiles.append(names["pid"])
            continue
        new = [names[axis] for axis in AXES]
        if not all(0 <= at < extent for at, extent in zip(new, extents, strict=True)):
            return None
        tiles.append(new[0] + extents[0] * (new[1] + extents[1] * new[2]))
    return tiles if all(0 <= tile < count for tile in tiles) else None


def drops_tiles(text: str, launch: Launch) -> bool:
    """Whether a text is no permutation of the tiles of a launch."""
    tiles = renumber(text, launch)
    return tiles is None or len(set(tiles)) < len(tiles)


def _assigned(text: str) -> set[str]:
    return {
        node.id
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


# --- a patch --------------------------------------------------------------------------------------


def patched(app: Application, text: str) -> Mapping[str, str]:
    """`kernels.py` with a swizzle in the functions that number the programs of `kernel`."""
    parts = re.split(r"(?m)^(?= *@triton\.jit)", app.files["kernels.py"])
    return {"kernels.py": "".join(_patched_part(part, app, text) for part in parts)}


def _patched_part(part: str, app: Application, text: str) -> str:
    head = re.search(r"(?m)^( *)def (\w+)\(.*\):\n", part)
    if head is None or head[2] not in app.renumbered:
        return part
    indent = head[1] + "    "
    block = (
        "\n".join(indent + line for line in _block(text, len(app.launches[0].grid)).splitlines())
        + "\n"
    )
    body = re.sub(r"tl\.program_id\((?:axis=)?(\d)\)", r"new_\1", part[head.end() :])
    return part[: head.end()] + block + body


def _block(text: str, axes: int) -> str:
    """Triton statements that set `new_0` to `new_2`; the last axis may leave the grid."""
    tree = _Emitted(_assigned(text)).visit(ast.parse(text))
    inputs = [f"{axis} = tl.program_id({axis[-1]})" for axis in AXES]
    inputs += [f"grid_{axis} = tl.num_programs({axis})" for axis in range(3)]
    inputs += ["pid = pid_0 + grid_0 * (pid_1 + grid_1 * pid_2)",
               "num_pids = grid_0 * grid_1 * grid_2",
               f"num_xcds = {NUM_XCDS}", f"cus_per_xcd = {CUS_PER_XCD}"]  # fmt: skip
    outputs = [f"new_{axis[-1]} = s_{axis}" for axis in AXES]
    if "pid" in _assigned(text):
        outputs = ["new_0 = s_pid", "new_1 = new_0 // s_grid_0", "new_2 = new_1 // s_grid_1"]
        outputs += [f"new_{axis} = new_{axis} % s_grid_{axis}" for axis in range(axes - 1)]
    body = ast.unparse(ast.fix_missing_locations(tree))
    return "\n".join([*(f"s_{_own(line)}" for line in inputs), body, *outputs])


def _own(line: str) -> str:
    """An input's statement over the block's own names; its target is prefixed by the caller."""
    target, _, value = line.partition(" = ")
    return f"{target} = " + re.sub(r"\b(pid|pid_\d|grid_\d)\b", r"s_\1", value)


class _Emitted(ast.NodeTransformer):
    """The language's expressions as Triton's; names that the text or the block binds get `s_`."""

    def __init__(self, assigned: set[str]) -> None:
        inputs = {*AXES, "grid_0", "grid_1", "grid_2", "pid", "num_pids", "num_xcds", "cus_per_xcd"}
        self._own = assigned | inputs

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(f"s_{node.id}", node.ctx) if node.id in self._own else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "range":
            return node
        arguments = [self.visit(argument) for argument in node.args]
        if name in ("min", "max"):
            value = arguments[0]
            for other in arguments[1:]:
                value = _call({"min": "minimum", "max": "maximum"}[name], value, other)
            return value
        return _call(name, *arguments)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return _call("where", *(self.visit(part) for part in (node.test, node.body, node.orelse)))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        value, *rest = [_truth(self.visit(part)) for part in node.values]
        operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        for other in rest:
            value = ast.BinOp(value, operator, other)
        return value

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return ast.Compare(operand, [ast.Eq()], [ast.Constant(0)])
        return ast.UnaryOp(node.op, operand)


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(
        ast.Attribute(ast.Name("tl", ast.Load()), name, ast.Load()), list(arguments), []
    )


def _truth(value: ast.expr) -> ast.expr:
    return value if isinstance(value, ast.Compare) else ast.Compare(
        value, [ast.NotEq()], [ast.Constant(0)]
    )  # fmt: skip
