# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The files of a run: where they go, and what the result file says.

The result file is what IntelliPerf's formulas write, and our own part beside it. A number that was
not measured is null, never 0. A modelled number is never given as a measured one: with the model
profiler `metric_name` says so, `report_message` begins with `Modelled:` and the times are null.
"""

import csv
import io
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from intelliperf_swizzle import __version__, codec, disk, errors, readers, records
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.report.establish import establish
from intelliperf_swizzle.report.pages import markdown, render
from intelliperf_swizzle.report.sentences import bottleneck, message
from intelliperf_swizzle.report.terminal import show, summary

SCHEMA: Final = 12
"""Grows when the shape of result files changes."""

Percent: TypeAlias = Annotated[float, codec.Between(0, 100)]
Milliseconds: TypeAlias = Annotated[float, codec.Between(0)]


@dataclass(frozen=True, kw_only=True)
class OwnPart(records.Run):
    """What IntelliPerf's own formulas do not know: the run.

    Attributes:
        schema: Grows when the file's shape changes.
        established: What is known, each with its extent.
    """

    schema: Literal[12]
    established: records.Established


@dataclass(frozen=True)
class ResultFile:
    """Result of one run of intelliperf-swizzle. What was not measured is null, never 0.

    Attributes:
        version: Of the package that wrote the file.
        formula: The optimization target.
        success: An eligible and better swizzle was found.
        metric_name: Says `modelled` and the target where it is.
        metric_before: L2 hit rate in percent.
        metric_after: The same with the swizzle; null without one.
        time_before_ms: Measured; null where not.
        time_after_ms: Measured; null where not.
        report_message: Begins with `Modelled:` where it is.
        initial: The user's file as it was.
        optimized: The file with the swizzle.
        diff: Unified, for `git apply`; empty without a swizzle.
    """

    version: str
    formula: str
    success: bool
    kernel_name: str
    metric: Literal["l2_hr_pct"]
    metric_name: str
    metric_before: Percent | None
    metric_after: Percent | None
    time_before_ms: Milliseconds | None
    time_after_ms: Milliseconds | None
    report_message: str
    bottleneck_report: str
    initial: str
    optimized: str | None
    diff: str
    diff_lines: tuple[str, ...]
    swizzle: OwnPart


def result(run: records.Run, *, initial: str, optimized: str | None) -> dict[str, Any]:
    """The result as a JSON object.

    Args:
        run: the run.
        initial: the kernel's source as it was.
        optimized: the source with the best swizzle, None if there is none.
    """
    measured = run.best.measurement if run.best else None
    diff = run.best.diff if run.best and run.best.diff else ""
    whole = ResultFile(
        version=__version__, formula=run.formula, success=optimized is not None,
        kernel_name=run.kernel, metric="l2_hr_pct",
        metric_name=f"L2 hit rate (modelled, {run.target})" if run.modelled else "L2 hit rate",
        metric_before=_percent(run.baseline), metric_after=_percent(measured),
        time_before_ms=run.baseline.time_ms, time_after_ms=measured.time_ms if measured else None,
        report_message=message(run), bottleneck_report=bottleneck(run), initial=initial,
        optimized=optimized, diff=diff, diff_lines=tuple(diff.splitlines()),
        swizzle=OwnPart(schema=SCHEMA, established=establish(run), **_fields(run)),
    )  # fmt: skip
    encoded: dict[str, Any] = codec.encode(whole)
    return encoded


def _fields(run: records.Run) -> dict[str, Any]:
    return {field.name: getattr(run, field.name) for field in fields(records.Run)}


def _percent(measured: records.Measurement | None) -> float | None:
    return None if measured is None else round(100 * measured.l2_hit_rate, 3)


LARGEST_BYTES = 64 << 20
"""A result with thousands of attempts is far smaller."""


def read_run(path: Path) -> records.Run:
    """The run of a result file.

    Raises:
        UsageError: the file cannot be read, is not a result file or is of another version.
    """
    content = readers.read_regular(path, LARGEST_BYTES)
    try:
        return run_of(codec.loads(content))
    except errors.RecordError as error:
        raise errors.UsageError(
            f"{path} is not a result file: {error.fact}",
            hint="a run writes result.json into its output folder; -o FILE.json names another",
        ) from error
    except errors.UsageError as error:
        raise errors.UsageError(f"{path}: {error.fact}", hint=error.hint) from error


def run_of(fields: object) -> records.Run:
    """The run of a result as `result` makes it.

    Raises:
        RecordError: something is missing or does not belong.
        UsageError: the result is of another version.
    """
    own = fields.get("swizzle") if isinstance(fields, dict) else None
    schema = own.get("schema", SCHEMA) if isinstance(own, dict) else SCHEMA
    if type(schema) is int and schema != SCHEMA:
        raise errors.UsageError(
            f"the result has schema {schema:.3g}, this version reads schema {SCHEMA}",
            hint="the version that wrote it is in the file: pip install intelliperf-swizzle==…",
        )
    found = codec.decode(ResultFile, fields).swizzle
    if found.picture is not None:
        _check_shapes(found.picture)
    measured = {attempt.number for attempt in found.attempts if attempt.measurement is not None}
    if found.best and (found.best.measurement is None or found.best.number not in measured):
        expected = f"expected that of a measured attempt, got {found.best.number}"
        raise errors.RecordError(f"swizzle.best.number: {expected}")
    return records.Run(**_fields(found))


def _check_shapes(picture: records.Picture) -> None:
    """Refuses pictures whose parts are of different sizes."""
    for i, tiles in enumerate(picture.tiles):
        both = [placement for placement in (tiles.before, tiles.after) if placement]
        rasters = [raster for placement in both for raster in (placement.domain, placement.share)]
        shapes = {(len(raster), *{len(row) for row in raster}) for raster in rasters}
        if len(shapes) > 1 or any(len(shape) != 2 for shape in shapes):
            raise errors.RecordError(f"swizzle.picture.tiles[{i}]: its rows and columns differ")


FORMATS = (".json", ".csv", ".txt")

STDOUT = "-"
"""The name that stands for standard output: JSON."""

DEFAULT_FOLDER = "swizzle-out"


@dataclass(frozen=True)
class Finished:
    """A run, the edit that carries its best swizzle, and the user's file as it was.

    Attributes:
        run: what was tried and the outcome.
        edit: carries the best swizzle; None if there is none.
        initial: the text of the user's file that holds the kernel.
    """

    run: records.Run
    edit: Edit | None
    initial: str

    @property
    def optimized(self) -> str | None:
        """The file's text with the best swizzle."""
        return self.edit.files.get(self.run.file, self.initial) if self.edit else None


