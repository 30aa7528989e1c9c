# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: original and candidates in turns, on copies of a launch's arguments.

Each round launches every kernel once, in an order that changes from round to round, and each
launch takes the next of several sets of tensors, which together exceed the caches. Nothing waits
for the host within a round. The application's own tensors are not touched.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch

Launch = Callable[[tuple[Any, ...], dict[str, Any]], None]
"""Runs one kernel on given arguments."""

MOST_SETS = 64
FEWEST_ROUNDS, MOST_ROUNDS = 11, 200
"""Eleven is the least of which a 95 % interval leaves out the extremes."""
_WARM_UP = 3
_HOST_CYCLES = 60_000
"""About 30 µs of a GPU's clock: what the host may take to launch one kernel."""


def race(
    kernels: Sequence[Launch],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    bytes_: int,
    cache_bytes: int,
    seconds: float,
    on_gpu: bool,
) -> tuple[list[list[int]], int]:
    """Times kernels on copies of the arguments.

    Args:
        kernels: the original first.
        args: positional arguments of the launch.
        kwargs: its keyword arguments.
        bytes_: of its tensors.
        cache_bytes: of all caches of the GPU.
        seconds: to take, about; a fewest number of rounds is run in any case.
        on_gpu: whether there is a GPU at all.

    Returns:
        A row of nanoseconds per round, in the order of `kernels`; and the number of sets.

    Raises:
        torch.cuda.OutOfMemoryError: there is no room for two sets.
    """
    sets = [_copied(args, kwargs) for _ in range(_sets(bytes_, cache_bytes))]
    turn = 0

    def one_round(order: Sequence[int]) -> list[int]:
        nonlocal turn
        events = [(_event(), _event()) for _ in kernels]
        if on_gpu:  # lets the host get ahead, so that no kernel waits for its launch
            torch.cuda._sleep(_HOST_CYCLES * (len(kernels) + 2))
        for index in order:
            own_args, own_kwargs = sets[turn % len(sets)]
            turn += 1
            events[index][0].record()
            kernels[index](own_args, own_kwargs)
            events[index][1].record()
        torch.cuda.synchronize()
        return [max(1, round(1e6 * start.elapsed_time(end))) for start, end in events]

    every = range(len(kernels))
    warm = [one_round(every) for _ in range(_WARM_UP)]
    rounds = min(MOST_ROUNDS, max(FEWEST_ROUNDS, int(1e9 * seconds / sum(warm[-1]))))
    return [one_round(_order(len(kernels), number)) for number in range(rounds)], len(sets)


def _order(count: int, number: int) -> list[int]:
    """Each kernel comes at each place, before and behind each other one."""
    turned = [(number // 2 + index) % count for index in range(count)]
    return turned if number % 2 == 0 else turned[::-1]


def _sets(bytes_: int, cache_bytes: int) -> int:
    """Several, larger than the caches together twice over, and no more than fit."""
    wanted = min(MOST_SETS, max(2, -(-2 * cache_bytes // max(1, bytes_)) + 1))
    free, _ = torch.cuda.mem_get_info()
    return max(2, min(wanted, int(free * 0.6) // max(1, bytes_)))


def _event() -> Any:
    return torch.cuda.Event(enable_timing=True)


def _copied(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments whose tensors lie in new memory, views of one storage in one again."""
    storages: dict[int, Any] = {}

    def copy(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return _moved(value, storages)
        if type(value).__name__ == "TensorWrapper":
            return type(value)(copy(value.base), value.dtype)
        if hasattr(value, "block_shape") and hasattr(value, "base"):  # a tensor descriptor
            return dataclasses.replace(value, base=copy(value.base))
        if type(value) in (tuple, list):
            return type(value)(copy(item) for item in value)
        return value

    return tuple(map(copy, args)), {name: copy(value) for name, value in kwargs.items()}


def _moved(tensor: Any, storages: dict[int, Any]) -> Any:
    storage = tensor.untyped_storage()
    address = storage.data_ptr()
    if address not in storages:
        memory = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        memory.set_(storage, 0, (storage.nbytes(),), (1,))
        storages[address] = memory.clone()
    copy = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    own = storages[address].untyped_storage()
    return copy.set_(own, tensor.storage_offset(), tensor.shape, tensor.stride())
