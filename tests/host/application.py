# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""An application with a GEMM; for a stand-in for a profiler it prints what a GPU would measure.

It then compiles nothing, and leaves what Triton would: which file the kernel comes from.
"""

import json
import os
import sys
from pathlib import Path

here = Path(__file__).parent
if os.environ.get("UNDER_PROFILER"):
    if "--quoted" in sys.argv:
        assert sys.argv[-1] == "two words"
        assert (here / "built").exists()
    swizzled = "swizzle_" in (here / "gemm.py").read_text()
    renamed = swizzled and "--rename" in sys.argv
    card = {
        "kernel": "other_kernel.kd" if renamed else "gemm_kernel.kd",
        "num_xcd": 8,
        "durations": {"ns": 9000.0 if swizzled else 10000.0, "pct": 100.0},
        "l2": {"hr": 80.0 if swizzled else 40.0},
    }
    (here / "card.json").write_text(json.dumps([card]))
    compiled = Path(os.environ["TRITON_CACHE_DIR"]) / "key"
    compiled.mkdir(parents=True, exist_ok=True)
    file = "/elsewhere/gemm.py" if "--elsewhere" in sys.argv else here / "gemm.py"
    (compiled / "gemm_kernel.ttir").write_text(f'#loc = loc("{file}":7:0)\n')
else:
    import gemm

    size = 256 if os.environ.get("TINY") else 512
    small = (
        f"--m {size} --n {size} --k {size // 4} --block-m 32 --block-n 32 --block-k 32 "
        "--group-m 1 --num-warps 8"
    )
    fails = "and fail" in sys.argv and "swizzle_" in (here / "gemm.py").read_text()
    sys.argv[1:] = small.split()
    gemm.main()
    if fails:
        sys.exit("the output is not as expected")
