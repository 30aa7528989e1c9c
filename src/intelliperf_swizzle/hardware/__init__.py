# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""GPUs as data: specifications with their sources, registry, detection, dispatch order."""

from intelliperf_swizzle.hardware.detect import HERE, Device, Machine, devices, torch_build, unknown
from intelliperf_swizzle.hardware.target import (
    AmdGpu,
    Backend,
    BitRule,
    Build,
    NvidiaGpu,
    Target,
    load_target,
    targets,
    variants,
)
