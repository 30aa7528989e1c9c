# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Whether a swizzled kernel does what the original does: same reads, same accesses, same bytes.

The edited program is built by the user's command. In its bitcode, before anything is inlined or
merged, each read of a workgroup's number must stand in the inserted lines. Every workgroup must
touch what the original's workgroup of that tile touches, in order. And workgroups of both kernels,
executed on the CPU in one process on the same memory, must leave the same bytes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from intelliperf_swizzle import records
from intelliperf_swizzle.dependence import find_dependence, safe_order
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import TraceError, ValidationError
from intelliperf_swizzle.frontends.cpp.record import device_code
from intelliperf_swizzle.frontends.cpp.record.preparing import make_edited, run_again
from intelliperf_swizzle.frontends.cpp.shadowing import inserted_lines, same_place
from intelliperf_swizzle.frontends.cpp.trace import trace
from intelliperf_swizzle.frontends.cpp.trace.trace_slices import access_digests
from intelliperf_swizzle.frontends.trials.journal import Journal
from intelliperf_swizzle.mapping.permutation import sample_tiles


def validate(
    mapped: Sequence[records.MappedLaunch], edit: Edit, *, tolerance: float, budget_seconds: float
) -> records.Validation:
    """Compares a kernel with its swizzled form; as of `frontends.ports.KernelLanguage.validate`.

    Each tile starts from the same memory in both kernels, and all of them come in the order of
    their numbers: so atomic additions of floats must agree bit for bit, too.

    Raises:
        BuildError: the edited program does not build.
        ValidationError: a launch cannot be executed on the CPU, or does not come again.
    """
    launch = mapped[0].launch
    orders = (safe_order(find_dependence(m.trace, m.launch), m.tile) for m in mapped)
    difference = next(filter(None, orders), None)
    compared = [0 for _ in mapped]
    if difference is None:
        folder = make_edited(device_code.recording_of(launch), edit)
        difference = _stray_read(launch, edit, folder) or _trace_difference(mapped, folder)
        if difference is None:
            compared, difference = compare_bytes(mapped, folder, budget_seconds / len(mapped))
    tiles = sum(remap.launch.programs for remap in mapped)
    return records.Validation(
        method="all-tiles" if sum(compared) == tiles else "traces-reads-and-sample",
        launches=len(mapped),
        tiles_compared=sum(compared),
        tiles=tiles,
        same_bits=difference is None,
        difference=difference,
    )


# --- what reads the number ------------------------------------------------------------------------


def _stray_read(launch: records.Launch, edit: Edit, folder: Path) -> str | None:
    """A read of the number that the launch gives, outside of the inserted lines, described.

    Of every kernel of the program, so that none but this one reads it in them.
    """
    allowed = inserted_lines(edit)
    original = device_code.read_kernels(device_code.recording_of(launch))
    own = {symbol for symbol, (_, kernel) in original.items() if same_place(kernel, launch.source)}
    for symbol, (_, kernel) in device_code.read_kernels(folder).items():
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


def _trace_difference(mapped: Sequence[records.MappedLaunch], folder: Path) -> str | None:
    kernels = device_code.read_kernels(folder)
    for remap in mapped:
        original = device_code.read_kernel(remap.launch)
        path, edited = kernels.get(original.code.symbol, (Path(), None))
        if edited is None or edited.variables != original.variables:
            return f"the swizzled program has another `{remap.launch.kernel}`, or other variables"
        options = {**remap.launch.options, "device_kernel": str(path)}
        try:
            found = trace(replace(remap.launch, options=options))
        except TraceError as error:
            raise ValidationError(
                f"the swizzled kernel cannot be traced: {error.fact}", hint=error.hint
            ) from None
        differing = access_digests(found) != access_digests(remap.trace)[remap.tile]
        for program in np.flatnonzero(differing)[:1]:
            tile = remap.tile[program]
            return f"program {program} touches something else than tile {tile} of the original"
    return None


# --- what is left in memory -----------------------------------------------------------------------


_LIMIT_SECONDS = 240.0
"""What the application may take beyond ten budgets."""


def compare_bytes(
    mapped: Sequence[records.MappedLaunch], folder: Path, seconds: float
) -> tuple[list[int], str | None]:
    """How many tiles of each launch were compared, and the first difference as text.

    The application runs until all launches have come, each with both kernels.

    Args:
        mapped: launches of one kernel, with the tiles that the edited programs compute.
        folder: of the edited program, prepared.
        seconds: for each launch.

    Raises:
        ValidationError: a launch cannot be executed on the CPU, or does not come again.
    """
    recording = device_code.recording_of(mapped[0].launch)
    for remap in mapped:
        kernel = device_code.read_kernel(remap.launch)
        if kernel.foreign:
            raise ValidationError(
                f"`{remap.launch.kernel}` cannot be executed on the CPU: {kernel.foreign}"
            )
    keys = [key for key, *_ in json.loads((recording / device_code.KEYS).read_text("utf-8"))]
    with temporary_folder("compare") as place:
        rows = [f"{seconds}"]
        for remap in mapped:
            tiles = place / f"{remap.launch.ordinal}.tiles"
            remap.tile.astype(np.int64).tofile(tiles)
            sample = sample_tiles(remap.launch.grid, remap.tile)
            rows.append(" ".join(map(str, (keys[remap.launch.ordinal], tiles, *sample))))
        (place / "compare.txt").write_text("\n".join(rows) + "\n", "utf-8")
        (place / "edited.so").symlink_to(folder / "kernels.so")
        ended = run_again(recording, place, 10 * seconds * len(mapped) + _LIMIT_SECONDS)
        events = Journal(place, device_code.LAUNCHES).read_new()
    found = {event["key"]: event for event in events if event["event"] == "compared"}
    compared = []
    for remap in mapped:
        answer = found.get(keys[remap.launch.ordinal])
        if answer is None or not answer["tiles"]:
            raise ValidationError(
                f"launch {remap.launch.ordinal + 1}, of `{remap.launch.kernel}`, was not compared: "
                + ("it was not made again" if answer is None else "no tile of it was executed"),
                details=ended.last_lines(8),
            )
        compared.append(answer["tiles"])
        if answer["differs_at"]:
            difference = f"tile {answer['tile']} leaves other bytes {_where(remap, answer)}"
            why = ", as it reads shared memory that it has not written" * answer["undefined"]
            return compared, difference + why
    return compared, None


def _where(remap: records.MappedLaunch, answer: Mapping[str, int]) -> str:
    address = answer["differs_at"]
    begins = remap.launch.options["addresses"]
    for name, tensor in remap.launch.tensors():
        begin = begins[tensor.storage]
        if begin <= address < begin + remap.launch.storages[tensor.storage].bytes:
            return f"at byte {address - begin} of `{name}`"
    variable = device_code.read_kernel(remap.launch).variable_at(address)
    return f"in the variable `{variable}`" if variable else "elsewhere"
