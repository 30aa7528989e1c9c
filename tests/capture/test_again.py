# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A recording is used again if it would be the same, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture import opened
from intelliperf_swizzle.frontends.triton.capture.again import record
from intelliperf_swizzle.frontends.triton.capture.settings import FOLDER_VARIABLE
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.kept import Kept
from intelliperf_swizzle.records import Capture

APPLICATION = """
with open("runs.txt", "a") as runs:
    runs.write("run\\n")
import torch, triton, triton.language as tl
import sizes

@triton.jit
def fill(out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, offsets)

def run(blocks):
    out = torch.zeros(64 * blocks, dtype=torch.int32, device="cuda")
    fill[(blocks,)](out, BLOCK=64)
    print(blocks)

run(sizes.blocks(torch))
"""
"""Each run leaves a line in a file that it does not read."""


class Project:
    """An application, and how often it was run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = folder / "project"
        self.place.mkdir()
        self.write("app.py", APPLICATION)
        self.write("sizes.py", "def blocks(torch): return 3")
        self.kept = Kept(folder / "kept")
        self._records = 0

    def write(self, name: str, text: str) -> None:
        (self.place / name).write_text(text)

    def record(self, target: str = "mi300x", **variables: str) -> Capture:
        self._records += 1
        return record(
            RecordRequest(
                [sys.executable, "app.py"],
                cwd=self.place,
                folder=self.folder / f"records-{self._records}",
                target=load_target(target),
                environment={**os.environ, **variables},
                kept=self.kept,
            )
        )

    @property
    def runs(self) -> int:
        return len((self.place / "runs.txt").read_text().splitlines())


@pytest.mark.long
def test_an_application_is_run_again_if_it_may_launch_something_else(tmp_path: Path) -> None:
    project = Project(tmp_path)
    first = project.record()
    again = project.record("mi355x", SHLVL="7", INTELLIPERF_SWIZZLE_SEED="3")
    assert project.runs == 1, "it asks for nothing that differs between these GPUs"
    assert again.folder == tmp_path / "records-2"
    [launch], [seen] = first.launches, again.launches
    assert seen.grid == launch.grid == (3, 1, 1)
    [contents] = [one.contents for one in seen.storages.values()]
    assert contents is not None
    assert Path(contents).is_relative_to(again.folder)
    assert again.last_lines == ("3",)
    assert (first.again, again.again) == (False, True)
    assert again.notes == first.notes
    project.record(MORE="1")
    assert project.runs == 2
    units = "torch.cuda.get_device_properties(0).multi_processor_count"
    project.write("sizes.py", f"def blocks(torch): return {units}")
    assert [project.record(gpu).launches[0].programs for gpu in ("mi300x", "mi355x")] == [304, 256]
    assert project.runs == 4
    assert [project.record(gpu).launches[0].programs for gpu in ("mi300x", "mi355x")] == [304, 256]
    assert project.runs == 4


SCRIPT = """
import json, os, one
if os.environ.get("LINE"): exec(os.environ["LINE"])
json.load(open("values.json"))
open("out", "w").write("x"); open("out").read(); os.replace("out", "moved"); open("moved").read()
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(SCRIPT)
    (tmp_path / "one.py").write_text("value = 1")
    (tmp_path / "values.json").write_text("[1]")
    return tmp_path


def run(place: Path, line: str = "") -> tuple[opened.State, ...] | None:
    """What a script opens that runs a line of its own."""
    notes = place / "notes"
    notes.mkdir(exist_ok=True)
    (notes / opened.FILE).write_text("")
    startup = Path(opened.__file__).parent / "startup"
    ours = {FOLDER_VARIABLE: str(notes), "PYTHONPATH": str(startup), "LINE": line}
    environment = {**os.environ, **ours}
    subprocess.run([sys.executable, "app.py"], cwd=place, env=environment, check=True)
    noted = opened.read_notes(str(notes))
    return noted and noted[0]


def keep_times(place: Path, name: str, text: str) -> None:
    times = (place / name).stat()
    (place / name).write_text(text)
    os.utime(place / name, ns=(times.st_atime_ns, times.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "its script": lambda place: (place / "app.py").write_text(SCRIPT + "\n"),
    "a module, by its times": lambda place: keep_times(place, "one.py", "value = 2"),
    "a file": lambda place: (place / "values.json").write_text("[2]"),
    "a file is gone": lambda place: (place / "values.json").unlink(),
    "a module before another": lambda place: (place / "json.py").write_text(""),
    "a package before another": lambda place: (place / "json").mkdir(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_what_was_opened_is_seen(place: Path, change: str) -> None:
    states = run(place)
    assert states is not None
    (place / "one.py").touch()
    (place / "swizzle-out").mkdir()
    (place / "result.txt").write_text("")
    assert opened.unchanged(states)
    CHANGES[change](place)
    assert not opened.unchanged(states)


@pytest.mark.parametrize(
    "line",
    [
        "with open('values.json', 'r+') as file: file.write('[7]')",
        "os.listdir('.'); open('new', 'w').close()",
    ],
)
def test_what_a_run_changes_itself_would_be_another_the_next_time(place: Path, line: str) -> None:
    states = run(place, line)
    assert states is None or not opened.unchanged(states)


@pytest.mark.parametrize(
    "line",
    [
        "import subprocess; subprocess.run(['cat', 'values.json'])",
        "os.system('cat values.json')",
        "import socket\ntry: socket.create_connection(('192.0.2.1', 9), 0.01)\nexcept OSError: 0",
    ],
)
def test_what_is_read_unseen_is_not_known(place: Path, line: str) -> None:
    assert run(place, line) is None


def test_the_files_of_further_processes_are_noted(place: Path) -> None:
    lines = ["import subprocess, sys, multiprocessing",
             "subprocess.run([sys.executable, '-c', 'open(\\'one.py\\').read()'])",
             "fork = multiprocessing.get_context('fork').Process(target=lambda: open('app.py'))",
             "fork.start(); fork.join()"]  # fmt: skip
    states = run(place, "\n".join(lines))
    assert states is not None
    (place / "one.py").write_text("value = 3")
    assert not opened.unchanged(states)
