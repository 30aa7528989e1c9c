# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""flash-sinkhorn: optimal transport between point clouds, by three solvers."""

from __future__ import annotations

from calls import call, single
from flash_sinkhorn import SamplesLoss

OPTIONS = {
    "symmetric": {"blur": 0.1},
    "symmetric, unbalanced": {"blur": 0.1, "reach": 1.0},
    "symmetric, debiased": {"blur": 0.1, "debias": True},
    "alternating": {
        "backend": "alternating",
        "eps": 0.1,
        "n_iters": 10,
        "use_epsilon_scaling": False,
    },
    "potentials": {"blur": 0.1, "potentials": True, "debias": False},
}
for name, options in OPTIONS.items():
    for width in (3, 64, 512):
        call(f"{name}, {width}", lambda x, y, o=options: SamplesLoss("sinkhorn", **o)(x, y),
             single(4096, width), single(4096, width))  # fmt: skip
call("multiscale", lambda x, y: SamplesLoss("sinkhorn", blur=0.1, backend="multiscale")(x, y),
     single(16384, 3, grad=False), single(16384, 3, grad=False))  # fmt: skip
