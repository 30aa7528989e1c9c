# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Result files follow their published schema and can be read back, whatever their age."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from intelliperf_swizzle.report.decode import DecodeError

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.records import Run
from intelliperf_swizzle.report.read import read_run, run_of
from intelliperf_swizzle.report.result import SCHEMA, result
from intelliperf_swizzle.report.schema import schema_text

PUBLISHED = Path(__file__).parents[2] / "docs" / "result.schema.json"
OLD = Path(__file__).parent / "results" / "schema-1.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(PUBLISHED.read_text()))


def as_written(fields: dict[str, Any]) -> Any:
    return json.loads(json.dumps(fields))


def test_the_published_schema_is_that_of_the_records() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(PUBLISHED.read_text()))
    assert PUBLISHED.read_text() == schema_text(), (
        "write it anew: intelliperf-swizzle report --schema -o docs/result.schema.json"
    )


def test_every_result_follows_the_schema(fields: dict[str, Any]) -> None:
    VALIDATOR.validate(as_written(fields))


def test_a_result_comes_back_as_its_run(shown: Run, fields: dict[str, Any]) -> None:
    assert run_of(as_written(fields)) == shown


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, (dict, list)):
            yield from objects(each)


def test_the_schema_knows_every_key_and_wants_each(run: Run) -> None:
    fields = as_written(result(run, initial="", optimized=""))
    free = [fields["swizzle"]["launch"]["constants"]]
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


def test_a_result_of_schema_1_is_read() -> None:
    run = read_run(OLD)
    fields = json.loads(OLD.read_text())
    assert run.best is not None
    assert run.best.candidate.text == fields["swizzle"]["best"]["text"]
    assert run.best.measurement is not None
    assert 100 * run.best.measurement.l2_hit_rate == pytest.approx(fields["metric_after"], abs=1e-3)
    assert run.picture is None
    assert run.baseline.l2_requests_per_domain is None


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it is not JSON"),
        (b"\xff\xfe\x00", "it is not UTF-8"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[]", "the file is not an object"),
        (b'{"version": "0.3.1", "success": true}', "swizzle is missing"),
        (b'{"swizzle": {"schema": "2"}}', "schema is '2'"),
        (b'{"swizzle": {"schema": 99}}', f"schema 99, this version reads schemas 1 to {SCHEMA}"),
    ],
)
def test_what_is_no_result_is_one_clear_error(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=says) as caught:
        read_run(path)
    assert str(path) in caught.value.fact
    assert caught.value.hint or "UTF-8" in says


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container and key of a JSON value."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(each, (dict, list)):
            yield from places(each)


def test_a_result_damaged_anywhere_is_read_or_refused_and_nothing_else() -> None:
    whole = json.loads(OLD.read_text())
    del whole["swizzle"]["attempts"][1:-1]
    refused = 0
    for part, key in list(places(whole)):
        right = part[key]
        for wrong in (None, "?", -1, [], {}):
            part[key] = wrong
            try:
                run_of(whole)
            except (DecodeError, UsageError):
                refused += 1
        part[key] = right
    run_of(whole)
    assert refused > 300
