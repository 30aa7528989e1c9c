# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Runs applications one after the other in one process, which imports torch and Triton once.

`python run_applications.py 'SCRIPT OPTION …' …` prints one line of JSON for each: its exit status,
and what it wrote or exited with.
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys


def run(script: str, *options: str) -> dict[str, int | str]:
    written = io.StringIO()
    sys.argv = [script, *options]
    status: int | str | None = 0
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as ending:
            status = ending.code
    if isinstance(status, str):
        return {"status": 1, "text": written.getvalue() + status}
    return {"status": status or 0, "text": written.getvalue()}


if __name__ == "__main__":
    for command in sys.argv[1:]:
        print(json.dumps(run(*command.split())), flush=True)
