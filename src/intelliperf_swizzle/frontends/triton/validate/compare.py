# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The gate of every swizzled kernel: same syntax tree, proved mapping, same bytes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from intelliperf_swizzle.children import CallError, call_each
from intelliperf_swizzle.dependence import find_dependence, safe_order
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import ValidationError
from intelliperf_swizzle.frontends.triton.validate.probe import Probe, probe
from intelliperf_swizzle.frontends.triton.validate.request import EDITED, Answer, Request
from intelliperf_swizzle.frontends.triton.validate.tree import (
    Difference,
    reads_program_id,
    same_loop,
    same_tree,
)
from intelliperf_swizzle.frontends.triton.walk import CHILD_ENVIRONMENT
from intelliperf_swizzle.mapping.sample import sample_tiles
from intelliperf_swizzle.records import (
    Access,
    Launch,
    MappedLaunch,
    TileLoop,
    Trace,
    Validation,
)
from intelliperf_swizzle.trace.touched import touched_storages

ACCESS_SECONDS = 3e-4
"""What Triton's interpreter takes for a load or store of one program with the arithmetic around it,
and `LINE_SECONDS` more for each cache line of it: a GEMM 1024³ of 64³ tiles (8448 accesses of 64
lines) takes 5.6 s, a softmax 4096² (8192 accesses of 128 lines) 5.8 s."""
LINE_SECONDS = 4e-6
MOST_BYTES = 1 << 29
"""Of all storages; beyond, two full copies do not fit beside the rest, so tiles are sampled."""
LIMIT_SECONDS, START_SECONDS = 240.0, 30.0
"""What a child may take beyond ten budgets if tiles must be executed, then it hangs; and beyond
three if they are only a second witness, then those that were must do."""
TRACE_SECONDS = 600.0
"""What the original may take to be traced, too."""
FEW = 3
"""Tiles to execute beside a comparison of what all programs touch."""


def validate(
    mapped: Sequence[MappedLaunch],
    edit: Edit,
    *,
    tolerance: float,
    budget_seconds: float,
) -> Validation:
    """Compares a kernel with its swizzled form on every distinct launch.

    For each launch: apart from an inserted block of integer arithmetic and the reads of the
    program id, the functions are the same syntax tree; the block, interpreted over the whole grid,
    computes the proved mapping; every program touches what the original's program of that tile
    touches, and reads the program id in the block alone; and all programs of both kernels leave the
    same bytes in every storage, or, where that would exceed the budget, each of a few tiles does,
    as far as a time limit allows. A kernel that cannot be traced in batches has no such traces:
    there, and where programs wait for each other, a larger sample or all must be executed. If the
    tiles of a loop are renumbered, all of that holds of each iteration of each program. An order
    that programs which depend on each other forbid is refused before anything is run.

    Args:
        mapped: distinct launches of one kernel; their traces tell what is only written, and where
            order matters.
        edit: of `kernel.splice`.
        tolerance: absolute and relative, for floats where programs add to them atomically.
        budget_seconds: for executing programs, over all launches.

    Raises:
        ValidationError: the original kernel cannot be run, or the swizzled one not be traced, so
            that nothing can be compared.
    """
    requests: list[Request] = []
    difference = _file_difference(edit)
    for one in mapped:
        difference = difference or safe_order(find_dependence(one.trace, one.launch), one.tile)
        if difference is None:
            checks = _checks(one.launch, edit.functions)
            if isinstance(checks, str):
                difference = checks
                break
            requests.append(_request(one, edit, checks, budget_seconds / len(mapped), tolerance))
    answers: list[Answer] = []
    if difference is None:
        traced = [
            (request, one.trace)
            for request, one in zip(requests, mapped, strict=True)
            if one.trace.method == "batched"
        ]
        with ThreadPoolExecutor(2) as pool:  # both wait for a child process
            unequal = pool.submit(_trace_difference, traced)
            executed = pool.submit(_execute, requests, budget_seconds)
            difference = unequal.result()
            answers = executed.result()
        difference = difference or next((one.difference for one in answers if one.difference), None)
    return _outcome(mapped, requests, answers, tolerance, difference)


