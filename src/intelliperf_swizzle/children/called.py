# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the child process of a call."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Iterator
from pathlib import Path

from intelliperf_swizzle.children import ANSWERS, RAISED, REQUEST, RETURNED, STAGE
from intelliperf_swizzle.errors import SwizzleError


def begin(folder: Path, stage: str) -> None:
    """Says what is being done, so that the caller can tell whose fault a crash is."""
    (folder / STAGE).write_text(stage)


def answer(folder: Path, value: object, kind: str = RETURNED) -> None:
    """Answers the call, for a function that yields or cannot return."""
    with (folder / ANSWERS).open("ab") as stream:
        pickle.dump((kind, value), stream)


def perform(function: str, folder: Path) -> None:
    """Calls `module:name` with the request in the folder; writes what comes of it."""
    module, _, name = function.partition(":")
    request = pickle.loads((folder / REQUEST).read_bytes())
    try:
        value = getattr(importlib.import_module(module), name)(request, folder)
        for one in value if isinstance(value, Iterator) else (value,):
            answer(folder, one)
    except SwizzleError as error:
        answer(folder, error, RAISED)
