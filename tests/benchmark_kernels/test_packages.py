# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A sample of `benchmarks/package_coverage.py`: packages that happen to be installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from package_coverage import PACKAGES, look_at, record_of

MODULES = {"sageattention": "sageattention", "liger-kernel": "liger_kernel", "fla-core": "fla"}


@pytest.mark.long
@pytest.mark.parametrize("name", MODULES)
def test_kernels_of_a_public_package_are_recorded_and_traced(tmp_path: Path, name: str) -> None:
    if find_spec(MODULES[name]) is None:
        pytest.skip(f"{name} is not installed")
    found = record_of(PACKAGES[name], [look_at(PACKAGES[name], Path(sys.executable), tmp_path)])
    assert found["ended"] == 0, found["said"]
    assert not found["not_recorded"]
    assert len(found["not_traced"]) <= 0.05 * found["kernels"], found["not_traced"]
