# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The history survives a kill at any byte and is resumed by the same run only."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intelliperf_swizzle.errors import HistoryError, SwizzleError
from intelliperf_swizzle.history import History
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Measurement,
    Validation,
    Verdict,
    Witness,
)

RUN = {"kernel": "matmul", "seed": 0}


def header(**changed: Any) -> bytes:
    return json.dumps({"schema": 3, "run": RUN, **changed}).encode() + b"\n"


def attempts() -> list[Attempt]:
    refused = Attempt(
        1,
        Candidate("pid = 0", "all to one", "user", rationale="ünïcode\nand lines"),
        Verdict(
            "not a permutation",
            "tile 0 is computed by programs 0 and 1",
            Witness((0, 1, 0), (1, 2), 7, ((3, 9),), 0.125),
        ),
    )
    measured = Attempt(
        2,
        Candidate("pid = pid", "identity", "pattern"),
        Verdict("no difference", "41.0 %"),
        fingerprint="ab" * 16,
        screened_l2_hit_rate=0.4,
        measurement=Measurement("model", "mi300x", 0.41, l2_hit_rate_per_domain=(0.4, 0.42)),
        validation=Validation("all-tiles", 1, 64, 64, True),
        diff="--- a\n+++ b\n",
    )
    return [refused, measured]


def test_what_was_recorded_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    history = History(path, RUN)
    for attempt in attempts():
        history.record(attempt)
    history.close()
    assert list(History(path, RUN, resume=True).attempts) == attempts()


def test_the_last_word_on_an_attempt_counts(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl", RUN)
    first = history.record(replace(attempts()[1], number=1))
    history.record(replace(first, verdict=Verdict("slower", "memory time grows")))
    history.close()
    [resumed] = History(tmp_path / "history.jsonl", RUN, resume=True).attempts
    assert resumed.verdict.kind == "slower"


def test_a_file_cut_at_any_byte_is_resumed_with_its_whole_lines(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    history = History(whole, RUN)
    for attempt in attempts():
        history.record(attempt)
    history.close()
    content = whole.read_bytes()
    first = content.index(b"\n") + 1
    path = tmp_path / "cut.jsonl"
    for cut in range(first, len(content) + 1, 7):
        path.write_bytes(content[:cut])
        resumed = History(path, RUN, resume=True)
        assert len(resumed.attempts) == content[first:cut].count(b"\n")
        number = resumed.next_number()
        resumed.record(replace(attempts()[1], number=number))
        resumed.close()
        assert History(path, RUN, resume=True).attempts[-1].number == number


def test_a_killed_process_loses_no_finished_attempt(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from intelliperf_swizzle.history import History\n"
        "from intelliperf_swizzle.records import Attempt, Candidate, Verdict\n"
        "history = History(Path(sys.argv[1]), {'kernel': 'matmul', 'seed': 0})\n"
        "for n in range(1, 51):\n"
        "    history.record(Attempt(n, Candidate('pid = pid', 'x', 'user'),"
        " Verdict('screened out', '')))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(History(path, RUN, resume=True).attempts) == 50


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "is not a history"),
        (b"not json\n", ":1 is not a line"),
        (header(schema=1, run=[]), ":1 is not a line of a history of this version: schema: exp"),
        (header(schema=99), "schema: expected 3, got 99"),
        (header(schema=None), "schema: expected 3, got null"),
        (header(run=[]), "run: expected object, got list"),
        (header(run={"version": "9.9"}), "was written by version 9.9, this is None"),
        (header(run={"kernel": "softmax", "seed": 0}), "its kernel differ"),
        (header() + b'{"attempt":{}}\n', ":2 is not a line of a history: attempt.number: missing"),
        (header() + b"[" * 100_000 + b"\n", ":2 is not a line of a history: not JSON: maximum"),
        (header() + b'{"attempt":' + b"9" * 5000 + b"}\n", ":2 is not a line"),
        (header() + b"\n", ":2 is not a line"),
    ],
)
def test_what_is_no_history_of_this_run_is_refused_and_left_alone(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(content)
    with pytest.raises(HistoryError, match=re.escape(says)) as caught:
        History(path, RUN, resume=True)
    assert caught.value.exit_code == 2
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"import triton\n", b"{}\n", b"\xff\xfe", b"\n"])
def test_a_file_that_is_no_history_is_never_overwritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "gemm.py"
    path.write_bytes(content)
    with pytest.raises(HistoryError, match="is not a history"):
        History(path, RUN)
    assert path.read_bytes() == content


def test_what_a_run_leaves_that_is_killed_before_its_first_line_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.touch()
    history = History(path, RUN, resume=True)
    history.record(attempts()[0])
    history.close()
    assert len(History(path, RUN, resume=True).attempts) == 1


def test_a_run_that_begins_anew_replaces_its_history(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    history = History(path, {"kernel": "softmax"})
    history.record(attempts()[0])
    history.close()
    History(path, RUN).close()
    assert History(path, RUN, resume=True).attempts == ()


@pytest.mark.parametrize("resume", [False, True])
def test_two_runs_do_not_write_one_file(tmp_path: Path, resume: bool) -> None:
    path = tmp_path / "history.jsonl"
    first = History(path, RUN)
    first.record(attempts()[0])
    with pytest.raises(HistoryError, match="another run is writing"):
        History(path, RUN, resume=resume)
    first.record(attempts()[1])
    first.close()
    assert list(History(path, RUN, resume=True).attempts) == attempts()


def test_a_full_disk_is_one_clear_error() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with pytest.raises(SwizzleError, match="No space left"):
        History(Path("/dev/full"), RUN)


@pytest.mark.parametrize("kind", ["directory", "pipe", "name with a NUL"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("history\0.jsonl" if "NUL" in kind else "history.jsonl")
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    for resume in (False, True):
        with pytest.raises(HistoryError, match=r"is not a file|embedded null"):
            History(path, RUN, resume=resume)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(drawn=st.data())
def test_a_history_with_other_bytes_is_resumed_or_refused_and_left_alone(
    tmp_path: Path, drawn: st.DataObject
) -> None:
    path = tmp_path / "history.jsonl"
    path.unlink(missing_ok=True)
    history = History(path, RUN)
    for attempt in attempts():
        history.record(attempt)
    history.close()
    content = bytearray(path.read_bytes())
    place = drawn.draw(st.integers(0, len(content)))
    content[place : place + drawn.draw(st.integers(0, 30))] = drawn.draw(
        st.binary(max_size=8) | st.sampled_from([b"\n", b"1e400", b"NaN", b"[" * 3000, b"\\ud800"])
    )
    path.write_bytes(content)
    try:
        resumed = History(path, RUN, resume=True)
    except HistoryError:
        assert path.read_bytes() == content
        return
    resumed.record(replace(attempts()[1], number=resumed.next_number()))
    resumed.close()
    History(path, RUN, resume=True).close()
