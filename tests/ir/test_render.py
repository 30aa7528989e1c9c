# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Rendered modules hold what a kernel reads, under the names by which it reads it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import triton.language as tl

from intelliperf_swizzle.frontends.triton.ir.render import live_functions
from intelliperf_swizzle.records import KernelSource, SourceFunction


def function(name: str, text: str, **names: object) -> SourceFunction:
    return SourceFunction(name, "/somewhere/app.py", 1, text, "", names)


SOURCE = KernelSource(
    "app.kernel",
    {
        "app.kernel": function(
            "kernel",
            "@autotune(configs=[], key=[])\n@triton.jit(noinline=True, debug=DEBUG)\n"
            "def kernel(x, B: tl.constexpr = SIZE):\n"
            "    other(x, mine.scale(x), SIZE, WIDTH, KIND, HUGE, ceil)\n",
            tl=("module", "triton.language"),
            other=("function", "lib.kernel"),
            mine=("namespace", {"scale": ("function", "app.scale"), "N": ("constant", 4)}),
            SIZE=("constant", 16),
            WIDTH=("constexpr", (1, 2)),
            KIND=("dtype", "bf16"),
            POINTER=("pointer", "fp16"),
            HUGE=("constant", -math.inf),
            ceil=["attribute", "triton.language", "cdiv"],
            LOGGER=("unknown", "a logger\nof two lines"),
        ),
        "lib.kernel": function(
            "kernel", "@triton.jit\ndef kernel(x, *rest):\n    again(x)\n",
            again=("function", "app.kernel"),
        ),
        "app.scale": function("scale", "@jit\ndef scale(x):\n    return x\n"),
    },
)  # fmt: skip


def test_names_mean_what_was_recorded(tmp_path: Path) -> None:
    functions = live_functions(SOURCE, tmp_path)
    kernel = functions["app.kernel"].fn
    names = kernel.__globals__
    assert kernel.__name__ == functions["lib.kernel"].fn.__name__ == "kernel"
    assert names["tl"] is tl
    assert names["other"] is functions["lib.kernel"]
    assert names["mine"].scale is functions["app.scale"]
    assert names["mine"].N == names["SIZE"] // 4 == 4
    assert names["WIDTH"].value == (1, 2)
    assert names["KIND"] == tl.bfloat16
    assert names["POINTER"] == tl.pointer_type(tl.float16)
    assert names["HUGE"] == -math.inf
    assert names["ceil"] is tl.cdiv
    assert "LOGGER" not in names
    helper = functions["app.scale"].fn.__globals__
    assert helper["SIZE"] == 16  # a patch of one may test what another reads
    assert functions["lib.kernel"].fn.__globals__["again"] is functions["app.kernel"]
    assert functions["app.kernel"].noinline
    assert kernel.__defaults__ == (16,)


def test_equal_texts_are_made_once_and_edits_apart(tmp_path: Path) -> None:
    edit = {"app.scale": "def scale(x):\n    return x + 1\n"}
    first, again, edited = (live_functions(SOURCE, tmp_path, e) for e in ({}, {}, edit))
    assert first is again
    assert (first["app.scale"].fn(1), edited["app.scale"].fn(1)) == (1, 2)
    names = edited["app.kernel"].fn.__globals__
    assert names["mine"].scale is edited["app.scale"]


def test_what_is_no_function_or_no_meaning_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SyntaxError, match="found 0"):
        live_functions(SOURCE, tmp_path, {"app.scale": "x = 1\n"})
    strange = KernelSource("k", {"k": function("k", "def k():\n    pass\n", n=("guess", 1))})
    with pytest.raises(ValueError, match="unknown kind 'guess'"):
        live_functions(strange, tmp_path)
