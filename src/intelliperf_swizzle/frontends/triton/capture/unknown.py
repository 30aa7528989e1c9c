# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, without a GPU: memory whose contents are not what they would be on one.

A launch that was not executed, or a product of torch that was not computed, leaves its output as
it was. What torch makes of such memory is not known either; contents of it are not recorded. After
a branch of Python by it nothing in memory is known.
"""

import ast
import linecache
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch._C._dynamo import eval_frame
from torch.utils._python_dispatch import TorchDispatchMode

from intelliperf_swizzle.frontends.triton.capture.addresses import Span, span_of
from intelliperf_swizzle.frontends.triton.capture.counts import replays
from intelliperf_swizzle.frontends.triton.capture.describe import DescribedLaunch, tensors_in
from intelliperf_swizzle.frontends.triton.capture.sources import UnreadableKernelError
from intelliperf_swizzle.frontends.triton.capture.standin_operators import tensors_of

_OVERWRITES = ("aten::zero_", "aten::fill_", "aten::copy_")
"""Operations that leave nothing of what a tensor held."""


class _Mark:
    """Lives as long as the storage whose contents are not known."""


_marks: weakref.WeakValueDictionary[int, _Mark] = weakref.WeakValueDictionary()
"""By the first address of the storage."""
_lasting: dict[int, _Mark] = {}
"""Of memory that no argument of a launch is a view of: it is not known when that ends."""
_decisions: list[str] = []  # where Python has read a decision, a count or a token that is not known


def decided_at() -> str:
    """File and line of the first decision by what is not known; empty if there was none."""
    return next(iter(_decisions), "")


def is_unknown(span: Span) -> bool:
    """Whether something in it is not known."""
    return bool(_decisions) or any(span.begin <= begin < span.end for begin in list(_marks.keys()))


def mark_tensor(tensor: torch.Tensor, *, is_unknown: bool = True) -> None:
    """Notes whether what a tensor's storage holds is known."""
    with suppress(NotImplementedError, RuntimeError):
        storage = tensor.untyped_storage()
        begin = storage.data_ptr()
        if not is_unknown:
            _forget(begin, begin + 1)
        elif begin not in _marks:
            _marks[begin] = storage._intelliperf_swizzle_mark = _Mark()


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
        replays(partial(_make_again, func, args, kwargs or {}, made))
        if not _marks:
            return made
        given = list(tensors_of((*args, *(kwargs or {}).values())))
        name = func._schema.name
        is_unknown = any(map(_holds_unknown, given))
        if isinstance(made, bool | int | float):
            _note_read(*given)
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
    for name in ("tolist", "numpy"):
        setattr(torch.Tensor, name, _note(getattr(torch.Tensor, name)))


_OWN = str(Path(__file__).parents[3])


def _note(read: Callable[..., object]) -> Callable[..., object]:
    def noted(self: torch.Tensor, *given: Any, **options: Any) -> object:
        if not sys._getframe(1).f_code.co_filename.startswith(_OWN):
            _note_read(self)
        return read(self, *given, **options)

    return noted


def _note_read(*tensors: torch.Tensor) -> None:
    """Notes that Python reads tensors, if they are not known and it does more than tell of them."""
    read = [tensor for tensor in tensors if _holds_unknown(tensor)]
    if read and not _decisions:
        place = use_of_value(sys._getframe(1), floats=read[0].is_floating_point())
        _decisions.extend([place] if place else [])


def _holds_unknown(tensor: torch.Tensor) -> bool:
    with suppress(NotImplementedError, RuntimeError):
        return tensor.untyped_storage().data_ptr() in _marks
    return False


# --- what Python does with a value that it reads -----------------------------------------------

_LIBRARIES = (*(str(Path(m.__file__ or "").parent) for m in (torch, np)), "<frozen")
_TELLING = re.compile("(print|debug|info|warning|error|log|exit|fail|skip|assert.*)$")
"""Functions that say something, or end the application."""
_BRANCHES = ast.If | ast.For | ast.While | ast.IfExp | ast.Compare


def use_of_value(frame: FrameType | None, *, floats: bool) -> str:
    """The file and line at which Python decides something by a value that it reads; of `floats`,
    at which it branches. Empty if there is none, as where the value is only printed."""
    place, returned = "", True
    while frame is not None and returned:
        file, line, frame = frame.f_code.co_filename, frame.f_lineno, frame.f_back
        if not file.startswith((_OWN, *_LIBRARIES)):
            line, returned = _use(file, line, floats)
            place = f"{Path(file).name}:{line}" if line else ""
    return place


@lru_cache(maxsize=256)
def _use(file: str, line: int, floats: bool) -> tuple[int, bool]:
    """The line that decides by a value that is read at another line, 0 if none; and whether the
    function returns the value instead, so that its caller may decide."""
    tree = ast.parse("".join(linecache.getlines(file)))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    around = [node for node in nodes if node.lineno <= line <= (node.end_lineno or 0)]
    scope = [tree, *(node for node in around if isinstance(node, ast.FunctionDef))][-1]
    users = sorted(around, key=lambda node: (node.end_lineno or 0) - node.lineno)[:1]
    inside = [node for node in ast.walk(scope) if isinstance(node, ast.stmt)]
    for user in users:  # grows as it goes
        held = {n.id for n in ast.walk(user) if isinstance(n, ast.Name) and _is_set(n)}
        read = (s for s in inside if held & {getattr(n, "id", "") for n in _head(s)})
        users += [statement for statement in read if statement not in users]
    if users and all(map(_tells, users)):
        return 0, False
    returned = [user for user in users if isinstance(user, ast.Return)]
    deciding = (u for u in users if isinstance(u, ast.Assign) or not (_tells(u) or u in returned))
    lines = (u.lineno for u in deciding if any(isinstance(n, _BRANCHES) for n in (u, *_head(u))))
    branch = next(lines, 0)
    return branch or line * (not floats), bool(returned and not branch)


def _tells(statement: ast.AST) -> bool:
    """Whether it only says something, ends the application, or sets variables."""
    match statement:
        case ast.Pass() | ast.Raise() | ast.Assert():
            return True
        case ast.Expr(ast.Call(ast.Name(name) | ast.Attribute(_, name))):
            return _TELLING.match(name) is not None
        case ast.If() | ast.For():
            parts = ast.iter_child_nodes(statement)
            return all(_tells(part) for part in parts if isinstance(part, ast.stmt))
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            return all(isinstance(n, ast.Name | ast.Tuple) for n in _head(statement) if _is_set(n))
    return False


def _head(statement: ast.AST) -> list[ast.AST]:
    """What is in a statement but in no statement of it."""
    parts = (p for p in ast.iter_child_nodes(statement) if not isinstance(p, ast.stmt))
    return [node for part in parts for node in ast.walk(part)]


def _is_set(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


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
