# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the child of `printed` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from intelliperf_swizzle.frontends.triton.ir.compile import ttir_of


def ttir_of_each(request: Any, folder: Path) -> list[str]:
    launches, edits, general, raw = request
    return [
        ttir_of(launch, edits=edit, general=general, raw=raw)
        for launch in launches
        for edit in edits
    ]
