# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How fast the cache model is, and how well its screen ranks: a GEMM of 8192³ on mi300x.

    python benchmarks/replay_speed.py [--candidates 300]

The kernel is `kernels/gemm.py` (128 × 128 × 64, fp16: 4096 tiles, 135 million line accesses),
recorded and traced as always. The candidates are what the search tries: the catalogue, then nests
some random steps away from the plain one. Kendall's tau is tau-b.
"""

from __future__ import annotations

import argparse
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from intelliperf_swizzle.cache import FULL, Physics, ReplayedLaunch, Screen, ceiling, replay
from intelliperf_swizzle.cache.stream import merge
from intelliperf_swizzle.children import cores
from intelliperf_swizzle.formulas import patterns
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.tracing import trace
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.propose.nest import Axis, neighbours, plain
from intelliperf_swizzle.records import Int64Array, Trace

TILES = 4096
OCCUPANCY = 2
"""Workgroups a CU; what Triton's build of this kernel for gfx942 allows."""


def traced() -> Trace:
    """The trace of the GEMM."""
    with tempfile.TemporaryDirectory() as folder:
        application = Path(__file__).parent / "kernels" / "gemm.py"
        found = capture(
            RecordRequest(
                [sys.executable, str(application), "--block-n", "128", "--group-m", "1"],
                folder=Path(folder),
                cwd=Path.cwd(),
                compute="never",
            )
        )
        return trace(found.launches[0])


def candidates(count: int) -> list[Int64Array]:
    """Different permutations of the 4096 tiles, the same ones every time."""
    orders: dict[bytes, Int64Array] = {}
    for text in candidate_texts():
        order = evaluate(parse(text), (TILES, 1, 1), {}, num_xcds=8, cus_per_xcd=38)
        if np.array_equal(np.sort(order), np.arange(TILES)):
            orders.setdefault(order.tobytes(), order)
        if len(orders) == count:
            break
    return list(orders.values())


def candidate_texts() -> Iterator[str]:
    """Orders in the swizzle language, for ever."""
    for pattern in patterns():
        choices = [
            [64] if name == "cols" else values for name, values in pattern.parameters.items()
        ]
        for values in product(*choices):
            yield pattern.bind(**dict(zip(pattern.parameters, values, strict=True)))
    rng = random.Random(0)
    axes = (Axis("num_pids // 64", 64), Axis("64", 64))
    while True:
        nest = plain(axes, linear=True, chunk=rng.choice([1, None]))
        for _ in range(rng.randint(1, 8)):
            nest = next(neighbours(nest, rng))
        yield nest.text()


def tau_b(a: list[float], b: list[float]) -> float:
    """Kendall's rank correlation, ties counted as Kendall (1945) does."""
    upper = np.triu_indices(len(a), 1)
    x, y = (np.sign(np.subtract.outer(v, v))[upper] for v in (np.asarray(a), np.asarray(b)))
    return float((x * y).sum() / np.sqrt((x != 0).sum() * (y != 0).sum()))


def seconds(
    action: Callable[[], object], repeat: int = 1, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The shortest time of several."""
    times = []
    for _ in range(repeat):
        start = clock()
        action()
        times.append(clock() - start)
    return min(times)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=300)
    count = parser.parse_args().candidates
    target = load_target("mi300x")
    one = traced()
    orders = candidates(count)

    def full(order: Int64Array, physics: Physics = FULL) -> float:
        return replay([ReplayedLaunch(one, order, 1, OCCUPANCY)], target, physics).l2_hit_rate

    Screen(one, target, OCCUPANCY).hit_rate(orders[0])  # compile
    full(orders[0])
    rows = [("merge into units, once", f"{seconds(lambda: merge(one)):.2f} s")]
    made = seconds(lambda: Screen(one, target, OCCUPANCY))
    screen = Screen(one, target, OCCUPANCY)
    rows.append((f"make the screen (in {screen.parts} parts), once", f"{made:.2f} s"))
    each = [1e3 * seconds(partial(screen.hit_rate, o), 20, time.thread_time) for o in orders]
    rows.append(("screen, one order, CPU time on one core: least", f"{min(each):.1f} ms"))
    rows.append(("… median and greatest order", f"{np.median(each):.1f} ms, {max(each):.1f} ms"))
    slow, replayed = [], []
    for order in orders:
        start = time.perf_counter()
        replayed.append(full(order))
        slow.append(time.perf_counter() - start)
    rows.append(("full replay, one order, all cores: least", f"{min(slow):.2f} s"))
    rows.append(("… median and greatest order", f"{np.median(slow):.2f} s, {max(slow):.2f} s"))
    accesses = one.line_accesses / np.median(slow) / 1e6
    rows.append(("full replay", f"{accesses:.0f} M line accesses per second"))
    with ThreadPoolExecutor() as pool:
        screened = list(pool.map(screen.hit_rate, orders))
    physics = Physics(l1=False, llc=False)
    apart = max(abs(screened[i] - full(orders[i], physics)) for i in range(0, len(orders), 30))
    rows.append(("screen against line by line, same physics", f"{100 * apart:.4f} points at most"))
    tau = tau_b(screened, replayed)
    rows.append((f"Kendall's tau, screen and full, {len(orders)} orders", f"{tau:.3f}"))
    bound = ceiling([one], target).l2_hit_rate
    chosen = replayed[int(np.argmax(screened))]
    rows.append(
        (
            "full replay of the screen's best order; best; ceiling",
            f"{100 * chosen:.1f} %; {100 * max(replayed):.1f} %; {100 * bound:.1f} %",
        )
    )
    print(f"{platform.platform()}, Python {platform.python_version()}, {cores()} cores\n")
    print("| what | |\n|---|---|")
    for what, value in rows:
        print(f"| {what} | {value} |")


if __name__ == "__main__":
    main()
