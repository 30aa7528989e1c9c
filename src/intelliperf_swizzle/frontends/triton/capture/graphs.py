# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: what is captured into a CUDA graph is launched when it is replayed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


class Graphs:
    """Counts launches, also those of graphs.

    Args:
        add: counts one launch of a counter.
    """

    def __init__(self, add: Callable[[int], None]) -> None:
        self._add = add
        self._captured: list[int] | None = None
        self._watching = False
        self.watch()

    def count(self, counter: int) -> None:
        """Counts a launch, or notes it for the replays of the graph that is captured now."""
        if self._captured is not None and is_capturing():
            self._captured.append(counter)
        else:
            self._add(counter)

    def watch(self) -> None:
        """From now on sees captures and replays, if torch has been imported."""
        if self._watching or "torch" not in sys.modules:
            return
        self._watching = True
        import torch

        graph = torch.cuda.CUDAGraph
        begin, end, replay = graph.capture_begin, graph.capture_end, graph.replay
        held = "_intelliperf_swizzle_launches"

        def capture_begin(self_: object, *args: Any, **kwargs: Any) -> None:
            begin(self_, *args, **kwargs)
            self._captured = []
            setattr(self_, held, self._captured)

        def capture_end(self_: object) -> None:
            self._captured = None
            end(self_)

        def replayed(self_: object) -> None:
            replay(self_)
            for counter in getattr(self_, held, ()):
                self._add(counter)

        graph.capture_begin, graph.capture_end, graph.replay = capture_begin, capture_end, replayed


def is_capturing() -> bool:
    """Whether launches go into a graph now."""
    import torch

    return bool(torch.cuda.is_current_stream_capturing())
