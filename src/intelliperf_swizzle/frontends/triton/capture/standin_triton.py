# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What Triton answers to host code that sizes a grid: its driver, and a compiled kernel."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING

from triton.backends.compiler import GPUTarget

from intelliperf_swizzle.frontends.triton.capture.calls import JitFunction, LaunchGrid
from intelliperf_swizzle.frontends.triton.capture.settings import Gpu
from intelliperf_swizzle.frontends.triton.interpreter.fixes import fix_interpreter
from intelliperf_swizzle.frontends.triton.ir.driver import StandInCompiled, StandInDriver

if TYPE_CHECKING:
    import torch

_REGISTERS = 64
_SHARED_BYTES = 8192
"""Of a kernel that nobody compiled: assumed, in the middle of what kernels use."""


def install(gpu: Gpu) -> None:
    """Fix the interpreter, and let the driver and the autotuner answer without a GPU."""
    from triton.runtime.autotuner import Autotuner

    fix_interpreter(_Driver(gpu))
    Autotuner._bench = lambda self, *_, **__: [1.0, 1.0, 1.0]  # the first configuration wins


class Compiled(StandInCompiled):
    """What a launch or a warm-up returns; it can be launched itself.

    Args:
        kernel: the jit function.
        options: keyword arguments of the launch, constexprs among them.
    """

    def __init__(self, kernel: JitFunction, options: dict[str, object]) -> None:
        super().__init__()
        self._kernel = kernel
        self._options = options
        self.n_regs = _REGISTERS
        self.metadata = types.SimpleNamespace(  # type: ignore[assignment]
            name=kernel.fn.__name__,
            shared=_SHARED_BYTES,
            num_warps=options.get("num_warps", 4),
            num_stages=options.get("num_stages", 2),
            num_ctas=1,
        )

    def _init_handles(self) -> None:
        """Load the binary; there is none."""

    def __getitem__(self, grid: LaunchGrid) -> Callable[..., object]:
        def launch(*args: object, **_: object) -> object:
            given = self._kernel.arg_names[: len(args)]
            others = {k: v for k, v in self._options.items() if k not in given}
            return self._kernel.run(*args, grid=grid, warmup=False, **others)

        return launch


class _Driver(StandInDriver):
    """The stand-in driver, as an application with torch sees it."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__()
        self._gpu = gpu

    def get_current_target(self) -> GPUTarget:
        return GPUTarget(self._gpu.backend, self._gpu.arch, self._gpu.warp_size)

    def get_active_torch_device(self) -> torch.device:
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> object:
        import torch

        return torch.cuda

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {
            **super().get_device_properties(device),
            "max_shared_mem": self._gpu.shared_bytes,
            "multiprocessor_count": self._gpu.compute_units,
            "warpSize": self._gpu.warp_size,
            "max_threads_per_sm": 2048,
        }
