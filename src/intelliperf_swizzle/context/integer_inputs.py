# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Small integer tensors that no program writes: bounds and indices, which decide the work."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

import numpy as np

from intelliperf_swizzle.context.record import IntegerInput, TensorUse
from intelliperf_swizzle.records import Int64Array, Launch

MOST_VALUES = 1 << 16
"""Of a tensor that is told of; larger ones are data."""

MOST_TOLD = 16
"""Values, or runs of equal ones, that are told one by one."""

_INTEGER = re.compile(r"u?int(8|16|32|64)")


def integer_inputs(launch: Launch, tensors: Sequence[TensorUse]) -> tuple[IntegerInput, ...]:
    """Those of a launch whose contents were recorded.

    Args:
        launch: as it was recorded.
        tensors: what its programs touch.
    """
    read_only = {name for one in tensors if not one.writes + one.atomics for name in one.names}
    return tuple(_read(launch, read_only))


def _read(launch: Launch, read_only: Container[str]) -> Iterator[IntegerInput]:
    for name, tensor in launch.tensors():
        contents = launch.storages[tensor.storage].contents
        count = int(np.prod(tensor.shape))
        if contents is None or not _INTEGER.fullmatch(tensor.dtype) or name not in read_only:
            continue
        if not 0 < count <= MOST_VALUES:
            continue
        raw = np.load(contents, mmap_mode="r")
        dtype = np.dtype(tensor.dtype)
        strides = [stride * dtype.itemsize for stride in tensor.strides]
        values = np.ndarray(tensor.shape, dtype, raw, tensor.offset_bytes, strides)
        yield IntegerInput(name, values.astype(np.int64).ravel())


def describe_values(values: Int64Array) -> str:
    """`0 x 10, 1 x 4, 2`: the values themselves; of many, how they run or how they spread."""
    begins = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    if len(begins) <= MOST_TOLD:
        lengths = np.diff(begins, append=len(values)).tolist()
        runs = zip(values[begins].tolist(), lengths, strict=True)
        return ", ".join(f"{value} x {many}" if many > 1 else str(value) for value, many in runs)
    steps = np.diff(values)
    if (steps >= 0).all():
        return f"ascending from {values[0]} to {values[-1]}, a step is {_spread(steps)}"
    return _spread(values)


def _spread(values: Int64Array) -> str:
    return f"{values.min()} to {values.max()}, median {np.median(values):g}"
