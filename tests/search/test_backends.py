# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Scores are the same on one core and on a cluster, and a worker that dies costs a retry."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from intelliperf_swizzle.backends import LOCAL, Spread, connect
from intelliperf_swizzle.errors import SwizzleError, UsageError
from intelliperf_swizzle.formulas import patterns
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.records import Candidate
from intelliperf_swizzle.search.recorded import choose_kernel, record_application
from intelliperf_swizzle.search.setup import prepare

TRANSPOSE = Path(__file__).parents[2] / "benchmarks" / "kernels" / "transpose.py"


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A Dask cluster of two processes."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as running:
        address = running.scheduler_address.replace("tcp://", "dask://")
        yield address
        connect(address)[1]["client"].close()


def count_from(start: int, log: str) -> Callable[[int], int]:
    """Prepared once in each worker; -1 kills the worker the first time."""
    with Path(log).open("a") as file:
        file.write(f"{os.getpid()}\n")

    def count(item: int) -> int:
        if item < 0 and not Path(log).with_suffix(".killed").exists():
            Path(log).with_suffix(".killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if item == 13:
            raise UsageError("13 is refused")
        return start + item

    return count


@pytest.mark.parametrize("backend", [LOCAL, "dask"])
def test_results_are_in_order_and_each_worker_prepares_once(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where = request.getfixturevalue("cluster") if backend == "dask" else backend
    log = tmp_path / "log"
    spread = Spread(where, count_from, 100, str(log))
    for _ in range(2):
        assert spread.map(range(20, 60)) == [*range(120, 160)]
    prepared = log.read_text().split()
    assert len(set(prepared)) == len(prepared) <= max(2, os.cpu_count() or 1)
    with pytest.raises(UsageError, match="13 is refused"):
        spread.map([1, 13])


@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_a_worker_that_dies_costs_a_retry(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where = request.getfixturevalue("cluster") if backend == "dask" else backend
    spread = Spread(where, count_from, 100, str(tmp_path / "log"))
    assert spread.map([0, 1, -1, 2]) == [100, 101, 99, 102]
    assert (tmp_path / "log.killed").exists()


@pytest.mark.parametrize("backend", ["threads", "dask", "dask://", "dask:127.0.0.1"])
def test_an_unknown_backend_is_refused(backend: str) -> None:
    with pytest.raises(UsageError, match="there is no backend"):
        Spread(backend, count_from, 0, "log")


def test_scores_are_the_same_on_a_cluster(
    cluster: str, tmp_path: Path, stages_on: Callable[..., Any]
) -> None:
    command = (sys.executable, str(TRANSPOSE), "--m", "512", "--n", "256")
    options = Options(profiler="model", compute="never")
    setup = prepare(options, command, Silent())
    found: list[Any] = []
    with record_application(setup, Silent()) as recorded:
        subject = choose_kernel(recorded, setup, Silent())
        candidates = [Candidate(one.bind(), one.name, "pattern") for one in patterns()]
        for backend in (LOCAL, cluster):
            there = replace(setup, options=replace(options, backend=backend))
            with stages_on(there, tmp_path / backend.partition(":")[0], subject) as stages:
                screened = stages.screen(*candidates)
                evaluated = stages.evaluate(*screened)
                found.append((screened, [one.attempt for one in evaluated]))
    assert found[0] == found[1]
    assert len({one.measurement.l2_hit_rate for one in found[0][1]}) > 1
    assert len({one.screened_l2_hit_rate for one in found[0][0]}) > 2


def test_no_scheduler_is_one_clear_error() -> None:
    with pytest.raises(SwizzleError, match="no Dask scheduler answers"):
        Spread("dask://127.0.0.1:1", count_from, 0, "log")
