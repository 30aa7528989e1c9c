# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the child process of a call: `python -m intelliperf_swizzle.children.called FOLDER`."""

from __future__ import annotations

import importlib
import pickle
import sys
from pathlib import Path

from intelliperf_swizzle.children import ANSWER, RAISED, REQUEST, RETURNED, STAGE
from intelliperf_swizzle.errors import SwizzleError


def begin(folder: Path, stage: str) -> None:
    """Says what is being done, so that the caller can tell whose fault a crash is."""
    (folder / STAGE).write_text(stage)


def main(folder: Path) -> None:
    """Calls the function of the request and writes what it returns or raises."""
    function, request = pickle.loads((folder / REQUEST).read_bytes())
    module, _, name = function.partition(":")
    try:
        answer = RETURNED, getattr(importlib.import_module(module), name)(request, folder)
    except SwizzleError as error:
        answer = RAISED, error
    partial = folder / f"{ANSWER}.partial"
    partial.write_bytes(pickle.dumps(answer))
    partial.rename(folder / ANSWER)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
