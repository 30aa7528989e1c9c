# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application, without a GPU: memory whose contents are not what they would be on one.

A launch that was not executed, or a product of torch that was not computed, leaves its output as
it was. What torch makes of such memory is not known either; contents of it are not recorded. After
Python has done more with it than to tell of it, nothing in memory is known.
"""

import ast
import builtins
import linecache
import re
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
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


def decide(place: str) -> None:
    """Notes that the application decides something by what is not known, if `place` says where."""
    _decisions.extend([place] if place else [])


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
    for name in ("tolist", "numpy", "__dlpack__", "__reduce_ex__"):
        setattr(torch.Tensor, name, _note(getattr(torch.Tensor, name)))


def _note(read: Callable[..., object]) -> Callable[..., object]:
    def noted(self: torch.Tensor, *given: Any, **options: Any) -> object:
        if not sys._getframe(1).f_code.co_filename.startswith(_OWN):
            _note_read(self)
        return read(self, *given, **options)

    return noted


def _note_read(*tensors: torch.Tensor) -> None:
    """Notes that Python reads tensors, if they are not known and it does more than tell of them."""
    if any(map(_holds_unknown, tensors)) and not _decisions:
        decide(use_of_value(sys._getframe(1)))


def _holds_unknown(tensor: torch.Tensor) -> bool:
    with suppress(NotImplementedError, RuntimeError):
        return tensor.untyped_storage().data_ptr() in _marks
    return False


# --- what Python does with a value that it reads -----------------------------------------------

_OWN, _STANDARD = str(Path(__file__).parents[3]), str(Path(ast.__file__).parent)
_LIBRARIES = (_OWN, *(str(Path(m.__file__ or "").parent) for m in (torch, np)), "<frozen")
_TELLING = re.compile(
    r"(.*\.)?(print|debug|info|warning|error|log|exit|fail|skip|assert\w*|\w*(Error|Exit|Exception)"
    r"|getLogger|set_(postfix|description)(_str)?)|(sys\.std(out|err)|tqdm)\.(write|flush)"
)
"""Functions that say something, or end the application."""
_DOING = re.compile(r"(.*_|open|exec|eval|map|filter|input|(set|del)attr|vars|globals)$")
_READING = {*dir(builtins), "item", "tolist", "numpy", "astype", "array", "equal", "allclose"}
_COMPUTING = {name for name in (*_READING, *dir(torch.Tensor), *dir(str)) if not _DOING.match(name)}
"""Functions that only compute of what they are given."""
_ASSIGNS = ast.Assign | ast.AnnAssign | ast.AugAssign
_KINDS = _ASSIGNS | ast.Expr | ast.Raise | ast.Assert | ast.Pass | ast.Delete | ast.If | ast.For


def use_of_value(frame: FrameType | None) -> str:
    """The file and line at which Python may decide something by a value that it reads; empty if it
    is only said, asserted and computed with, as are the variables that hold something of it."""
    inner = ""
    while frame is not None:
        code, line, frame = frame.f_code, frame.f_lineno, frame.f_back
        standard = code.co_filename.startswith(_STANDARD) and "-packages" not in code.co_filename
        if standard or code.co_filename.startswith(_LIBRARIES):
            continue
        line, returned = _use(code.co_filename, line, inner)
        if not returned:
            return f"{Path(code.co_filename).name}:{line}" if line else ""
        inner = code.co_name
    return ""


@lru_cache(maxsize=256)
def _use(file: str, line: int, inner: str) -> tuple[int, bool]:
    """The line that may decide by a value that is read at another line, or returned to it by the
    function `inner`, 0 if none; and whether it is returned, so that the caller may decide."""
    tree = ast.parse("".join(linecache.getlines(file)))
    around = [n for n in _find(tree, ast.stmt) if n.lineno <= line <= (n.end_lineno or 0)]
    own = [tree, *(node for node in around if isinstance(node, ast.FunctionDef))][-1]
    scope = tree if _find(own, ast.Global, ast.Nonlocal) else own
    users = sorted(around, key=lambda node: (node.end_lineno or 0) - node.lineno)[:1]
    made = (s for s in _find(scope, ast.Assign) if isinstance(s.value, ast.List | ast.Dict))
    new = {target.id for s in made for target in s.targets if isinstance(target, ast.Name)}
    names, held = {inner} if inner else _READING, set[str]()
    for user in users:  # grows as it goes
        if not _tells(user, names, new):
            return user.lineno, False
        held |= {n.id for n in _find(user, ast.Name) if n.id in new or isinstance(n.ctx, ast.Store)}
        inside = (f for f in _find(scope, ast.FunctionDef) if f is not own and user in ast.walk(f))
        names = held = held | {function.name for function in inside}
        read = (s for s in _find(scope, ast.stmt) if held & {getattr(n, "id", 0) for n in _head(s)})
        users += [statement for statement in read if statement not in users]
    back = (ast.Return, ast.Yield, ast.YieldFrom, ast.Lambda)
    returned = (isinstance(node, back) for user in users for node in (user, *_head(user)))
    return 0, own is not tree and any(returned)


def _tells(user: ast.stmt, names: Collection[str], new: Collection[str]) -> bool:
    """Whether a statement only says, asserts, or computes with, what has one of some names, or puts
    it into a `new` container."""
    head = _head(user)
    whole = not any(_last(node) in names for node in head)
    whole = whole or any(isinstance(node, ast.IfExp | ast.BoolOp) for node in head)
    for node in ast.walk(user):
        given = (part for part in ast.walk(node) if part not in (node, getattr(node, "func", node)))
        gets = whole or node not in head or any(_last(part) in names for part in given)
        match node:
            case ast.Call(ast.Attribute(ast.Name(name), "append")) if name in new:
                pass
            case ast.Subscript(ast.Name(name), ctx=ast.Store()) if name in new:
                pass
            case ast.Call(function) if gets and _last(node) not in _COMPUTING.union(names):
                if not _TELLING.fullmatch(ast.unparse(function)):
                    return False
            case ast.keyword("out" | "file", ast.Name() | ast.Call()):
                return False
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                return False
            case ast.Return() | ast.With() if node is user:
                pass
            case ast.stmt() if not isinstance(node, _KINDS):
                return False
    return True


def _last(node: ast.AST) -> str:
    """The last name of a function that is called, or of an attribute."""
    node = node.func if isinstance(node, ast.Call) else node
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _find(tree: ast.AST, *kinds: type[ast.AST]) -> list[Any]:
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def _head(statement: ast.stmt) -> list[ast.AST]:
    """What is in a statement but in no statement of it."""
    inner = (ast.stmt, ast.excepthandler)
    parts = (part for part in ast.iter_child_nodes(statement) if not isinstance(part, inner))
    return [node for part in parts for node in ast.walk(part)]


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
