# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The gate of every swizzled kernel: the same IR but for proved numbers, and the same bytes."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from intelliperf_swizzle.children import CallError, call_each
from intelliperf_swizzle.dependence import find_dependence, safe_order, touched_storages
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import ValidationError
from intelliperf_swizzle.frontends.triton.source.configs import other_configs
from intelliperf_swizzle.frontends.triton.validate.compare_child import EDITED, Answer, Request
from intelliperf_swizzle.frontends.triton.validate.numbers import EditedLaunch
from intelliperf_swizzle.frontends.triton.walk import CHILD_ENVIRONMENT
from intelliperf_swizzle.mapping.permutation import sample_tiles
from intelliperf_swizzle.records import Access, Int64Array, Launch, MappedLaunch, Trace, Validation

ACCESS_SECONDS = 3e-4
"""What the execution of a load or store of one program takes with the arithmetic around it,
and `LINE_SECONDS` more for each cache line of it: a GEMM 1024³ of 64³ tiles (8448 accesses of 64
lines) takes 5.6 s, a softmax 4096² (8192 accesses of 128 lines) 5.8 s."""
LINE_SECONDS = 4e-6
MOST_BYTES = 1 << 29
"""Of all storages; beyond, two full copies do not fit beside the rest, so nothing is executed."""
LIMIT_SECONDS, START_SECONDS = 240.0, 30.0
"""What a child may take beyond ten budgets if tiles must be executed, then it hangs; and beyond
three if they are only a second witness, then those that were must do."""
COMPILE_SECONDS = 300.0
"""What compiling all launches to Triton's IR may take, twice; 40 ms each."""
FEW = 3
"""Tiles to execute beside a comparison of the IR, if not all are; of a loop, none."""


def validate(
    mapped: Sequence[MappedLaunch], edit: Edit, *, tolerance: float, budget_seconds: float
) -> Validation:
    """Compares a kernel with its swizzled form on every distinct launch.

    For each launch, in Triton's IR as the launch specialises it: the edited kernel does what the
    original does, with other integers where that reads the number of its program, and these are the
    proved mapping in every program. As a second witness, all programs of both kernels leave the
    same bytes in every storage, or, where that would exceed the budget, those of a few tiles do, if
    a time limit allows; where programs wait for each other, all must be executed. If the tiles of a
    loop are renumbered, all of that holds of each iteration of each program. An order that programs
    which depend on each other forbid is refused before anything is run.

    Args:
        mapped: distinct launches of one kernel; their traces say what is only written, and where
            order matters.
        edit: of `kernel.splice`.
        tolerance: absolute and relative, for floats where programs add to them atomically.
        budget_seconds: for executing programs, over all launches.

    Raises:
        ValidationError: the original kernel cannot be compiled or run, so that nothing can be
            compared.
    """
    requests = [_request(remap, edit, budget_seconds / len(mapped), tolerance) for remap in mapped]
    answers: list[Answer] = []
    orders = (safe_order(find_dependence(m.trace, m.launch), m.tile) for m in mapped)
    difference = next(filter(None, orders), None)
    if difference is None:
        with ThreadPoolExecutor(2) as pool:  # both wait for a child process
            edited = [EditedLaunch(remap.launch, edit.functions, remap.tile) for remap in mapped]
            unequal = pool.submit(_first_difference, edited)
            executed = pool.submit(_execute, requests, budget_seconds)
            difference = unequal.result()
            answers = executed.result() if difference is None else []
        difference = difference or next((a.difference for a in answers if a.difference), None)
    compared = [0] * len(requests)
    for answer in answers:
        if answer.launch is not None:
            compared[answer.launch] += answer.tiles_compared
    pairs = zip(mapped, compared, strict=True)
    complete = all(count == remap.launch.tiles for remap, count in pairs)
    loose = any(
        request.tolerance is not None and request.sample is None and count
        for request, count in zip(requests, compared, strict=True)
    )
    return Validation(
        method="all-tiles" if complete else "ir-and-sample",
        launches=len(compared),
        tiles_compared=sum(compared),
        tiles=sum(remap.launch.tiles for remap in mapped),
        same_bits=difference is None,
        rule="tolerance" if loose else "bits",
        tolerance=tolerance if loose else None,
        difference=difference,
    )


def find_difference(placed: Sequence[tuple[Launch, Int64Array]], edit: Edit) -> str | None:
    """As of `CodeComparer`.

    Raises:
        ValidationError: an original cannot be compiled.
    """
    every = [EditedLaunch(launch, edit.functions, tile) for launch, tile in placed]
    launches = [launch for launch, _ in placed]
    largest = max(launches, key=lambda launch: launch.programs)
    for config in other_configs(launches) if edit.files else ():  # without, rules are for the own
        order = np.arange(largest.tiles)
        other = replace(largest, arguments={**largest.arguments, **config})
        every.append(EditedLaunch(other, edit.functions, order, recorded=False))
    return _first_difference(every)


def _first_difference(launches: Sequence[EditedLaunch]) -> str | None:
    """The first difference of the kernels' IR that is none of proved numbers."""
    differences, error = call_each(
        "intelliperf_swizzle.frontends.triton.validate.numbers:find_differences",
        launches,
        environment=CHILD_ENVIRONMENT,
        limit_seconds=COMPILE_SECONDS,
    )
    if error is not None:
        lines = error.ended.last_lines(8)
        raise ValidationError(f"the compiler of the swizzled kernel {error.how}", details=lines)
    return next(filter(None, differences), None)


# --- the child process ----------------------------------------------------------------------------


def _request(remap: MappedLaunch, edit: Edit, budget_seconds: float, tolerance: float) -> Request:
    launch, trace = remap.launch, remap.trace
    size = sum(storage.bytes for storage in launch.storages.values())
    seconds = _tile_seconds(trace)
    sample: Int64Array | None = None
    if not trace.waits and (size > MOST_BYTES or seconds * launch.tiles > budget_seconds):
        few = min(max(1, int(budget_seconds / seconds)), FEW)
        few = 0 if launch.loop or size > MOST_BYTES else few
        sample = sample_tiles(launch.grid, remap.tile)[:few]
    return Request(
        launch=launch,
        edits=edit.functions,
        tile=remap.tile,
        read_storages=touched_storages(launch, trace, Access.READ, Access.ATOMIC),
        summed_storages=touched_storages(launch, trace, Access.ATOMIC),
        sample=sample,
        together=trace.method == "batched" and not (trace.waits or trace.shared_writes),
        tolerance=tolerance if trace.order_matters else None,
        must_execute=trace.waits,
    )


def _tile_seconds(trace: Trace) -> float:
    """What one tile costs in both kernels, about; from the trace alone, so always the same."""
    work = ACCESS_SECONDS * len(trace.access_base) + LINE_SECONDS * trace.line_accesses
    return 2 * max(work, ACCESS_SECONDS) / trace.tiles


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
        if error.too_late and not any(r.must_execute for r in requests):
            return answers
        return [*answers, _failure(request, stage, limit, error)]
    return answers


def _failure(request: Request, stage: str, limit: float, error: CallError) -> Answer:
    kernel = request.launch.kernel
    if error.too_late and stage == EDITED:
        return Answer(None, 0, f"the swizzled kernel did not end within {limit:.0f} s")
    if error.too_late and request.must_execute:
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
