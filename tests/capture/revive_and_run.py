# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Run recorded launches from their records alone: prints the bytes of their tensors afterwards.

python revive_and_run.py FOLDER RECORD...
"""

import json
import sys

from intelliperf_swizzle.frontends.triton.ir import kernel_of
from intelliperf_swizzle.frontends.triton.walk.running import make_live, run_one_by_one
from intelliperf_swizzle.records.launches import load_launch

folder, *records = sys.argv[1:]
for record in records:
    launch = load_launch(record)
    live = make_live(launch, kernel_of(launch), whole=True)
    run_one_by_one(live)
    print(
        json.dumps(
            {number: live.memory.bytes(number).tobytes().hex() for number in launch.storages}
        )
    )
