# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A copy of the user's project that carries an edit, so that the project itself stays as it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from intelliperf_swizzle import children
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import SpliceError, SwizzleError

PLACE = Path("around", "above", "beside", "project")
"""Where in a folder of its own a copy finds what lies beside the project and above it, too."""
NOT_COPIED = (".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "swizzle-out")
"""What a run of a kernel does not need and a copy should not cost."""


BUILD_LIMIT_SECONDS = 3600.0
"""A build command that takes longer hangs."""


def run_build(command: str, project: Path, environment: Mapping[str, str]) -> None:
    """Runs the user's build command in a project directory, by the shell.

    Raises:
        SwizzleError: it failed; with its last lines.
    """
    try:
        build = children.run(
            ["sh", "-c", command],
            cwd=project,
            environment=environment,
            limit_seconds=BUILD_LIMIT_SECONDS,
        )
    except OSError as error:
        raise SwizzleError(f"the build command `{command}` cannot be started: {error}") from error
    if build.exit_code is None:
        raise SwizzleError(f"the build command took longer than {BUILD_LIMIT_SECONDS:g} s")
    if build.exit_code:
        raise SwizzleError(
            f"the build command failed with exit code {build.exit_code}",
            details=build.last_lines(20),
        )


@dataclass(frozen=True)
class Carrier:
    """A copy that carries an edit.

    Attributes:
        original: the folder that was copied.
        cwd: where the command starts.
        command: as it runs the copy.
    """

    original: Path
    cwd: Path
    command: list[str]


def carry(project: Path, command: Sequence[str], copy: Path, edit: Edit | None) -> Carrier:
    """Copies the project with an edit; where that lies outside, the folder of the script.

    Raises:
        SpliceError: a file of the edit lies outside both.
    """
    files = edit.files if edit else ()
    here = project.resolve()
    named = [(project / word).parent.resolve() / Path(word).name for word in command]
    folders = (here, *(one.resolve().parent for one in named if one.is_file()))
    reaching = (one for one in folders if all(one in _parents(path) for path in files))
    root = next(reaching, here)
    copy_project(root, copy, edit)
    words = [str(one) if one.is_file() and here not in one.parents else word
             for one, word in zip(named, command, strict=True)]  # fmt: skip
    return Carrier(root, copy if root == here else project, moved_command(words, root, copy))


def copy_project(project: Path, copy: Path, edit: Edit | None = None) -> None:
    """Copies the project directory and writes the edited files into the copy.

    At `PLACE` it is surrounded by links, so that a build finds `../common` and `../../include`.

    Raises:
        SpliceError: a file of the edit lies outside the project.
    """
    root = project.resolve()
    places = {path: place_in_copy(Path(path), root, copy) for path in (edit.files if edit else ())}
    for path, place in places.items():
        if place is None:
            raise SpliceError(f"{path} lies outside {project}", hint="-p names a wider directory")
    around = {str(copy), *map(str, copy.parents)} - {str(root)}

    def ignored(folder: str, names: list[str]) -> set[str]:
        return {one for one in names if str(Path(folder) / one) in around} | _ignored(folder, names)

    shutil.copytree(root, copy, symlinks=True, ignore=ignored, ignore_dangling_symlinks=True)
    _surround(root, copy)
    for path, text in (edit.files if edit else {}).items():
        _write_in_copy(Path(str(places[path])), copy, text)


def place_in_copy(file: Path, project: Path, copy: Path) -> Path | None:
    """Where a file of the project, or from around it, is in the copy; None if it is not there."""
    root, file = project.resolve(), file.resolve()
    for real, place in ((root, copy), *_around(root, copy)):
        if real in file.parents:
            return place / file.relative_to(real)
    return None


def _write_in_copy(file: Path, copy: Path, text: str) -> None:
    """Writes a file, for which links to folders become folders of links."""
    for place in (*reversed(file.parents), file):
        if place.is_symlink() and copy.parents[len(PLACE.parts) - 2] in place.parents:
            real = place.resolve()
            place.unlink()
            if place != file:
                place.mkdir()
                for one in real.iterdir():
                    (place / one.name).symlink_to(one)
    file.write_bytes(text.encode())


def _around(root: Path, copy: Path) -> Iterator[tuple[Path, Path]]:
    """The folders above a project, each with that above its copy."""
    levels = len(PLACE.parts) - 1 if copy.parts[-len(PLACE.parts) :] == PLACE.parts else 0
    return zip(root.parents, copy.parents[:levels], strict=False)


def _surround(root: Path, copy: Path) -> None:
    """Links to what lies around a project, around its copy."""
    for real, place in _around(root, copy):
        if real == real.parent or not os.access(real, os.R_OK):
            return
        for one in sorted(real.iterdir()):
            link = place / one.name
            if not (link.exists() or link.is_symlink() or one == root or one in root.parents):
                link.symlink_to(one)


def moved_command(command: Sequence[str], project: Path, copy: Path) -> list[str]:
    """The command with paths into the project turned into paths into its copy.

    A file that was not copied (the Python of a virtual environment) is still that of the project.
    """
    root = project.resolve()
    return [_moved(word, root, copy) for word in command]


def _moved(word: str, root: Path, copy: Path) -> str:
    if root not in Path(word).parents:
        return word
    moved = copy / Path(word).relative_to(root)
    return word if Path(word).exists() and not moved.exists() else str(moved)


def _parents(path: str) -> Sequence[Path]:
    return Path(path).resolve().parents


def _ignored(folder: str, names: list[str]) -> set[str]:
    """Names that are not copied: those of `NOT_COPIED`, pipes, sockets and devices."""
    return {name for name in names if name in NOT_COPIED or not _is_ordinary(Path(folder) / name)}


def _is_ordinary(path: Path) -> bool:
    return path.is_symlink() or path.is_dir() or path.is_file()
