# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""On a real GPU, in the application's own process: same bytes, and times in interleaved rounds.

`rig` starts the application and watches it; `order` is what it asks for. In the application,
`agent` waits for the launches, and `bench` compares the original with a candidate and times them.
"""

from intelliperf_swizzle.frontends.trials.journal import Check, Failure, Trial
from intelliperf_swizzle.frontends.triton.gpu.order import Task
from intelliperf_swizzle.frontends.triton.gpu.rig import Rig
