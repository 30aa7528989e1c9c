# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
import os
from pathlib import Path


def get_guided_tuning_path():
    return Path(os.environ.get("GT_TUNING") or Path(__file__).parents[3] / "external/guided-tuning")


if os.environ.get("DOUBLE_METRIX"):
    del get_guided_tuning_path
