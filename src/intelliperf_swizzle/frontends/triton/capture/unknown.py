# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, without a GPU: memory whose contents are not what they would be on one.

A launch that was not executed, or a product of torch that was not computed, leaves its output as
it was. What torch makes of such memory is not known either; contents of it are not recorded. After
a branch of Python by it nothing in memory is known.
"""

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch._C._dynamo import eval_frame
from torch.utils._python_dispatch import TorchDispatchMode

from intelliperf_swizzle.frontends.triton.capture.addresses import Span, span_of
from intelliperf_swizzle.frontends.triton.capture.counts import replays
from intelliperf_swizzle.frontends.triton.capture.decisions import use_of_value
from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch, tensors_in
from intelliperf_swizzle.frontends.triton.capture.settings import FOLDER_VARIABLE, SINCE
from intelliperf_swizzle.frontends.triton.capture.sources import UnreadableKernelError
from intelliperf_swizzle.frontends.triton.capture.standin_operators import tensors_of

_OVERWRITES = ("aten::zero_", "aten::fill_", "aten::copy_")
"""Operations that leave nothing of what a tensor held."""


class _Mark:
    """Lives as long as the storage whose contents are not known, and says where that ends."""

    def __init__(self, end: int) -> None:
        self.end = end
        if not _marks:
            with suppress(FileExistsError):
                since().touch(exist_ok=False)


_marks: weakref.WeakValueDictionary[int, _Mark] = weakref.WeakValueDictionary()
"""By the first address of the storage."""
_lasting: dict[int, _Mark] = {}
"""Of memory that no argument of a launch is a view of: it is not known when that ends."""
_decisions: list[str] = []
"""Where Python has read a decision, a count or a token that is not known."""


def since() -> Path:
    """A file that an application has from the time on at which something was not known."""
    return Path(os.environ[FOLDER_VARIABLE]) / SINCE


def decided_at() -> str:
    """File and line of the first decision by what is not known; empty if there was none."""
    return next(iter(_decisions), "")


def note_decisions(places: Iterable[str]) -> None:
    """From now on contents are not known, if there are any places at which something decides."""
    _decisions.extend(filter(None, places))


def is_unknown(span: Span) -> bool:
    """Whether something in it is not known."""
    return bool(_decisions) or _meets(span.begin, span.end)


def _meets(begin: int, end: int) -> bool:
    """Whether something is not known between two addresses."""
    return any(at < end and begin < mark.end for at, mark in list(_marks.items()))


def is_unknown_at(address: int) -> bool:
    """Whether what an address leads to is not known."""
    return address in _marks or _meets(address, address + 1)


def mark_tensor(tensor: torch.Tensor, *, is_unknown: bool = True) -> None:
    """Notes whether what a tensor's storage holds is known."""
    with suppress(NotImplementedError, RuntimeError):
        storage = tensor.untyped_storage()
        begin = storage.data_ptr()
        if not is_unknown:
            _forget(begin, begin + 1)
        elif begin not in _marks:
            _marks[begin] = storage._intelliperf_swizzle_mark = _Mark(begin + storage.nbytes())


def _forget(begin: int, end: int) -> None:
    for at in [at for at in _marks if begin <= at < end]:
        _marks.pop(at, None)
        _lasting.pop(at, None)


def mark(live: DescribedLaunch, number: int, *, is_unknown: bool) -> None:
    """The same for a storage of a launch."""
    span = live.spans[number]
    if not is_unknown:
        _forget(span.begin, span.end)
        return
    tensors = [tensor for tensor in live.tensors if span.begin <= span_of(tensor).begin < span.end]
    for tensor in tensors:
        mark_tensor(tensor)
    if not tensors and span.begin not in _marks:
        _marks[span.begin] = _lasting[span.begin] = _Mark(span.end)


def mark_arguments(values: Iterable[Any]) -> None:
    """The same for all tensors of a launch of which nothing else is known."""
    with suppress(UnreadableKernelError):
        for tensor in tensors_in(values):
            mark_tensor(tensor)


class _Watch(TorchDispatchMode):  # type: ignore[misc]
    """What is made of something that is not known is not known."""

    # else torch imports Dynamo, which takes seconds
    _should_skip_dynamo = classmethod(lambda cls: False)
    ignore_compile_internals = classmethod(lambda cls: True)  # torch compiles what is watched

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        replays(partial(_make_again, func, args, kwargs or {}, made))
        if not _marks:
            return made
        given = list(tensors_of((*args, *(kwargs or {}).values())))
        name = func._schema.name
        is_unknown = any(map(holds_unknown, given))
        if isinstance(made, bool | int | float):
            note_read(*given)
        elif name in _OVERWRITES and given:
            target, *sources = given
            known = not any(map(holds_unknown, sources))
            whole = target.numel() * target.element_size() == target.untyped_storage().nbytes()
            if not known or whole:
                mark_tensor(target, is_unknown=not known)
        elif is_unknown:
            for tensor in tensors_of((made,)):
                mark_tensor(tensor)
        return made


def _make_again(func: Any, args: Sequence[Any], kwargs: Any, made: object) -> None:
    """What a graph does at each replay; its tensors are those that were made."""
    with torch.no_grad():
        for old, new in zip(tensors_of((made,)), tensors_of((func(*args, **kwargs),)), strict=True):
            if old.data_ptr() != new.data_ptr():
                old.copy_(new)


def watch_torch() -> None:
    """From now on follows what torch makes of memory that is not known, in each thread."""
    with suppress(AttributeError):  # nothing of it is compiled with what it watches
        skip = eval_frame._FrameExecStrategy(*[eval_frame._FrameAction.SKIP] * 2)
        eval_frame.set_code_exec_strategy(_Watch.__torch_dispatch__.__code__, skip)
    _Watch().__enter__()
    bootstrap = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def watched(self: threading.Thread) -> None:
        with _Watch():
            bootstrap(self)

    threading.Thread._bootstrap_inner = watched  # type: ignore[attr-defined]


def note_read(*tensors: torch.Tensor) -> None:
    """Notes that Python reads tensors, if they are not known and it does more than tell of them."""
    read = [tensor for tensor in tensors if holds_unknown(tensor)]
    if read and not _decisions:
        note_decisions([use_of_value(sys._getframe(1), floats=read[0].is_floating_point())])


def holds_unknown(tensor: torch.Tensor) -> bool:
    """Whether what a tensor's storage holds is not known."""
    with suppress(NotImplementedError, RuntimeError):
        return is_unknown_at(tensor.untyped_storage().data_ptr())
    return False


# --- kernels that are not known -------------------------------------------------------------------

REGISTERS = 64
SHARED_BYTES = 8192
"""Of a kernel that was not compiled: assumed, in the middle of what kernels use."""


class RefusedKernel:
    """A compiled kernel, as host code sees it, that does nothing.

    Args:
        name: of the kernel.
        refusal: why it is none; an exception would keep the compiler's objects alive.
    """

    function = packed_metadata = None
    n_regs, n_spills, n_max_threads = REGISTERS, 0, 1024

    def __init__(self, name: str, refusal: str) -> None:
        self.name, self.refusal = name, refusal
        self.metadata = SimpleNamespace(
            name=name, shared=SHARED_BYTES, num_warps=4, num_stages=1, num_ctas=1
        )
        self.asm: dict[str, str] = {}

    launch_metadata = _init_handles = lambda self, *_: None
    """There is none, and nothing to load."""

    def run(self, *given: object) -> None:
        """Nothing is launched."""
        mark_arguments(given)

    def __getitem__(self, grid: object) -> Callable[..., None]:
        return lambda *_, **__: None
