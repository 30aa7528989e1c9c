# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The faces of a run by name."""

from __future__ import annotations

import io
from pathlib import Path

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.records import Run
from intelliperf_swizzle.report.html import render
from intelliperf_swizzle.report.markdown import markdown
from intelliperf_swizzle.report.terminal import show, summary

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
