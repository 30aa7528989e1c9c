# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Builds an extension as PyTorch does and launches its kernels; prints sums of what they leave."""

import ctypes
import os
from pathlib import Path

import torch
from torch.utils import cpp_extension

torch.version.cuda = "13.0"
cpp_extension.CUDA_HOME = os.environ["FAKE_CUDA"]  # which PyTorch for CPUs does not look for
library = cpp_extension.load(
    "scaled",
    [str(Path(__file__).with_name("scale.cu"))],
    extra_ldflags=[f"-L{os.environ['FAKE_CUDA']}"],
    with_cuda=True,
    is_python_module=False,
)
ctypes.CDLL(library).run()
