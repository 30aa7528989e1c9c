# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Puts a swizzle into a Triton kernel's source and touches nothing else of it.

::

    pid = tl.program_id(axis=0)      -->      # swizzle xcd-contiguous for mi300x
                                              swizzle_pid = tl.program_id(0)
                                              …
                                              pid = swizzle_pid

The block stands before the first top-level statement that reads a program id. It deals with all
axes up to the last that the kernel reads or was launched along. An axis beyond is not read and was
never longer than 1; should the kernel one day be launched along it, each slice is renumbered alike,
which is a permutation again.

In a kernel whose programs take tiles in a loop (`Launch.loop`), the block stands where the body has
the tile's number, and what follows reads the new one::

    for tile in range(pid, tiles, NUM_SMS):      -->      for tile in range(pid, tiles, NUM_SMS):
        row = tile // columns                                 # swizzle …
                                                              …
                                                              row = swizzle_pid // columns
"""

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from intelliperf_swizzle import edit as edits
from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.frontends.emit import emit_triton
from intelliperf_swizzle.frontends.triton.ir.render import RULE
from intelliperf_swizzle.frontends.triton.overlay.rules import rules_of
from intelliperf_swizzle.frontends.triton.source import reads as texts
from intelliperf_swizzle.frontends.triton.source.configs import conditions, recorded_configs, under
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import INPUTS, Swizzle
from intelliperf_swizzle.language.grammar import PARSING
from intelliperf_swizzle.mapping import LONGEST
from intelliperf_swizzle.records import Counter, KernelSource, Launch, SourceFunction, TileLoop


class NoSwizzleError(SpliceError):
    """Nor can the kernel be changed when it is compiled."""


@dataclass(frozen=True)
class _Splice:
    """What is to be spliced, the same for the kernel and its helpers."""

    swizzle: Swizzle
    axes: int
    target: Target
    name: str
    condition: str
    numbers: str


@dataclass(frozen=True)
class _Change:
    """What changes in one function, in lines and places of its text.

    Attributes:
        replacements: places, in order and apart, and what is to be written there.
        insertions: line -> the lines to insert before it.
    """

    replacements: tuple[tuple[edits.Place, str], ...]
    insertions: Mapping[int, tuple[str, ...]]


def edit(
    launches: Sequence[Launch], swizzle: Swizzle, target: Target, name: str, roots: Sequence[Path]
) -> edits.Edit:
    """Inserts the swizzle before the first read of a program id; as of `ports.Editor`.

    Where the text cannot carry it, or others use that text, the kernel alone changes when it is
    compiled (see `overlay`): the edit has no file and no diff.
    """
    with PARSING:
        edits.read_exactly(Path(launches[0].source.entry.file))  # else nothing is known of it
        most = max(launches, key=lambda launch: launch.programs)
        kinds = {
            launch.source.identity.get("source"): launch for launch in (*launches, most)
        }.values()
        given = swizzle, target, recorded_configs(launches, digested=True)
        rules = tuple(rule for kind in kinds for rule in rules_of(kind, *given))
        try:
            new = splice(
                most.source, swizzle, target=target, launches=launches, name=name, roots=roots
            )
        except SpliceError as error:
            if not rules or isinstance(error, NoSwizzleError):
                raise
            note = f"no patch can carry it: {error.fact}; `apply` changes the compiled kernel"
            new = edits.Edit({RULE: json.dumps(rules[0])}, {}, {}, "", notes=(note,))
        if most.loop:
            text = new.functions[most.source.kernel]
            rules = tuple(rule for kind in kinds for rule in rules_of(kind, *given, text))
        return replace(new, rules=rules)


def splice(
    source: KernelSource,
    swizzle: Swizzle,
    *,
    target: Target,
    launches: Sequence[Launch],
    name: str = "swizzle",
    roots: Sequence[Path] = (),
) -> edits.Edit:
    """Puts a swizzle into a kernel and into its helpers that read the program id.

    Args:
        source: the kernel as it was recorded.
        swizzle: what to put in.
        target: the GPU whose numbers become literals.
        launches: the recorded launches of the kernel.
        name: what the comment calls the swizzle.
        roots: the paths of the diff are relative to the first of these folders that the file lies
            in; by default to the file's own.

    Raises:
        NoSwizzleError: the kernel reads no program id, or the file is not as it was recorded.
        SpliceError: naming file and line, if the kernel reads its program id in a way or at a place
            that cannot carry the swizzle, if others use what would be changed, or if the file lies
            in none of `roots`.
    """
    reads = _reads(source, launches)
    for launch in launches:
        _check_same_readers(source, reads, launch)
    path = Path(source.entry.file)
    root = edits.patch_root(source.entry.file, roots or (path.parent,))
    before = edits.read_exactly(path)
    named = {read.named: read.axis for own in reads.values() for read in own if read.named}
    recorded, numbers = conditions(launches)
    tests = [f"{constexpr} == {axis}" for constexpr, axis in named.items()]
    tests += [f"({recorded})" if named else recorded] if recorded else []
    request = _Splice(swizzle, _axes(reads, launches), target, name, " and ".join(tests), numbers)
    changes: dict[str, _Change] = {}
    if loop := launches[0].loop:
        _check_users(source, source.kernel, before)
        changes[source.kernel] = _change_loop(source, loop, request)
    else:
        for key, own in reads.items():
            _check_users(source, key, before)
            _check_scope(source, key, request)
            changes[key] = _change(source.functions[key], own, request)
    after, functions = _rewrite(source, changes, before)
    diff = edits.unified_diff({str(path): before}, {str(path): after}, root)
    return edits.Edit(
        functions=functions, files={str(path): after}, before={str(path): before}, diff=diff
    )


# --- what is read, and whether a function may be changed ------------------------------------------


def _reads(source: KernelSource, launches: Sequence[Launch]) -> dict[str, tuple[texts.Read, ...]]:
    """The reads of every function that reads the program id, by its key.

    An axis is known by the name of a constexpr if that is the same in all launches.
    """
    values = [{n: launch.arguments.get(n) for n in launch.constexprs} for launch in launches]
    fixed = {n: v for n, v in values[0].items() if all(value.get(n) == v for value in values)}
    found = {
        key: texts.find_reads(function, fixed if key == source.kernel else {})
        for key, function in source.functions.items()
    }
    reads = {key: reads for key, reads in found.items() if reads}
    if not reads:
        entry = source.entry
        raise NoSwizzleError(
            f"{texts.where(entry, 1)}: kernel `{entry.name}` never reads `program_id`",
            hint="a kernel that does not number its programs has nothing to swizzle",
        )
    return reads


def _check_same_readers(source: KernelSource, readers: Iterable[str], launch: Launch) -> None:
    """Refuses a kernel that is given helpers which read the program id in some launches only."""
    if launch.source.functions == source.functions:
        return
    for key, function in launch.source.functions.items():
        known = source.functions.get(key)
        same = known and (known.file, known.first_line) == (function.file, function.first_line)
        if not (same and key in readers) and texts.find_reads(function):
            raise SpliceError(
                f"{texts.where(function, 1)}: `{function.name}` reads `program_id` in some "
                f"launches of `{launch.kernel}` and not in others",
                hint="pass the program id to the helper",
            )


def _axes(reads: dict[str, tuple[texts.Read, ...]], launches: Sequence[Launch]) -> int:
    """How many axes the block deals with: up to the last that is read or launched along."""
    read = {r.axis for own in reads.values() for r in own}
    launched = {axis for axis in texts.AXES if any(launch.grid[axis] > 1 for launch in launches)}
    return max(read | launched) + 1


def _check_scope(source: KernelSource, key: str, request: _Splice) -> None:
    """Refuses a helper that does not know what the block reads or stands under."""
    function = source.functions[key]
    missing = [f"`{name}`, which the swizzle reads" for name in sorted(_arguments(request.swizzle))]
    if request.condition or request.numbers:
        recorded = request.condition or request.numbers
        missing.append(f"the configuration, and only that with {recorded} was recorded")
    if key != source.kernel and missing:
        raise SpliceError(
            f"{texts.where(function, 1)}: helper `{function.name}` reads `program_id` but does "
            f"not know {missing[0]}",
            hint="pass the program id to the helper",
        )


def _check_users(source: KernelSource, key: str, file_text: str) -> None:
    """Refuses a function whose change would renumber another kernel too."""
    function = source.functions[key]
    tree = ast.parse(file_text.lstrip("\ufeff"))
    own = {f.first_line for f in source.functions.values() if f.file == function.file}
    users = function.other_users or tuple(
        f"`{other.name}` ({function.file}:{other.lineno})"
        for other in texts.jit_functions(tree)  # those that the run did not make are no objects
        if texts.first_line_of(other) not in own and texts.names(other, function.name)
    )
    if function.file != source.entry.file:
        users = ("kernels of other files (possibly)",)
    elif (
        key != source.kernel and not users and (line := texts.mention_on_host(tree, function.name))
    ):
        users = (f"whatever receives it in line {line}",)
    if users:
        raise SpliceError(
            f"{texts.where(function, 1)}: `{function.name}` reads `program_id` and is used by "
            f"{', '.join(users[:3])} too, which would be renumbered with it",
            hint="give the kernel a separate copy, or pass the program id to the helper",
        )


# --- the change of one function -------------------------------------------------------------------


def _change(function: SourceFunction, reads: Sequence[texts.Read], request: _Splice) -> _Change:
    tree = texts.definition(function)
    language = reads[0].language or texts.language_name(function)
    if language is None:
        raise SpliceError(
            f"{texts.where(function, reads[0].place.line)}: no name for `triton.language` in scope",
            hint="import triton.language as tl",
        )
    prefix = texts.free_prefix(tree)
    code = emit_triton(
        request.swizzle,
        sorted({read.axis for read in reads}),
        axes=request.axes,
        prefix=prefix,
        tl=language,
        **request.target.inputs,
    )
    outputs, naming = _name(code.outputs, prefix)
    before_line = _first_line(function, tree, reads, request.swizzle)
    named = {read.axis: read.named for read in reads if read.named}
    if any(read.named != named.get(read.axis, "") for read in reads):
        raise SpliceError(
            f"{texts.where(function, 1)}: `program_id` names an axis in two ways",
            hint="name it by a literal",
        )
    plain = {o: f"{language}.program_id({named.get(axis, axis)})" for axis, o in outputs.items()}
    lines = [*code.lines, *naming, *_keep(plain, request, language)]
    block = (
        f"# {edits.headline(request.name, request.target.name)}",
        *under(request.condition, lines, plain),
    )
    # an argument may have 64 bits, and a program id has 32
    narrowed = f".to({language}.int32)" if _arguments(request.swizzle) else ""
    return _Change(
        replacements=tuple((read.place, outputs[read.axis] + narrowed) for read in reads),
        insertions={before_line: block},
    )


def _keep(plain: Mapping[str, str], request: _Splice, language: str) -> list[str]:
    """Statements by which results are what they were where numbers are not the recorded ones."""
    where_ = f"{language}.where({request.numbers}, "
    return [f"{o} = {where_}{o}, {old})" for o, old in plain.items() if request.numbers]


# --- the change of a loop -------------------------------------------------------------------------


def _change_loop(source: KernelSource, loop: TileLoop, request: _Splice) -> _Change:
    """A block after each place where the kernel has the number of a tile, and the reads renamed.

    The loop's own counting stays: up to the next statement that assigns the number, all reads are
    of the new one.
    """
    function = source.entry
    tree = texts.definition(function)
    language = texts.language_name(function) or "tl"
    _check_arguments(request.swizzle, function, tree, loop)
    replacements: list[tuple[edits.Place, str]] = []
    insertions: dict[int, tuple[str, ...]] = {}
    for counter in loop.counters:
        scope = texts.scope_of(tree, counter)
        if not scope or not texts.begins_line(scope[0], function.text.split("\n")):
            raise SpliceError(
                f"{texts.where(function, counter.line)}: no statements can be inserted where "
                f"`{counter.name}` has its value",
                hint="put the statement that follows on a separate line",
            )
        prefix = texts.free_prefix(tree, len(insertions))
        own = texts.free_prefix(tree, len(insertions) + 1)
        begin, pid, tiles, end = _run(loop, counter, own, language)
        code = emit_triton(
            request.swizzle,
            [0],
            axes=1,
            inputs={"pid_0": pid, "grid_0": tiles, **_program(language, request.axes)},
            factors=texts.find_factors(tree, loop),
            prefix=prefix,
            tl=language,
            **request.target.inputs,
        )
        outputs, naming = _name(code.outputs, prefix)
        output = end[-1].partition(" ")[0] if end else outputs[0]
        lines = [*begin, *code.lines, *naming, *(line.format(outputs[0]) for line in end)]
        lines += _keep({output: counter.name}, request, language)
        insertions[counter.line] = (
            f"# {edits.headline(request.name, request.target.name)}",
            *under(request.condition, lines, {output: counter.name}),
        )
        names = (name for statement in scope for name in texts.names_in(statement))
        read = (name for name in names if name.id == counter.name)
        replacements += [(texts.place(function.text, name), output) for name in read]
    return _Change(
        tuple(sorted(replacements, key=lambda pair: (pair[0].line, pair[0].column))), insertions
    )


def _run(
    loop: TileLoop, counter: Counter, prefix: str, language: str
) -> tuple[list[str], str, str, list[str]]:
    """What stands before the block, its number, how many there are, and what stands after it.

    A count that is read from memory is that of a run of at most `LONGEST`, which proofs cover.
    """
    count = loop.count if loop.count.isidentifier() else f"({loop.count})"
    if not loop.read_from:
        return [], counter.name, count, []
    offset, base = counter.name, ""
    if loop.base != "0":
        offset, base = f"({counter.name} - {loop.base})", f"{loop.base} + "
    begin = [
        f"{prefix}begin = {offset} // {LONGEST} * {LONGEST}",
        f"{prefix}number = {offset} - {prefix}begin",
        f"{prefix}tiles = {language}.minimum({count} - {prefix}begin, {LONGEST})",
    ]
    after = f"{prefix}tile = {base}{prefix}begin + {{}}"
    return begin, f"{prefix}number", f"{prefix}tiles", [after]


def _check_arguments(
    swizzle: Swizzle, function: SourceFunction, tree: ast.FunctionDef, loop: TileLoop
) -> None:
    """Raises SpliceError if the swizzle reads an argument that the kernel assigns."""
    assigned = frozenset[str]().union(*map(texts.bound_names, tree.body))
    if rebound := sorted(_arguments(swizzle) & assigned):
        raise SpliceError(
            f"{texts.where(function, loop.line)}: the kernel assigns its argument "
            f"`{rebound[0]}`, which the swizzle reads",
            hint="take a swizzle that reads other arguments",
        )


def _program(language: str, axes: int) -> dict[str, str]:
    """The program id and the number of programs, as expressions."""
    program, programs = f"{language}.program_id({axes - 1})", f"{language}.num_programs({axes - 1})"
    for axis in reversed(range(axes - 1)):
        extent = f"{language}.num_programs({axis})"
        program = f"{language}.program_id({axis}) + {extent} * ({program})"
        programs = f"{extent} * {programs}"
    return {"program": program, "num_programs": programs}


def _name(outputs: Mapping[int, str], prefix: str) -> tuple[dict[int, str], list[str]]:
    """A name for each output, and the statements that give one to those that have none."""
    plain = {axis: e for axis, e in outputs.items() if e.isidentifier() and e.startswith(prefix)}
    if len(set(plain.values())) < len(plain):
        plain = {}
    added = {axis: f"{prefix}new_pid_{axis}" for axis in outputs if axis not in plain}
    return plain | added, [f"{name} = {outputs[axis]}" for axis, name in added.items()]


def _arguments(swizzle: Swizzle) -> frozenset[str]:
    """The kernel's own arguments among the names that a swizzle reads."""
    return swizzle.names.difference(INPUTS)


