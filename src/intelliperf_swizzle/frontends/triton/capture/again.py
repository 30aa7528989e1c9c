# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Record an application, or use what an earlier run has recorded if it would be the same again.

It would if the command, the folder it runs in, its environment and all that it opened (`opened`)
are unchanged. An application that also depends on the time, or on what lies elsewhere on a network,
cannot be told from one that does not.
"""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from intelliperf_swizzle.children import prepare
from intelliperf_swizzle.frontends.triton.capture import opened
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.capture.settings import Gpu, gpu_told
from intelliperf_swizzle.frontends.triton.interpreter import CHILD_ENVIRONMENT
from intelliperf_swizzle.kept import digest
from intelliperf_swizzle.launch_files import load_launch, save_launch
from intelliperf_swizzle.records import Capture, Launch

if TYPE_CHECKING:
    from intelliperf_swizzle.frontends.ports import RecordRequest

_TRACER = "intelliperf_swizzle.frontends.triton.tracing.interpret:trace_here"
SAME_ANYWAY = (
    *("COLORTERM", "COLUMNS", "DBUS_", "DISPLAY", "INTELLIPERF_SWIZZLE_", "LINES", "OLDPWD", "PWD"),
    *("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "SHLVL", "SSH_", "TERM", "TMUX", "VSCODE_"),
    *("WINDOWID", "XDG_RUNTIME_DIR", "XDG_SESSION"),
)
"""Beginnings of names of variables that differ from shell to shell and decide no launch."""


def record(request: RecordRequest) -> Capture:
    """Records an application; raises as `capture` does.

    What an earlier run has kept is used in place of that, and kept if `request.kept` keeps. On a
    GPU nothing is.
    """
    program = shutil.which(request.command[0], path=request.environment.get("PATH"))
    unseen = request.device is not None or program is None or not _is_python(Path(program))
    if unseen or request.kept.folder is None:
        return _capture_and_prepare(request)
    gpu = gpu_told(request.target)
    run = f"record-{digest(_decided_by(request, str(program)))}"
    for entry in request.kept.find(run):
        with suppress(OSError, EOFError, pickle.UnpicklingError):
            again = _Record.load(entry)
            if again.holds_for(gpu):
                return again.unpack(entry, request.folder)
    recorded = _capture_and_prepare(request, note_opened=True)
    made = _made(recorded, gpu)
    if made is not None:
        request.kept.keep(f"{run}-{digest(gpu)}", lambda folder: made.save(recorded, folder))
    return recorded


def _capture_and_prepare(request: RecordRequest, *, note_opened: bool = False) -> Capture:
    """Captures, while what traces the launches afterwards is imported."""
    prepare(_TRACER, CHILD_ENVIRONMENT)
    return capture(request, note_opened=note_opened)


def _is_python(program: Path) -> bool:
    """Whether a program is a Python or a Python's script: what another one reads is not seen."""
    with program.open("rb") as stream:
        first = stream.readline(256)
    return b"python" in first if first.startswith(b"#!") else program.name.startswith("python")


def _decided_by(request: RecordRequest, program: str) -> object:
    """What decides a recording and is known before it."""
    variables = sorted(
        (name, value)
        for name, value in request.environment.items()
        if name != "_" and not name.startswith(SAME_ANYWAY)
    )
    return (
        tuple(request.command),
        str(Path(request.cwd).resolve()),
        opened.state_now("status", os.path.realpath(program)),
        variables,
        (request.quiet_seconds, request.limit_seconds, request.compute),
    )


@dataclass(frozen=True)
class _Record:
    """What a recording was made of.

    Attributes:
        capture: without the launches.
        states: of what was opened.
        told: fields of the GPU that it asked for, and what it was told.
    """

    capture: Capture
    states: tuple[opened.State, ...]
    told: Mapping[str, object]

    def holds_for(self, gpu: Gpu) -> bool:
        """Whether it would be the same again."""
        same = all(getattr(gpu, field) == value for field, value in self.told.items())
        return same and opened.unchanged(self.states)

    def save(self, recorded: Capture, folder: Path) -> None:
        """Writes it with its launches and the contents of their storages."""
        for number, launch in enumerate(recorded.launches):
            _save_with_contents(launch, folder, number)
        (folder / "record.pickle").write_bytes(pickle.dumps(self))

    @staticmethod
    def load(folder: Path) -> _Record:
        """Reads it; the launches stay where they are."""
        record: _Record = pickle.loads((folder / "record.pickle").read_bytes())
        return record

    def unpack(self, entry: Path, folder: Path) -> Capture:
        """The capture in a folder of its own: the entry may be removed while it is used."""
        shutil.copytree(entry, folder, copy_function=_link_or_copy, dirs_exist_ok=True)
        launches = tuple(load_launch(path) for path in sorted((folder / "launches").glob("*")))
        return replace(self.capture, launches=launches, folder=folder, again=True)


def _made(recorded: Capture, gpu: Gpu) -> _Record | None:
    """What is kept of a recording; None if it may not be used again."""
    if recorded.exit_code != 0:
        return None
    noted = opened.read_notes(str(recorded.folder))
    if noted is None:
        return None
    states, asked = noted
    told = {field: getattr(gpu, field) for field in asked}
    return _Record(replace(recorded, launches=()), states, told)


def _save_with_contents(launch: Launch, folder: Path, number: int) -> None:
    storages = {}
    for key, storage in launch.storages.items():
        if storage.contents is not None:
            place = folder / "contents" / Path(storage.contents).name
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                _link_or_copy(storage.contents, place)
            storage = replace(storage, contents=str(place))
        storages[key] = storage
    (folder / "launches").mkdir(parents=True, exist_ok=True)
    save_launch(replace(launch, storages=storages), folder / "launches" / f"{number:06}.json")


def _link_or_copy(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """A second name of a file that nobody writes to, or a copy on another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
