# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Run recorded launches from their records alone: prints the bytes of their tensors afterwards.

python revive_and_run.py FOLDER RECORD...
"""

import json
import sys
from pathlib import Path

from intelliperf_swizzle.frontends.triton.interpreter.revive import revive, run_sequential
from intelliperf_swizzle.launch_files import load_launch

folder, *records = sys.argv[1:]
for record in records:
    launch = load_launch(record)
    live = revive(launch, Path(folder) / "rendered")
    run_sequential(live)
    print(
        json.dumps(
            {number: live.memory.bytes(number).tobytes().hex() for number in launch.storages}
        )
    )
