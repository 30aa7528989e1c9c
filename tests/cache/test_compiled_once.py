# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Compiled functions lie in one cache folder, and a run reports when they are compiled."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import numpy as np
from intelliperf_swizzle import progress
progress.compiling.append(lambda: print("compiled"))
from intelliperf_swizzle.cache.compiled import mix
print(mix(np.int64(3)))
"""


def test_a_function_is_compiled_once_and_that_is_reported(tmp_path: Path) -> None:
    plain = {name: text for name, text in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**plain, "XDG_CACHE_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout.split()
        for _ in range(2)
    ]
    assert runs[0] == ["compiled", *runs[1]]
    assert list(tmp_path.glob("intelliperf-swizzle/compiled/*/*/*mix*.nbi"))
