# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""HIP and CUDA: in what they differ, as far as it is more than names in device code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from intelliperf_swizzle.frontends.cpp.compile import cuda_toolchain, toolchain
from intelliperf_swizzle.frontends.cpp.compile.toolchain import Toolchain
from intelliperf_swizzle.hardware.target import Backend


@dataclass(frozen=True)
class Flavour:
    """C++ for the GPUs of one vendor.

    Attributes:
        name: `HIP` or `CUDA`.
        compiler: as a user calls it.
        backend: of the targets that its programs run on.
        default_target: where no GPU is named and none is there.
        vendors: what the vendor's own software is called.
        sources: of files that are of this kind alone.
        keeping: why a build may not have kept bitcode.
        find_toolchain: what its programs are built and run with.
    """

    name: str
    compiler: str
    backend: Backend
    default_target: str
    vendors: str
    sources: tuple[str, ...]
    keeping: str
    find_toolchain: Callable[[Mapping[str, str]], Toolchain]


HIP = Flavour(
    name="HIP",
    compiler="hipcc",
    backend="hip",
    default_target="mi300x",
    vendors="ROCm",
    sources=(".hip",),
    keeping="CCC_OVERRIDE_OPTIONS must reach clang, which must be 18 or newer and not link device "
    "code itself (-fgpu-rdc)",
    find_toolchain=toolchain.find_toolchain,
)
CUDA = Flavour(
    name="CUDA",
    compiler="nvcc",
    backend="cuda",
    default_target="h200",
    vendors="the CUDA toolkit",
    sources=(".cu", ".cuh"),
    keeping="the build must call `nvcc` by this name or as $CUDA_PATH/bin/nvcc, not by another "
    "path, so that it finds ours",
    find_toolchain=cuda_toolchain.find_toolchain,
)
FLAVOURS: Mapping[str, Flavour] = {one.name: one for one in (HIP, CUDA)}
