# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs that need no search: is it a permutation?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from intelliperf_swizzle import mapping
from intelliperf_swizzle.api.given import (
    AnySwizzle,
    AnyTarget,
    close_swizzle,
    loaded_target,
    refuse_unread,
)
from intelliperf_swizzle.kernels.triton.source_proofs import RemapVerdict
from intelliperf_swizzle.kernels.triton.source_proofs import prove_source as _prove_source
from intelliperf_swizzle.language import INPUTS, parse
from intelliperf_swizzle.options import DEFAULT_TARGET
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.readers import grid_of, refuse_reserved
from intelliperf_swizzle.records import (
    Proof,
    Witness,
)


def prove(
    swizzle: AnySwizzle,
    grid: int | Sequence[int],
    *,
    target: AnyTarget = DEFAULT_TARGET,
    sweep: bool = True,
    **constants: int,
) -> Proof | Witness:
    """Is a swizzle a permutation of a launch's tiles?

    Args:
        swizzle: its text, the name of a pattern, or a parsed swizzle.
        grid: programs of the launch, along up to three axes.
        target: gives the number of XCDs.
        sweep: also try other grids, a fifth of a second: for the proof's condition.
        constants: integer arguments of the kernel, and parameters of the pattern, by name.

    Returns:
        A proof, or a witness against it. `witness.failure` is set where the text has no value on
        this grid.

    Raises:
        LanguageError: the text is no swizzle, or reads a name that is not given.
        UsageError: there is no such pattern or target, or no such grid.
    """
    name, text, parameters = close_swizzle(swizzle, constants)
    parsed = parse(text)
    refuse_unread(name, constants, parameters | parsed.names)
    gpu = loaded_target(target)
    refuse_reserved(constants, INPUTS)
    extents = grid_of(grid)
    return mapping.prove(
        parsed,
        extents,
        {one: value for one, value in constants.items() if one not in parameters},
        num_xcds=gpu.num_xcds,
        cus_per_xcd=gpu.cus_per_xcd,
        sweep=mapping.sweep_grids(extents) if sweep else (),
    )


def prove_source(
    command: Sequence[str],
    source: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    target: AnyTarget = DEFAULT_TARGET,
    project_directory: str | os.PathLike[str] = ".",
    sweep: bool = False,
    progress: Progress | None = None,
) -> tuple[RemapVerdict, ...]:
    """Does a kernel, with the remap that its source has, compute each tile exactly once?

    Args:
        command: the application, as an argument list.
        source: the file that the kernel, or a jit function that it calls, is written in.
        kernel: only this one of the file.
        target: the GPU that the application is told of.
        project_directory: where the application is started.
        sweep: also look at each launch at other sizes, some seconds each: `RemapVerdict.sizes`.
        progress: told of each step.

    Returns:
        A verdict for each distinct launch.

    Raises:
        UsageError: there is no such file, or no kernel of it was launched.
        CaptureError: the application launched no kernel.
    """
    return _prove_source(
        command,
        Path(source),
        kernel=kernel,
        folder=Path(project_directory),
        target=loaded_target(target),
        sweep=sweep,
        progress=progress,
    )
