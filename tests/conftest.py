# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Golden files, written anew with `--update-golden`; results, held against their schema.

Tests that need a GPU run with `-m gpu`; all others see none, so they are the same everywhere.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"
RESULT_SCHEMA = Path(__file__).parents[1] / "docs" / "result.schema.json"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden anew")


def pytest_configure(config: pytest.Config) -> None:
    if not _on_gpu(config) and any(Path(one).exists() for one in ("/dev/nvidiactl", "/dev/kfd")):
        os.environ.update(CUDA_VISIBLE_DEVICES="", HIP_VISIBLE_DEVICES="")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("gpu") and not _on_gpu(config):
            item.add_marker(pytest.mark.skip(reason="needs a GPU, and `-m gpu`"))


def _on_gpu(config: pytest.Config) -> bool:
    return str(config.option.markexpr) == "gpu"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the golden file of that name."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return compare


@pytest.fixture
def read_result() -> Callable[[Path | str], Any]:
    """Reads a result, a file or its text, that follows the published schema."""
    import jsonschema

    schema = jsonschema.Draft202012Validator(json.loads(RESULT_SCHEMA.read_text(encoding="utf-8")))

    def read(result: Path | str) -> Any:
        text = result.read_text(encoding="utf-8") if isinstance(result, Path) else result
        fields = json.loads(text)
        schema.validate(fields)
        return fields

    return read
