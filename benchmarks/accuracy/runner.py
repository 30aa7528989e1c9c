# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The application that is recorded: builds one configuration of a folder and launches it.

    python runner.py REQUEST

The request is JSON, from `folder.py`. Beside it this writes `order-0.npy`, …, the orders of the
folder's `mappings.py`, and `outcome.json`: their names, the axes, and the records of
the capture that each launch left, or what failed. It imports nothing of this package but the
name of the folder of the capture, as the user's modules shall find an ordinary Python.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from intelliperf_swizzle.frontends.triton.capture.settings import FOLDER_VARIABLE

PROBE = "probe"
"""Launch under one random order, so that its table is recognised."""
EVERY = "every"
"""Launch under every order of the folder that is a permutation."""


class _FailedError(Exception):
    """A step failed in the user's code."""


def main(request_file: Path) -> None:
    """Carry out the request in the file."""
    request = json.loads(request_file.read_text())
    try:
        outcome = _run(request, request_file.parent)
    except _FailedError as error:
        step, failure = error.args
        outcome = {"step": step, "failure": failure}
    (request_file.parent / "outcome.json").write_text(json.dumps(outcome))


def _run(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    sys.path[0] = request["folder"]
    kernels = _step("import", "kernels.py cannot be imported", importlib.import_module, "kernels")
    module = _step("import", "mappings.py cannot be imported", importlib.import_module, "mappings")
    builders = _step("import", "kernels.py has no CONFIGS", getattr, kernels, "CONFIGS")
    mappings = _step("import", "mappings.py has no `mappings`", getattr, module, "mappings")
    name = request["config"]
    if name not in builders:
        return {"known": [str(known) for known in builders]}
    import torch

    torch.manual_seed(0)
    axes, launch = _step("build", f"building {name} failed", _built, builders[name])
    names, refused = _save(
        _step("mappings", f"mappings{axes} failed", lambda: dict(mappings(*axes))), folder
    )
    launched = {}
    for order_name, order in _requested(request["orders"], names, folder, math.prod(axes)):
        launched[order_name] = _step("launch", f"launching {name} failed", _launched, launch, order)
    return {"axes": axes, "orders": names, "refused": refused, "launched": launched}


def _built(builder: Callable[[], Any]) -> tuple[tuple[int, ...], Callable[[Any], Any]]:
    axes, launch = builder()
    return tuple(int(extent) for extent in axes), launch


def _step(step: str, what: str, action: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return action(*arguments)
    except Exception as error:
        message = " ".join(str(error).split())
        raise _FailedError(step, f"{what}: {type(error).__name__}: {message}"[:500]) from error


def _save(orders: dict[str, Any], folder: Path) -> tuple[list[str], dict[str, str]]:
    """Moves orders that are arrays of integers to files; their names, and why others are none."""
    import numpy as np

    names: list[str] = []
    refused = {}
    for name in list(orders):
        order = orders.pop(name)
        array = np.asarray(order.cpu() if hasattr(order, "cpu") else order)
        if array.dtype.kind in "iu":
            np.save(folder / f"order-{len(names)}.npy", array.reshape(-1))
            names.append(str(name))
        else:
            refused[str(name)] = f"the mapping is an array of {array.dtype}"
    return names, refused


def _requested(wanted: str, names: list[str], folder: Path, blocks: int) -> Any:
    """The orders to launch, by name: a random one, or all that are permutations."""
    import numpy as np

    if wanted == PROBE:
        return [(PROBE, probe(blocks))]
    every = np.arange(blocks)
    found = [(name, np.load(folder / f"order-{at}.npy")) for at, name in enumerate(names)]
    return [(name, order) for name, order in found if np.array_equal(np.sort(order), every)]


def probe(blocks: int) -> Any:
    """The random order: int64[blocks], the same one every time."""
    import numpy as np

    return np.random.default_rng(0).permutation(blocks)


def _launched(launch: Callable[[Any], Any], order: Any) -> list[str]:
    """Launch under an order; names of the records that the capture made of it."""
    import numpy as np
    import torch

    records = Path(os.environ[FOLDER_VARIABLE]) / "launches"
    before = {path.stem for path in records.glob("*.json")}
    launch(torch.from_numpy(order.astype(np.int32)).to("cuda"))
    return sorted({path.stem for path in records.glob("*.json")} - before)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
