# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What an application computes, by Triton's own interpreter and nothing of ours.

    python -m hunt.truth        reads requests from stdin, writes outcomes to stdout (JSON lines)

A launch is dispatched as a GPU does it, axis 0 fastest, one program at a time: in launch order, in
reverse, or shuffled. A program that waits for one that has not been dispatched never ends then
(`hang`, found by a bound on its accesses); one that leaves its tensors is a `fault`.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import linecache
import os
import random
import re
import runpy
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any

from hunt.applications import Launch
from hunt.swizzles import renumber

LAUNCH, REVERSED, SHUFFLED = ORDERS = ("launch", "reversed", "shuffled")
MOST_ACCESSES = 400
"""Of one program; the generated ones make a hundred, and one that waits makes them for ever."""

ENVIRONMENT = {"TRITON_INTERPRET": "1", "DEV": "cpu", "SPLIT": "1", "OMP_NUM_THREADS": "1"}
"""In which applications run: the first configuration is the one that a tuner took."""
RENUMBERED = "renumbered.txt"
"""File beside an application with a swizzle that changes `kernel` alone, and none of its text, and
the values of constexprs under which it does."""

Outcome = str
"""A digest of all results, or `hang`, `fault` or `error: …`."""


class Truth:
    """A process that runs applications, started when first asked."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Truth:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def outcomes(
        self,
        folder: Path,
        orders: Sequence[str],
        expected: Outcome | None = None,
        variant: Mapping[str, str] = {},
    ) -> list[Outcome]:
        """What the application in a folder computes in each order of programs.

        With an expected outcome, up to the first order in which it computes another. `variant` is
        put into its environment.
        """
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "hunt.truth"],
                cwd=Path(__file__).parents[1],
                env={**os.environ, **ENVIRONMENT},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(
            json.dumps([str(folder), list(orders), expected, dict(variant)]) + "\n"
        )
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:  # the interpreter itself crashed
            self._process = None
            return ["error: the interpreter ended"] * len(orders)
        answer: list[Outcome] = json.loads(line)
        return answer


# --- in the process -------------------------------------------------------------------------------


class HangError(BaseException):
    """A program waits for ever; no `Exception`, which the interpreter would wrap."""


class FaultError(BaseException):
    """A program leaves its tensors."""


class _Bounded:
    """The interpreter's C++ module, with bounds on what a program may do."""

    def __init__(self, native: Any) -> None:
        self._native = native
        self.left = 0
        self.spans: list[tuple[int, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)

    def load(self, addresses: Any, mask: Any, *rest: Any) -> Any:
        self._check(addresses, mask)
        return self._native.load(addresses, mask, *rest)

    def store(self, addresses: Any, value: Any, mask: Any) -> Any:
        self._check(addresses, mask)
        return self._native.store(addresses, value, mask)

    def atomic_rmw(self, op: Any, addresses: Any, value: Any, mask: Any, sem: Any) -> Any:
        self._check(addresses, mask)
        return self._native.atomic_rmw(op, addresses, value, mask, sem)

    def atomic_cas(self, addresses: Any, *rest: Any) -> Any:
        self._check(addresses, True)
        return self._native.atomic_cas(addresses, *rest)

    def _check(self, addresses: Any, mask: Any) -> None:
        self.left -= 1
        if self.left < 0:
            raise HangError
        import numpy as np

        active = addresses[np.broadcast_to(mask, addresses.shape)]
        inside = np.zeros(active.shape, np.bool_)
        for begin, end in self.spans:
            inside |= (active >= begin) & (active < end)
        if not inside.all():
            raise FaultError


def _install(order_of: Callable[[int], Sequence[int]]) -> None:
    """Replaces the interpreter's loop over the grid by one in a given order, with bounds.

    Triton patches its language anew for each call of a jit function, and checks integers for
    overflow, which a GPU does not; both together take four fifths of the time. Here the language
    stays patched.
    """
    import triton.language as tl
    from triton.runtime import interpreter

    builder = interpreter.interpreter_builder
    builder.options = replace(builder.options, sanitize_overflow=False)
    bounded = interpreter._interpreter = _Bounded(interpreter._interpreter)
    interpreter._patch_lang(FunctionType((lambda: None).__code__, {"tl": tl, "core": tl.core}))
    tl.tensor.__index__ = lambda self: self.handle.data.item()  # NumPy 2.4 refuses Triton 3.6's
    interpreter.InterpretedFunction.__call__ = lambda self, *args, **kwargs: self.rewrite()(
        *args, **kwargs
    )

    alone = threading.Lock()  # the interpreter has one state for all threads

    def call(self: Any, *args_dev: Any, **kwargs: Any) -> None:
        with alone:
            run(self, *args_dev, **kwargs)

    def run(self: Any, *args_dev: Any, **kwargs: Any) -> None:
        names = inspect.getfullargspec(self.fn)
        kwargs = {k: v for k, v in kwargs.items() if k in names.args or k in names.kwonlyargs}
        bound = inspect.getcallargs(self.fn, *args_dev, **kwargs)
        behind = sys.modules["kernels"].reachable  # what the kernel finds by an address
        tensors = [v for v in (*bound.values(), *behind) if hasattr(v, "data_ptr")]
        storages = [tensor.untyped_storage() for tensor in tensors]
        bounded.spans = [(s.data_ptr(), s.data_ptr() + s.nbytes()) for s in storages]
        arguments = {
            name: value if name in self.constexprs else interpreter._implicit_cvt(value)
            for name, value in bound.items()
        }
        grid = (*self.grid, 1, 1)[:3]
        builder.set_grid_dim(*grid)
        tiles = _renumbered(self.fn.__name__, bound, grid)
        for pid in map(tiles.__getitem__, order_of(prod(grid))):
            place = (pid % grid[0], pid // grid[0] % grid[1], pid // grid[0] // grid[1])
            builder.set_grid_idx(*place)
            bounded.left = MOST_ACCESSES
            self.fn(**arguments)

    interpreter.GridExecutor.__call__ = call


def _renumbered(kernel: str, bound: Mapping[str, Any], grid: tuple[int, ...]) -> Sequence[int]:
    """Which tile each program of a launch computes."""
    file = Path(str(sys.modules["kernels"].__file__)).with_name(RENUMBERED)
    if kernel != "kernel" or not file.exists():
        return range(prod(grid))
    text, configs = json.loads(file.read_text())
    if configs and not any(
        all(_compiled_in(bound, n) == config[n] for n in config) for config in configs
    ):
        return range(prod(grid))
    constants = {name: value for name, value in bound.items() if type(value) is int}
    if {*re.findall(r"\w+", text)} & (bound.keys() - constants.keys()):
        return range(prod(grid))  # `apply` leaves such a launch as it is
    tiles = renumber(text, Launch(grid, constants))
    if tiles is None:
        raise ValueError("the swizzle fails, or leaves the grid")
    return tiles


def _compiled_in(bound: Mapping[str, Any], name: str) -> Any:
    """The value of an argument; of `NAME.element_ty` Triton's name of a tensor's type."""
    from triton.runtime import interpreter

    root, _, asked = name.partition(".")
    return interpreter._implicit_cvt(bound[root]).dtype.element_ty.name if asked else bound[root]


class _Order:
    """The order in which the next launches' programs run."""

    name = LAUNCH

    def __call__(self, count: int) -> Sequence[int]:
        if self.name == LAUNCH:
            return range(count)
        if self.name == REVERSED:
            return range(count - 1, -1, -1)
        shuffled = list(range(count))
        random.Random(count).shuffle(shuffled)
        return shuffled


def _run(folder: Path) -> Outcome:
    raised: list[BaseException] = []
    threading.excepthook = lambda hook: raised.append(hook.exc_value or HangError())
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            digest: str = runpy.run_path(str(folder / "main.py"))["digest"]
        if raised:
            raise raised[0]
        return digest
    except HangError:
        return "hang"
    except FaultError:
        return "fault"
    except Exception as error:
        return f"error: {type(error).__name__}: {error}"[:300]


def main() -> None:
    """Answers requests until the input ends."""
    import torch

    torch.set_num_threads(1)
    order = _Order()
    _install(order)
    for line in sys.stdin:
        folder, orders, expected, variant = json.loads(line)
        sys.path.insert(0, folder)
        os.environ.update({**ENVIRONMENT, **variant})
        linecache.clearcache()
        found: list[Outcome] = []
        for order.name in orders:
            if not found or expected in (None, found[-1]):
                found.append(_run(Path(folder)))
        sys.path.remove(folder)
        for name in variant:
            del os.environ[name]
        for name in ("kernels", "others"):
            sys.modules.pop(name, None)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
