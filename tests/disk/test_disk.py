# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whole files, locks, and temporary folders that do not outlive their process for long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from intelliperf_swizzle.disk import FolderLock, Staged, write_whole

KILLED = """\
import os, signal, sys
from pathlib import Path
from intelliperf_swizzle.disk import Staged, temporary_folder
with temporary_folder("work") as folder:
    (folder / "file").write_text("contents")
    staged = Staged(Path(sys.argv[1]), b"new")
    print(folder, flush=True)
    if len(sys.argv) == 3:
        sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""

USES = """\
from intelliperf_swizzle.disk import temporary_folder
with temporary_folder("work") as folder:
    print(folder, folder.is_dir())
"""


def python(text: str, *arguments: str, temporary: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text, *arguments],
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_a_killed_process_leaves_the_next_one_removes(tmp_path: Path) -> None:
    temporary, file = tmp_path / "tmp", tmp_path / "project" / "ke[r]nel.py"
    temporary.mkdir()
    file.parent.mkdir()
    file.write_bytes(b"old")
    assert python(KILLED, str(file), temporary=temporary).returncode == -signal.SIGKILL
    assert len(list(temporary.iterdir())) == 1
    assert len(list(file.parent.iterdir())) == 2
    used = python(USES, temporary=temporary)
    assert used.stdout.split()[1] == "True", used.stderr
    assert list(temporary.iterdir()) == []
    assert file.read_bytes() == b"old"
    write_whole(file, b"newer")
    assert [path.read_bytes() for path in file.parent.iterdir()] == [b"newer"]


def test_what_a_living_process_uses_stays(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(file), "waits"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as living:
        assert living.stdout is not None
        folder = Path(living.stdout.readline().strip())
        python(USES, temporary=tmp_path)
        write_whole(file, b"mine")
        assert (folder / "file").read_text() == "contents"
        assert len(list(tmp_path.glob(".file.*"))) == 1


def test_other_folders_in_the_temporary_folder_stay(tmp_path: Path) -> None:
    for name in ("swizzle-out-mine", "intelliperf-swizzle-notes", "other"):
        (tmp_path / name).mkdir()
    python(USES, temporary=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_file_is_whole_keeps_its_mode_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o640)
    staged = Staged(file, b"never")
    assert file.read_bytes() == b"old"
    staged.discard()
    write_whole(file, b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_has_one_holder_at_a_time(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    with pytest.raises(BlockingIOError):
        FolderLock(tmp_path)
    first.release()
    second = FolderLock(tmp_path)
    assert second.holds(tmp_path)
    del second
    FolderLock(tmp_path).release()
    assert list(tmp_path.iterdir()) == []
