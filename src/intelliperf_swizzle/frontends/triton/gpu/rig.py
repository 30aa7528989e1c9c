# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Starts the application on its GPU and has candidates tried there."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.frontends.ports import RecordRequest, Replay
from intelliperf_swizzle.frontends.trials import processes
from intelliperf_swizzle.frontends.trials.journal import Trial
from intelliperf_swizzle.frontends.triton.capture.recording import start
from intelliperf_swizzle.frontends.triton.capture.settings import Gpu, Settings, save_settings
from intelliperf_swizzle.frontends.triton.gpu.order import Order, Task, save_order

AGENT = "intelliperf_swizzle.frontends.triton.gpu.agent"
REPLAY = (sys.executable, "-m", "intelliperf_swizzle.frontends.triton.gpu.replay")


@dataclass(frozen=True)
class Rig:
    """How the application is started for trials.

    Attributes:
        request: the application; without a command, the recorded launches are made again. Its
            folder is for orders, journals and what the application prints; one process is ended
            after its limit in any case.
        device: what its GPU is called.
        cache_bytes: of all caches of the GPU.
        gpu: None; what the application sees if there is no GPU.
        run_seconds: what a candidate may take in any case; more if the original is slow.
        goodbye_seconds: what the application may take to its end after the last trial.
    """

    request: RecordRequest
    device: str
    cache_bytes: int = 0
    gpu: Gpu | None = None
    run_seconds: float = 20.0
    goodbye_seconds: float = 1.0

    def try_out(
        self,
        tasks: Sequence[Task],
        candidates: Mapping[int, Mapping[str, str]],
        tolerance: float,
        race_seconds: float,
        begun: list[processes.Begun] | None = None,
    ) -> dict[int, Trial]:
        """Compares candidates with the original at each task, and times those that agree.

        Args:
            tasks: recorded launches of one kernel, and what they read and write.
            candidates: function key -> text with the swizzle in it, by number.
            tolerance: absolute and relative, for floats that atomics add up.
            race_seconds: for the times of all tasks together; 0 = none are taken.
            begun: processes that wait for an order; those that are used are taken out.

        Returns:
            What came of each candidate.

        Raises:
            ValidationError: the application failed before anything was tried, or at the original.
        """

        def start_process(known: processes.Known) -> processes.Begun:
            folder, child = begun.pop() if begun else self.begin()
            order = Order(
                tasks=tuple(tasks),
                candidates=candidates,
                known=known,
                race_seconds=race_seconds,
                run_seconds=self.run_seconds,
                cache_bytes=self.cache_bytes,
                tolerance=tolerance,
            )
            save_order(order, folder)
            return folder, child

        counts = [task.launch.count for task in tasks]
        limits = processes.Limits(self.device, self.request.limit_seconds, self.goodbye_seconds)
        return processes.try_out(start_process, counts, candidates, limits)

    def begin(self) -> processes.Begun:
        """Starts the application, in a fresh folder; it waits before it starts its GPU."""
        request, folder = self.request, processes.fresh_folder(self.request.folder)
        save_settings(Settings(AGENT, self.gpu, "always", 0.0), folder)
        command, on_gpu = request.command or (*REPLAY, str(folder)), self.gpu is None
        return folder, start(command, folder, request.cwd, request.variables, on_gpu=on_gpu)

    def replay(self, tasks: Sequence[Task], repeats: int) -> Replay:
        """A process that makes each launch so often, unmodified and then with each edit, and is
        not watched by this package."""
        folder = processes.fresh_folder(self.request.folder)
        cache = {"TRITON_CACHE_DIR": str(folder.parent / "triton-cache")}

        def go(edits: Sequence[Edit]) -> None:
            functions = {number: edit.functions for number, edit in enumerate(edits)}
            order = Order(tuple(tasks), functions, cache_bytes=self.cache_bytes, repeats=repeats)
            save_order(order, folder)

        return Replay((*REPLAY, str(folder)), {**self.request.variables, **cache}, folder, go)
