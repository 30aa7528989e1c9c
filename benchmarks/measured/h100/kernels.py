# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The configurations of `../h200` and `../h200_held_out`: no parameter was fitted to an H100.

They are listed, timed and run like those: `python kernels.py list`.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from h200.kernels import CONFIGS as SEEN
from h200.kernels import main
from h200_held_out.kernels import CONFIGS as HELD_OUT

CONFIGS = {**SEEN, **HELD_OUT}


if __name__ == "__main__":
    main(CONFIGS, *sys.argv[1:])
