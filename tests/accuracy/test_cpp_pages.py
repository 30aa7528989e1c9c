# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`docs/results/cuda.md` and `docs/results/hip.md` say what the records say."""

from __future__ import annotations

import cpp_pages


def test_the_pages_follow_from_the_records() -> None:
    for name, text in cpp_pages.render().items():
        assert (cpp_pages.PAGES / name).read_text() == text, "python benchmarks/cpp_pages.py"
