# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Kernels are compared on copies: whatever holds a tensor, it is the copy's."""

from __future__ import annotations

from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch")

from intelliperf_swizzle.frontends.triton.gpu.memory import UnreachableMemoryError, moved  # noqa: E402
from intelliperf_swizzle.records import Launch, TensorArgument  # noqa: E402


class Pair(NamedTuple):
    source: object
    target: object


class Box:
    def __init__(self, tensor: object) -> None:
        self.tensor = tensor


@pytest.mark.parametrize(
    "hold",
    [
        lambda x: x,
        lambda x: (1, [x]),
        lambda x: Pair(2, x),
        lambda x: Pair((3, x[1:3]), "y"),
    ],
)
def test_the_tensors_of_an_argument_are_views_of_the_copy(hold):
    tensor, copy = torch.zeros(8), torch.ones(8)
    memory = {tensor.untyped_storage().data_ptr(): copy.view(torch.uint8)}
    (argument, other), named = moved(((hold(tensor), 5), {"again": hold(tensor)}), memory)
    assert type(argument) is type(hold(tensor))
    assert other == 5
    for value in (argument, named["again"]):
        while not isinstance(value, torch.Tensor):
            value = next(item for item in value if isinstance(item, (torch.Tensor, tuple, list)))
        value.fill_(3)
    assert not tensor.any()
    assert (copy == 3).any()


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint64])
def test_a_table_of_addresses_gets_those_of_the_copy(dtype):
    tensor, other, copy = torch.zeros(8), torch.zeros(8), torch.ones(8)
    addresses = [tensor.data_ptr(), other.data_ptr(), tensor.data_ptr() + 12, 5]
    table = torch.tensor(addresses, dtype=torch.int64).view(dtype)
    memory = {tensor.untyped_storage().data_ptr(): copy.view(torch.uint8)}
    (given,), named = moved(((table,), {"x": tensor}), memory)
    assert given.dtype == dtype
    expected = [copy.data_ptr(), addresses[1], copy.data_ptr() + 12, 5]
    assert given.tolist() == expected
    assert moved(((table,), {}), memory)[0][0].tolist() == expected
    assert named["x"].data_ptr() == copy.data_ptr()
    assert table.tolist() == addresses


def test_what_a_kernel_writes_to_a_table_is_written_to_its_copy():
    tensor, copy = torch.zeros(8), torch.ones(8)
    table = torch.tensor([tensor.data_ptr(), 7])
    own = table.clone()
    memory = {tensor.untyped_storage().data_ptr(): copy.view(torch.uint8),
              table.untyped_storage().data_ptr(): own.view(torch.uint8)}  # fmt: skip
    (given,), _ = moved(((table,), {}), memory)
    assert given.tolist() == [copy.data_ptr(), 7]
    given[1] = 8
    assert own.tolist() == [copy.data_ptr(), 8]
    assert table.tolist() == [tensor.data_ptr(), 7]


def test_what_holds_a_tensor_in_an_unknown_way_is_not_run():
    tensor = torch.zeros(8)
    memory = {tensor.untyped_storage().data_ptr(): torch.ones(8).view(torch.uint8)}
    with pytest.raises(UnreachableMemoryError):
        moved(((Box(tensor),), {}), memory)


def test_an_element_is_that_of_the_tensor():
    view = TensorArgument(3, "fp16", (4, 6), (8, 1), offset_bytes=32)
    turned = TensorArgument(3, "fp16", (6, 4), (1, 8), offset_bytes=32)
    arguments = {"count": TensorArgument(1, "int64", (), ()), "rows": (view,), "columns": turned}
    launch = Launch("k", None, (1, 1, 1), arguments, (), {}, {})
    assert launch.element(3, 32) == "`rows[0][0, 0]`"
    assert launch.element(3, 32 + 2 * (2 * 8 + 5) + 1) == "`rows[0][2, 5]`"
    assert launch.element(1, 7) == "`count`"
    for place in (31, 32 + 2 * 6, 32 + 2 * 32):
        assert launch.element(3, place) == f"byte {place} of its memory, between elements"
    del arguments["rows"]
    assert launch.element(3, 32 + 2 * (2 * 8 + 5)) == "`columns[5, 2]`"
