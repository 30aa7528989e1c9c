# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A kernel's source: where it reads its program id, a swizzle put there, the kernel compiled."""

from intelliperf_swizzle.frontends.triton.source.build import build
from intelliperf_swizzle.frontends.triton.source.splice import edit, splice
