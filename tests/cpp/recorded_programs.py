# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Records programs, with the lines that native execution touches."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from intelliperf_swizzle.frontends.cpp.language import HIP
from intelliperf_swizzle.frontends.cpp.trace.trace_slices import trace_here
from intelliperf_swizzle.frontends.ports import KernelLanguage, RecordRequest
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.records import Capture, Int64Array, Launch, Trace


@dataclass(frozen=True)
class Recorded:
    """A program's launches, and the lines that native execution touched, by launch and tile."""

    project: Path
    capture: Capture
    native: dict[int, dict[int, Int64Array]]

    def launch(self, kernel: str, number: int = 0) -> Launch:
        return [launch for launch in self.capture.launches if launch.kernel == kernel][number]

    def trace(self, kernel: str, number: int = 0) -> Trace:
        return trace_here(self.launch(kernel, number), self.project)


@functools.cache
def _native_lines() -> tuple[tempfile.TemporaryDirectory[str], str]:
    """The library that notes lines, and the folder that holds it for as long as this runs."""
    folder = tempfile.TemporaryDirectory(prefix="native-lines-")
    library = f"{folder.name}/native_lines.so"
    source = str(Path(__file__).with_name("native_lines.cpp"))
    flags = ("-std=c++17", "-O2", "-fPIC", "-shared")
    subprocess.run(["g++", *flags, source, "-ldl", "-o", library], check=True)
    return folder, library


def record(
    project: Path,
    folder: Path,
    command: list[str],
    build: str | None,
    language: KernelLanguage = HIP,
    **environment: str,
) -> Recorded:
    """Builds and runs a program, all of whose launches are executed."""
    lines = folder / "lines.bin"
    request = RecordRequest(
        command=command, cwd=project, folder=folder / "capture",
        target=load_target(language.default_target),
        environment={
            **os.environ, "NATIVE_LINES": str(lines), "LD_PRELOAD": _native_lines()[1],
            **environment,
        },
        build_command=build,
        compute="always",
    )  # fmt: skip
    capture = language.record(request)
    nothing = np.zeros(0, np.int64)
    native = {
        entry.ordinal: dict.fromkeys(range(entry.tiles), nothing) for entry in capture.launches
    }
    words = np.fromfile(lines, np.int64)
    at = 0
    while at < len(words):
        launch, tile, count = (int(word) for word in words[at : at + 3])
        native.setdefault(launch, {})[tile] = words[at + 3 : at + 3 + count]
        at += 3 + count
    return Recorded(project, capture, native)


def lines_of(trace: Trace, tile: int) -> Int64Array:
    """Line and kind of each touch, as the stand-in writes them."""
    found = [np.zeros(0, np.int64)]
    for access in range(trace.tile_offset[tile], trace.tile_offset[tile + 1]):
        shape = trace.access_shape[access]
        begin, end = trace.shape_offset[shape : shape + 2]
        line = np.int64(trace.access_base[access]) + trace.shape_line[begin:end]
        found.append(line << 2 | int(trace.shape_kind[shape]))
    return np.unique(np.concatenate(found))
