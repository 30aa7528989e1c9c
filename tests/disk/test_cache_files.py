# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is kept is found again, and is bounded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from intelliperf_swizzle.disk import DiskCache, digest


@pytest.fixture
def kept(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "kept", limit_bytes=40_000)


def test_a_value_is_made_once(kept: DiskCache) -> None:
    made: list[int] = []

    def make() -> int:
        made.append(1)
        return len(made)

    assert [kept.get_or_compute("number", ("a", 1), make) for _ in range(3)] == [1, 1, 1]
    assert kept.get_or_compute("number", ("a", 2), make) == 2
    assert DiskCache(kept.folder).get_or_compute("number", ("a", 1), make) == 1
    assert DiskCache(None).get_or_compute("number", ("a", 1), make) == 3
    assert kept.get_or_compute("other", "b", make, is_final=lambda value: value > 4) == 4
    assert kept.get_or_compute("other", "b", make, is_final=lambda value: value > 4) == 5
    assert kept.get_or_compute("other", "b", make) == 5


def test_a_damaged_entry_is_replaced(kept: DiskCache, tmp_path: Path) -> None:
    assert kept.get_or_compute("number", 1, lambda: 1) == 1
    [entry] = (tmp_path / "kept").iterdir()
    entry.write_bytes(b"\x80")
    assert kept.get_or_compute("number", 1, lambda: 2) == 2
    assert kept.get_or_compute("number", 1, lambda: 3) == 2


def test_the_least_recently_used_go_first(kept: DiskCache, tmp_path: Path) -> None:
    for number in range(4):
        kept.get_or_compute("text", number, lambda: bytes(9_000))
        os.utime(tmp_path / "kept" / f"text-{digest(number)}.pickle", (number, number))
    assert kept.get_or_compute("text", 0, bytes) == bytes(9_000)
    kept.get_or_compute("text", 4, lambda: bytes(9_000))
    assert kept.bytes <= 40_000
    assert [
        kept.get_or_compute("text", number, lambda: b"anew") == b"anew" for number in (0, 1)
    ] == [0, 1]
    kept.get_or_compute("large", 0, lambda: bytes(11_000))
    assert kept.get_or_compute("large", 0, lambda: b"anew") == b"anew"


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    kept = DiskCache(tmp_path / "kept")
    assert [kept.get_or_compute("number", 1, lambda n=n: n) for n in range(2)] == [0, 1]
    assert kept.bytes == 0
