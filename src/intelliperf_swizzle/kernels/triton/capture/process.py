# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The user's command with a hook of ours in its Pythons."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.children import Child
from intelliperf_swizzle.errors import CaptureError
from intelliperf_swizzle.kernels.triton.capture.settings import FOLDER_VARIABLE

LOG = "app.log"
"""What the application prints, in the folder that it is started with."""

_STARTUP = Path(__file__).parent / "startup"
PATIENCE_SECONDS = 2.0
"""Between asking the application to end and killing it."""
_LAST_LINES = 20


def start(
    command: Sequence[str],
    folder: Path,
    cwd: str | os.PathLike[str],
    environment: Mapping[str, str],
    *,
    interpreted: bool,
) -> Child:
    """Starts the command; its settings are in the folder, its output goes to `app.log` there.

    Args:
        command: as the user would type it.
        folder: of the settings and the journal.
        cwd: where it runs.
        environment: as the user has it; ours is added.
        interpreted: whether kernels run under Triton's interpreter; otherwise they are compiled,
            and an autotuner keeps its choices in `triton-cache` beside the folder's files.

    Raises:
        CaptureError: the command cannot be started.
    """
    search = [str(_STARTUP), *filter(None, [environment.get("PYTHONPATH")])]
    caches = folder if interpreted else folder.parent
    hooked = {
        **{name: text for name, text in environment.items() if name != "TRITON_INTERPRET"},
        FOLDER_VARIABLE: str(folder),
        "PYTHONPATH": os.pathsep.join(search),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "TRITON_CACHE_DIR": str(caches / "triton-cache"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "torch-cache"),
        **({"TRITON_INTERPRET": "1"} if interpreted else {"TRITON_CACHE_AUTOTUNING": "1"}),
    }
    try:
        with (folder / LOG).open("wb") as log:
            return Child(command, cwd=cwd, environment=hooked, output=log)
    except (OSError, ValueError) as error:
        raise CaptureError(
            f"the application `{' '.join(command)}` cannot be started: {error}",
            hint="give the command as you would type it, e.g. `-- python app.py`",
        ) from error


def last_lines(folder: Path) -> tuple[str, ...]:
    """The last lines that the application printed."""
    with (folder / LOG).open("rb") as log:
        log.seek(0, os.SEEK_END)
        log.seek(max(0, log.tell() - 16384))
        text = log.read().decode("utf-8", "replace")
    printable = "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    return tuple(line.rstrip() for line in printable.splitlines()[-_LAST_LINES:])
