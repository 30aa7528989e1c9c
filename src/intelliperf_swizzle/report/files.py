# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Where a run's files go, and writing them."""

from __future__ import annotations

import csv
import io
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from intelliperf_swizzle.disk import write_whole
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.records import Run
from intelliperf_swizzle.report.pages import markdown, render
from intelliperf_swizzle.report.result import result
from intelliperf_swizzle.report.terminal import show, summary

FORMATS = (".json", ".csv", ".txt")

STDOUT = "-"
"""The output file that is no file: JSON on stdout."""

DEFAULT_FOLDER = "swizzle-out"


class Finished(Protocol):
    """What is written: a run, its edit (None where nothing is to be changed), the old source."""

    @property
    def run(self) -> Run:
        """What was tried and what came of it."""

    @property
    def edit(self) -> Edit | None:
        """The best swizzle in the kernel's source."""

    @property
    def initial(self) -> str:
        """The kernel's source as it was."""

    @property
    def optimized(self) -> str | None:
        """The kernel's source with the best swizzle."""


def writable(directory: str | None, tell: Callable[[str], None]) -> Path:
    """The folder for files, which is not made yet; a temporary one, named to `tell`, if it must be.

    Args:
        directory: as `--report_dir` names it; None = `swizzle-out`, here.
        tell: told where files go if they cannot go there.
    """
    folder = Path(directory or DEFAULT_FOLDER)
    whole = folder.absolute()
    try:
        nearest = next(one for one in (whole, *whole.parents) if one.exists())
        with tempfile.TemporaryFile(dir=nearest):
            return folder
    except OSError as error:
        elsewhere = Path(tempfile.mkdtemp(prefix="swizzle-out-"))
        tell(f"cannot write to {folder} ({error.strerror}): files go to {elsewhere}")
        return elsewhere


def check_output(output_file: str | None) -> None:
    """Raises UsageError if no result can be written as that file."""
    if output_file not in (None, STDOUT):
        check_format(Path(output_file))


def check_format(path: Path) -> str:
    """The ending of an output file, lower case; raises UsageError if it is not one of ours."""
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise UsageError(
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
    run = finished.run
    fields = result(run, initial=finished.initial, optimized=finished.optimized)
    patch, written = folder / "best.patch", dict[str, Path]()
    if run.best and run.best.diff:  # before the result, which speaks of it
        written["patch"] = write(patch, run.best.diff)
    else:
        patch.unlink(missing_ok=True)
    written["report"] = write(folder / "report.html", render(run))
    written["report for a pull request"] = write(folder / "report.md", markdown(run))
    written["history"] = Path(run.history)
    written |= _write_swizzles(finished.edit, folder)
    if output_file == STDOUT:
        sys.stdout.write(_render(fields, ".json"))
    else:
        path = Path(output_file) if output_file else folder / "result.json"
        written["result"] = write(path, _render(fields, check_format(path)))
    if attempts_directory:
        attempts = Path(attempts_directory)
        for attempt in run.attempts:
            if attempt.diff:
                write(attempts / f"{run.kernel}_iteration_{attempt.number}.patch", attempt.diff)
                written["attempts"] = attempts
    return [f"{what}: {path}" for what, path in written.items()]


def _write_swizzles(edit: Edit | None, folder: Path) -> dict[str, Path]:
    """The file for `apply`, if there are swizzles to apply."""
    path = folder / "swizzles.json"
    if edit and edit.swizzles:
        return {"swizzles for `apply`": write(path, edit.swizzles)}
    path.unlink(missing_ok=True)
    return {}


def write_application(folder: Path, edit: Edit | None) -> list[str]:
    """Writes what is about all kernels of an application; returns a line for each file.

    Args:
        folder: for `best.patch` and `swizzles.json`.
        edit: of all kernels; None if nothing is to be changed.
    """
    written, patch = _write_swizzles(edit, folder), folder / "best.patch"
    if edit:
        written = {"patch for all kernels": write(patch, edit.diff), **written}
    else:
        patch.unlink(missing_ok=True)
    return [f"{what}: {path}" for what, path in written.items()]


def write(path: Path, text: str) -> Path:
    """Writes a file whole or not at all, and makes its folder if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
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


def plain(run: Run) -> str:
    """The run as the terminal shows it, not wrapped and without colours."""
    stream = io.StringIO()
    show(summary(run), stream)
    return stream.getvalue()


FACES = {"text": plain, "html": render, "md": markdown}


def face_name(asked: str | None, output_file: str | None) -> str:
    """The face that is asked for, else the one that a file's ending names, else `text`.

    Raises:
        UsageError: no face has that ending.
    """
    if asked or output_file is None:
        return asked or "text"
    ending = Path(output_file).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(
            f"cannot tell a format from `{Path(output_file).name}`",
            hint=f"--format {', '.join(FACES)}, or an ending: {', '.join(ENDINGS)}",
        )
    return ENDINGS[ending]
