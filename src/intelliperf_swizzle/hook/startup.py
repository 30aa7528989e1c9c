# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Python runs `install` at start-up: it lets `intelliperf --formula swizzle` find us.

IntelliPerf has no plugins: its list of formulas is fixed. So that the list can be longer, this
waits for an import of `intelliperf.__main__`, the command line of IntelliPerf, and of nothing
else; only then is `intelliperf_swizzle.host` loaded. `intelliperf-swizzle install-hook` put it
here, `intelliperf-swizzle remove-hook` removes it, `INTELLIPERF_SWIZZLE_DISABLE=1` switches it off.
Where the package itself is gone it does nothing.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

HOST = "intelliperf.__main__"
SWITCH = "INTELLIPERF_SWIZZLE_DISABLE"


def install() -> None:
    """Wait for the import of IntelliPerf's command line."""
    if os.environ.get(SWITCH, "0") in ("", "0") and not any(
        isinstance(finder, _Waiting) for finder in sys.meta_path
    ):
        sys.meta_path.insert(0, _Waiting())


class _Waiting:
    """An import hook that finds `intelliperf.__main__` as the others do, and opens it to us."""

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if name != HOST:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if isinstance(finder, _Waiting) or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Opening(spec.loader)  # type: ignore[assignment]
                return spec
        return None


class _Opening:
    """The host's loader; when the module is there, its parser is shown our formulas."""

    def __init__(self, loader: "Any") -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> "Any":
        return getattr(self._loader, name)

    def create_module(self, spec: "ModuleSpec") -> "ModuleType | None":
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: "ModuleType") -> None:
        self._loader.exec_module(module)
        import importlib

        try:
            host = importlib.import_module("intelliperf_swizzle.host")
        except ImportError:
            return
        host.install_formulas(module)

    def get_code(self, name: str) -> "CodeType":
        """What `python -m intelliperf` runs: the module is imported, as the command imports it.

        Its `main()` is called on the line on which the host calls it, so tracebacks are the same.
        """
        lines = (self._loader.get_source(name) or "").splitlines()
        calls = [number for number, line in enumerate(lines) if line.strip() == "main()"]
        gap = "\n" * (calls[-1] - 1) if calls else "\n"
        call = lines[calls[-1]] if calls else "    main()"
        text = f"from {HOST} import main\nif main:{gap}{call}"
        return compile(text, self._loader.get_filename(name), "exec")
