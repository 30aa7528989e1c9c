# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The inserted block as a kernel of its own, which stores the program ids that it computes.

    swizzle_pid = tl.program_id(0)     -->     swizzle_pid = probe_pid_0
    …                                          …
                                               tl.store(probe_out + …, swizzle_pid, …)

`probe_pid_0` is a tensor of many launch indices, so that Triton's own interpreter runs the emitted
code over a grid of a million programs in a second, in Triton's 32-bit arithmetic.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, replace

from intelliperf_swizzle.frontends.triton.validate.tree import Insertion
from intelliperf_swizzle.records import (
    KernelSource,
    Launch,
    SourceFunction,
    Storage,
    TensorArgument,
)

MOST_LANES = 1 << 16
OUT_STORAGE = 0


@dataclass(frozen=True)
class Probe:
    """A launch that writes what a block computes.

    Attributes:
        launch: writes int32[len(axes), programs] to storage `OUT_STORAGE`.
        axes: the axes whose program id the rows are.
        key: of the edited function.
        lines: that the block has in its text.
    """

    launch: Launch
    axes: tuple[int, ...]
    key: str
    lines: range


def probe(launch: Launch, key: str, insertion: Insertion) -> Probe | str:
    """Makes the probe of one edited function of a launch.

    Args:
        launch: as it was recorded.
        key: of the edited function.
        insertion: the block in it.

    Returns:
        The probe, or why there is none: the block reads what it cannot know.
    """
    function = launch.source.functions[key]
    read, bound = _loaded(insertion), _stored(insertion)
    parameters = _parameters(function)
    wanted = [name for name in parameters if name in read]
    if key != launch.source.kernel and wanted:
        return f"the block in helper `{function.name}` reads its parameters {wanted}"
    unknown = sorted(read - bound - set(parameters) - set(function.names) - set(dir(builtins)))
    if unknown:
        return f"the block in `{function.name}` reads {unknown}, which is bound nowhere"
    constexprs = [name for name in wanted if name in launch.constexprs]
    axes = tuple(sorted(insertion.outputs))
    text = _text(insertion, wanted, constexprs)
    grid, count = launch.grid, launch.programs
    lanes = min(MOST_LANES, 1 << (count - 1).bit_length())
    return Probe(
        replace(
            launch,
            kernel="probe",
            source=KernelSource("probe", {"probe": _as_function(function, text, read)}),
            grid=(-(-count // lanes), 1, 1),
            arguments={
                "probe_out": TensorArgument(OUT_STORAGE, "int32", (len(axes), count), (count, 1)),
                "probe_count": count,
                **{f"probe_grid_{axis}": extent for axis, extent in enumerate(grid)},
                "probe_lanes": lanes,
                **{name: launch.arguments[name] for name in wanted},
            },
            constexprs=("probe_lanes", *constexprs),
            storages={OUT_STORAGE: Storage(4 * len(axes) * count)},
        ),
        axes,
        key,
        insertion.lines,
    )


_TEXT = """\
def probe(
    probe_out, probe_count, probe_grid_0, probe_grid_1, probe_grid_2,
    probe_lanes: {tl}.constexpr{parameters}
):
    probe_index = {tl}.program_id(0) * probe_lanes + {tl}.arange(0, probe_lanes)
    probe_pid_0 = probe_index % probe_grid_0
    probe_pid_1 = probe_index // probe_grid_0 % probe_grid_1
    probe_pid_2 = probe_index // (probe_grid_0 * probe_grid_1)
{block}
{stores}
"""


def _text(insertion: Insertion, wanted: list[str], constexprs: list[str]) -> str:
    """The probe's text; `wanted` are the kernel's parameters that the block reads."""
    block = ast.Module([_Renamed().visit(_copy(s)) for s in insertion.statements], [])
    language = _language(insertion)
    return _TEXT.format(
        tl=language,
        parameters="".join(
            f", {name}: {language}.constexpr" if name in constexprs else f", {name}"
            for name in wanted
        ),
        block="\n".join(f"    {line}" for line in ast.unparse(block).splitlines()),
        stores="\n".join(
            f"    probe_value = probe_index * 0 + {insertion.outputs[axis]}\n"
            f"    {language}.static_assert(probe_value.dtype == {language}.int32, "
            f"'program id {axis} is not an int32')\n"
            f"    {language}.store(probe_out + {row} * probe_count + probe_index, "
            "probe_value, mask=probe_index < probe_count)"
            for row, axis in enumerate(sorted(insertion.outputs))
        ),
    )


class _Renamed(ast.NodeTransformer):
    """Puts the probe's tensors in the place of the program ids and extents that a block reads."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        stand_in = {"program_id": "probe_pid_", "num_programs": "probe_grid_"}.get(function)
        if stand_in:
            return ast.Name(stand_in + ast.unparse(node.args[0]), ast.Load())
        self.generic_visit(node)
        return node


def _copy(statement: ast.stmt) -> ast.stmt:
    return ast.parse(ast.unparse(statement)).body[0]


def _loaded(insertion: Insertion) -> set[str]:
    nodes = [node for statement in insertion.statements for node in ast.walk(statement)]
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _stored(insertion: Insertion) -> set[str]:
    nodes = [node for statement in insertion.statements for node in ast.walk(statement)]
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _parameters(function: SourceFunction) -> list[str]:
    definitions = [one for one in ast.parse(function.text).body if isinstance(one, ast.FunctionDef)]
    nodes = [node for one in definitions for node in ast.walk(one.args)]
    return [node.arg for node in nodes if isinstance(node, ast.arg)]


def _language(insertion: Insertion) -> str:
    """How the block spells `triton.language`."""
    for statement in insertion.statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and node.attr in ("program_id", "num_programs"):
                return ast.unparse(node.value)
    return "tl"


def _as_function(function: SourceFunction, text: str, read: set[str]) -> SourceFunction:
    """The probe's text, and of the function's globals those that the block reads."""
    names = {name: meaning for name, meaning in function.names.items() if name in read}
    return replace(function, name="probe", first_line=1, text=text, indent="", names=names)
