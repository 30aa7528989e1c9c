# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the parent tells the application's processes: a file in the folder of the capture."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

FOLDER_VARIABLE = "INTELLIPERF_SWIZZLE_CAPTURE"
"""Environment variable that names the folder; without it the hook does nothing."""

_FILE = "settings.json"


@dataclass(frozen=True)
class Settings:
    """Whether recorded launches are also executed.

    Attributes:
        compute: `always`, `never`, or `auto`: as far as the budget goes.
        compute_budget_seconds: for all launches together.
        deadline: when the application will be ended, on the monotonic clock of the machine.
    """

    compute: Literal["auto", "always", "never"]
    compute_budget_seconds: float
    deadline: float


def save_settings(settings: Settings, folder: Path) -> None:
    """Write them before the application starts."""
    (folder / _FILE).write_text(json.dumps(asdict(settings)), encoding="utf-8")


def load_settings(folder: Path) -> Settings:
    """Read them in the application."""
    return Settings(**json.loads((folder / _FILE).read_text(encoding="utf-8")))
