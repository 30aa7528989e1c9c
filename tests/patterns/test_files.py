# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Pattern and swizzle files: what is read, what is refused, and with which message."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from intelliperf_swizzle.errors import LanguageError, UsageError
from intelliperf_swizzle.formulas import load_pattern, load_swizzle


def test_a_minimal_swizzle_file(tmp_path: Path) -> None:
    path = tmp_path / "reverse.yaml"
    path.write_text("text: pid = num_pids - 1 - pid\n")
    swizzle = load_swizzle(path)
    assert (swizzle.name, swizzle.text) == ("reverse", "pid = num_pids - 1 - pid\n")
    assert swizzle.bind() == swizzle.text


def test_a_stream_is_read_like_a_file() -> None:
    swizzle = load_swizzle(io.StringIO("name: mine\nsource: me\ntext: |\n  pid = pid\n"))
    assert (swizzle.name, swizzle.source, swizzle.condition) == ("mine", "me", None)


def test_statements_alone_are_a_swizzle(tmp_path: Path) -> None:
    path = tmp_path / "reverse.txt"
    path.write_text("\n# from the last tile\nlast = num_pids - 1\npid = last - pid")
    swizzle = load_swizzle(path)
    assert (swizzle.name, swizzle.parameters) == ("reverse", {})
    assert swizzle.bind() == path.read_text() + "\n"


@pytest.mark.parametrize(
    ("content", "error", "reason"),
    [
        ("- a\n- b\n", UsageError, "is not a swizzle: a mapping is expected"),
        ("pid pid", UsageError, "is not a swizzle: a mapping is expected"),
        ("# mine\npid = pid / 2", LanguageError, "2:7: `/` is not part of the swizzle language"),
        ("", UsageError, "is not a swizzle: a mapping is expected"),
        ("a: [", UsageError, "is not YAML"),
        ("text: !!python/object/apply:os.getcwd []", UsageError, "is not YAML"),
        ("text: 3", UsageError, "text: expected str, got int"),
        ("name: a", UsageError, "text: missing"),
        ("text: pid = pid\nnmae: a", UsageError, "nmae: unknown field"),
        ("text: pid = pid\nname: 3", UsageError, "name: expected str, got int"),
        ("text: pid = pid\nparameters: [1]", UsageError, "parameters: expected object, got list"),
        ("text: pid = pid\nparameters: {a: []}", UsageError, "parameter `a` must be a list"),
        ("text: pid = pid\nparameters: {a: b}", UsageError, "parameter `a` must be a list"),
        ("text: pid = pid / 2", LanguageError, "1:7: `/` is not part of the swizzle language"),
        ("text: pid = pid\ncondition: num_pids %", LanguageError, "condition: 1:"),
    ],
)
def test_what_is_no_swizzle_is_refused(
    tmp_path: Path, content: str, error: type[UsageError], reason: str
) -> None:
    path = tmp_path / "swizzle.yaml"
    path.write_text(content)
    with pytest.raises(error) as refusal:
        load_swizzle(path)
    assert reason in refusal.value.fact
    assert refusal.value.fact.startswith(str(path))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_swizzle(tmp_path / "missing.yaml")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="is not text"):
        load_swizzle(binary)


def test_an_unknown_pattern_names_its_neighbour() -> None:
    with pytest.raises(UsageError) as refusal:
        load_pattern("grouped-row")
    assert refusal.value.fact == "no pattern is called `grouped-row`"
    assert "did you mean `grouped-rows`?" in (refusal.value.hint or "")


def test_bind_closes_the_text_with_leading_assignments() -> None:
    pattern = load_pattern("grouped-rows")
    assert pattern.bind(cols=64, group=4) == "cols = 64\ngroup = 4\n" + pattern.text
    assert pattern.bind(cols="cdiv(N, 128)").startswith("cols = cdiv(N, 128)\ngroup = 8\n")


def test_bind_refuses_what_it_cannot_close() -> None:
    pattern = load_pattern("grouped-rows")
    with pytest.raises(UsageError, match="no parameter `width`"):
        pattern.bind(width=3)
    with pytest.raises(LanguageError, match="grouped-rows: 1:"):
        pattern.bind(cols="N / 128")
