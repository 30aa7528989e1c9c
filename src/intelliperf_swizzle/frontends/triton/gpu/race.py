# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: original and candidates in turns, on copies of a launch's arguments.

Each round launches every kernel once, in an order drawn anew, and each launch takes the next of
several sets of tensors, which together exceed the caches. Nothing waits for the host within a
round. The application's own tensors are not touched. Behind a launch, untimed, what it reads and
writes is as it was again: else a kernel that advances an index would leave its tensor.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

import torch

from intelliperf_swizzle.frontends.triton.gpu.moved import Arguments, Launch, moved

_Put: TypeAlias = list[tuple[torch.Tensor, torch.Tensor]]
"""Tensors, each with what it held before the launch."""

MOST_SETS = 64
FEWEST_ROUNDS, MOST_ROUNDS = 11, 200
"""Of nine rounds or more a 95 % interval leaves out the extremes."""
_WARM_UP = 3
_HOST_CYCLES = 60_000
"""About 30 µs of a GPU's clock: what the host may take to launch one kernel, or one copy."""


def race(
    kernels: Sequence[Launch],
    arguments: Arguments,
    memory: Mapping[int, torch.Tensor],
    *,
    cache_bytes: int,
    seconds: float,
    on_gpu: bool,
    advanced: frozenset[int],
) -> list[list[int]]:
    """A row of nanoseconds per round, in the order of the kernels, on copies of the arguments.

    Args:
        kernels: the original first.
        arguments: of the launch.
        memory: bytes of its storages, by number.
        cache_bytes: of all caches of the GPU.
        seconds: to take, about; a fewest number of rounds is run in any case.
        on_gpu: whether there is a GPU at all.
        advanced: numbers of the storages that the launch reads and writes.

    Raises:
        torch.cuda.OutOfMemoryError: there is no room for two sets.
    """
    count = _sets(sum(view.nbytes for view in memory.values()), cache_bytes)
    sets = [_copied(arguments, memory, advanced) for _ in range(count)]
    turns = itertools.cycle(sets)
    copies = len(sets[0][1])

    def one_round(order: Sequence[int]) -> list[int]:
        timed = partial(torch.cuda.Event, enable_timing=True)
        events = [(timed(), timed()) for _ in kernels]
        if on_gpu:  # lets the host get ahead, so that no kernel waits for its launch
            torch.cuda._sleep(_HOST_CYCLES * (len(kernels) * (1 + copies) + 2))
        for index in order:
            own, put = next(turns)
            events[index][0].record()
            kernels[index](*own)
            events[index][1].record()
            for tensor, before in put:
                tensor.copy_(before)
        torch.cuda.synchronize()
        return [max(1, round(1e6 * start.elapsed_time(end))) for start, end in events]

    every = range(len(kernels))
    warm = [one_round(every) for _ in range(_WARM_UP)]
    rounds = min(MOST_ROUNDS, max(FEWEST_ROUNDS, int(1e9 * seconds / sum(warm[-1]))))
    # Behind one that leaves the GPU cool, or data in its caches, a kernel is up to 3 % faster.
    draw = random.Random(0)
    return [one_round(draw.sample(every, len(kernels))) for _ in range(rounds)]


def _sets(bytes_: int, cache_bytes: int) -> int:
    """Several, larger than the caches together twice over, and no more than fit."""
    wanted = min(MOST_SETS, max(2, -(-2 * cache_bytes // max(1, bytes_)) + 1))
    free, _ = torch.cuda.mem_get_info()
    return max(2, min(wanted, int(free * 0.6) // max(1, bytes_)))


def _copied(
    arguments: Arguments, memory: Mapping[int, torch.Tensor], advanced: frozenset[int]
) -> tuple[Arguments, _Put]:
    """One set, with what the launch both reads and writes of it, beside what that held."""
    own = {number: view.clone() for number, view in memory.items()}
    copies = moved(arguments, {memory[number].data_ptr(): copy for number, copy in own.items()})
    put = [
        (copy, memory[number] if copy.equal(memory[number]) else copy.clone())  # with addresses
        for number, copy in own.items()
        if number in advanced
    ]
    return copies, put
