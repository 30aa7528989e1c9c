# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is not known, outside of torch: as numbers of Python, and in files.

A number that is read of memory that is not known stays one that is not known whatever is computed
of it. What is read from a file is not known if that was written after something was not.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_iter, tree_map_only

from intelliperf_swizzle.frontends.triton.capture import unknown
from intelliperf_swizzle.frontends.triton.capture.decisions import OWN, use_of_value
from intelliperf_swizzle.frontends.triton.capture.standin_operators import tensors_of

_DECIDING = ("lt", "le", "gt", "ge", "eq", "ne", "bool", "int", "float", "round", "floor", "ceil",
             "trunc", "divmod", "floordiv")  # fmt: skip
_COMPUTING = ("add", "sub", "mul", "truediv", "pow", "mod", "radd", "rsub", "rmul", "rtruediv",
              "rpow", "rmod", "neg", "pos", "abs")  # fmt: skip


class Unknown(float):
    """A number that was read of what is not known."""

    @classmethod
    def __torch_function__(
        cls, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> object:
        made = func(*tree_map_only(cls, _plain, args), **tree_map_only(cls, _plain, kwargs or {}))
        for tensor in tensors_of((made, args[:1] if made is None else ())):
            unknown.mark_tensor(tensor)
        return made

    __hash__ = float.__hash__

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        return float, (_plain(self),)


_plain = float.__pos__


def _decides(name: str) -> Callable[..., object]:
    compute = getattr(float, name)

    def decided(self: Unknown, *given: object) -> object:
        unknown.note_decisions([use_of_value(sys._getframe(1), floats=name == "__float__")])
        return compute(self, *given)

    return decided


def _computes(name: str) -> Callable[..., object]:
    compute = getattr(float, name)

    def computed(self: Unknown, *given: object) -> object:
        made = compute(self, *given)
        return Unknown(made) if isinstance(made, float) else made

    return computed


for _names, _make in ((_DECIDING, _decides), (_COMPUTING, _computes)):
    for _name in _names:
        setattr(Unknown, f"__{_name}__", _make(f"__{_name}__"))


def watch() -> None:
    """From now on sees what Python reads of tensors and of files."""
    for name in ("item", "tolist", "numpy", "__dlpack__"):
        setattr(torch.Tensor, name, _note(getattr(torch.Tensor, name)))
    for name in ("tensor", "as_tensor", "full", "full_like"):
        setattr(torch, name, _note_given(getattr(torch, name)))
    save = torch.save
    torch.save = lambda held, *a, **o: save(tree_map_only(Unknown, _plain, held), *a, **o)
    torch.load = _note_file(torch.load)
    for owner in (torch, torch.UntypedStorage):
        owner.from_file = _note_file(owner.from_file)
    sys.addaudithook(_audit)


def _note(read: Callable[..., object]) -> Callable[..., object]:
    def noted(self: torch.Tensor, *given: Any, **options: Any) -> object:
        made = read(self, *given, **options)
        if sys._getframe(1).f_code.co_filename.startswith(OWN) or not unknown.holds_unknown(self):
            return made
        unknown.note_read(self)
        return tree_map_only(float, Unknown, made)

    return noted


def _note_given(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def made_of(*given: Any, **options: Any) -> torch.Tensor:
        made = make(*given, **options)
        if any(isinstance(leaf, Unknown) for leaf in tree_iter((given, options))):
            unknown.mark_tensor(made)
        return made

    return made_of


# --- files ----------------------------------------------------------------------------------------


_PATHS = (str, bytes, os.PathLike)
_LOOKS = ("ctypes.cdata", "ctypes.string_at", "ctypes.memoryview_at")


class _Now(threading.local):
    reading = False
    """Whether a file is being read of which all is known that is wanted."""


_now = _Now()


@contextmanager
def _reading() -> Iterator[None]:
    before, _now.reading = _now.reading, True
    try:
        yield
    finally:
        _now.reading = before


def _note_file(read: Callable[..., Any]) -> Callable[..., Any]:
    """What is read there as tensors is followed as tensors."""

    def noted(file: Any, *given: Any, **options: Any) -> Any:
        with _reading():
            made = read(file, *given, **options)
        if not _is_later(getattr(file, "name", file)):
            return made
        for leaf in tree_iter(made):
            held = leaf.state_dict() if isinstance(leaf, torch.nn.Module) else leaf
            if isinstance(held, (torch.UntypedStorage, torch.TypedStorage)):
                storage = getattr(held, "_untyped_storage", held)
                held = torch.tensor([], dtype=torch.uint8).set_(storage)
            for tensor in tensors_of((held,)):
                unknown.mark_tensor(tensor)
        return tree_map_only(float, Unknown, made)

    return noted


def _audit(event: str, given: tuple[Any, ...]) -> None:
    """Python opens a file to read it, or looks at an address."""
    if _now.reading:
        return
    if event == "open":
        path, read = isinstance(given[0], _PATHS), not given[2] & (os.O_WRONLY | os.O_TRUNC)
        found = path and read and _is_later(given[0])
    else:
        found = event in _LOOKS and isinstance(given[0], int) and unknown.is_unknown_at(given[0])
    if found and not sys._getframe(1).f_code.co_filename.startswith(OWN):
        with _reading():
            place = use_of_value(sys._getframe(1), floats=False)
        unknown.note_decisions([place])


def _is_later(file: Any) -> bool:
    """Whether something was not known when a file was written, or before a buffer is read."""
    with suppress(OSError):
        begun, folder = unknown.since().stat(), unknown.since().parent
        if not isinstance(file, _PATHS):
            return True
        path = Path(os.fsdecode(file)).resolve()
        held = path.stat()
        return (
            held.st_mtime_ns >= begun.st_mtime_ns and path.is_file() and folder not in path.parents
        )
    return False
