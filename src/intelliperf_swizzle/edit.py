# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A change of a user's file: made on lines, shown as a diff, written atomically, or carried by a
copy of the project, so that the project itself stays unchanged."""

import difflib
import io
import itertools
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from intelliperf_swizzle import children
from intelliperf_swizzle.disk import Staged
from intelliperf_swizzle.errors import SpliceError, SwizzleError

BACKUP_SUFFIX = ".swizzle-backup"
_MOST_NAME_CHARACTERS = 60


@dataclass(frozen=True)
class Place:
    """A stretch of a text; lines count from 1, columns are characters and count from 0."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class Edit:
    """A kernel with a swizzle in it.

    Attributes:
        functions: new text of each changed function, by its key in the `KernelSource`.
        files: absolute path of each changed file and its whole new text, line ends as they were.
        before: the same files as they were when the edit was made.
        diff: unified, for `git apply` and `patch -p1` from the root that it was made for.
        rules: the same for who changes kernels when they are compiled (`ports.Overlay`).
        notes: a sentence for people if there are rules alone.
    """

    functions: Mapping[str, str]
    files: Mapping[str, str] = field(repr=False)
    before: Mapping[str, str] = field(repr=False)
    diff: str
    rules: tuple[Mapping[str, object], ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

    @property
    def swizzles(self) -> str:
        """The rules as a file, JSON; empty if there are none."""
        rules = {"format": 1, "kernels": self.rules}
        return json.dumps(rules, indent=1) + "\n" if self.rules else ""


INSTALLED = ("site-packages", "dist-packages")


def headline(name: str, target: str) -> str:
    """What a comment says above a swizzle: one line, whatever its name (a model may make it)."""
    plain = " ".join("".join(c if c.isprintable() and c != "\\" else " " for c in name).split())
    return f"swizzle {plain[:_MOST_NAME_CHARACTERS]} for {target}"


def combine(edits: Sequence[Edit], roots: Sequence[Path]) -> Edit:
    """Edits of the same files as one.

    Args:
        edits: each made on the unmodified files.
        roots: the diff is made for the first of these folders that fits all files.

    Raises:
        SpliceError: two of them change the same lines, or the files lie in no one root.
    """
    before = {path: text for edit in edits for path, text in edit.before.items()}
    after = {
        path: _merge(path, text, [edit.files[path] for edit in edits if path in edit.files])
        for path, text in before.items()
    }
    root, *others = {patch_root(path, roots) for path in after} or roots
    if others and after:
        raise SpliceError(
            f"{root} and {others[0]} have no common folder that a patch could apply to"
        )
    return Edit(
        functions={key: text for edit in edits for key, text in edit.functions.items()},
        files=after,
        before=before,
        diff=unified_diff(before, after, root),
        rules=tuple(rule for edit in edits for rule in edit.rules),
    )


def _merge(path: str, before: str, texts: Sequence[str]) -> str:
    """A text with the changes of several others; raises SpliceError where they touch."""
    lines = lines_of(before)
    changes = sorted({change for text in texts for change in _changes(lines, lines_of(text))})
    for (_, end, _), (first, _, _) in itertools.pairwise(changes):
        if first < end:
            raise SpliceError(f"{path}:{first + 1}: two swizzles change this line")
    for first, end, new in reversed(changes):
        lines[first:end] = new
    return "".join(lines)


def _changes(
    before: Sequence[str], after: Sequence[str]
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """First and end of the lines that are replaced, and the new ones."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, first, end, new, new_end in matcher.get_opcodes():
        if tag != "equal":
            yield first, end, tuple(after[new:new_end])


def read_exactly(path: Path) -> str:
    """A file's text with its line ends unchanged.

    Raises:
        SpliceError: if it cannot be read or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise SpliceError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpliceError(f"{path} is not UTF-8", hint="save it as UTF-8") from error


def lines_of(text: str) -> list[str]:
    r"""The lines of a file as Python counts them (`\n`, `\r\n`, `\r`), line ends kept."""
    return list(io.StringIO(text, newline=""))


def change_lines(
    lines: Sequence[str],
    replacements: Sequence[tuple[Place, str]],
    insertions: Mapping[int, Sequence[str]],
    *,
    indent: str = "",
) -> list[str]:
    """Replaces stretches of some lines by names and inserts lines.

    Args:
        lines: with their line ends.
        replacements: places, in order and apart, and what to write there.
        insertions: line (from 1, as it was) -> the lines to insert before it, without line ends;
            they get the indentation of that line.
        indent: white space in front of every line that the places do not count.

    Returns:
        The new lines.
    """
    changed = list(lines)
    places = [(spot.line, spot.column, new) for spot, new in replacements]
    ends = {(spot.line, spot.column): spot for spot, _ in replacements}
    places += [(line, -1, "") for line in insertions]
    for line, column, new in sorted(places, reverse=True):  # what stands before keeps its number
        if column >= 0:
            spot = ends[line, column]
            head = changed[line - 1][: column + len(indent)]
            tail = changed[spot.end_line - 1][spot.end_column + len(indent) :]
            changed[line - 1 : spot.end_line] = [head + new + tail]
            continue
        target = lines[line - 1]
        margin = target[: len(target) - len(target.lstrip(" \t"))]
        ending = target[len(target.rstrip("\r\n")) :] or "\n"
        changed[line - 1 : line - 1] = [f"{margin}{added}{ending}" for added in insertions[line]]
    return changed


def unified_diff(before: Mapping[str, str], after: Mapping[str, str], root: Path) -> str:
    """The difference of some files that lie in a root, for `git apply` and `patch -p1` there.

    Above it, the packages and their versions, if it is for what pip has installed.
    """
    own = frozenset(Path(path).relative_to(root).parts[0] for path in after)
    return _packages(root, own) + "".join(
        "".join(_diff_of(before[path], after[path], Path(path).relative_to(root).as_posix()))
        for path in sorted(after)
    )


@lru_cache
def _packages(root: Path, own: frozenset[str]) -> str:
    """The installed packages that have some of these files or folders, a line each."""
    known = metadata.distributions(path=[str(root)]) if root.name in INSTALLED else ()
    whose = [package for package in known if own & {file.parts[0] for file in package.files or ()}]
    return "".join(f"{package.name} {package.version}\n" for package in whose)


def _diff_of(before: str, after: str, name: str) -> Iterator[str]:
    old, new = (list(io.StringIO(text, newline="\n")) for text in (before, after))  # as git does
    for line in difflib.unified_diff(old, new, quote(f"a/{name}"), quote(f"b/{name}")):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def quote(name: str) -> str:
    """A name as git writes it in a patch: in quotes, if it holds what would end it.

    Source: gitdiffcore, `core.quotePath`; GNU patch reads the same since 2.7.
    """
    plain = "".join(
        f"\\{ord(c):03o}" if ord(c) < 32 or ord(c) == 127 else f"\\{c}" if c in '"\\' else c
        for c in name
    )
    return f'"{plain}"' if plain != name or " " in name else name


def patch_root(file: str, roots: Sequence[Path]) -> Path:
    """The first folder that a file lies in, links followed: a patch's names are relative to it.

    For a file that pip has installed it is the folder of all packages, and for one in a checkout
    the checkout, unless one of the folders lies inside of that. Any other file belongs to a
    package, and the folder is the one that the package lies in; or it is the file's own.

    Raises:
        SpliceError: the file's name is not UTF-8.
    """
    try:
        file.encode()
    except UnicodeEncodeError:
        written = file.encode(errors="backslashreplace").decode()
        raise SpliceError(f"the name of {written} is not UTF-8", hint="rename it") from None
    path = Path(file)
    home = next((p for p in path.parents if p.name in INSTALLED or (p / ".git").exists()), None)
    for root in (base.resolve() for base in roots):
        if root in path.parents and not (home and root in home.parents):
            return root
    folder = home or path.resolve().parent
    while not home and (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


def apply(edit: Edit, *, backup: bool = True) -> tuple[Path, ...]:
    """Writes an edit into the user's files: all of them, or none.

    A file keeps its mode; a symbolic link stays one. With `backup`, the file as it was stays
    beside it as `<file>.swizzle-backup`, with a number where that name is taken.

    Returns:
        The backups.

    Raises:
        SpliceError: if a file has changed since the edit was made, is read-only or cannot be
            written; no file is changed then.
    """
    targets = {Path(path).resolve(): text for path, text in edit.files.items()}
    for path in edit.files:
        _check_writable(Path(path), edit.before[path])
    staged: list[Staged] = []
    backups: list[Path] = []
    made: list[Path] = []
    try:
        for target, text in targets.items():
            staged.append(Staged(target, text.encode()))
        for target in targets if backup else ():
            name, taken = _backup_name(target)
            backups.append(name)
            if not taken:
                copy = Staged(name, target.read_bytes(), like=target)
                made.append(name)
                copy.commit()
        for file in staged:
            file.commit()
    except OSError as error:
        for name in made:
            name.unlink(missing_ok=True)
        raise SpliceError(f"cannot write {error.filename}: {error.strerror}") from error
    finally:  # a signal, too
        for file in staged:
            file.discard()
    return tuple(backups)


def _check_writable(path: Path, expected: str) -> None:
    if read_exactly(path) != expected:
        raise SpliceError(
            f"{path} has changed since the swizzle was spliced into it",
            hint="run again",
        )
    if not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise SpliceError(f"{path} is read-only", hint="make it writable, or apply the patch")


def _backup_name(target: Path) -> tuple[Path, bool]:
    """Where a file's backup goes, and whether it is there: of a run that was killed next."""
    numbers = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    names = (target.with_name(f"{target.name}{BACKUP_SUFFIX}{number}") for number in numbers)
    taken = ((name, name.exists()) for name in names)
    return next(n for n in taken if not n[1] or n[0].read_bytes() == target.read_bytes())


PLACE = Path("around", "above", "beside", "project")
"""Where in its folder a copy finds what lies beside the project and above it, too."""
NOT_COPIED = (".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "swizzle-out")
"""What a run of a kernel does not need and a copy should not cost."""


BUILD_LIMIT_SECONDS = 3600.0
"""A build command that takes longer hangs."""


_WRONG = r"\berror: |\bfatal |undefined reference|cannot find"


def run_build(command: str, project: Path, environment: Mapping[str, str]) -> None:
    """Runs the user's build command in a project directory, by the shell.

    Raises:
        SwizzleError: it failed; with its first errors and its last lines.
    """
    try:
        shell, limit = ["sh", "-c", command], BUILD_LIMIT_SECONDS
        build = children.run(shell, cwd=project, environment=environment, limit_seconds=limit)
    except OSError as error:
        raise SwizzleError(f"the build command `{command}` cannot be started: {error}") from error
    if build.exit_code is None:
        raise SwizzleError(f"the build command took longer than {BUILD_LIMIT_SECONDS:g} s")
    if build.exit_code:
        lines = build.last_lines(len(build.output))
        wrong = [s for s in lines[:-15] if re.search(_WRONG, s)][:5]  # make goes on after it
        fact = f"the build command failed with exit code {build.exit_code}"
        raise SwizzleError(fact, details=(*wrong, *lines[-15:]))


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
    files = [Path(path).resolve() for path in (edit.files if edit else ())]
    here = project.resolve()
    named = [(project / word).parent.resolve() / Path(word).name for word in command]
    folders = (here, *(file.resolve().parent for file in named if file.is_file()))
    reaching = (folder for folder in folders if all(folder in file.parents for file in files))
    root = next(reaching, here)
    copy_project(root, copy, edit)
    words = [str(file) if file.is_file() and here not in file.parents else word
             for file, word in zip(named, command, strict=True)]  # fmt: skip
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
            raise SpliceError(
                f"{path} lies outside {project}", hint="set -p to a folder that has both"
            )
    around = {str(copy), *map(str, copy.parents)} - {str(root)}

    def ignored(folder: str, names: list[str]) -> set[str]:
        """What runs do not need, and pipes, sockets and devices."""
        paths = {name: Path(folder, name) for name in names if name not in NOT_COPIED}
        copied = (name for name, path in paths.items() if str(path) not in around
                  and (path.is_symlink() or path.is_dir() or path.is_file()))  # fmt: skip
        return {*names}.difference(copied)

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
                for entry in real.iterdir():
                    (place / entry.name).symlink_to(entry)
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
        for entry in sorted(real.iterdir()):
            link = place / entry.name
            if not (link.exists() or link.is_symlink() or entry == root or entry in root.parents):
                link.symlink_to(entry)


def moved_command(command: Sequence[str], project: Path, copy: Path) -> list[str]:
    """The command with paths into the project turned into paths into its copy.

    A file that was not copied (the Python of a virtual environment) is still that of the project.
    """
    return [_move(word, project.resolve(), copy) for word in command]


def _move(word: str, root: Path, copy: Path) -> str:
    if root not in Path(word).parents:
        return word
    moved = copy / Path(word).relative_to(root)
    return word if Path(word).exists() and not moved.exists() else str(moved)
