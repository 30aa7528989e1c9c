# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Operators that are registered for CUDA, on the CPU tensors of an application without a GPU.

What a library registers for CUDA is registered for the CPU, in front of what is there: it is called
if a tensor claims to be on the GPU, or is being made to be there.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_iter

_HERE = {"CUDA": "CPU", "AutogradCUDA": "AutogradCPU"}
overridden: set[str] = set()
"""Names of operators, without their overloads, that a library has registered for CUDA."""
libraries: list[torch.library.Library] = []  # kept alive: an override ends with its library
_now = threading.local()


@contextmanager
def making(*, on_gpu: bool | None) -> Iterator[None]:
    """Where a tensor that is made inside is wanted; None: none is being made."""
    before = getattr(_now, "on_gpu", None)
    _now.on_gpu = on_gpu
    try:
        yield
    finally:
        _now.on_gpu = before


def install() -> None:
    """Has `torch.library` register for the CPU what is for CUDA."""
    register = torch.library.Library.impl
    host: dict[tuple[str, str], Callable[..., Any]] = {}

    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> None:
        key = dispatch_key or self.dispatch_key
        given = op_name if isinstance(op_name, str) else op_name.name()
        place = (f"{self.ns}::{given.rpartition('::')[2]}", _HERE.get(key, key))
        own = lambda _, *args, **kwargs: fn(*args, **kwargs)  # noqa: E731
        if key not in _HERE or "with_keyset" in options or not hasattr(torch.library, "get_kernel"):
            if place in host:
                host[place] = own  # a library's own for the CPU, after that for CUDA
            else:
                register(self, op_name, fn, dispatch_key, **options)
            return
        host.setdefault(place, _present(*place) or own)
        overridden.add(place[0].rpartition("::")[2].partition(".")[0])

        def called(keys: Any, *args: Any, **kwargs: Any) -> Any:
            wanted = getattr(_now, "on_gpu", None)
            if wanted is None:
                wanted = any(tensor.is_cuda for tensor in tensors_of((*args, *kwargs.values())))
            if not wanted:
                return host[place](keys, *args, **kwargs)
            if kwargs.get("device") is not None:  # the CPU, by now
                kwargs["device"] = torch.device("cuda", 0)
            with making(on_gpu=None):
                return fn(*args, **kwargs)

        register(self, op_name, called, place[1], with_keyset=True, allow_override=True)

    torch.library.Library.impl = impl


def _present(name: str, key: str) -> Callable[..., Any] | None:
    """What an operator calls now, if anything."""
    try:
        found = torch.library.get_kernel(name, key)
    except RuntimeError:
        return None
    operator, _, overload = name.partition(".")
    wanted = [str(x.type) == "Tensor" for x in torch._C._get_schema(operator, overload).arguments]

    def call(keys: Any, *args: Any, **kwargs: Any) -> Any:
        kinds = zip(wanted, args, strict=False)  # the dispatcher has made numbers of tensors
        made = [torch.tensor(x) if y and not isinstance(x, torch.Tensor) else x for y, x in kinds]
        return found.call_boxed(keys, *made, **kwargs)

    return call


def tensors_of(values: Iterable[object]) -> Iterator[torch.Tensor]:
    """The tensors of an operator's arguments."""
    return (leaf for leaf in tree_iter(values) if isinstance(leaf, torch.Tensor))
