# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Python runs this at start-up: it applies a file of swizzles once Triton has been imported.

It needs neither our package nor anything else, and runs the `sitecustomize` that it hides.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_HERE = Path(__file__).resolve().parent


class _Waiting:
    """An import hook that loads `runtime`, which installs what its variable names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == "triton" else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_apply(module: ModuleType) -> None:
            execute(module)
            place = _HERE.parent / "runtime.py"
            _load("swizzle_overlay", spec_from_file_location("swizzle_overlay", place))

        spec.loader.exec_module = execute_and_apply  # type: ignore[method-assign]
        return spec


def _load(name: str, spec: ModuleSpec | None) -> None:
    if spec is not None and spec.loader is not None:
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


sys.meta_path.insert(0, _Waiting())
_others = [entry for entry in sys.path if Path(entry).resolve() != _HERE]
_load("sitecustomize", PathFinder.find_spec("sitecustomize", _others))
