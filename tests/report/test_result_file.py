# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Result files follow their published schema and can be read back."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intelliperf_swizzle.codec import dumps
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import RecordError, UsageError
from intelliperf_swizzle.records import Run
from intelliperf_swizzle.report.files import (
    REPORT_FORMATS,
    SCHEMA,
    read_run,
    result,
    run_of,
    write_application,
)
from intelliperf_swizzle.report.pages import markdown

PUBLISHED = Path(__file__).parents[2] / "docs" / "result.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(PUBLISHED.read_text()))


def as_written(fields: dict[str, Any]) -> Any:
    return json.loads(json.dumps(fields))


def test_every_result_follows_the_schema(fields: dict[str, Any]) -> None:
    VALIDATOR.validate(as_written(fields))


def test_a_result_comes_back_as_its_run(shown: Run, fields: dict[str, Any]) -> None:
    assert run_of(as_written(fields)) == shown


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            yield from objects(inner)


def test_the_schema_knows_every_key_and_wants_each(run: Run) -> None:
    fields = as_written(result(run, initial="", optimized=""))
    alternatives = [
        *fields["swizzle"]["alternatives"]["ranked"],
        *fields["swizzle"]["alternatives"]["arguments"],
    ]
    free = [
        fields["swizzle"]["constants"],
        *(alternative["arguments"] for alternative in alternatives),
    ]
    for part in objects(fields):
        if part in free:
            continue
        part["surplus"] = 1
        assert not VALIDATOR.is_valid(fields)
        del part["surplus"]
        for name, value in list(part.items())[:3]:
            del part[name]
            assert not VALIDATOR.is_valid(fields), name
            part[name] = value
    VALIDATOR.validate(fields)


def test_a_modelled_rate_above_one_or_a_zero_for_what_was_not_measured_is_no_result(
    run: Run,
) -> None:
    for change in ({"metric_before": 101}, {"time_before_ms": "0"}, {"metric": "l2"}):
        assert not VALIDATOR.is_valid(as_written(result(run, initial="", optimized="") | change))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not JSON at 1:1"),
        (b"\xff\xfe\x00", "byte 0 is not UTF-8"),
        (b"[" * 100_000, "not JSON: maximum recursion depth"),
        (b'{"swizzle": {"seed": ' + b"9" * 5000 + b"}}", "not JSON: Exceeds the limit"),
        (b'{"swizzle": NaN}', "not JSON: NaN is not a JSON number"),
        (b"[]", "the value: expected object, got list"),
        (b'{"version": "0.3.1"}', "formula: missing"),
        (b'{"swizzle": {"schema": 5}}', f"schema 5, this version reads schema {SCHEMA}"),
        (b'{"swizzle": {"schema": 1e400}}', "version: missing"),
    ],
)
def test_what_is_no_result_is_one_clear_error(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=says) as caught:
        read_run(path)
    assert str(path) in caught.value.fact
    assert caught.value.hint
    assert caught.value.exit_code == 2


def places(value: Any, name: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Every container and key of a JSON value, and its name."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key, f"{name}.{key}"
        if isinstance(inner, (dict, list)):
            yield from places(inner, f"{name}.{key}")


@pytest.mark.parametrize(
    ("place", "wrong", "says"),
    [
        ("grid[1]", "4", "expected int, got str"),
        ("grid", [1, 1, 1, 1], "expected 3 items, got 4"),
        ("attempts[2].proof.holds", False, "expected True, got False"),
        ("attempts[0].surplus", 1, "unknown field"),
        ("attempts[0].number", True, "expected int, got bool"),
        ("attempts[1].verdict", "best", "expected 'better', "),
        ("attempts[1].proof", [], "expected object, got list"),
        ("baseline.l2_hit_rate", 1.5, "expected 0 to 1, got 1.5"),
        ("seed", 10**30, "expected an int of 64 bits, got one of 100"),
        ("notes[0]", "\ud800", "expected text, got the lone surrogate '\\ud800' at 0"),
        ("best.number", 10**6, "expected that of a measured attempt, got 1000000"),
    ],
)
def test_a_damaged_value_is_named_by_its_place(run: Run, place: str, wrong: Any, says: str) -> None:
    fields = as_written(result(replace(run, notes=("a note",)), initial="", optimized=""))
    part: Any = fields["swizzle"]
    *way, last = re.findall(r"\w+", place)
    for step in way:
        part = part[int(step) if step.isdigit() else step]
    part[int(last) if last.isdigit() else last] = wrong
    with pytest.raises(RecordError) as caught:
        run_of(fields)
    assert caught.value.fact.startswith(f"swizzle.{place}: {says}")


def test_a_result_damaged_anywhere_is_shown_or_refused_and_nothing_else(run: Run) -> None:
    whole = as_written(result(run, initial="", optimized=""))
    del whole["swizzle"]["attempts"][1:-1]
    whole["swizzle"]["best"] = None
    alike: dict[str, tuple[Any, Any]] = {}  # of each list, one item
    for part, key, name in places(whole):
        alike.setdefault(re.sub(r"\d+", "[]", name), (part, key))
    faces = itertools.cycle(REPORT_FORMATS.values())
    refused = 0
    for part, key in alike.values():
        right = part[key]
        for wrong in (None, True, "?", "\ud800", -1, 0, 10**25, 1e308, [], {}):
            part[key] = wrong
            try:
                shown = run_of(whole)
            except (RecordError, UsageError):
                refused += 1
                continue
            next(faces)(shown).encode()
        part[key] = right
    run_of(whole)
    assert refused > 7 * len(alike)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(drawn=st.data())
def test_a_result_file_with_other_bytes_is_shown_or_refused(
    outcome: Any, tmp_path: Path, drawn: st.DataObject
) -> None:
    content = bytearray(dumps(result(outcome.run, initial="", optimized="")).encode())
    place = drawn.draw(st.integers(0, len(content)))
    content[place : place + drawn.draw(st.integers(0, 40))] = drawn.draw(
        st.binary(max_size=8) | st.sampled_from([b'"', b"1e400", b"-NaN", b"[" * 3000, b"\\ud800"])
    )
    path = tmp_path / "result.json"
    path.write_bytes(content)
    try:
        shown = read_run(path)
    except UsageError:
        return
    markdown(shown).encode()


def test_of_kernels_that_no_patch_can_change_no_patch_is_written(tmp_path: Path) -> None:
    (tmp_path / "best.patch").write_text("of an earlier run")
    edit = Edit({}, {}, {}, "", ({"kernel": "both"},))
    [text] = write_application(tmp_path, edit)
    assert text == f"swizzles for `apply`: {tmp_path / 'swizzles.json'}"
    assert not (tmp_path / "best.patch").exists()
