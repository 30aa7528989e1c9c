# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Python runs this at start-up, because `capture` puts its folder on PYTHONPATH.

Any Python that the user's command starts comes by here, so this does next to nothing: it waits
for an import of torch or triton, and runs the `sitecustomize` that it hides.
"""

# ruff: noqa: PTH100, PTH118, PTH120, PTH123
# (os.path, because importing pathlib would slow every Python down)

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_TRIGGERS = ("torch", "triton")
_PACKAGE = "intelliperf_swizzle"
_FOLDERS = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
for _ in range(3):
    _FOLDERS.append(os.path.dirname(_FOLDERS[-1]))  # capture, triton, frontends, the package


class _Waiting:
    """An import hook for what is to be done after torch or triton has been imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _TRIGGERS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_tell(module: ModuleType) -> None:
            execute(module)
            if _swizzles and name == "triton":  # a file by itself: it needs no other module
                place = os.path.join(_FOLDERS[1], "overlay", "runtime.py")
                _load("swizzle_overlay", spec_from_file_location("swizzle_overlay", place))
            if _folder:
                _load_package()
                from intelliperf_swizzle.frontends.triton.capture import hook

                hook.after_import(name)

        spec.loader.exec_module = execute_and_tell  # type: ignore[method-assign]
        return spec


def _load_package() -> None:
    """Import our package by its place: the application's Python need not have it installed."""
    if _PACKAGE in sys.modules:
        return
    folder = _FOLDERS[3]
    place = os.path.join(folder, "__init__.py")
    _load(_PACKAGE, spec_from_file_location(_PACKAGE, place, submodule_search_locations=[folder]))


def _run_hidden_sitecustomize() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    others = [entry for entry in sys.path if os.path.abspath(entry) != here]
    _load("sitecustomize", PathFinder.find_spec("sitecustomize", others))


def _load(name: str, spec: ModuleSpec | None) -> None:
    if spec is not None and spec.loader is not None:
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


_folder = os.environ.get("INTELLIPERF_SWIZZLE_CAPTURE")
_swizzles = os.environ.get("INTELLIPERF_SWIZZLE_OVERLAY")
if _folder:
    try:
        with open(os.path.join(_folder, "journal.jsonl"), "a", encoding="utf-8") as _journal:
            _journal.write('{"event": "python"}\n')
    except OSError:
        pass
if _folder or _swizzles:
    sys.meta_path.insert(0, _Waiting())
_run_hidden_sitecustomize()