def _first_line(
    function: SourceFunction, tree: ast.FunctionDef, reads: Sequence[texts.Read], swizzle: Swizzle
) -> int:
    """The line before which the block stands: every read, and what the block reads, is unchanged.

    That is the first top-level statement that reads a program id or binds an argument that the
    swizzle reads, or the statement that begins its line.
    """
    arguments = _arguments(swizzle)
    first_read = min(read.statement for read in reads)
    index = next(
        (n for n, s in enumerate(tree.body[:first_read]) if texts.bound_names(s) & arguments),
        first_read,
    )
    lines = function.text.split("\n")
    while index and not texts.begins_line(tree.body[index], lines):
        index -= 1
    if not texts.begins_line(tree.body[index], lines):
        at = texts.where(function, tree.body[index].lineno)
        raise SpliceError(
            f"{at}: the body is on the line of `def`", hint="put it on separate lines"
        )
    return tree.body[index].lineno


# --- the user's file ------------------------------------------------------------------------------


def _rewrite(
    source: KernelSource, changes: dict[str, _Change], before: str
) -> tuple[str, dict[str, str]]:
    """The whole file with all changes, and the changed functions as they stand in it."""
    lines, functions = edits.lines_of(before), {}
    for key in sorted(changes, key=lambda key: -source.functions[key].first_line):  # numbers hold
        function, change = source.functions[key], changes[key]
        start = function.first_line - 1
        end = start + len(function.text.rstrip("\n").split("\n"))
        _check_unchanged(function, lines[start:end])
        lines[start:end] = own = edits.change_lines(
            lines[start:end], change.replacements, change.insertions, indent=function.indent
        )
        text = "".join(line.removeprefix(function.indent) for line in own)
        functions[key] = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(lines), functions


def _check_unchanged(function: SourceFunction, found: Sequence[str]) -> None:
    for number, line in enumerate(function.text.rstrip("\n").split("\n")):
        now = found[number].rstrip("\r\n") if number < len(found) else None
        if now is None or (now != function.indent + line and now.strip() + line.strip()):
            raise NoSwizzleError(
                f"{texts.where(function, number + 1)}: the file has changed since "
                f"`{function.name}` was recorded",
                hint="run again",
            )
