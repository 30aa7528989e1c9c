# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: waits for the launches of the order and tries the candidates there."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

import torch

from intelliperf_swizzle.codec import encode
from intelliperf_swizzle.frontends.trials import journal
from intelliperf_swizzle.frontends.trials.journal import Check, Failure, FailureKind
from intelliperf_swizzle.frontends.triton.capture import calls, tuning
from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch, describe
from intelliperf_swizzle.frontends.triton.capture.execution import execute as execute_here
from intelliperf_swizzle.frontends.triton.capture.settings import Settings
from intelliperf_swizzle.frontends.triton.capture.sources import UnreadableKernelError
from intelliperf_swizzle.frontends.triton.capture.unknown import RefusedKernel
from intelliperf_swizzle.frontends.triton.gpu import bench as benches
from intelliperf_swizzle.frontends.triton.gpu.order import Order, load_order, take_gpu
from intelliperf_swizzle.frontends.triton.ir.render import live_functions

BUILD_SECONDS = 180.0
"""A kernel that compiles for longer hangs."""
TIMES_ORIGINAL = 200.0
"""A candidate may take this many times as long as the original."""
remade: int | None = None
"""The number of the task that `replay` makes now; None in the application."""
_Kernels: TypeAlias = dict[int | None, benches.Launch]
"""The original, None, and then candidates."""
LOST_PROCESS = 70
"""Exit status where a candidate has ruined the process."""


