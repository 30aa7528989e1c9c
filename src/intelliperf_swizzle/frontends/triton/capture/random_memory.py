# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, without a GPU: large random tensors that cost neither time nor memory.

One block of random numbers is mapped into a tensor's memory again and again; a page is copied when
it is written to. To draw the numbers of 8 GiB takes half a minute.
"""

from __future__ import annotations

import ctypes
import functools
import math
import mmap
import os
from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from intelliperf_swizzle.frontends.triton.capture.standin_operators import overridden

LARGE_BYTES = 32 << 20
"""Larger tensors are filled so; the C library has mapped their memory for them alone."""
BLOCK_BYTES = 8 << 20
_FIXED = 0x10
"""Linux's MAP_FIXED, which Python does not name."""

_Constructor: TypeAlias = Callable[..., torch.Tensor]


def repeat_in(tensor: torch.Tensor, block: torch.Tensor) -> torch.Tensor:
    """Has a dense tensor hold a block again and again; returns it.

    Raises:
        OSError: the system does not map it.
    """
    begin, size, page = tensor.data_ptr(), tensor.nbytes, mmap.PAGESIZE
    first, last = -(-begin // page) * page, (begin + size) // page * page
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (
        *(ctypes.c_void_p, ctypes.c_size_t),
        *(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long),
    )
    file = os.memfd_create("random")
    try:
        with os.fdopen(os.dup(file), "wb") as stream:
            stream.write(memoryview(block.contiguous().view(torch.uint8).numpy()))
        for place in range(first, last, block.nbytes):
            length = min(block.nbytes, last - place)
            access, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | _FIXED
            if library.mmap(place, length, access, flags, file, 0) != place:
                raise OSError(ctypes.get_errno(), "a block cannot be mapped")
    finally:
        os.close(file)
    for place, end in ((begin, first), (last, begin + size)):
        ctypes.memmove(place, block.data_ptr(), end - place)
    return tensor


def patch_random(shape_of: Callable[[tuple[object, ...]], tuple[int, ...] | None]) -> None:
    """Has torch fill large tensors so.

    Args:
        shape_of: the shape that a constructor is called with, None if it is not positional.
    """
    for name in ("rand", "randn"):
        setattr(torch, name, _from_shape(getattr(torch, name), shape_of))
        setattr(torch, name + "_like", _from_tensor(getattr(torch, name + "_like")))
    for name in ("normal_", "uniform_"):
        setattr(torch.Tensor, name, _in_place(getattr(torch.Tensor, name)))


def _is_large(shape: tuple[int, ...], dtype: torch.dtype) -> bool:
    return "randn" not in overridden and math.prod(shape) * int(dtype.itemsize) > LARGE_BYTES


def _from_shape(
    construct: _Constructor, shape_of: Callable[[tuple[object, ...]], tuple[int, ...] | None]
) -> _Constructor:
    @functools.wraps(construct)
    def make(*arguments: object, **options: Any) -> torch.Tensor:
        shape = shape_of(arguments)
        dtype = options.get("dtype") or torch.get_default_dtype()
        if shape is None or "out" in options or not _is_large(shape, dtype):
            return construct(*arguments, **options)
        plain = {n: options[n] for n in ("generator", "dtype") if n in options}
        block = construct(BLOCK_BYTES // dtype.itemsize, **plain)
        options.pop("generator", None)
        made = torch.empty(shape, **options)
        repeat_in(made.detach(), block)
        return made

    return make


def _from_tensor(construct: _Constructor) -> _Constructor:
    @functools.wraps(construct)
    def make(like: torch.Tensor, **options: Any) -> torch.Tensor:
        dtype = options.get("dtype") or like.dtype
        if not _is_large(like.shape, dtype):
            return construct(like, **options)
        few = torch.empty(BLOCK_BYTES // dtype.itemsize, dtype=dtype)
        options = {k: options[k] for k in ("device", "requires_grad") if k in options}
        made = torch.empty(like.shape, **{"device": like.device, "dtype": dtype, **options})
        repeat_in(made.detach(), construct(few))
        return made

    return make


def _in_place(fill: _Constructor) -> _Constructor:
    @functools.wraps(fill)
    def make(self: torch.Tensor, *arguments: object, **options: object) -> torch.Tensor:
        large = self.is_floating_point() and _is_large(self.shape, self.dtype)
        if not large or not self.is_contiguous():
            return fill(self, *arguments, **options)
        few = torch.empty(BLOCK_BYTES // self.dtype.itemsize, dtype=self.dtype)
        repeat_in(self.detach(), fill(few, *arguments, **options))
        return self

    return make
