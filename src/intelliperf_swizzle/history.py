# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The persistent bottleneck history buffer: append-only JSON lines, one attempt per line.

The first line says which run this is; each further line is an attempt as it then stood, so an
attempt that was screened and later measured stands twice and the last line counts. A line is
written with one system call, so a killed run loses at most the line it was writing. A run holds a
lock on its file, and a file that is not a history is never written to.
"""

import fcntl
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from intelliperf_swizzle import stopping
from intelliperf_swizzle.codec import decode, dumps, encode, loads
from intelliperf_swizzle.errors import HistoryError, RecordError, SwizzleError
from intelliperf_swizzle.records import Attempt

SCHEMA: Final = 3
"""Grows when the shape of the lines changes."""

_LONGEST_HEADER = 16 << 20

_ANEW = "start over without --resume, or name another file with --history"
_ELSEWHERE = "name another file with --history"


@dataclass(frozen=True)
class Header:
    """The first line: which run this is."""

    schema: Literal[3]
    run: Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """Each further line: an attempt as it then stood."""

    attempt: Attempt


class History:
    """Attempts of one run, in memory and on disk.

    Args:
        path: the JSONL file; its folder exists.
        identity: what makes the run what it is (kernel, launches, target, profiler, …); a file
            with another identity is not resumed. Its `application`, a place, may differ.
        resume: go on with the file's attempts instead of starting over.

    Raises:
        HistoryError: the file cannot be read, is not a history, belongs to another run or is being
            written by one.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], *, resume: bool = False):
        self.path = path
        self._attempts: dict[int, Attempt] = {}
        resume = resume and path.exists()
        self._file = _open(path)
        try:
            _lock(path, self._file)
            complete = 0
            if resume:
                self._attempts, complete = _read(path, identity)
            else:
                _check_replaceable(path)
            if path.is_file():
                self._file.truncate(complete)
            if not complete:
                self._write(Header(SCHEMA, identity))
        except SwizzleError:
            self._file.close()
            raise

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """All attempts by number, each as it stands now."""
        return tuple(self._attempts[number] for number in sorted(self._attempts))

    def current(self, attempt: Attempt) -> Attempt:
        """The attempt as it stands now."""
        return self._attempts[attempt.number]

    def next_number(self) -> int:
        """The number of the next new attempt; the first is 1."""
        return max(self._attempts, default=0) + 1

    def record(self, attempt: Attempt) -> Attempt:
        """Appends an attempt, or what has become of it since; returns it."""
        stopping.check()  # what a signal has cut off says nothing of the attempt
        if self._attempts.get(attempt.number) == attempt:
            return attempt
        self._attempts[attempt.number] = attempt
        self._write(Line(attempt))
        return attempt

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _write(self, line: Header | Line) -> None:
        encoded = dumps(encode(line)).encode() + b"\n"
        try:
            written = self._file.write(encoded)
        except OSError as error:
            raise SwizzleError(f"cannot write {self.path}: {error.strerror}") from error
        if written != len(encoded):
            raise SwizzleError(f"cannot write {self.path}: the disk is full")


def read_identity(path: Path) -> Mapping[str, Any]:
    """What made a history's run what it was; empty if there is no history."""
    try:
        return _header(_first_line(path)).run
    except (OSError, RecordError):
        return {}


def _first_line(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline(_LONGEST_HEADER)


def _header(line: bytes) -> Header:
    return decode(Header, loads(line))


def _read(path: Path, identity: Mapping[str, Any]) -> tuple[dict[int, Attempt], int]:
    """The attempts of a file, and the length of its complete part in bytes.

    A run that is killed at once leaves an empty file.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise HistoryError(f"cannot read {path}: {error.strerror}") from error
    if not content:
        return {}, 0
    complete = content.rfind(b"\n") + 1
    if not complete:
        raise HistoryError(f"{path} is not a history", hint=_ELSEWHERE)
    header, *lines = content[:complete].split(b"\n")[:-1]
    _check_header(path, header, identity)
    attempts: dict[int, Attempt] = {}
    for number, line in enumerate(lines, 2):
        try:
            attempt = decode(Line, loads(line)).attempt
            if not 1 <= attempt.number <= len(attempts) + 1:
                raise RecordError(
                    f"attempt.number: expected 1 to {len(attempts) + 1}, got {attempt.number}"
                )
        except RecordError as error:
            raise HistoryError(
                f"{path}:{number} is not a line of a history: {error.fact}", hint=_ANEW
            ) from error
        attempts[attempt.number] = attempt
    return attempts, complete


def _open(path: Path) -> io.FileIO:
    """The file to append to; a device is one too."""
    try:
        if path.exists() and not (path.is_file() or path.is_char_device()):
            raise HistoryError(f"{path} is not a file", hint=_ELSEWHERE)
        return path.open("ab", buffering=0)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise HistoryError(f"cannot write {path}: {reason}", hint=_ELSEWHERE) from error


def _lock(path: Path, file: io.FileIO) -> None:
    """Keeps other runs from the file until it is closed, where the file system can."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise HistoryError(f"another run is writing {path}", hint=_ELSEWHERE) from error
    except OSError:
        return


def _check_replaceable(path: Path) -> None:
    """Refuses to start over in a file that holds something else than a history."""
    if not path.is_file():
        return
    try:
        if first := _first_line(path):
            _header(first)
    except RecordError as error:
        raise HistoryError(
            f"{path} is not a history of this version ({error.fact}), so it is left unchanged",
            hint=_ELSEWHERE,
        ) from error


def _check_header(path: Path, line: bytes, identity: Mapping[str, Any]) -> None:
    try:
        header = _header(line)
    except RecordError as error:
        raise HistoryError(
            f"{path}:1 is not a line of a history of this version: {error.fact}", hint=_ELSEWHERE
        ) from error
    version = header.run.get("version")
    if version != identity.get("version"):
        raise HistoryError(
            f"{path} was written by version {version!s:.40}, this is {identity.get('version')}: "
            "numbers of two versions are not mixed",
            hint=_ANEW,
        )
    stated = decode(Header, loads(dumps(encode(Header(SCHEMA, identity))))).run
    differing = [key for key, value in stated.items() if header.run.get(key) != value]
    if differing := [key for key in differing if key != "application"]:
        raise HistoryError(
            f"{path} belongs to another run: its {', '.join(differing)} differ", hint=_ANEW
        )
