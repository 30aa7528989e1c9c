# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Assertions for the tests of those who keep swizzles; pytest shows the witness
and none of the frames in here."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from intelliperf_swizzle import mapping, options, proofs, readers, records
from intelliperf_swizzle.frontends.ports import examiner
from intelliperf_swizzle.report.sentences import describe_remap


def assert_swizzle_is_permutation(
    swizzle: proofs.AnySwizzle,
    grids: int | Iterable[int | Sequence[int]],
    *,
    target: proofs.AnyTarget = options.DEFAULT_TARGET,
    **constants: int,
) -> None:
    """Fails unless a swizzle computes each tile exactly once on each of the grids.

    `assert_swizzle_is_permutation("xcd-contiguous", range(1, 500))`

    Args:
        swizzle: its text, a pattern or its name, or a parsed swizzle.
        grids: lengths of linear grids, or tuples of two or three extents; an integer is one grid.
        target: gives the number of XCDs.
        constants: integer arguments of the kernel, and parameters of the pattern, by name.

    Raises:
        AssertionError: it is none; with the witness of the first such grid.
        SwizzleError: the input is wrong.
    """
    __tracebackhide__ = True
    name = swizzle if isinstance(swizzle, str) and "=" not in swizzle else "swizzle"
    gpu = proofs.target_of(target)
    for grid in (grids,) if isinstance(grids, int) else grids:
        verdict = proofs.prove(swizzle, grid, target=gpu, sizes=False, **constants)
        if isinstance(verdict, records.Witness):
            raise AssertionError(
                str(mapping.refusal(verdict, name, readers.grid_of(grid), domains=gpu.domain_count))
            )


def assert_source_is_permutation(
    command: Sequence[str],
    source: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    target: proofs.AnyTarget = options.DEFAULT_TARGET,
    project_directory: str | os.PathLike[str] = ".",
) -> None:
    """Fails unless the kernels of a file compute each tile of each launch exactly once.

    Args as of `prove_source`.

    Raises:
        AssertionError: one does not, or it is unknown; with the evidence.
        SwizzleError: the input is wrong, or the application launched nothing.
    """
    __tracebackhide__ = True
    verdicts = proofs.prove_source(
        command, source, kernel=kernel, target=target, project_directory=project_directory
    )
    _assert_permutations(verdicts)


def assert_kernel_is_permutation(
    kernel: object,
    grids: Iterable[int | Sequence[int]],
    arguments: Mapping[str, object] | Callable[[records.Grid], Mapping[str, object]],
) -> None:
    """Fails unless a jit function computes each tile exactly once on each of the grids.

    Nothing is launched and no GPU is needed; tensors may lie on the CPU.

    `assert_kernel_is_permutation(fill, range(1, 65), lambda grid: {"out": torch.empty(64 *
    grid[0]), "BLOCK": 64})`

    Args:
        kernel: a function decorated with `triton.jit`, autotuned or not.
        grids: lengths of linear grids, or tuples of two or three extents.
        arguments: the kernel's by name, constexprs included; or a function that gives them for a
            grid (three extents), as sizes usually follow from it.

    Raises:
        AssertionError: on a grid it does not, or it is unknown; with the evidence.
        SwizzleError: the kernel cannot be called so.
    """
    __tracebackhide__ = True
    _assert_permutations(examiner().prove_calls(kernel, grids, arguments))


def _assert_permutations(verdicts: Sequence[records.RemapVerdict]) -> None:
    __tracebackhide__ = True
    failed = [describe_remap(verdict) for verdict in verdicts if verdict.kind != "permutation"]
    if failed:
        raise AssertionError("\n".join(failed))
