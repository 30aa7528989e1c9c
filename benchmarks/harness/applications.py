# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The kernels of the paper's tables, as applications; without arguments they have its sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TARGET = "mi300x"


@dataclass(frozen=True)
class Application:
    """One kernel at one size.

    Attributes:
        name: in tables.
        script: in `benchmarks/kernels/`.
        arguments: of the script.
        kernel: the one of its kernels that is meant, None = the one with the most to gain.
    """

    name: str
    script: str
    arguments: tuple[str, ...] = ()
    kernel: str | None = None

    def inputs(self, target: str = TARGET, **more: Any) -> Mapping[str, Any]:
        """An item of work on it."""
        kernel = {} if self.kernel is None else {"kernel": self.kernel}
        return {
            "application": f"kernels/{self.script}.py",
            "arguments": list(self.arguments),
            "target": target,
            **kernel,
            **more,
        }


PAPER = (
    Application("GEMM, stream-K", "gemm_stream_k"),
    Application("GEMM, tiled", "gemm"),
    Application("fused elementwise", "elementwise"),
    Application("layer norm", "layer_norm"),
    Application("softmax", "softmax"),
    Application("SpMV", "spmv"),
    Application("transpose", "transpose"),
    Application("Black-Scholes", "black_scholes"),
    Application("FDTD 2D", "fdtd_2d"),
    Application("Smith-Waterman", "smith_waterman"),
    Application("stencil 2D", "stencil_2d"),
)
"""The ten kernels of SwizzlePerf (arXiv 2508.20258), GEMM in both forms."""

ATTENTION = Application("attention", "attention")


def named(name: str, among: Sequence[Application] = (*PAPER, ATTENTION)) -> Application:
    """The application of that name in tables."""
    [one] = [application for application in among if application.name == name]
    return one
