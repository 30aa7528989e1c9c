# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""flash-sinkhorn: optimal transport between clouds of points, and its derivatives."""

from __future__ import annotations

import flash_sinkhorn as ops
import torch
from calls import DEVICE, call, single

POINTS, OTHERS, WIDE = 2048, 3072, 64
x, y = single(POINTS, WIDE), single(OTHERS, WIDE)
for backend in ("symmetric", "alternating"):
    for debias in (False, True):
        loss = ops.SamplesLoss(blur=0.5, backend=backend, debias=debias)
        call(f"{backend}, debias {debias}", loss, x, y)
call("unbalanced", ops.SamplesLoss(blur=0.5, reach=1.0), x, y)
call("potentials", ops.SamplesLoss(blur=0.5, potentials=True), x, y)
call("half precision", ops.SamplesLoss(blur=0.5), x.detach().half(), y.detach().half())
psi = single(OTHERS)
call("c_transform_fwd", ops.c_transform_fwd, x.detach(), y.detach(), psi.detach())
call("c_transform_cost", ops.c_transform_cost, x, y, psi)
ones = [torch.full((count,), 1 / count, device=DEVICE) for count in (POINTS, OTHERS)]
step = torch.randn_like(x)
call("hvp_x_sqeuclid", ops.hvp_x_sqeuclid, x.detach(), y.detach(), *ones, step, eps_list=[1.0],
     max_cg_iter=2)  # fmt: skip
at = [single(count, grad=False) for count in (POINTS, OTHERS, POINTS, OTHERS)]
call("implicit_grad_x", ops.implicit_grad_x_from_potentials, x.detach(), y.detach(), *at, eps=1.0,
     max_cg_iter=2)  # fmt: skip
