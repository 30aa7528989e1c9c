# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The words of a prompt: Markdown files in this folder, or beside the user's own formula."""

from __future__ import annotations

from pathlib import Path

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.formula import Formula


def words(formula: Formula, part: str) -> str:
    """The text of one part of the formula's prompts; its files one after the other.

    Raises:
        UsageError: there is no such file.
    """
    return "\n\n".join(_read(formula, name) for name in formula.prompts[part])


def _read(formula: Formula, name: str) -> str:
    for folder in (formula.folder, Path(__file__).parent):
        path = folder / name
        if path.is_file():
            return path.read_text(encoding="utf-8").strip()
    raise UsageError(
        f"formula `{formula.name}` names a prompt `{name}` that does not exist",
        hint=f"put it into {formula.folder}",
    )
