# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Random HIP programs, and what they compute natively in several orders of workgroups.

A program is a makefile, `app.hip.cpp`, and `body.h` where one text is included twice. A host
compiler and `native/hip/hip_runtime.h` make of it a program for the CPU that runs one workgroup
after the other; the tool has no part in it. All values are integers: equal results are equal bytes.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from hunt import swizzles
from hunt.applications import Application, Launch, programs
from hunt.truth import Outcome

WIDTH = 16
"""Threads of a workgroup."""
LIMIT_SECONDS = 10
NATIVE = Path(__file__).parent / "native"
MAKE = "app: app.hip.cpp $(wildcard *.h)\n\thipcc -O2 -std=c++17 $< -o $@\n"
OTHER = {"OTHER": "1"}
"""Environment of the run that the tool has not seen: other sizes, and the other instance."""


@dataclass(frozen=True)
class Effect:
    """What a workgroup does besides its tile.

    Attributes:
        family: `order`, `atomics`, `tickets` or `free` (no order of workgroups changes the result).
        line: executed by one of its threads; `{k}` is a small number.
        parameter: of the kernel, and `argument`, what is passed for it.
    """

    family: str
    line: str
    parameter: str = "int* word"
    argument: str = "word"


_UNSIGNED = ("unsigned* word", "(unsigned*)word")
_TABLE, _ROWS, _WRAPPED = (("int** table", f"table_of(word, {index})") for index in (
    "[](int i) { return i; }", "[](int) { return 0; }", "[](int i) { return i % 3; }"
))  # fmt: skip
_AT = ("unsigned long long there", "(unsigned long long)word")
EFFECTS: Mapping[str, Effect] = {
    "none": Effect("free", ""),
    "word of its own": Effect("free", "word[tile] = tile + 1; v += word[tile];"),
    "bytes side by side": Effect("free", "((char*)word)[tile] = tile % 100;"),
    "word of its own by a table": Effect("free", "*table[tile] = tile + 1;", *_TABLE),
    "word at an address": Effect("free", "((int*)there)[tile] = tile + 1;", *_AT),
    "atomicAdd": Effect("free", "atomicAdd(word + tile % {k}, tile);"),
    "atomicMax": Effect("free", "atomicMax(word, tile * 7 % 11);"),
    "atomicMin": Effect("free", "atomicMin(word + tile % {k}, -(tile * 7 % 11));"),
    "atomicOr": Effect("free", "atomicOr(word, 1 << tile % 31);"),
    "atomicXor": Effect("free", "atomicXor(word, tile);"),
    "atomicInc, one limit": Effect("free", "atomicInc(word, {k});", *_UNSIGNED),
    "atomicDec, one limit": Effect("free", "atomicDec(word, {k});", *_UNSIGNED),
    "counts arrivals": Effect("free", "word[1 + atomicAdd(word, 1)] = 1;"),
    "chained sum": Effect("order", "word[tile + 1] = word[tile] + tile % 3 + 1;"),
    "chain by a table": Effect("order", "*table[tile + 1] = *table[tile] + tile % 3 + 1;", *_TABLE),
    "chain in a table's row": Effect(
        "order", "table[1][tile + 1] = table[2][tile] + tile % 3 + 1;", *_ROWS
    ),
    "chain at an address": Effect(
        "order", "((int*)there)[tile + 1] = ((int*)there)[tile] + tile % 3 + 1;", *_AT
    ),
    "entries are one word": Effect("order", "*table[tile] = tile + 1;", *_WRAPPED),
    "last writer": Effect("order", "word[tile % {k}] = tile + 1;"),
    "running value": Effect("order", "word[tile % {k}] = (word[tile % {k}] * 3 + tile) % 1021;"),
    "reads the tile after": Effect("order", "v += word[tile + {k}]; word[tile] = tile + 5;"),
    "variable of the module": Effect("order", "last = last * 3 % 1021 + tile; *word = last;"),
    "atomicInc, own limits": Effect("atomics", "atomicInc(word, tile % 7 + {k});", *_UNSIGNED),
    "atomicDec, own limits": Effect("atomics", "atomicDec(word, tile % 7 + {k});", *_UNSIGNED),
    "two widths": Effect(
        "atomics",
        "if (tile % 2) atomicMax((unsigned*)word, tile + 9u);"
        " else atomicAdd((unsigned long long*)word, 3ull);",
    ),
    "signed and unsigned": Effect(
        "atomics",
        "if (tile % 2) atomicMax(word, tile % 5 + 1); else atomicMax((unsigned*)word, ~1u);",
    ),
    "add meets max": Effect(
        "atomics", "if (tile % 2) atomicAdd(word, 3); else atomicMax(word, tile);"
    ),
    "atomicExch": Effect("atomics", "atomicExch(word + tile % {k}, tile + 1);"),
    "atomicCAS": Effect("atomics", "atomicCAS(word + tile % {k}, 0, tile + 1);"),
    "add meets a store": Effect("atomics", "atomicAdd(word, 1); if (tile % 3 == 1) *word = tile;"),
    "add meets a late load": Effect("atomics", "atomicAdd(word, 1); if (tile > 20) v += *word;"),
    "max answers": Effect("atomics", "v += atomicMax(word + tile % {k}, tile % 5);"),
    "ticket names a place": Effect("tickets", "word[1 + atomicAdd(word, 1)] = tile;"),
    "ticket is kept": Effect("tickets", "word[1 + tile] = atomicAdd(word, 1);"),
}  # fmt: skip
FORMS = ("plain", "plain", "plain", "template", "other template", "included twice")
"""How the kernel is written: the effect may be in one instance alone, that is `other template`
only launched at other sizes."""


