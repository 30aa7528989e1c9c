# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Published swizzles that drop tiles are refused with the right count, and accepted elsewhere."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from intelliperf_swizzle.formulas import load_pattern, load_swizzle, published
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.mapping import extend, prove
from intelliperf_swizzle.records import Grid, Proof, Witness

HERE = Path(__file__).parent


def outcome(name: str, grid: Grid, **constants: int) -> Proof | Witness:
    here = HERE / f"{name}.yaml"
    swizzle = parse((load_swizzle(here) if here.exists() else load_pattern(name)).bind())
    return prove(swizzle, grid, constants, num_xcds=8, cus_per_xcd=38)


def head_first(batch: int, heads: int, blocks: int) -> tuple[Grid, dict[str, int]]:
    return (batch * heads * blocks, 1, 1), {"BATCH": batch, "H": heads, "NB": blocks}


@pytest.mark.parametrize(
    ("name", "grid", "computed"),
    [
        ("figure-06-layer-norm", (20480, 1, 1), 64),
        ("figure-07-softmax", (32768, 1, 1), 64),
        ("figure-08-fdtd", (128, 128, 1), 1024),
        ("figure-08-fdtd", (256, 256, 1), 2048),
        ("figure-09-stencil", (256, 256, 1), 256),
        ("figure-10-transpose", (1024, 1024, 1), 131072),
        ("figure-10-transpose", (256, 256, 1), 8192),
        ("figure-11-transpose-aware", (313, 313, 1), 97968),
        ("figure-12-transpose-unaware", (1024, 1024, 1), 1024),
        ("figure-13-transpose-overload", (1024, 1024, 1), 1024),
        ("stream-k-remap", (228, 1, 1), 224),
        ("stream-k-remap", (108, 1, 1), 104),
        ("stream-k-remap", (132, 1, 1), 128),
        ("stream-k-remap", (110, 1, 1), 104),
        ("stream-k-remap", (4332, 1, 1), 4328),
        ("figure-05-gemm", (300, 1, 1), 297),
        ("everything-to-tile-0", (4096, 1, 1), 1),
    ],
)
def test_refused_with_the_tiles_that_no_program_computes(
    name: str, grid: Grid, computed: int
) -> None:
    witness = outcome(name, grid)
    assert isinstance(witness, Witness)
    assert witness.failure is None
    assert math.prod(grid) - witness.missing_count == computed
    assert witness.computed_fraction == computed / math.prod(grid)


@pytest.mark.parametrize(("width", "lost"), [(64, 0), (48, 384), (80, 512)])
def test_a_width_fixed_at_compile_time_loses_tiles_of_other_launches(width: int, lost: int) -> None:
    verdict = outcome("flydsl-compiled-width", (32, width, 1), width=64)
    assert lost == (verdict.missing_count if isinstance(verdict, Witness) else 0)


@pytest.mark.parametrize(
    ("batch", "heads", "computed"),
    [(2, 16, 1 / 2), (4, 16, 1 / 4), (8, 64, 1 / 8), (1, 12, 544 / 768)],
)
def test_published_head_first_drops_batches_and_heads(
    batch: int, heads: int, computed: float
) -> None:
    grid, constants = head_first(batch, heads, 64)
    witness = outcome("head-first-figure-11", grid, **constants)
    assert isinstance(witness, Witness)
    assert witness.computed_fraction == computed


def test_published_head_first_holds_for_one_batch_and_heads_that_8_divides() -> None:
    grid, constants = head_first(1, 16, 64)
    assert isinstance(outcome("head-first-figure-11", grid, **constants), Proof)


@pytest.mark.parametrize(
    ("heads", "least", "most"),
    [(12, 0.888, 0.896), (20, 0.915, 0.925), (25, 0.96, 0.97), (32, 1, 1), (40, 1, 1), (64, 1, 1)],
)
@pytest.mark.parametrize(("batch", "blocks"), [(1, 33), (1, 64), (2, 64), (4, 128)])
def test_aiter_spatial_heads_needs_heads_that_8_divides(
    heads: int, least: float, most: float, batch: int, blocks: int
) -> None:
    grid, constants = head_first(batch, heads, blocks)
    verdict = outcome("aiter-spatial-mha", grid, **constants)
    assert isinstance(verdict, Proof) is (heads % 8 == 0)
    if isinstance(verdict, Witness):
        assert least <= verdict.computed_fraction <= most


@pytest.mark.parametrize(
    ("heads", "kv_heads", "blocks", "least", "most"),
    [
        (40, 10, 64, 0.87, 0.89),
        (9, 3, 64, 0.75, 0.75),
        (28, 4, 33, 0.995, 0.997),
        (28, 4, 64, 1, 1),
        (128, 8, 64, 1, 1),
        (128, 32, 64, 1, 1),
        (128, 2, 64, 1, 1),
    ],
)
def test_aiter_spatial_groups(
    heads: int, kv_heads: int, blocks: int, least: float, most: float
) -> None:
    constants = {"H": heads, "HK": kv_heads, "BATCH": 1, "NB": blocks}
    verdict = outcome("aiter-spatial-gqa", (heads * blocks, 1, 1), **constants)
    assert isinstance(verdict, Proof) is (least == 1)
    if isinstance(verdict, Witness):
        assert least <= verdict.computed_fraction <= most


@pytest.mark.parametrize(
    "name", ["aiter-remap-xcd-chunked", "tritonblas-chiplet-transform", "helion-xcd-remap"]
)
def test_production_remaps_hold_on_every_grid(name: str) -> None:
    proof = outcome(name, (304, 1, 1))
    assert isinstance(proof, Proof)
    swizzle = parse(load_pattern(name).bind())
    assert extend(proof, swizzle, num_xcds=8, cus_per_xcd=38).extent == "every size"


@pytest.mark.parametrize("rows", [48, 76])
@pytest.mark.parametrize("chunk", [25, 64, 216, 542])
def test_hipkittens_algorithm_1_holds_on_the_papers_tiles(rows: int, chunk: int) -> None:
    cols = rows * 3 // 4
    swizzle = parse(load_pattern("hipkittens-algorithm-1").bind(rows=rows, cols=cols, chunk=chunk))
    verdict = prove(swizzle, (rows * cols, 1, 1), {}, num_xcds=8, cus_per_xcd=32)
    assert isinstance(verdict, Proof)


@pytest.mark.parametrize(
    ("name", "grid"),
    [
        ("figure-07-softmax", (64, 1, 1)),
        ("figure-11-transpose-aware", (1024, 1024, 1)),
        *(("figure-13-linear", (4**k, 1, 1)) for k in range(11)),
        ("figure-13-linear", (1024, 1024, 1)),
        ("stream-k-remap", (304, 1, 1)),
        ("figure-05-gemm", (304, 1, 1)),
    ],
)
def test_accepted_where_it_is_a_permutation(name: str, grid: Grid) -> None:
    assert isinstance(outcome(name, grid), Proof)


def test_the_certificate_of_the_stream_k_remap_names_its_condition() -> None:
    proof = outcome("stream-k-remap", (304, 1, 1))
    assert isinstance(proof, Proof)
    swizzle = parse(load_pattern("stream-k-remap").bind())
    whole = extend(proof, swizzle, num_xcds=8, cus_per_xcd=38)
    assert whole.extent == "under a condition"
    assert whole.condition == "num_pids % 8 == 0"


def test_every_file_is_used() -> None:
    source = Path(__file__).read_text()
    names = [
        *(pattern.name for pattern in published()),
        *(file.stem for file in HERE.glob("*.yaml")),
    ]
    assert [name for name in names if f'"{name}"' not in source] == []
