# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The persistent bottleneck history buffer: append-only JSON lines, one attempt a line.

The first line says which run this is; each further line is an attempt as it then stood, so an
attempt that was screened and later measured stands twice and the last line counts. A line is
written with one system call, so a killed run loses at most the line it was writing. A run holds a
lock on its file, and a file that is no history is never written to.
"""

from __future__ import annotations

import fcntl
import io
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from intelliperf_swizzle import stopping
from intelliperf_swizzle.errors import HistoryError
from intelliperf_swizzle.records import (
    Attempt,
    Candidate,
    Interval,
    Measurement,
    Timing,
    Usage,
    Validation,
    Verdict,
    Witness,
)

SCHEMA = 2
"""2 added measurements of timings and of requests per domain; schema 1 is read without them."""


class History:
    """Attempts of one run, in memory and on disk.

    Args:
        path: the JSONL file; its folder exists.
        identity: what makes the run what it is (kernel, launches, target, profiler, …); a file
            with another identity is not resumed.
        resume: go on with the file's attempts instead of beginning anew.

    Raises:
        HistoryError: the file cannot be read, is not a history, belongs to another run or is being
            written by one.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], *, resume: bool = False):
        self.path = path
        self._attempts: dict[int, Attempt] = {}
        resume = resume and path.exists()
        self._file = path.open("ab", buffering=0)
        try:
            _lock(path, self._file)
            complete = 0
            if resume:
                self._attempts, complete = _read(path, identity)
            else:
                _check_replaceable(path)
            if path.is_file():
                self._file.truncate(complete)
            if not resume:
                self._write({"schema": SCHEMA, "run": dict(identity)})
        except HistoryError:
            self._file.close()
            raise

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """All attempts by number, each as it stands now."""
        return tuple(self._attempts[number] for number in sorted(self._attempts))

    def known(self) -> dict[str, Attempt]:
        """The first attempt of each permutation, by fingerprint."""
        known: dict[str, Attempt] = {}
        for attempt in self.attempts:
            if attempt.fingerprint:
                known.setdefault(attempt.fingerprint, attempt)
        return known

    def next_number(self) -> int:
        """The number of the next new attempt; the first is 1."""
        return max(self._attempts, default=0) + 1

    def record(self, attempt: Attempt) -> Attempt:
        """Appends an attempt, or what has become of it since; returns it."""
        stopping.check()  # what a signal has cut off says nothing of the attempt
        self._attempts[attempt.number] = attempt
        self._write({"attempt": attempt_to_json(attempt)})
        return attempt

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        encoded = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            written = self._file.write(encoded)
        except OSError as error:
            raise HistoryError(f"cannot write {self.path}: {error.strerror}") from error
        if written != len(encoded):
            raise HistoryError(f"cannot write {self.path}: the disk is full")


def attempt_to_json(attempt: Attempt) -> dict[str, Any]:
    """An attempt as JSON; of the proof only what a reader needs (not the mapping itself)."""
    proof = attempt.proof
    return {
        "number": attempt.number,
        **asdict(attempt.candidate),
        "verdict": attempt.verdict.kind,
        "reason": attempt.verdict.reason,
        "witness": asdict(attempt.verdict.witness) if attempt.verdict.witness else None,
        "fingerprint": attempt.fingerprint,
        "proof": None
        if proof is None
        else {
            "holds": True,
            "grids_checked": proof.grids_checked,
            "largest_checked": proof.largest_checked,
            "condition": proof.condition,
        },
        "screened_l2_hit_rate": attempt.screened_l2_hit_rate,
        "predicted": asdict(attempt.predicted) if attempt.predicted else None,
        "measurement": asdict(attempt.measurement) if attempt.measurement else None,
        "validation": asdict(attempt.validation) if attempt.validation else None,
        "diff": attempt.diff,
    }


