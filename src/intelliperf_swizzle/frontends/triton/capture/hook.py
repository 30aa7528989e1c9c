# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: what happens once it has imported torch or Triton.

`sitecustomize` calls `after_import`. On a machine without a GPU the whole environment is made to
look as if there were one; where there is one, only the agent of the settings is installed:
`recorder`, or what tries swizzles out.
"""

import importlib
import os
import sys
from functools import partial
from pathlib import Path

from intelliperf_swizzle.frontends.trials import journal
from intelliperf_swizzle.frontends.triton.capture.settings import FOLDER_VARIABLE, load_settings

_imported: set[str] = set()
_noted: set[object] = set()


def after_import(module: str) -> None:
    """React to the end of the first import of `torch` or `triton`, which may import each other."""
    folder = Path(os.environ[FOLDER_VARIABLE])
    if module == "triton":
        journal.write(folder, "triton")
    before = frozenset(_imported)
    _imported.add(module)
    if "torch" in sys.modules and "torch" not in _imported:
        return  # torch is importing Triton, and will come by when it is done
    settings = load_settings(folder)
    if settings.gpu is not None and "torch" in _imported - before:
        from intelliperf_swizzle.frontends.triton.capture import standin

        multiply, on_skip = settings.compute == "always", partial(_tell, folder)
        standin.install(settings.gpu, multiply=multiply, on_skip=on_skip)
    if "triton" in _imported and not _noted & {"installed"}:
        _noted.add("installed")
        if settings.gpu is not None:
            from triton import knobs

            from intelliperf_swizzle.frontends.triton.capture import virtual_gpu

            # whatever folder the application names: on a GPU it must not meet what ends with TTIR
            knobs.cache.dir = str(folder / "triton-cache")
            virtual_gpu.install(settings.gpu, partial(_tell, folder, "refused"))
        importlib.import_module(settings.agent).install(folder, settings)


def _tell(folder: Path, event: str, sentence: str, **fields: object) -> None:
    if (sentence, *fields.values()) not in _noted:
        _noted.add((sentence, *fields.values()))
        journal.write(folder, event, text=sentence, **fields)
