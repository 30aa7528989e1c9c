# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether a swizzled kernel does what the original does: same reads, same accesses, same bytes.

The edited program is built by the user's command. In its bitcode, before anything is inlined or
merged, each read of a workgroup's number must stand in the inserted lines. Every workgroup must
touch what the original's workgroup of that tile touches, in order. And workgroups of both kernels,
executed on the CPU in one process on the same memory, must leave the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.dependence import find_dependence, safe_order
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import TraceError, ValidationError
from intelliperf_swizzle.frontends.cpp.compare.compare_execution import compare_bytes
from intelliperf_swizzle.frontends.cpp.instances import same_place
from intelliperf_swizzle.frontends.cpp.record.device_code import (
    read_kernel,
    read_kernels,
    recording_of,
)
from intelliperf_swizzle.frontends.cpp.record.preparing import make_edited
from intelliperf_swizzle.frontends.cpp.shadowing import inserted_lines
from intelliperf_swizzle.frontends.cpp.trace import trace
from intelliperf_swizzle.records import Launch, MappedLaunch, Validation
from intelliperf_swizzle.trace.difference import access_difference


def validate(
    mapped: Sequence[MappedLaunch], edit: Edit, *, tolerance: float, budget_seconds: float
) -> Validation:
    """Compares a kernel with its swizzled form; as of `frontends.ports.KernelLanguage.validate`.

    Each tile starts from the same memory in both kernels, and all of them come in the order of
    their numbers: so atomic additions of floats must agree bit for bit, too.

    Raises:
        BuildError: the edited program does not build.
        ValidationError: a launch cannot be executed on the CPU, or does not come again.
    """
    launch = mapped[0].launch
    orders = (safe_order(find_dependence(one.trace, one.launch), one.tile) for one in mapped)
    difference = next(filter(None, orders), None)
    compared = [0 for _ in mapped]
    if difference is None:
        folder = make_edited(recording_of(launch), edit)
        difference = _stray_read(launch, edit, folder) or _trace_difference(mapped, folder)
        if difference is None:
            compared, difference = compare_bytes(mapped, folder, budget_seconds / len(mapped))
    tiles = sum(one.launch.programs for one in mapped)
    return Validation(
        method="all-tiles" if sum(compared) == tiles else "traces-reads-and-sample",
        launches=len(mapped),
        tiles_compared=sum(compared),
        tiles=tiles,
        same_bits=difference is None,
        difference=difference,
    )


# --- what reads the number ------------------------------------------------------------------------


def _stray_read(launch: Launch, edit: Edit, folder: Path) -> str | None:
    """A read of the number that the launch gives, outside of the inserted lines; in words.

    Of every kernel of the program, so that none but this one reads it in them.
    """
    allowed = inserted_lines(edit)
    original = read_kernels(recording_of(launch))
    own = {symbol for symbol, (_, one) in original.items() if same_place(one, launch.source)}
    for symbol, (_, kernel) in read_kernels(folder).items():
        swizzled = symbol in own
        for reader in kernel.readers:
            for read in reader.reads:
                if (read.place in allowed and not read.through) != swizzled:
                    name = kernel.source.entry.name if kernel.source else kernel.code.symbol
                    how = f" through `{read.through}`" if read.through else ""
                    what = "the number that the launch gives it" if swizzled else "another number"
                    return f"`{reader.name}`, in kernel `{name}`, reads {what}{how} ({read.place})"
    return None


# --- what is accessed -----------------------------------------------------------------------------


def _trace_difference(mapped: Sequence[MappedLaunch], folder: Path) -> str | None:
    kernels = read_kernels(folder)
    for one in mapped:
        original = read_kernel(one.launch)
        path, edited = kernels.get(original.code.symbol, (Path(), None))
        if edited is None or edited.variables != original.variables:
            return f"the swizzled program has another `{one.launch.kernel}`, or other variables"
        options = {**one.launch.options, "device_kernel": str(path)}
        try:
            found = trace(replace(one.launch, options=options))
        except TraceError as error:
            raise ValidationError(
                f"the swizzled kernel cannot be traced: {error.fact}", hint=error.hint
            ) from None
        difference = access_difference(one.trace, found, one.tile)
        if difference is not None:
            return difference
    return None
