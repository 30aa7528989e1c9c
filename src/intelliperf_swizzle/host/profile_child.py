# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In a process of its own: one profile by the host.

The host may leave the process whenever something fails, and says why on its output.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intelliperf_swizzle.host.profiler import KernelReading, readings
from intelliperf_swizzle.host.requirements import probe


def profile(request: Mapping[str, Any], _: Path) -> tuple[KernelReading, ...]:
    """Builds and profiles the application of the request."""
    arguments = dict(request)
    top_n = arguments.pop("top_n")
    application = probe().application(instrument_command=None, unittest_command=None, **arguments)
    built = application.build()
    if built is not None and not built[0]:
        sys.exit(f"the build command failed:\n{built[1]}")
    return readings(application.profile(top_n=top_n))
