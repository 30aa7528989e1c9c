# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inside the application: what is not known, outside of torch, as numbers of Python and in files.

A number that is read of memory that is not known stays one that is not known whatever is computed
of it. What is read from a file is not known if that was written after something was not.
"""

import os
import sys
import tokenize
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_iter, tree_map_only

from intelliperf_swizzle.frontends.triton.capture import decisions, unknown
from intelliperf_swizzle.frontends.triton.capture.standin_operators import tensors_of


class Unknown(float):
    """A number that was read of what is not known."""

    __hash__ = float.__hash__

    @classmethod
    def __torch_function__(
        cls, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> object:
        made = func(*_known(args), **_known(kwargs or {}))
        for tensor in tensors_of((made, args[:1] if made is None else ())):
            unknown.mark_tensor(tensor)
        return made

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        return float, (float.__pos__(self),)


def _known(values: Any) -> Any:
    return tree_map_only(Unknown, float.__pos__, values)


def _operation(name: str) -> Callable[..., object]:
    compute = getattr(float, name)

    def computed(self: Unknown, *given: object) -> object:
        made, caller = compute(self, *given), sys._getframe(1)
        if type(made) is float and name != "__float__":
            return Unknown(made)
        if made is not NotImplemented:
            told = name == "__float__" or decisions.is_library(caller.f_code.co_filename)
            unknown.note_decisions([decisions.use_of_value(caller, floats=told)])
        return made

    return computed


_PLAIN = ("new", "repr", "hash", "getattribute", "getnewargs", "getformat", "format", "doc")
for _name in vars(float):
    if _name.startswith("__") and _name.strip("_") not in _PLAIN:
        setattr(Unknown, _name, _operation(_name))


def watch() -> None:
    """From now on sees what Python reads of tensors and of files."""
    for name in ("item", "tolist", "numpy", "__dlpack__"):
        setattr(torch.Tensor, name, _note(getattr(torch.Tensor, name)))
    for name in ("tensor", "as_tensor", "full", "full_like"):
        setattr(torch, name, _note_given(getattr(torch, name)))
    save = torch.save
    torch.save = lambda held, *given, **options: save(_known(held), *given, **options)
    torch.load = _note_file(torch.load)
    for owner in (torch, torch.UntypedStorage):
        owner.from_file = _note_file(owner.from_file)
    sys.addaudithook(_audit)


def _note(read: Callable[..., object]) -> Callable[..., object]:
    def noted(self: torch.Tensor, *given: Any, **options: Any) -> object:
        made, caller = read(self, *given, **options), sys._getframe(1).f_code.co_filename
        if caller.startswith(decisions.OWN) or not unknown.holds_unknown(self):
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
_FOLLOWED = (decisions.OWN, tokenize.__file__, torch.serialization.__file__)
"""Code of which it is known what it does with what it reads."""


def _note_file(read: Callable[..., Any]) -> Callable[..., Any]:
    """What is read there as tensors is followed as tensors."""

    def noted(file: Any, *given: Any, **options: Any) -> Any:
        made = read(file, *given, **options)
        if not _is_later(getattr(file, "name", file)):
            return made
        for leaf in tree_iter(made):
            held = leaf.state_dict() if isinstance(leaf, torch.nn.Module) else leaf
            if isinstance(held, (torch.UntypedStorage, torch.TypedStorage)):
                held = torch.empty(0).byte().set_(getattr(held, "_untyped_storage", held))
            for tensor in tensors_of((held,)):
                unknown.mark_tensor(tensor)
        return tree_map_only(float, Unknown, made)

    return noted


def _audit(event: str, given: tuple[Any, ...]) -> None:
    """Python opens a file to read it, or looks at an address."""
    if event == "open":
        read = isinstance(given[0], _PATHS) and not given[2] & (os.O_WRONLY | os.O_TRUNC)
        found = read and _is_later(given[0])
    else:
        found = event in _LOOKS and isinstance(given[0], int) and unknown.is_unknown_at(given[0])
    if found and not (caller := sys._getframe(1)).f_code.co_filename.startswith(_FOLLOWED):
        unknown.note_decisions([decisions.use_of_value(caller, floats=False)])


def _is_later(file: Any) -> bool:
    """Whether something was not known when a file was written, or before a buffer is read."""
    with suppress(OSError):
        begun, folder = unknown.since().stat(), unknown.since().parent
        if not isinstance(file, _PATHS):
            return True
        path = Path(os.fsdecode(file)).resolve()
        later = path.stat().st_mtime_ns >= begun.st_mtime_ns
        return later and path.is_file() and folder not in path.parents
    return False
