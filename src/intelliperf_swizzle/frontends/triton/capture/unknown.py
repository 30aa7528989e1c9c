# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, without a GPU: memory whose contents are not what they would be on one.

A launch that was not executed, or a product of torch that was not computed, leaves its output as
it was. What torch makes of such memory is not known either; contents of it are not recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from intelliperf_swizzle.frontends.triton.capture.addresses import Span, span_of
from intelliperf_swizzle.frontends.triton.capture.calls import BoundCall
from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch

_MARK = "_intelliperf_swizzle_unknown"
_OVERWRITES = ("zero_", "fill_", "copy_")
"""Operations of torch that leave nothing of what a tensor held."""
_watching: list[_Watch] = []
