# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`docs/results/cuda.md` says what the records say."""

from __future__ import annotations

import cuda_page


def test_the_page_follows_from_the_records() -> None:
    assert cuda_page.PAGE.read_text() == cuda_page.render(), "python benchmarks/cuda_page.py"