def _outcome(
    mapped: Sequence[MappedLaunch],
    requests: Sequence[Request],
    answers: Sequence[Answer],
    tolerance: float,
    difference: str | None,
) -> Validation:
    compared = [0] * len(requests)
    for answer in answers:
        if answer.launch is not None:
            compared[answer.launch] += answer.tiles_compared
    pairs = list(zip(mapped, compared, strict=False))  # a refused launch has no request
    complete = bool(pairs) and all(count == one.launch.tiles for one, count in pairs)
    traced = all(one.trace.method == "batched" for one in mapped)
    sampled: Literal["traces-and-sample", "mapping-and-sample"] = (
        "traces-and-sample" if traced else "mapping-and-sample"
    )
    loose = any(
        request.tolerance is not None and request.all_tiles and count
        for request, count in zip(requests, compared, strict=True)
    )
    return Validation(
        method="all-tiles" if complete else sampled,
        launches=len(compared),
        tiles_compared=sum(compared),
        tiles=sum(one.launch.tiles for one in mapped),
        same_bits=difference is None,
        rule="tolerance" if loose else "bits",
        tolerance=tolerance if loose else None,
        difference=difference,
    )


def difference_of_text(mapped: Sequence[MappedLaunch], edit: Edit) -> str | None:
    """What can be told without running anything: the cheap gates of `validate`, in words."""
    difference = _file_difference(edit)
    for one in mapped:
        difference = difference or safe_order(find_dependence(one.trace, one.launch), one.tile)
        if difference is None and isinstance(checks := _checks(one.launch, edit.functions), str):
            difference = checks
    return difference


# --- the text -------------------------------------------------------------------------------------


def _file_difference(edit: Edit) -> str | None:
    """Where the user's file would not hold the functions that are validated, or None."""
    written = {shape for text in edit.files.values() for shape in _shapes(text.lstrip("\ufeff"))}
    for key, text in edit.functions.items():
        if not all(_shape(node) in written for node in ast.parse(text).body):
            return f"the edited file does not hold the edited `{key}`"
    return None


def _shapes(file_text: str) -> Iterator[str]:
    """The shape of each function of a file, freed of its indentation as recorded texts are."""
    lines = file_text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for node in ast.walk(ast.parse(file_text)):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            own = lines[first - 1 : node.end_lineno]
            indent = own[0][: len(own[0]) - len(own[0].lstrip(" \t"))]
            [function] = ast.parse("\n".join(line.removeprefix(indent) for line in own)).body
            yield _shape(function)


def _shape(node: ast.AST) -> str:
    return ast.dump(node, include_attributes=False)


def _checks(launch: Launch, edits: Mapping[str, str]) -> tuple[Probe, ...] | str:
    """What the child is to check the mapping by, or in words where the texts differ too much."""
    if launch.loop is not None:
        return _loop_difference(launch, launch.loop, edits) or ()
    return _probes(launch, edits)


def _probes(launch: Launch, edits: Mapping[str, str]) -> tuple[Probe, ...] | str:
    """The probe of every edited function, or in words where the texts differ too much."""
    source = launch.source
    constexprs = {n: v for n, v in launch.constants.items() if n in launch.constexprs}
    probes: list[Probe] = []
    for key, function in source.functions.items():
        if key not in edits:
            if reads_program_id(function):
                return f"`{function.name}` still reads the program id that the launch gives it"
            continue
        own = constexprs if key == source.kernel else {}
        insertion = same_tree(function, edits[key], own)
        if isinstance(insertion, Difference):
            return (
                f"`{function.name}` differs in more than its program ids: "
                f"line {insertion.line} of the edited text: {insertion.reason}"
            )
        made = probe(launch, key, insertion)
        if isinstance(made, str):
            return made
        probes.append(made)
    return tuple(probes)


def _loop_difference(launch: Launch, loop: TileLoop, edits: Mapping[str, str]) -> str | None:
    """Where the edited kernel differs in more than the numbers of its tiles, or None."""
    source, names = launch.source, [counter.name for counter in loop.counters]
    if set(edits) != {source.kernel}:
        return "another function than the kernel is edited"
    text = edits[source.kernel]
    found = same_loop(source.entry, text, names)
    if isinstance(found, Difference):
        return (
            f"`{source.entry.name}` differs in more than the numbers of its tiles: "
            f"line {found.line} of the edited text: {found.reason}"
        )
    if sorted(one.counter for one in found) != sorted(names):
        return f"`{source.entry.name}` does not renumber each of {names} once"
    return None


