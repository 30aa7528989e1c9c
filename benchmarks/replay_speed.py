# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How fast the cache model is, and how well its screen ranks: a GEMM of 8192³ on mi300x.

    python benchmarks/replay_speed.py [--candidates 300]

The kernel is `kernels/gemm.py` (128 × 128 × 64, fp16: 4096 tiles, 135 million line accesses),
recorded and traced as always. The candidates are the catalogue's windows and chunks, and random
orders of the binary digits of the launch index. Kendall's tau is tau-b.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from intelliperf_swizzle.cache import Physics, Run, Screen, ceiling, replay
from intelliperf_swizzle.cache.stream import merge
from intelliperf_swizzle.capture import capture
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.records import Int64Array, Trace
from intelliperf_swizzle.trace import trace

OCCUPANCY = 2
"""Workgroups a CU; what Triton's build of this kernel for gfx942 allows."""


def traced() -> Trace:
    """The trace of the GEMM."""
    with tempfile.TemporaryDirectory() as folder:
        application = Path(__file__).parent / "kernels" / "gemm.py"
        found = capture(
            [sys.executable, str(application)],
            folder=Path(folder),
            cwd=Path.cwd(),
            compute="never",
        )
        return trace(found.launches[0])


def candidates(count: int) -> list[Int64Array]:
    """Orders of 4096 tiles: a third from the catalogue, the others digit permutations."""
    rng = np.random.default_rng(0)
    pid = np.arange(4096)
    orders = []
    for i in range(count):
        if i % 3 == 0:
            chunk, window = 2 ** rng.integers(0, 10), rng.integers(1, 33)
            text = load_pattern("chunked-xcd-window").bind(cols=64, chunk=chunk, window=window)
            order = evaluate(parse(text), (4096, 1, 1), {}, num_xcds=8, cus_per_xcd=38)
        else:
            places = rng.permutation(12)
            order = sum((pid >> bit & 1) << place for bit, place in enumerate(places))
        orders.append(order)
    return orders


def tau_b(a: list[float], b: list[float]) -> float:
    """Kendall's rank correlation, ties counted as Kendall (1945) does."""
    upper = np.triu_indices(len(a), 1)
    x, y = (np.sign(np.subtract.outer(v, v))[upper] for v in (np.asarray(a), np.asarray(b)))
    return float((x * y).sum() / np.sqrt((x != 0).sum() * (y != 0).sum()))


def seconds(action: Callable[[], object], repeat: int = 1) -> float:
    """The shortest time of several."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=300)
    count = parser.parse_args().candidates
    target = load_target("mi300x")
    one = traced()
    orders = candidates(count)
    identity = np.arange(one.tiles)
    Screen(one, target, OCCUPANCY).hit_rate(identity)  # compile
    replay([Run(one, identity, 1, OCCUPANCY)], target)
    rows = [("merge into units, once", f"{seconds(lambda: merge(one)):.2f} s")]
    screens: list[Screen] = []
    made = seconds(lambda: screens.append(Screen(one, target, OCCUPANCY)))
    screen = screens[0]
    rows.append((f"make the screen (by {screen.associativity}), once", f"{made:.2f} s"))
    each = [seconds(lambda o=o: screen.hit_rate(o), 3) for o in orders[:30]]
    rows.append(("screen, one order, one core: median", f"{1e3 * np.median(each):.1f} ms"))
    full = [replay([Run(one, o, 1, OCCUPANCY)], target) for o in orders]
    slow = [seconds(lambda o=o: replay([Run(one, o, 1, OCCUPANCY)], target)) for o in orders[:20]]
    rows.append(("full replay, one order, all cores: median", f"{np.median(slow):.2f} s"))
    rows.append(("full replay: slowest of 20", f"{max(slow):.2f} s"))
    accesses = one.line_accesses / np.median(slow) / 1e6
    rows.append(("full replay", f"{accesses:.0f} M line accesses a second"))
    physics = Physics(l1=False, llc=False)
    apart = max(
        abs(screen.hit_rate(o) - replay([Run(one, o, 1, OCCUPANCY)], target, physics).l2_hit_rate)
        for o in orders[:10]
    )
    rows.append(("screen against line by line, same physics", f"{100 * apart:.4f} points at most"))
    screened = screen.hit_rates(orders)
    tau = tau_b(screened, [m.l2_hit_rate for m in full])
    rows.append((f"Kendall's tau, screen and full, {count} orders", f"{tau:.3f}"))
    bound = ceiling([one], target).l2_hit_rate
    best = max(m.l2_hit_rate for m in full)
    rows.append(("best order, full replay; ceiling", f"{100 * best:.1f} %; {100 * bound:.1f} %"))
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores\n")
    print("| what | |\n|---|---|")
    for what, value in rows:
        print(f"| {what} | {value} |")


if __name__ == "__main__":
    main()
