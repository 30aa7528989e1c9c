# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the overlay adds to the compilation of a kernel, with no GPU, on what is installed.

Each kernel is compiled in turns unmodified, with a swizzle in its text, and by the overlay; caches
are empty each time. What a swizzle itself takes to compile is in the second, too: the overlay's own
part is the third beside the second. Times are of all processors; intervals of the median of paired
ratios, by bootstrap.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import runpy
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource

from harness.command import made_with
from harness.items import BENCHMARKS
from intelliperf_swizzle.frontends.emit import emit_triton
from intelliperf_swizzle.frontends.triton.overlay import runtime
from intelliperf_swizzle.language import parse

RECORD = BENCHMARKS / "records" / "overlay_compile.json"
TARGETS = {"cuda": GPUTarget("cuda", 90, 32), "gfx942": GPUTarget("hip", "gfx942", 64)}
SWIZZLE = "pid = pid % 8 * (num_pids // 8) + pid // 8"
TINY = """\
import triton
import triton.language as tl


@triton.jit
def tiny_gemm(a, b, c, K, N, B: tl.constexpr):
    row = tl.program_id(axis=0) * B + tl.arange(0, B)
    column, k = tl.program_id(axis=1) * B + tl.arange(0, B), tl.arange(0, B)
    first = tl.load(a + row[:, None] * K + k[None, :])
    second = tl.load(b + k[:, None] * N + column[None, :])
    tl.store(c + row[:, None] * N + column[None, :], tl.dot(first, second))
"""


class Case(NamedTuple):
    """A kernel: its file's text, its name, its constexprs, the axes of its grid."""

    text: str
    kernel: str
    fixed: Mapping[str, int | float | bool]
    axes: int


def cases() -> dict[str, Case]:
    """The kernels by what the table calls them."""
    folder = BENCHMARKS / "kernels"
    blocks = {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8}
    return {
        "tiny GEMM": Case(TINY, "tiny_gemm", {"B": 32}, 2),
        "tutorial GEMM": Case((folder / "gemm.py").read_text("utf-8"), "gemm_kernel", blocks, 1),
        "attention": Case(
            (folder / "attention.py").read_text("utf-8"), "attention_kernel",
            {"BLOCK_M": 128, "BLOCK_N": 64, "HEAD_DIM": 128, "IS_CAUSAL": 0, "HEAD_FIRST": 1}, 1,
        ),
    }  # fmt: skip


def load(folder: Path, name: str, text: str, kernel: str) -> Any:
    """The kernel of a text."""
    (file := folder / f"{name}.py").write_text(text, "utf-8")
    return runpy.run_path(str(file), run_name=name)[kernel]


def processor_seconds() -> float:
    """Of this process and of those that it has waited for, as the assembler."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def compiles(kernel: Any, fixed: Mapping[str, Any], target: GPUTarget) -> Callable[[], float]:
    """What compiles a kernel once, and says how many milliseconds of processors that took."""
    names = kernel.arg_names
    pointers = (name for name in names if name in "abc" or name.endswith("_ptr"))
    kinds = {**dict.fromkeys(names, "i32"), **dict.fromkeys(pointers, "*fp16")}
    kinds |= {"scale": "fp32"} if "scale" in names else {}
    signature = kinds | dict.fromkeys(fixed, "constexpr")
    constants = {(names.index(name),): value for name, value in fixed.items()}

    def once() -> float:
        with tempfile.TemporaryDirectory() as cache, triton.knobs.cache.scope():
            triton.knobs.cache.dir = cache
            before = processor_seconds()
            triton.compile(ASTSource(kernel, signature, constants), target=target)
            return 1e3 * (processor_seconds() - before)

    return once


def swizzled(case: Case) -> tuple[str, Mapping[str, object]]:
    """The text with the swizzle in it, and what a rule has of it."""
    code = emit_triton(parse(SWIZZLE), range(case.axes), axes=case.axes, num_xcds=8)
    start = case.text.index(f"def {case.kernel}(")
    head, body = case.text[:start], case.text[start:]
    begin = body.index(":\n", body.index(")")) + 2
    for axis, output in code.outputs.items():
        body = body.replace(f"tl.program_id(axis={axis})", f"({output})")
    lines = "".join(f"    {line}\n" for line in code.lines)
    return head + body[:begin] + lines + body[begin:], {
        "lines": code.lines, "outputs": {str(k): v for k, v in code.outputs.items()}, "reads": [],
    }  # fmt: skip


def interval(ratios: Sequence[float]) -> list[float]:
    """The median, and 95 % of the medians of resamples."""
    draw = random.Random(0)
    medians = sorted(
        statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(2000)
    )  # fmt: skip
    return [round(x, 3) for x in (statistics.median(ratios), medians[50], medians[-51])]


def compare(name: str, case: Case, target: str, pairs: int, folder: Path) -> dict[str, object]:
    """A row of the table."""
    text, rule = swizzled(case)
    kernel = load(folder, f"plain_{case.kernel}_{target}", case.text, case.kernel)
    by_hand = load(folder, f"by_hand_{case.kernel}_{target}", text, case.kernel)
    rules = folder / "swizzles.json"
    rules.write_text(json.dumps({"format": 1, "kernels": [{**runtime.identity(kernel), **rule}]}))
    plain, hand = (compiles(k, case.fixed, TARGETS[target]) for k in (kernel, by_hand))

    def overlaid() -> float:
        with runtime.applied(rules) as applied:
            known, took = len(applied), plain()
            assert len(applied) > known
        return took

    ways = {"plain": plain, "by_hand": hand, "overlay": overlaid}
    times: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(pairs + 1):
        for way in random.Random(turn).sample(sorted(ways), len(ways)):
            took = ways[way]()
            times[way] += [took] if turn else []  # the first loads what all need
    ratios = {
        f"overlay_beside_{way}": interval(
            [a / b for a, b in zip(times["overlay"], times[way], strict=True)]
        )
        for way in ("plain", "by_hand")
    }
    medians = {f"{way}_ms": round(statistics.median(of), 1) for way, of in times.items()}
    return {"kernel": name, "target": target, "pairs": pairs, **medians, **ratios}


def main() -> None:
    """Prints a line of JSON for each kernel and target, and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=25)
    pairs = parser.parse_args().pairs
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for label, case in cases().items():
            for target in TARGETS:
                rows.append(compare(label, case, target, pairs, Path(name)))
                print(json.dumps(rows[-1]), flush=True)
    record = {"made_with": made_with(), "rows": rows}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
