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

import numpy as np
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
    numbers = [ctypes.c_int] * 3
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *numbers, ctypes.c_long]
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


def patch_random() -> None:
    """Has torch fill large tensors so."""
    for name in ("normal_", "uniform_"):
        setattr(torch.Tensor, name, _in_place(getattr(torch.Tensor, name)))
    for name, fill in (("rand", "uniform_"), ("randn", "normal_")):
        for made in (name, name + "_like"):
            setattr(torch, made, _filled(getattr(torch, made), fill))


def _is_large(shape: tuple[int, ...], dtype: torch.dtype) -> bool:
    return "randn" not in overridden and math.prod(shape) * int(dtype.itemsize) > LARGE_BYTES


def _shape(arguments: tuple[object, ...]) -> tuple[int, ...] | None:
    """The shape that a constructor is called with, None if it is not positional."""
    given = arguments
    if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        given = tuple(arguments[0])
    shape = tuple(int(n) for n in given if isinstance(n, (int, np.integer)) and n >= 0)
    return shape if arguments and len(shape) == len(given) else None


def _filled(construct: _Constructor, fill: str) -> _Constructor:
    """A constructor that has a method of the tensor fill what is large."""

    @functools.wraps(construct)
    def make(*arguments: Any, **options: Any) -> torch.Tensor:
        like = arguments[0] if arguments and isinstance(arguments[0], torch.Tensor) else None
        shape = _shape(arguments) if like is None else like.shape
        dtype = options.get("dtype") or (torch.get_default_dtype() if like is None else like.dtype)
        if shape is None or "out" in options or not _is_large(shape, dtype):
            return construct(*arguments, **options)
        generator = options.pop("generator", None)
        if like is not None:
            kept = {n: one for n, one in options.items() if n in ("device", "requires_grad")}
            options = {"device": like.device, "dtype": dtype, **kept}
        made = torch.empty(shape, **options)
        getattr(made.detach(), fill)(generator=generator)
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
