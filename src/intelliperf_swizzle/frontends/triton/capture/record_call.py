# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The record of a launch that nobody makes: of a jit function, a grid and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.frontends.triton.capture.calls import Call
from intelliperf_swizzle.frontends.triton.capture.describe import describe
from intelliperf_swizzle.frontends.triton.capture.sources import (
    UnreadableKernelError,
    is_jit_function,
)
from intelliperf_swizzle.records import Grid, Launch


def record_call(
    kernel: object, grid: Grid, given: Mapping[str, object], folder: Path, number: int
) -> Launch:
    """One call as a launch, with the bytes of its tensors in files of the folder.

    Raises:
        UsageError: it is no jit function, or the arguments do not fit.
    """
    function = kernel
    while not is_jit_function(function) and hasattr(function, "fn"):
        function = function.fn
    if not is_jit_function(function):
        raise UsageError(f"{kernel!r} is not a jit function", hint="decorate it with @triton.jit")
    try:
        live = describe(Call(function, (), dict(given), grid))
    except (TypeError, UnreadableKernelError) as error:
        raise UsageError(f"the kernel cannot be called so: {error}") from error
    unknown = sorted(set(given) - set(live.launch.arguments) - set(live.launch.options))
    if unknown:
        raise UsageError(f"the kernel has no argument `{unknown[0]}`")
    storages = {}
    for place, storage in live.launch.storages.items():
        path = folder / f"{number}-{place}.npy"
        np.save(path, live.contents(place))
        storages[place] = replace(storage, contents=str(path))
    return replace(live.launch, storages=storages)
