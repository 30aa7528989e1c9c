# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The user's command with a hook of ours in its Pythons."""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.children import Child
from intelliperf_swizzle.errors import CaptureError, UsageError
from intelliperf_swizzle.frontends.child_processes import LOG
from intelliperf_swizzle.frontends.triton.capture import tuning
from intelliperf_swizzle.frontends.triton.capture.settings import FOLDER_VARIABLE

_STARTUP = Path(__file__).parent / "startup"


def start(
    command: Sequence[str],
    folder: Path,
    cwd: str | os.PathLike[str],
    environment: Mapping[str, str],
    *,
    on_gpu: bool,
) -> Child:
    """Starts the command; its settings are in the folder, its output goes to `app.log` there.

    Args:
        command: as the user would type it.
        folder: of the settings and the journal.
        cwd: where it runs.
        environment: as the user has it; ours is added.
        on_gpu: whether kernels are compiled to the end; an autotuner then keeps its choices in
            `triton-cache` beside the folder's files.

    Raises:
        UsageError: there is no such program.
        CaptureError: the command cannot be started.
    """
    search = [str(_STARTUP), *filter(None, [environment.get("PYTHONPATH")])]
    caches = folder.parent if on_gpu else folder
    hooked = {
        **{name: text for name, text in environment.items() if name != "TRITON_INTERPRET"},
        FOLDER_VARIABLE: str(folder),
        "PYTHONPATH": os.pathsep.join(search),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "TRITON_CACHE_DIR": str(caches / "triton-cache"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "torch-cache"),
        **tuning.VARIABLES,
        **({"TRITON_CACHE_AUTOTUNING": "1"} if on_gpu else _without_gpu(environment)),
    }
    try:
        with (folder / LOG).open("wb") as log:
            return Child(command, cwd=cwd, environment=hooked, output=log)
    except (FileNotFoundError, PermissionError) as error:
        raise UsageError(
            f"there is no program `{command[0]}`"
            if isinstance(error, FileNotFoundError)
            else f"`{command[0]}` may not be executed",
            hint=_another_program(command, Path(cwd)),
        ) from error
    except (OSError, ValueError) as error:
        raise CaptureError(
            f"the application `{' '.join(command)}` cannot be started: {error}",
            hint="give the command as you would type it, e.g. `-- python app.py`",
        ) from error


def _without_gpu(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables of an application whose launches are executed on the CPU."""
    names = ("OPENBLAS_NUM_THREADS", "TRITON_DEFAULT_FP_FUSION", "TORCHDYNAMO_SUPPRESS_ERRORS")
    return {name: environment.get(name, "1") for name in names}


def _another_program(command: Sequence[str], cwd: Path) -> str:
    """What to type in place of a program that cannot be started."""
    first, *rest = command
    if len(first.split()) > 1 and shutil.which(first.split()[0]):
        return f"without quotation marks: -- {shlex.join([*first.split(), *rest])}"
    if first.endswith(".py") and (cwd / first).is_file():
        return f"-- python {shlex.join(command)}"
    if (cwd / first).exists():
        return "it is there, but cannot be executed: see its mode and its first line"
    close = difflib.get_close_matches(first, ("python", "python3", "pytest", "torchrun"), 1)
    other = f"did you mean `{close[0]}`? " if close else ""
    return f"{other}it is looked for on PATH, and a path with a slash from {cwd}"
