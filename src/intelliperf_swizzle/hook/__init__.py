# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The start-up hook by which an unpatched IntelliPerf finds our formulas; opt-in, and undoable.

Python reads a `.pth` file (from 3.15 on its `.start` twin) in `site-packages` when it starts. Ours
import `startup`, which is copied beside them, so that nothing else of the package is loaded.
"""

import site
import sysconfig
from importlib import metadata
from pathlib import Path

from intelliperf_swizzle.disk import write_whole
from intelliperf_swizzle.errors import UsageError

DISTRIBUTION = "intelliperf-swizzle"
_MODULE = "intelliperf_swizzle_startup"
FILES = {
    f"{_MODULE}.py": (Path(__file__).parent / "startup.py").read_text(encoding="utf-8"),
    # It must be read after `__editable__*.pth`.
    "zz_intelliperf_swizzle.pth": f"import {_MODULE}; {_MODULE}.install()\n",
    "zz_intelliperf_swizzle.start": f"{_MODULE}:install\n",
}
"""Name -> text of what the hook consists of."""


def hook_files() -> tuple[Path, ...]:
    """The files of the hook that are installed in this environment."""
    return tuple(path for name in FILES if (path := _site_packages() / name).is_file())


def install_hook() -> tuple[Path, ...]:
    """Installs the hook into this environment; uninstalling the package removes it, too.

    Returns:
        The files written.

    Raises:
        UsageError: Python reads no start-up file beside the package.
        OSError: they cannot be written.
    """
    folder = _site_packages()
    if str(folder) not in (*site.getsitepackages(), site.getusersitepackages()):
        raise UsageError(
            f"Python reads no start-up files in {folder}",
            hint=f"install {DISTRIBUTION} into the environment of IntelliPerf, without --target",
        )
    for name, text in FILES.items():
        write_whole(folder / name, text.encode())
    _own(tuple(FILES))
    return hook_files()


def remove_hook() -> tuple[Path, ...]:
    """Removes the hook; raises OSError if it cannot.

    Returns:
        The files removed; empty if there was none.
    """
    removed = hook_files()
    for path in removed:
        path.unlink()
    _own(())
    return removed


def _site_packages() -> Path:
    try:
        return Path(str(metadata.distribution(DISTRIBUTION).locate_file(""))).resolve()
    except metadata.PackageNotFoundError:
        return Path(sysconfig.get_path("purelib"))


def _own(names: tuple[str, ...]) -> None:
    """Lists these files of the hook, and no others, among those that uninstalling removes."""
    try:
        files = metadata.distribution(DISTRIBUTION).files or ()
    except metadata.PackageNotFoundError:
        return
    for record in (Path(str(file.locate())) for file in files if file.name == "RECORD"):
        lines = record.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if line.partition(",")[0] not in FILES]
        lines = [*kept, *(f"{name},," for name in names)]
        write_whole(record, "".join(f"{line}\n" for line in lines).encode())