# --- the child process ----------------------------------------------------------------------------


def _request(
    one: MappedLaunch,
    edit: Edit,
    probes: tuple[Probe, ...],
    budget_seconds: float,
    tolerance: float,
) -> Request:
    launch, trace = one.launch, one.trace
    sample, required = sample_tiles(launch.numbers, one.tile[: launch.tiles])
    seconds = _tile_seconds(trace)
    must_execute = trace.waits or trace.method != "batched"
    each = -(-launch.tiles // launch.programs)  # a program ends all its tiles
    count = int(budget_seconds / (seconds * each))
    count = max(required, count) if must_execute else min(max(1, count), FEW)
    size = sum(storage.bytes for storage in launch.storages.values())
    fits = size <= MOST_BYTES and seconds * launch.tiles <= budget_seconds
    return Request(
        launch=launch,
        edits=edit.functions,
        tile=one.tile,
        probes=probes,
        read_storages=touched_storages(launch, trace, (Access.READ, Access.ATOMIC)),
        summed_storages=touched_storages(launch, trace, (Access.ATOMIC,)),
        sample=sample[:count],
        all_tiles=trace.waits or fits,
        together=not must_execute and not trace.shared_writes,
        tolerance=tolerance if trace.order_matters else None,
        must_execute=must_execute,
    )


def _tile_seconds(trace: Trace) -> float:
    """What one tile costs in both kernels, about; from the trace alone, so always the same."""
    work = ACCESS_SECONDS * len(trace.access_base) + LINE_SECONDS * trace.line_accesses
    return 2 * max(work, ACCESS_SECONDS) / trace.tiles


def _trace_difference(traced: Sequence[tuple[Request, Trace]]) -> str | None:
    """The first access that is another one, in words.

    Raises:
        ValidationError: the swizzled kernel cannot be traced.
    """
    if not traced:
        return None
    differences, error = call_each(
        "intelliperf_swizzle.frontends.triton.validate.trace_child:compare_traces",
        traced,
        environment=CHILD_ENVIRONMENT,
        limit_seconds=TRACE_SECONDS,
    )
    if error is not None:
        lines = error.ended.last_lines(8)
        raise ValidationError(
            f"the swizzled kernel cannot be traced: it {error.how}", details=lines
        )
    return next(filter(None, differences), None)


def _execute(requests: Sequence[Request], budget_seconds: float) -> list[Answer]:
    """Runs the child; a failure of the edited kernel alone is a difference.

    Raises:
        ValidationError: the original kernel fails, or a program does not end.
    """
    limit = 10 * budget_seconds + LIMIT_SECONDS
    if not any(request.must_execute for request in requests):
        limit = 3 * budget_seconds + START_SECONDS
    answers, error = call_each(
        "intelliperf_swizzle.frontends.triton.validate.compare_child:compare",
        requests,
        environment=CHILD_ENVIRONMENT,
        limit_seconds=limit,
    )
    if error is not None and not any(answer.difference for answer in answers):
        stage, _, number = error.stage.partition(" ")
        request = requests[int(number or 0)]
        if answers and error.too_late and not any(one.must_execute for one in requests):
            return answers
        return [*answers, _failed(request, stage, limit, error)]
    return answers


def _failed(request: Request, stage: str, limit: float, error: CallError) -> Answer:
    kernel = request.launch.kernel
    if error.too_late and not request.must_execute:  # no program waits: the machine is slow
        raise ValidationError(f"`{kernel}` did not end within {limit:.0f} s when interpreted")
    if error.too_late and stage == EDITED:
        return Answer(None, 0, f"the swizzled kernel did not end within {limit:.0f} s")
    if error.too_late and request.all_tiles:
        return Answer(
            None,
            0,
            f"not compared: programs of `{kernel}` wait for each other, and running all "
            f"{request.launch.programs} takes longer than {limit:.0f} s",
        )
    if error.too_late:
        raise ValidationError(f"`{kernel}` did not end within {limit:.0f} s when interpreted")
    lines = error.ended.last_lines(8) or ("no message",)
    if stage == EDITED:
        return Answer(None, 0, f"the swizzled kernel fails: {lines[-1]}")
    raise ValidationError(f"`{kernel}` fails when interpreted: it {error.how}", details=lines)
