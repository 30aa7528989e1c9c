# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How the model compares with hardware counters; `benchmarks/model_accuracy.py` writes the file."""

from __future__ import annotations

import json
from pathlib import Path

from intelliperf_swizzle.codec import decode
from intelliperf_swizzle.records import Accuracy

COMPARED = Path(__file__).with_name("accuracy.json")
MATRICES, OTHERS = "kernels that multiply matrices", "other kernels"
"""The kinds of kernels that are told apart."""


def accuracy_of(target: str, *, multiplies: bool) -> Accuracy | None:
    """What is known of a GPU and kernels that multiply matrices, or do not; None = nothing."""
    known = json.loads(COMPARED.read_text(encoding="utf-8")).get(target, {})
    of = known.get(MATRICES if multiplies else OTHERS)
    return decode(Accuracy, of) if of else None