def writable(directory: str | None, tell: Callable[[str], None]) -> Path:
    """The folder for files, which is not made yet; a temporary one, named to `tell`, if it must be.

    Args:
        directory: as `--report_dir` names it; None = `swizzle-out`, here.
        tell: receives where files go if they cannot go there.
    """
    folder = Path(directory or DEFAULT_FOLDER)
    whole = folder.absolute()
    try:
        nearest = next(place for place in (whole, *whole.parents) if place.exists())
        with tempfile.TemporaryFile(dir=nearest):
            return folder
    except OSError as error:
        elsewhere = Path(tempfile.mkdtemp(prefix="swizzle-out-"))
        tell(f"cannot write to {folder} ({error.strerror}): files go to {elsewhere}")
        return elsewhere


def check_format(path: Path) -> str:
    """The ending of an output file, lower case; raises UsageError if it is unknown."""
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise errors.UsageError(
            f"cannot write a result as `{path.name}`", hint=f"one of {', '.join(FORMATS)}"
        )
    return ending


def write_files(
    finished: Finished, folder: Path, *, output_file: str | None, attempts_directory: str | None
) -> list[str]:
    """Writes result, reports and patch; returns a line for each, for people.

    Args:
        finished: the run.
        folder: for `result.json`, `report.html`, `report.md` and `best.patch`.
        output_file: another place for the result, by its ending; `-` is JSON on stdout.
        attempts_directory: also write the diff of each validated attempt here.
    """
    run, edit = finished.run, finished.edit
    fields = result(run, initial=finished.initial, optimized=finished.optimized)
    # before the result, which speaks of it
    written = _put(folder / "best.patch", "patch", run.best.diff if run.best else None)
    written["report"] = write(folder / "report.html", render(run))
    written["report for a pull request"] = write(folder / "report.md", markdown(run))
    written["history"] = Path(run.history)
    written |= _put(folder / "swizzles.json", _SWIZZLES, edit.swizzles if edit else None)
    if output_file == STDOUT:
        sys.stdout.write(_render(fields, ".json"))
    else:
        path = Path(output_file) if output_file else folder / "result.json"
        written["result"] = write(path, _render(fields, check_format(path)))
    if attempts_directory:
        attempts = Path(attempts_directory)
        for attempt in run.attempts:
            if attempt.diff:
                write(attempts / f"{folder.name}_iteration_{attempt.number}.patch", attempt.diff)
                written["attempts"] = attempts
    return [f"{what}: {path}" for what, path in written.items()]


_SWIZZLES = "swizzles for `apply`"


def _put(path: Path, what: str, text: str | None) -> dict[str, Path]:
    """The file and what it is, if there is something to write; else none is left there."""
    if text:
        return {what: write(path, text)}
    path.unlink(missing_ok=True)
    return {}


def write_application(folder: Path, edit: Edit | None) -> list[str]:
    """Writes what is about all kernels of an application; returns a line for each file.

    Args:
        folder: for `best.patch` and `swizzles.json`.
        edit: of all kernels, of which patches may carry none; None if nothing is to be changed.
    """
    diff, swizzles = (edit.diff, edit.swizzles) if edit else (None, None)
    written = _put(folder / "best.patch", "patch for all kernels", diff)
    written |= _put(folder / "swizzles.json", _SWIZZLES, swizzles)
    return [f"{what}: {path}" for what, path in written.items()]


def write(path: Path, text: str) -> Path:
    """Writes a file whole or not at all, and makes its folder if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        disk.write_whole(path, text.encode())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    return path


def _render(fields: Mapping[str, Any], ending: str) -> str:
    if ending == ".json":
        return json.dumps(fields, indent=1, ensure_ascii=False) + "\n"
    flat = {
        key: json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
        for key, value in fields.items()
    }
    if ending == ".txt":
        return "".join(f"{key}: {value}\n" for key, value in flat.items())
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, flat.keys())
    writer.writeheader()
    writer.writerow(flat)
    return buffer.getvalue()


ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".txt": "text"}


def plain(run: records.Run) -> str:
    """The run as the terminal shows it, not wrapped and without colours."""
    stream = io.StringIO()
    show(summary(run), stream)
    return stream.getvalue()


REPORT_FORMATS = {"text": plain, "html": render, "md": markdown}


def format_name(asked: str | None, output_file: str | None) -> str:
    """The format that is asked for, else the one that a file's ending names, else `text`.

    Raises:
        UsageError: no format has that ending.
    """
    if asked or output_file is None:
        return asked or "text"
    ending = Path(output_file).suffix.lower()
    if ending not in ENDINGS:
        raise errors.UsageError(
            f"cannot tell a format from `{Path(output_file).name}`",
            hint=f"--format {', '.join(REPORT_FORMATS)}, or an ending: {', '.join(ENDINGS)}",
        )
    return ENDINGS[ending]
