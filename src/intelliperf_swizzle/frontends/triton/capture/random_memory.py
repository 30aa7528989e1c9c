# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, without a GPU: large random tensors that cost neither time nor memory.

One block of random numbers is mapped into a tensor's memory again and again; a page is copied when
it is written to. To draw the numbers of 8 GiB takes half a minute.
"""

import ctypes
import mmap
import os
from collections.abc import Callable
from typing import Any

import torch

from intelliperf_swizzle.frontends.triton.capture import standin_operators

LARGE_BYTES = 32 << 20
"""Larger tensors are filled so; the C library has mapped their memory for them alone."""
BLOCK_BYTES = 8 << 20
_FIXED = 0x10  # Linux's MAP_FIXED, which Python does not name


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
    """Has torch fill large tensors so, also those that `randn` and its like have just made.

    Without `torch.library.get_kernel` (torch 2.9) they are drawn whole.
    """
    if hasattr(torch.library, "get_kernel"):
        library = torch.library.Library("aten", "IMPL")
        for name in ("normal_", "uniform_"):
            fill = _filling(torch.library.get_kernel(f"aten::{name}", "CPU"))
            library.impl(name, fill, "CPU", with_keyset=True, allow_override=True)
        standin_operators.libraries.append(library)


def _filling(present: Any) -> Callable[..., torch.Tensor]:
    def fill(keys: Any, self: torch.Tensor, *given: object, **options: object) -> torch.Tensor:
        large = self.is_floating_point() and self.nbytes > LARGE_BYTES
        if not large or not self.is_contiguous():
            present.call_boxed(keys, self, *given, **options)
            return self
        few = torch.empty(BLOCK_BYTES // self.dtype.itemsize, dtype=self.dtype)
        present.call_boxed(keys, few, *given, **options)
        return repeat_in(self, few)

    return fill
