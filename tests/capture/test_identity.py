# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What tells one launch from another at the cost of a look-up."""

from __future__ import annotations

import mmap
import tempfile

import pytest
import torch
from triton import language as tl
from triton.runtime.jit import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

from intelliperf_swizzle.frontends.triton.capture.calls import Call
from intelliperf_swizzle.frontends.triton.capture.describe import describe
from intelliperf_swizzle.frontends.triton.capture.ledger import identity
from intelliperf_swizzle.frontends.triton.capture.sources import UnreadableKernelError
from intelliperf_swizzle.records import Grid


def kernel(x, y, n, BLOCK: tl.constexpr = 32):  # type: ignore[no-untyped-def]  # noqa: N803
    """Never launched."""


JIT = JITFunction(kernel)
X, Y = torch.zeros(8, 8), torch.zeros(8, 8)
LONG = torch.zeros(128)


def call(
    x: object = X, y: object = Y, n: object = 64, grid: Grid = (2, 1, 1), **others: int
) -> Call:
    return Call(JIT, (x, y, n), others, grid)  # type: ignore[arg-type]


def test_launches_that_differ_only_in_what_tensors_hold_are_one() -> None:
    other = call(torch.ones(8, 8))
    assert identity(call()) == identity(other)
    assert identity(other) in {identity(call())}


@pytest.mark.parametrize(
    "other",
    [
        call(grid=(3, 1, 1)),
        call(n=65),
        call(n=64.0),
        call(n=True),
        call(BLOCK=64),
        call(num_warps=8),
        call(X.half()),
        call(X.t()[:4]),
        call(X.t()),
        call(X[1:]),
        call(LONG[:64].view(8, 8)),
        call(y=X),
        call((X, 1)),
        call(TensorDescriptor.from_tensor(X, [4, 4])),
        call(TensorDescriptor.from_tensor(X, [4, 8])),
    ],
)
def test_launches_that_differ_in_anything_else_are_not(other: Call) -> None:
    assert identity(call()) != identity(other)


def test_views_of_one_tensor_are_not_views_of_two() -> None:
    both = torch.zeros(2, 64)
    one, two = torch.zeros(2, 64), torch.zeros(2, 64)
    assert identity(call(both[0], both[1])) != identity(call(one[0], two[1]))


def test_storages_that_overlap_are_not_two_that_do_not() -> None:
    def words(offset: int, memory: bytearray) -> torch.Tensor:
        return torch.frombuffer(memory, dtype=torch.float32, count=8, offset=offset)

    one, two = bytearray(64), bytearray(64)
    apart = identity(call(words(0, one), words(4, two)))
    assert apart == identity(call(words(0, two), words(4, one)))
    near, far = (identity(call(words(0, one), words(at, one))) for at in (4, 8))
    assert len({apart, near, far}) == 3


def test_one_file_at_two_addresses_is_not_two_memories() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(bytes(2 * mmap.ALLOCATIONGRANULARITY))
        file.flush()
        at = (0, 0, mmap.ALLOCATIONGRANULARITY)
        maps = [mmap.mmap(file.fileno(), mmap.ALLOCATIONGRANULARITY, offset=begin) for begin in at]
    first, same, next_to_it = (torch.frombuffer(one, dtype=torch.float32) for one in maps)
    assert len(describe(call(first, next_to_it)).spans) == 2
    with pytest.raises(UnreadableKernelError, match="two of its tensors show the same bytes"):
        describe(call(first, same))