def program(seed: int) -> Application:
    """The program of a seed."""
    draw = random.Random(f"program {seed}")
    free = draw.random() < 0.5
    name = draw.choice([known for known, e in EFFECTS.items() if (e.family == "free") == free])
    effect, form, axes = EFFECTS[name], draw.choice(FORMS), draw.choice((1, 1, 2))
    rows = [_grid(draw, axes) for _ in range(draw.choice((1, 1, 2)))]
    others = [_grid(draw, axes) for _ in rows]
    line = effect.line.replace("{k}", str(draw.choice((2, 3, 5))))
    texts = _texts(form, effect, line, rows, others)
    helper = draw.random() < 0.2
    number = "blockIdx.y * gridDim.x + blockIdx.x" if axes == 2 else "blockIdx.x"
    called = f"__device__ int number() {{ return {number}; }}\n" if helper else ""
    texts = {
        at: text.replace("TILE", "number()" if helper else number).replace("NUMBER", called)
        for at, text in texts.items()
    }
    traits = (f"{axes} axes", f"form: {form}", *(["helper"] if helper else []))
    return Application(
        seed, traits, name, effect.family, {**texts, "Makefile": MAKE},
        tuple(Launch(row, {}) for row in rows), ("number",), (OTHER,),
        tuple(Launch(row, {}) for row in others),
    )  # fmt: skip


def _grid(draw: random.Random, axes: int) -> tuple[int, ...]:
    return tuple(draw.randint(2, 9 if axes == 2 else 40) for _ in range(axes))


def _texts(
    form: str, effect: Effect, line: str, rows: Sequence[tuple[int, ...]],
    others: Sequence[tuple[int, ...]],
) -> dict[str, str]:  # fmt: skip
    """The files; `TILE` and `NUMBER` are still to be replaced."""
    kept = {"included twice": f"\n#ifdef FULL\n    {line}\n#endif\n", "plain": line}.get(
        form, f"if (FULL) {{ {line} }}"
    )
    head = "template <typename T, bool FULL>\n" if "template" in form else ""
    value = "T" if "template" in form else "int"
    name = "NAME" if form == "included twice" else "work"
    kernel = (
        f"NUMBER{head}__global__ void {name}(const {value}* x, {value}* y, int n,"
        f" {effect.parameter}) {{\n"
        f"  const int tile = TILE;\n  const int at = tile * {WIDTH} + threadIdx.x;\n"
        f"  {value} v = at < n ? x[at] : 0;\n  if (threadIdx.x == 0) {{ {kept} }}\n"
        "  if (at < n) y[at] = v + 1;\n}\n"
    )
    files, both = {}, [("work", "")]
    if form == "included twice":
        files["body.h"] = kernel.replace("NUMBER", "")
        kernel = (
            'NUMBER#define NAME work\n#include "body.h"\n#undef NAME\n#define NAME fuller\n'
            '#define FULL\n#include "body.h"\n'
        )
        both = [("work", ""), ("fuller", "")]
    elif "template" in form:
        when = "if (other) " if form == "other template" else ""
        both = [("(work<int, false>)", ""), ("(work<int, true>)", when)]
    calls = "".join(
        f"    {when}hipLaunchKernelGGL({which}, grid, dim3({WIDTH}), 0, 0, x, y, n,"
        f" {effect.argument});\n"
        for which, when in both
    )
    files["app.hip.cpp"] = _MAIN.format(
        kernel=kernel, calls=calls, rows=_initializer(rows), others=_initializer(others),
        width=WIDTH,
    )  # fmt: skip
    return files


