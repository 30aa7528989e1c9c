# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The child process of `dependences`: traces launches one by one and keeps no trace.

    TRITON_INTERPRET=1 python -m intelliperf_swizzle.trace.dependence_child FOLDER

Reads FOLDER/launches.pickle and appends to FOLDER/found.pickle one `Dependence` for each.
"""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.records import Launch, Trace
from intelliperf_swizzle.trace.child import trace_here
from intelliperf_swizzle.trace.dependence import Dependence, dependence, not_known, same_trace

MOST_REMEMBERED = 64
"""Launches whose trace another one may turn out to have."""


def main(folder: Path) -> None:
    """Answer for each launch of the folder, in order."""
    launches: list[Launch] = pickle.loads((folder / "launches.pickle").read_bytes())
    known: list[tuple[Launch, Trace, Dependence]] = []
    with (folder / "found.pickle").open("wb") as stream:
        for launch in launches:
            found = next((one[2] for one in known if same_trace(one[1], one[0], launch)), None)
            if found is None:
                found = _traced(launch, folder, known)
                del known[:-MOST_REMEMBERED]
            pickle.dump(found, stream)
            stream.flush()


def _traced(
    launch: Launch, folder: Path, known: list[tuple[Launch, Trace, Dependence]]
) -> Dependence:
    try:
        trace = trace_here(launch, folder)
    except TraceError as error:
        return not_known(error.fact)
    found = dependence(trace)
    known.append((launch, _without_accesses(trace), found))
    return found


def _without_accesses(trace: Trace) -> Trace:
    """What `same_trace` needs of it."""
    nothing = np.zeros(0, np.int32)
    return replace(trace, access_base=nothing, access_shape=nothing, tile_arithmetic=None)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
