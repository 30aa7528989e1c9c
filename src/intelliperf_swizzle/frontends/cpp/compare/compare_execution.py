# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Executes workgroups of a kernel and of its swizzled form on the CPU, in the application.

Both start from the same memory in one process, and must leave the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from intelliperf_swizzle import children
from intelliperf_swizzle.disk import temporary_folder
from intelliperf_swizzle.edit import moved_command
from intelliperf_swizzle.errors import ValidationError
from intelliperf_swizzle.frontends.cpp.compile.building import PROJECT
from intelliperf_swizzle.frontends.cpp.record.device_code import read_kernel, recording_of
from intelliperf_swizzle.frontends.cpp.record.preparing import recipe_of
from intelliperf_swizzle.frontends.cpp.record.record_program import KEYS
from intelliperf_swizzle.mapping.permutation import sample_tiles
from intelliperf_swizzle.records import MappedLaunch

_LIMIT_SECONDS = 240.0
"""What the application may take beyond ten budgets."""


def compare_bytes(
    mapped: Sequence[MappedLaunch], folder: Path, seconds: float
) -> tuple[list[int], str | None]:
    """How many tiles of each launch were compared, and the first difference in words.

    The application runs until all launches have come, each with both kernels.

    Args:
        mapped: launches of one kernel, with the tiles that the edited programs compute.
        folder: of the edited program, prepared.
        seconds: for each launch.

    Raises:
        ValidationError: a launch cannot be executed on the CPU, or does not come again.
    """
    recording = recording_of(mapped[0].launch)
    for one in mapped:
        kernel = read_kernel(one.launch)
        if kernel.foreign:
            raise ValidationError(
                f"`{one.launch.kernel}` cannot be executed on the CPU: {kernel.foreign}"
            )
    keys = json.loads((recording / KEYS).read_text("utf-8"))
    with temporary_folder("compare") as place:
        rows = [f"{seconds}"]
        for one in mapped:
            tiles = place / f"{one.launch.ordinal}.tiles"
            one.tile.astype(np.int64).tofile(tiles)
            sample, _ = sample_tiles(one.launch.grid, one.tile)
            rows.append(" ".join(map(str, (keys[one.launch.ordinal], tiles, *sample))))
        (place / "compare.txt").write_text("\n".join(rows) + "\n", "utf-8")
        for name in ("kernels.txt", "globals.txt", "kernels.so"):
            (place / name).symlink_to(recording / name)
        (place / "edited.so").symlink_to(folder / "kernels.so")
        (place / "contents").mkdir()
        ended = _run(recording, place, 10 * seconds * len(mapped) + _LIMIT_SECONDS)
        found = _answers(place)
    compared = []
    for one in mapped:
        answer = found.get(keys[one.launch.ordinal])
        if answer is None or not answer["tiles"]:
            raise ValidationError(
                f"launch {one.launch.ordinal + 1}, of `{one.launch.kernel}`, was not compared: "
                + ("it did not come again" if answer is None else "nothing of it was executed"),
                details=ended.last_lines(8),
            )
        compared.append(answer["tiles"])
        if answer["differs_at"]:
            return compared, f"tile {answer['tile']} leaves other bytes {_where(one, answer)}"
    return compared, None


def _run(recording: Path, place: Path, limit_seconds: float) -> children.Ended:
    recipe = recipe_of(recording)
    project = recording / PROJECT
    toolchain = recipe.flavour.find_toolchain(os.environ)
    environment = toolchain.run_environment(os.environ) | {
        "SWIZZLE_HIP_FOLDER": str(place),
        "SWIZZLE_HIP_COMPARE": str(place),
    }
    command = moved_command(recipe.command, Path(recipe.project), project)
    return children.run(command, cwd=project, environment=environment, limit_seconds=limit_seconds)


def _answers(place: Path) -> dict[str, Mapping[str, int]]:
    """What the stand-in says of each launch that it compared, by the launch's hash."""
    log = place / "launches.jsonl"
    events = map(json.loads, log.read_text("utf-8").splitlines() if log.exists() else ())
    return {event["key"]: event for event in events if event["event"] == "compared"}


def _where(one: MappedLaunch, answer: Mapping[str, int]) -> str:
    address = answer["differs_at"]
    begins = one.launch.options["addresses"]
    for name, tensor in one.launch.tensors():
        begin = begins[tensor.storage]
        if begin <= address < begin + one.launch.storages[tensor.storage].bytes:
            return f"at byte {address - begin} of `{name}`"
    variable = read_kernel(one.launch).variable_at(address)
    return f"in the variable `{variable}`" if variable else "elsewhere"
