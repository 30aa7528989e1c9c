# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A result file back to its run, so that it can be shown again without running anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from intelliperf_swizzle.codec import decode, loads
from intelliperf_swizzle.errors import RecordError, UsageError
from intelliperf_swizzle.readers import read_regular
from intelliperf_swizzle.records import Attempt, Ceiling, Picture, Raster, Run
from intelliperf_swizzle.report.result import SCHEMA, OwnPart, ResultFile

LARGEST_BYTES = 64 << 20
"""A result with thousands of attempts is far smaller."""


def read_run(path: Path) -> Run:
    """The run of a result file.

    Raises:
        UsageError: the file cannot be read, is no result file or is of another version.
    """
    content = read_regular(path, LARGEST_BYTES)
    try:
        return run_of(loads(content))
    except RecordError as error:
        raise UsageError(
            f"{path} is not a result file: {error.fact}",
            hint="a run writes result.json into its output folder; -o FILE.json names another",
        ) from error
    except UsageError as error:
        raise UsageError(f"{path}: {error.fact}", hint=error.hint) from error


def run_of(fields: object) -> Run:
    """The run of a result as `result` makes it.

    Raises:
        RecordError: something is missing or does not belong.
        UsageError: the result is of another version.
    """
    own = fields.get("swizzle") if isinstance(fields, dict) else None
    schema = own.get("schema", SCHEMA) if isinstance(own, dict) else SCHEMA
    if type(schema) is int and schema not in (4, SCHEMA):
        raise UsageError(
            f"the result has schema {schema:.3g}, this version reads schema {SCHEMA}",
            hint="the version that wrote it is in the file: pip install intelliperf-swizzle==…",
        )
    whole = decode(ResultFile, fields)
    own = whole.swizzle
    if own.picture is not None:
        _check_shapes(own.picture)
    return Run(
        kernel=own.launch.kernel,
        kernels=own.kernels,
        formula=whole.formula,
        target=own.target,
        profiler=own.profiler,
        proposer=own.proposer,
        seed=own.seed,
        grid=own.launch.grid,
        constants=own.launch.constants,
        launches=own.launch.distinct,
        baseline=own.baseline,
        ceiling=Ceiling(own.ceiling_l2_hit_rate, own.ceiling_derivation),
        best=_best(own),
        attempts=own.attempts,
        nothing_to_gain=own.nothing_to_gain,
        notes=own.notes,
        history=own.history,
        usage=own.usage,
        invocation=own.invocation,
        picture=own.picture,
        file=own.launch.file,
        predicted=own.predicted,
        cautions=own.cautions,
        domain_name=own.domain_name,
        interrupted=own.interrupted,
        cures=own.cures,
        sizes=own.sizes,
    )


def _check_shapes(picture: Picture) -> None:
    """Refuses pictures whose parts are of different sizes."""
    for i, tiles in enumerate(picture.tiles):
        both = [one for one in (tiles.before, tiles.after) if one]
        rasters = [raster for one in both for raster in (one.domain, one.share, one.time)]
        _check_shape(f"tiles[{i}]", rasters)
    for i, tensor in enumerate(picture.tensors):
        accesses = [one for one in (tensor.before, tensor.after) if one]
        _check_shape(f"tensors[{i}]", [r for one in accesses for r in (one.domains, one.wave)])


def _check_shape(part: str, rasters: Sequence[Raster]) -> None:
    shapes = {(len(raster), *{len(row) for row in raster}) for raster in rasters}
    if len(shapes) > 1 or any(len(shape) != 2 for shape in shapes):
        raise RecordError(f"swizzle.picture.{part}: its rows and columns differ")


def _best(own: OwnPart) -> Attempt | None:
    if own.best is None:
        return None
    for attempt in own.attempts:
        if attempt.number == own.best.number and attempt.measurement is not None:
            return attempt
    raise RecordError(
        f"swizzle.best.number: expected that of a measured attempt, got {own.best.number}"
    )
