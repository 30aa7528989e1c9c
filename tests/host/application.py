# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""An application with a GEMM; told by the stand-in for GT, it says what a device would measure."""

import json
import os
import sys
from pathlib import Path

here = Path(__file__).parent
if os.environ.get("UNDER_GT"):
    if "--quoted" in sys.argv:
        assert sys.argv[-1] == "two words"
        assert (here / "built by gt").exists()
    swizzled = "swizzle_" in (here / "gemm.py").read_text()
    renamed = swizzled and "--rename" in sys.argv
    card = {
        "kernel": "other_kernel.kd" if renamed else "gemm_kernel.kd",
        "num_xcd": int(os.environ.get("CARD_XCDS", "8")),
        "durations": {"ns": 9000.0 if swizzled else 10000.0, "pct": 100.0},
        "l2": {"hr": 80.0 if swizzled else 40.0},
    }
    (here / "card.json").write_text(json.dumps([card]))
else:
    import gemm

    small = (
        "--m 512 --n 512 --k 128 --block-m 32 --block-n 32 --block-k 32 --group-m 1 --num-warps 8"
    )
    fails = "and fail" in sys.argv and "swizzle_" in (here / "gemm.py").read_text()
    sys.argv[1:] = small.split()
    gemm.main()
    if fails:
        sys.exit("the output is not as expected")