def describe_error(error: BaseException) -> str:
    """Its type and first line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:500]


def install(folder: Path, settings: Settings) -> None:
    """Tries out what the folder's order says; the application waits for it, and until no other
    process counts there, before it starts the GPU, and for the order before its first launch."""
    on_gpu, start_gpu = settings.gpu is None, torch.cuda._lazy_init
    agent = cache(lambda: Agent(folder, load_order(folder), on_gpu=on_gpu))
    take = cache(partial(take_gpu, folder, alone=False))

    def start_gpu_later() -> None:
        if on_gpu and remade is None:
            agent()
            take()
        start_gpu()

    torch.cuda._lazy_init = start_gpu_later
    tuning.watch(timed=on_gpu)
    calls.around_each_launch(lambda bound, execute: agent().launch(bound, execute))


class Agent:
    """Tries candidates at the launches of an order, each task once.

    Args:
        folder: of the order and the journal.
        order: what to do.
        on_gpu: whether there is a GPU; without one launches are executed from their IR.
    """

    def __init__(self, folder: Path, order: Order, *, on_gpu: bool) -> None:
        self._folder = folder
        self._order = order
        self._on_gpu = on_gpu
        self._waiting = dict(enumerate(order.tasks))
        self._kernels = {task.launch.kernel for task in order.tasks}
        self._failed = set(order.known.failed)
        self._busy = False

    def _tell(self, event: str, number: int, **fields: object) -> None:
        """Writes the outcome of a task into the journal."""
        journal.write(self._folder, event, launch=number, **fields)

    def _working(self, number: int, candidate: int | None, what: str, seconds: float) -> None:
        """What is begun, and how long it may take."""
        self._tell("working", number, candidate=candidate, what=what, limit_seconds=seconds)

    def _judge(self, number: int, candidate: int, check: Check) -> None:
        """What came of a comparison."""
        if not check.same:
            self._failed.add(candidate)
        self._tell("checked", number, candidate=candidate, check=encode(check))

    def _fail(self, number: int, candidate: int, kind: FailureKind, error: BaseException) -> None:
        """Why there is no comparison."""
        self._failed.add(candidate)
        failure = encode(Failure(kind, describe_error(error)))
        self._tell("failed", number, candidate=candidate, failure=failure)

    def launch(self, bound: calls.BoundCall, execute: calls.Execute) -> None:
        """Looks at one launch, works where it is one of the order's, and makes it."""
        self._look_at(bound.call)
        execute()
        if not self._on_gpu and bound.ttir is not None and not bound.empty:
            execute_here(bound.ttir, describe(bound.call), lambda share: None)

    def _look_at(self, call: calls.Call) -> None:
        if self._busy or not self._waiting or call.kernel.fn.__name__ not in self._kernels:
            return
        if self._on_gpu and torch.cuda.is_current_stream_capturing():
            return
        self._busy = True
        try:
            live = describe(call)
            number = self._order.task_of(live) if remade is None else remade
            if number is not None and number in self._waiting:
                try:
                    with torch.no_grad():
                        self._work(number, live, call)
                except Exception as error:  # the launch itself cannot be tried
                    for candidate in self._order.candidates.keys() - self._failed:
                        self._fail(number, candidate, "not validated", error)
                    self._leave_if_lost()
                del self._waiting[number]
                self._tell("idle", number)
        except UnreadableKernelError:
            return
        finally:
            self._busy = False

    # --- one task -------------------------------------------------------------------------------

    def _work(self, number: int, live: DescribedLaunch, call: calls.Call) -> None:
        def runner(function: calls.JitFunction) -> benches.Launch:
            return lambda own_args, own_kwargs: function.run(
                *own_args, grid=call.grid, warmup=False, **own_kwargs
            )

        kernels: _Kernels = {None: runner(call.kernel)}
        kernels |= {c: runner(kernel) for c, kernel in self._build(number, call)}
        self._compare(number, live, call, kernels)
        racing = {c: kernel for c, kernel in kernels.items() if c not in self._failed}
        known = number in self._order.known.raced or not self._order.race_seconds
        if len(racing) > 1 and not known:
            self._race(number, live, call, racing)

    def _build(self, number: int, call: calls.Call) -> Iterator[tuple[int, calls.JitFunction]]:
        """The candidates that compile, as live functions; the original is compiled first."""
        source = self._order.tasks[number].launch.source

        def function_of(edits: Mapping[str, str]) -> calls.JitFunction:
            functions = live_functions(source, self._folder / "rendered", edits)
            built: calls.JitFunction = functions[source.kernel]
            return built

        def build(edits: Mapping[str, str]) -> None:
            with suppress(Exception):  # it comes again below
                _compile(function_of(edits), call)

        self._working(number, None, "building", BUILD_SECONDS)
        _compile(call.kernel, call)
        if remade is not None:  # a compiler that crashes takes no application with it
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                list(pool.map(build, self._order.candidates.values()))
        for candidate, edits in self._order.candidates.items():
            if candidate in self._failed:
                continue
            self._working(number, candidate, "building", BUILD_SECONDS)
            try:
                function = function_of(edits)
                _compile(function, call)
                yield candidate, function
            except Exception as error:
                self._fail(number, candidate, "does not build", error)

    def _compare(
        self, number: int, live: DescribedLaunch, call: calls.Call, kernels: _Kernels
    ) -> None:
        known = self._order.known.checked
        todo = [c for c in kernels if c is not None and (number, c) not in known]
        if not todo:
            return
        self._working(number, None, "preparing", BUILD_SECONDS)
        task, given = self._order.tasks[number], (call.args, call.kwargs)
        bench = benches.Bench(task, given, live.memory, kernels[None], self._order.tolerance)
        limit = max(self._order.run_seconds, TIMES_ORIGINAL * bench.original_seconds)
        for candidate in todo:
            self._working(number, candidate, "running", limit)
            try:
                self._judge(number, candidate, bench.compare(kernels[candidate]))
            except benches.InputChangedError as error:
                self._judge(number, candidate, error.args[0])
                os._exit(LOST_PROCESS)
            except torch.cuda.OutOfMemoryError as error:
                self._fail(number, candidate, "not validated", error)
            except Exception as error:
                self._fail(number, candidate, "faulted", error)
                self._leave_if_lost()

    def _leave_if_lost(self) -> None:
        """Ends the process if its GPU answers no more."""
        try:
            _ = self._on_gpu and torch.cuda.synchronize()
        except Exception:
            os._exit(LOST_PROCESS)

    def _race(
        self, number: int, live: DescribedLaunch, call: calls.Call, kernels: _Kernels
    ) -> None:
        seconds = self._order.race_seconds / len(self._order.tasks)
        self._working(number, None, "timing", 10 * seconds + BUILD_SECONDS)
        try:
            rounds = benches.race(
                [*kernels.values()], (call.args, call.kwargs), live.memory, self._order,
                self._order.tasks[number], on_gpu=self._on_gpu,
            )  # fmt: skip
        except Exception as error:
            self._tell("not raced", number, text=describe_error(error))
            self._leave_if_lost()
            return
        self._tell("raced", number, candidates=[*kernels][1:], rounds_ns=rounds)


def _compile(function: calls.JitFunction, call: calls.Call) -> None:
    kernel = function.run(*call.args, grid=call.grid, warmup=True, **call.kwargs)
    if isinstance(kernel, RefusedKernel):  # without a GPU it is not raised
        raise RuntimeError(kernel.refusal)
    kernel._init_handles()