def _initializer(rows: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(f"{{{row[0]}, {(*row, 1)[1]}}}" for row in rows)


_MAIN = """\
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

__device__ int last;
{kernel}
template <typename T>
T* on_gpu(const std::vector<T>& from) {{
  T* at;
  if (hipMalloc((void**)&at, from.size() * sizeof(T)) != hipSuccess) exit(1);
  if (hipMemcpy(at, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice) != hipSuccess)
    exit(1);
  return at;
}}

template <typename Place>
int** table_of(int* word, Place place) {{
  std::vector<int*> table;
  for (int i = 0; i < 200; i++) table.push_back(word + place(i));
  return on_gpu(table);
}}

int main() {{
  const bool other = getenv("OTHER");
  unsigned digest = 17;
  for (auto [columns, rows] : other ? std::vector<std::pair<int, int>>{{{others}}}
                                    : std::vector<std::pair<int, int>>{{{rows}}}) {{
    const dim3 grid(columns, rows);
    const int n = columns * rows * {width} - 3;
    std::vector<int> input(n + 3), words(256);
    for (int i = 0; i < n; i++) input[i] = i % 61 - 30;
    int *x = on_gpu(input), *y = on_gpu(std::vector<int>(n + 3)), *word = on_gpu(words);
{calls}    if (hipMemcpy(input.data(), y, n * 4, hipMemcpyDeviceToHost) != hipSuccess) return 1;
    if (hipMemcpy(words.data(), word, 1024, hipMemcpyDeviceToHost) != hipSuccess) return 1;
    for (int i = 0; i < n; i++) digest = digest * 31 + input[i];
    for (int one : words) digest = digest * 31 + one;
  }}
  printf("%016x\\n", digest);
}}
"""


def moved(app: Application, text: str) -> Mapping[str, str]:
    """The patch made by hand: which workgroup each is to compute, by grid."""
    rows = []
    for launch in (*app.launches, *app.others):
        tiles = swizzles.renumber(text, launch) or [0] * programs(launch)
        rows.append(" ".join(map(str, (*(*launch.grid, 1)[:2], *tiles))))
    return {"tiles.txt": "\n".join(rows)}


class Native:
    """Runs programs on the CPU, as `truth.Truth` runs Triton applications."""

    def __enter__(self) -> Native:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """Nothing is left of them."""

    def outcomes(
        self,
        folder: Path,
        orders: Sequence[str],
        expected: Outcome | None = None,
        variant: Mapping[str, str] = {},
    ) -> list[Outcome]:
        """What the program in a folder computes; see `truth.Truth.outcomes`."""
        binary, found = folder / "native", list[Outcome]()
        if not binary.exists():
            built = subprocess.run(
                ["clang++-22", "-w", "-std=c++17", f"-I{NATIVE}", "-x", "c++",
                 str(folder / "app.hip.cpp"), "-o", str(binary)],
                capture_output=True, text=True,
            )  # fmt: skip
            if built.returncode:
                return [f"error: {built.stderr[:200]}"] * len(orders)
        for order in orders:
            if not found or expected in (None, found[-1]):
                given = {"HUNT_ORDER": order, "HUNT_TILES": str(folder / "tiles.txt"), **variant}
                found.append(_run(binary, given))
        return found


def _run(binary: Path, environment: Mapping[str, str]) -> Outcome:
    try:
        ran = subprocess.run(
            [binary], env={**os.environ, **environment}, capture_output=True, text=True,
            timeout=LIMIT_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "hang"
    return ran.stdout.strip() if ran.returncode == 0 else "fault"
