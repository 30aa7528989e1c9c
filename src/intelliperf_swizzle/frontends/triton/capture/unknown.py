# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, without a GPU: memory whose contents are not what they would be on one.

A launch that was not executed, or a product of torch that was not computed, leaves its output as
it was. What torch makes of such memory is not known either; contents of it are not recorded.
"""

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import torch
from torch._C._dynamo import eval_frame
from torch.utils._python_dispatch import TorchDispatchMode

from intelliperf_swizzle.frontends.triton.capture.addresses import Span, span_of
from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch, tensors_in
from intelliperf_swizzle.frontends.triton.capture.sources import UnreadableKernelError
from intelliperf_swizzle.frontends.triton.capture.standin_operators import tensors_of

_OVERWRITES = ("aten::zero_", "aten::fill_", "aten::copy_")
"""Operations that leave nothing of what a tensor held."""
_FROM_HOST = ("aten::lift_fresh", "aten::fill_", "aten::full", "aten::scalar_tensor")
"""Operations by which a tensor holds what Python says; not known after `_decisions`."""


class _Mark:
    """Lives as long as the storage whose contents are not known."""


_marks: weakref.WeakValueDictionary[int, _Mark] = weakref.WeakValueDictionary()
"""By the first address of the storage."""
_lasting: dict[int, _Mark] = {}
"""Of memory that no argument of a launch is a view of: it is not known when that ends."""
_watching: list[TorchDispatchMode] = []
_decisions: list[bool] = []
"""Not empty after Python has read a decision, a count or a token that is not known."""


def is_unknown(span: Span) -> bool:
    """Whether something in it is not known."""
    return any(span.begin <= begin < span.end for begin in list(_marks.keys()))


def mark_tensor(tensor: torch.Tensor, *, is_unknown: bool = True) -> None:
    """Notes whether what a tensor's storage holds is known."""
    with suppress(NotImplementedError, RuntimeError):
        storage = tensor.untyped_storage()
        begin = storage.data_ptr()
        if not is_unknown:
            _marks.pop(begin, None)
            _lasting.pop(begin, None)
        elif begin not in _marks:
            _marks[begin] = storage._intelliperf_swizzle_mark = _Mark()


def mark(live: DescribedLaunch, number: int, *, is_unknown: bool) -> None:
    """The same for a storage of a launch."""
    span = live.spans[number]
    if not is_unknown:
        for begin in [at for at in _marks if span.begin <= at < span.end]:
            _marks.pop(begin, None)
            _lasting.pop(begin, None)
        return
    tensors = [tensor for tensor in live.tensors if span.begin <= span_of(tensor).begin < span.end]
    for tensor in tensors:
        mark_tensor(tensor)
    if not tensors and span.begin not in _marks:
        _marks[span.begin] = _lasting[span.begin] = _Mark()


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
        if not _marks and not _decisions:
            return made
        given = list(tensors_of((*args, *(kwargs or {}).values())))
        name = func._schema.name
        is_unknown = any(map(_holds_unknown, given))
        if name == "aten::_local_scalar_dense":
            _note_read(given[0])
        elif _decisions and name in _FROM_HOST:
            mark_tensor(made)
        elif name in _OVERWRITES and given:
            target, *sources = given
            known = not any(map(_holds_unknown, sources))
            whole = target.numel() * target.element_size() == target.untyped_storage().nbytes()
            if not known or whole:
                mark_tensor(target, is_unknown=not known)
        elif is_unknown:
            for tensor in tensors_of((made,)):
                mark_tensor(tensor)
        return made


def watch_torch() -> None:
    """From now on follows what torch makes of memory that is not known, in each thread."""
    if not _watching:
        with suppress(AttributeError):  # nothing of it is compiled with what it watches
            skip = eval_frame._FrameExecStrategy(*[eval_frame._FrameAction.SKIP] * 2)
            eval_frame.set_code_exec_strategy(_Watch.__torch_dispatch__.__code__, skip)
        mode = _Watch()
        _watching.append(mode)
        mode.__enter__()
        start = threading.Thread.start

        def started(self: threading.Thread) -> None:
            run = self.run

            def watched() -> None:
                with _Watch():
                    run()

            self.run = watched  # type: ignore[method-assign]
            start(self)

        threading.Thread.start = started  # type: ignore[method-assign]
        listed = torch.Tensor.tolist

        def tolist(self: torch.Tensor) -> object:
            _note_read(self)
            return listed(self)

        torch.Tensor.tolist = tolist


def _note_read(tensor: torch.Tensor) -> None:
    """Notes that Python reads a tensor; floats are printed and compared, and decide nothing."""
    if _holds_unknown(tensor) and not tensor.is_floating_point():
        _decisions.append(True)


def _holds_unknown(tensor: torch.Tensor) -> bool:
    with suppress(NotImplementedError, RuntimeError):
        return tensor.untyped_storage().data_ptr() in _marks
    return False


# --- kernels that are not known -------------------------------------------------------------------

REGISTERS = 64
SHARED_BYTES = 8192
"""Of a kernel that nobody compiled: assumed, in the middle of what kernels use."""


class _RefusedMetadata(NamedTuple):
    """Metadata of a kernel that was not compiled."""

    name: str
    shared: int = SHARED_BYTES
    num_warps: int = 4
    num_stages: int = 1
    num_ctas: int = 1


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
        self.metadata = _RefusedMetadata(name)
        self.asm: dict[str, str] = {}

    launch_metadata = _init_handles = lambda self, *_: None
    """There is none, and nothing to load."""

    def run(self, *given: object) -> None:
        """Nothing is launched."""
        mark_arguments(given)

    def __getitem__(self, grid: object) -> Callable[..., None]:
        return lambda *_, **__: None
