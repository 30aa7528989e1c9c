# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Builds an extension as PyTorch does and launches its kernels; prints sums of what they leave."""

import ctypes
from pathlib import Path

from gpu_torch import HOME, cpp_extension

library = cpp_extension.load(
    "scaled",
    [str(Path(__file__).with_name("scale.cu"))],
    extra_ldflags=[f"-L{HOME}"],
    with_cuda=True,
    is_python_module=False,
)
ctypes.CDLL(library).run()
