# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A stand-in for Triton's GPU driver, so that what asks for a device gets answers without one."""

from collections.abc import Callable, Sequence
from typing import Any

from triton.backends.compiler import GPUTarget

STAND_IN_TIME_MS = 1.0
"""What every benchmark reports: nothing that is executed here has a GPU's duration."""


class StandInDriver:
    """Answers as the driver of one GPU of the given target would.

    Compiling needs its target alone; the rest is for what an application times.
    """

    def __init__(self, backend: str = "hip", arch: str | int = "gfx942", warp_size: int = 64):
        self._target = GPUTarget(backend, arch, warp_size)
        self.utils = self

    @staticmethod
    def is_active() -> bool:
        """This driver can always be used."""
        return True

    def get_current_target(self) -> GPUTarget:
        """The target that kernels would be compiled for."""
        return self._target

    get_current_device = get_current_stream = lambda self, *_: 0
    set_current_device = clear_cache = lambda self, *_: None
    """There is one device with one stream, and no cache to clear."""

    def get_empty_cache_for_benchmark(self) -> Any:
        """A buffer whose clearing flushes the cache; there is none to flush."""
        import torch

        return torch.empty(1, dtype=torch.int8)

    def get_benchmarker(self) -> Callable[..., float | list[float]]:
        """A benchmark that runs nothing, so that an autotuner takes its first configuration."""
        return lambda fn, **options: bench_once(lambda: None, **options)


def bench_once(
    fn: Callable[[], object], *_: object, quantiles: Sequence[float] | None = None, **options: Any
) -> float | list[float]:
    """`do_bench` that calls its function once and reports a constant."""
    fn()
    if quantiles is not None:
        return [STAND_IN_TIME_MS] * len(quantiles)
    return [STAND_IN_TIME_MS] if options.get("return_mode") == "all" else STAND_IN_TIME_MS