def attempt_from_json(line: Mapping[str, Any]) -> Attempt:
    """The attempt of a history line; its proof is not kept, only that it held (`fingerprint`)."""
    witness = line["witness"]
    return Attempt(
        number=line["number"],
        candidate=_candidate(line),
        verdict=Verdict(line["verdict"], line["reason"], witness and _witness(witness)),
        fingerprint=line["fingerprint"],
        screened_l2_hit_rate=line["screened_l2_hit_rate"],
        predicted=_measurement(line["predicted"]) if line.get("predicted") else None,
        measurement=line["measurement"] and _measurement(line["measurement"]),
        validation=line["validation"] and Validation(**line["validation"]),
        diff=line["diff"],
    )


def _candidate(line: Mapping[str, Any]) -> Candidate:
    names = ("text", "name", "origin", "rationale", "critique", "idea", "iteration", "flaw")
    usage = line["usage"]
    return Candidate(**{name: line[name] for name in names}, usage=usage and Usage(**usage))


def _witness(fields: Mapping[str, Any]) -> Witness:
    collision = fields["collision"]
    return Witness(
        **{
            **fields,
            "collision": collision and tuple(collision),
            "missing": tuple(fields["missing"]),
            "out_of_range": tuple((index, tile) for index, tile in fields["out_of_range"]),
        }
    )


def _measurement(fields: Mapping[str, Any]) -> Measurement:
    lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    timing = fields.get("timing")
    return Measurement(**{**fields, **lists, "timing": timing and _timing(timing)})


def _timing(fields: Mapping[str, Any]) -> Timing:
    medians = {name: Interval(**fields[name]) for name in ("original_ms", "time_ms", "ratio")}
    ratios = tuple(Interval(**one) for one in fields["ratios"])
    return Timing(**{**fields, **medians, "ratios": ratios})


def _read(path: Path, identity: Mapping[str, Any]) -> tuple[dict[int, Attempt], int]:
    """The attempts of a file, and the length of its complete part in bytes."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise HistoryError(f"cannot read {path}: {error.strerror}") from error
    complete = content.rfind(b"\n") + 1
    attempts: dict[int, Attempt] = {}
    for number, line in enumerate(content[:complete].splitlines(), 1):
        try:
            entry = json.loads(line)
            if number == 1:
                _check_header(path, entry, identity)
            else:
                attempt = attempt_from_json(entry["attempt"])
                attempts[attempt.number] = attempt
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise HistoryError(
                f"{path}:{number} is not a line of a history",
                hint="begin anew without --resume, or name another file with --history",
            ) from error
    if not complete:
        raise HistoryError(f"{path} is empty", hint="begin anew without --resume")
    return attempts, complete


def _lock(path: Path, file: io.FileIO) -> None:
    """Keeps other runs from the file until it is closed, where the file system can."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise HistoryError(
            f"another run is writing {path}", hint="name another file with --history"
        ) from error
    except OSError:
        return


def _check_replaceable(path: Path) -> None:
    """Refuses to begin anew in a file that holds something else than a history."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        first = file.readline()
    try:
        is_history = not first or {"schema", "run"} <= json.loads(first).keys()
    except (ValueError, AttributeError):
        is_history = False
    if not is_history:
        raise HistoryError(
            f"{path} is not a history and would be overwritten",
            hint="name another file with --history",
        )


def _check_header(path: Path, header: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    if header["schema"] not in range(1, SCHEMA + 1):
        raise HistoryError(
            f"{path} has schema {header['schema']}, this version reads schemas 1 to {SCHEMA}",
            hint="upgrade: pip install -U intelliperf-swizzle; or name another file with --history",
        )
    version = header["run"].get("version")
    if version != identity.get("version"):
        raise HistoryError(
            f"{path} was written by version {version}, this is {identity.get('version')}: "
            "numbers of two versions are not mixed",
            hint="begin anew without --resume, or name another file with --history",
        )
    differing = [key for key, value in identity.items() if header["run"].get(key) != value]
    if differing:
        raise HistoryError(
            f"{path} belongs to another run: its {', '.join(differing)} differ",
            hint="begin anew without --resume, or name another file with --history",
        )
