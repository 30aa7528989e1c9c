# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""PyTorch for CPUs that builds extensions as one for CUDA or ROCm does, by the stand-in."""

import os

import torch

HOME, HIP = os.environ["FAKE_CUDA"], os.environ["FAKE_LANGUAGE"] == "HIP"
torch.version.cuda, torch.version.hip = (None, "6.4.0") if HIP else ("13.0", None)
from torch.utils import cpp_extension  # noqa: E402

cpp_extension.CUDA_HOME = cpp_extension.ROCM_HOME = HOME  # which PyTorch for CPUs does not look for
cpp_extension.IS_HIP_EXTENSION = HIP
