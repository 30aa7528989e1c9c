# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How long a validation's passes take on a GPU, beside a copy; a line of JSON for each size."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import torch

from intelliperf_swizzle.frontends.triton.gpu.memory import add_differing, add_digest, poison

SIZES = (64 << 20, 1 << 30)
_HOST_CYCLES = 2_000_000
"""About a millisecond: the host is ahead by then, and only the GPU's time is taken."""


def milliseconds(work: Callable[[], object]) -> float:
    """Of a GPU, for work that does not wait for the host."""
    begun, done = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(_HOST_CYCLES)
    begun.record()
    work()
    done.record()
    torch.cuda.synchronize()
    return float(begun.elapsed_time(done))


def main() -> None:
    """Times each pass once."""
    device = torch.device("cuda")
    found = torch.zeros((), dtype=torch.int64, device=device)
    for size in SIZES:
        one, other = (torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2))
        passes: dict[str, Callable[[], object]] = {
            "digest_ms": partial(add_digest, one, found),
            "fill_ms": partial(poison, one),
            "compare_ms": partial(add_differing, one, other, found),
            "copy_ms": partial(one.copy_, other),
        }
        times = {name: round(milliseconds(work), 4) for name, work in passes.items()}
        print(json.dumps({"device": torch.cuda.get_device_name(), "bytes": size, **times}))


if __name__ == "__main__":
    main()
