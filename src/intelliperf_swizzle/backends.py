# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One function applied to many items: by threads here, by processes, or by a cluster.

`local` is threads of this process, which start at once. `loky` (processes of this machine) and
`dask://HOST:PORT` are joblib's backends; Dask's workers need this package. Results come in the
order of the items, so they do not depend on the backend.
"""

from __future__ import annotations

import importlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Generic, TypeVar

from intelliperf_swizzle import __version__, stopping
from intelliperf_swizzle.errors import SwizzleError, UsageError

LOCAL = "local"
TRIES = 3
"""Of a batch; Dask repeats what a dead worker has left by itself, processes do not."""
MOST_READY = 4
"""Prepared functions that a worker keeps."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Spread(Generic[Item, Result]):
    """Applies a prepared function to items.

    A worker prepares it once, when it first sees an item, and is sent what that takes only then;
    so does a worker that comes later, or in the place of a dead one.

    Args:
        backend: where.
        prepare: gives the function; a pure one, found by its name.
        material: what `prepare` is called with.

    Raises:
        UsageError: there is no such backend, its package is missing, or nothing answers there.
    """

    def __init__(
        self, backend: str, prepare: Callable[..., Callable[[Item], Result]], *material: object
    ):
        self._backend = backend
        self._prepare, self._material = prepare, material
        self._key = secrets.token_hex(8)
        self._here = prepare(*material) if backend == LOCAL else None
        if self._here is None:
            connect(backend)

    @property
    def local(self) -> bool:
        """Whether items are computed in this process."""
        return self._here is not None

    def map(self, items: Sequence[Item]) -> list[Result]:
        """The result of each item, in order.

        Raises:
            SwizzleError: the backend has failed each time that it was asked.
        """
        if self._here is not None:
            return list(_threads().map(self._one_here, items))
        done = self._parallel([(None, item) for item in items])
        missing = [place for place, (ready, _) in enumerate(done) if not ready]
        again = self._parallel([(self._material, items[place]) for place in missing])
        for place, answer in zip(missing, again, strict=True):
            done[place] = answer
        return [result for _, result in done]

    def _one_here(self, item: Item) -> Result:
        stopping.check()
        assert self._here is not None
        return self._here(item)

    def _parallel(
        self, calls: Sequence[tuple[tuple[object, ...] | None, Item]]
    ) -> list[tuple[bool, Any]]:
        if not calls:
            return []
        from joblib import Parallel, delayed

        whose = (self._key, __version__)
        tasks = [delayed(_one_there)(whose, self._prepare, *call) for call in calls]
        for left in reversed(range(TRIES)):
            stopping.check()
            try:
                with joblib_backend(self._backend):
                    return list(Parallel(n_jobs=-1)(tasks))
            except SwizzleError:
                raise
            except Exception as error:  # a worker that died: each backend has its own
                if not left:
                    raise SwizzleError(
                        f"the backend {self._backend} failed {TRIES} times: {error}",
                        hint="its workers need this package; without --backend all runs here",
                    ) from error
                connect.cache_clear()  # the cluster may have been started anew
        raise AssertionError


_ready: dict[str, Callable[[Any], Any]] = {}


def _one_there(
    whose: tuple[str, str],
    prepare: Callable[..., Callable[[Any], Any]],
    material: tuple[object, ...] | None,
    item: Any,
) -> tuple[bool, Any]:
    """In a worker: whether the function is ready, and the item's result."""
    key, version = whose
    if version != __version__:
        raise UsageError(f"a worker has version {__version__}, and this is {version}")
    ready = _ready.get(key)
    if ready is None:
        if material is None:
            return False, None
        while len(_ready) >= MOST_READY:
            with suppress(KeyError, RuntimeError, StopIteration):  # another thread's
                del _ready[next(iter(_ready))]
        ready = _ready[key] = prepare(*material)
    return True, ready(item)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1)


@contextmanager
def joblib_backend(backend: str) -> Iterator[None]:
    """Inside, in this thread, joblib's `Parallel` runs on this backend, any but `local`.

    Raises:
        UsageError: as of `Spread`.
    """
    from joblib import parallel_config

    name, settings = connect(backend)
    with parallel_config(name, **settings):
        yield


@cache
def connect(backend: str) -> tuple[str, dict[str, Any]]:
    """What joblib calls a backend, connected for as long as this process lives, and its settings.

    Raises:
        UsageError: as of `Spread`.
    """
    kind, separator, address = backend.partition("://")
    if backend != "loky" and not (kind == "dask" and separator and address):
        raise UsageError(
            f"there is no backend `{backend}`", hint=f"{LOCAL}, loky or dask://HOST:PORT"
        )
    try:
        import joblib  # noqa: F401

        if kind == "dask":
            return "dask", {"client": _dask_client(f"tcp://{address}")}
    except ImportError as error:
        raise UsageError(
            f"the backend {backend} needs the package `{error.name}`",
            hint="pip install 'intelliperf-swizzle[cluster]'",
        ) from None
    return "loky", {}


def _dask_client(address: str) -> Any:
    distributed: Any = importlib.import_module("distributed")
    try:
        client = distributed.Client(address, timeout="10s", set_as_default=False)
    except OSError as error:
        raise UsageError(f"no Dask scheduler answers at {address}: {error}") from None
    if not client.scheduler_info()["workers"]:
        client.close()
        raise UsageError(f"no worker has joined the Dask scheduler at {address}")
    return client
