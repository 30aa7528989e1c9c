# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Swizzles applied when Triton compiles a kernel: real kernels, compiled for an MI300X."""

from __future__ import annotations

import json
import re
import runpy
import warnings
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import triton
import triton.language as tl
from planned import next_number, own_number, planned
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource, CompiledKernel

from intelliperf_swizzle.frontends.emit import emit_triton
from intelliperf_swizzle.frontends.triton.overlay import runtime as overlay
from intelliperf_swizzle.language import parse

MI300X = GPUTarget("hip", "gfx942", 64)


@triton.jit
def number():
    return tl.program_id(0)


@triton.jit
def rows(x, M, N, B: tl.constexpr):
    tl.store(x + number() * M + tl.program_id(1) + N, B)


@triton.jit
def reversed_rows(x, M, N, B: tl.constexpr):
    pid = tl.num_programs(0) - 1 - tl.program_id(0)
    tl.store(x + pid * M + tl.program_id(1) + N, B)


@triton.jit(noinline=True)
def far_number(x):
    return x + tl.program_id(0)


@triton.jit
def far_rows(x, M, N, B: tl.constexpr):
    tl.store(x + far_number(N) * M, B)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(overlay, "_warned", set())
    with triton.knobs.cache.scope():  # else what another test or run has compiled is found
        triton.knobs.cache.dir = str(tmp_path / "cache")
        yield


def compiled(kernel: Any, B: int = 5, **signature: str) -> CompiledKernel:
    types = {"x": "*fp32", "M": "i32", "N": "i32", "B": "constexpr", **signature}
    return triton.compile(ASTSource(kernel, types, {(3,): B}), target=MI300X)


def instructions(kernel: CompiledKernel) -> list[str]:
    """Its code, without directives, comments and names."""
    lines = [line.strip() for line in kernel.asm["amdgcn"].splitlines() if line.startswith("\t")]
    return [line for line in lines if not line.startswith((".", ";"))]


def swizzles(folder: Path, kernel: Any, text: str, **changed: object) -> Path:
    """A file with one rule for a kernel."""
    code = emit_triton(parse(text), [0, 1], axes=2, num_xcds=8, cus_per_xcd=38)
    rule = {
        "module": kernel.fn.__module__,
        "kernel": kernel.fn.__name__,
        "source": overlay.source_digest(kernel),
        "triton": ".".join(triton.__version__.split(".")[:2]),
        "lines": code.lines,
        "outputs": code.outputs,
        "reads": sorted({"M", "N", "B"} & parse(text).names),
        **changed,
    }
    file = folder / "swizzles.json"
    file.write_text(json.dumps({"format": 1, "kernels": [rule]}))
    return file


def test_the_ir_is_that_of_the_kernel_written_so(tmp_path: Path) -> None:
    file = swizzles(tmp_path, rows, "pid_0 = grid_0 - 1 - pid_0")
    with overlay.applied(file) as kernels:
        assert instructions(compiled(rows)) == instructions(compiled(reversed_rows))
        assert kernels[-1] == "rows"
    assert instructions(compiled(rows)) != instructions(compiled(reversed_rows))


def test_a_swizzle_may_read_arguments_and_what_is_compiled_in(tmp_path: Path) -> None:
    file = swizzles(tmp_path, rows, "pid_0 = where(M % B == 0, grid_0 - 1 - pid_0, pid_0)")
    plain = compiled(rows)
    with overlay.applied(file):
        changed, wide = compiled(rows), compiled(rows, M="i64")
    assert "arith.remsi %M" in changed.asm["ttir"]
    assert "arith.remsi %M" in wide.asm["ttir"]
    assert "arith.remsi" not in plain.asm["ttir"]


EVERY_OPERATION = """
for _ in range(2):
    pid_0 = (pid_0 ^ 1) & 6 | pid_1 << 1 >> 1
pid_0 = where(M == 7 and N != 3 or B <= pid_1, min(pid_0, grid_0 - 1, M), max(pid_0 % M, 0))
pid_1 = where(pid_0 > N, where(pid_1 >= 2, pid_1 // B, 1), where(pid_0 < 5, 2 * pid_1 + 1, N))
"""


@pytest.mark.parametrize("kinds", [{}, {"M": "i64"}])
def test_all_that_a_swizzle_computes_is_what_triton_makes_of_its_lines(
    tmp_path: Path, kinds: Mapping[str, str]
) -> None:
    code = emit_triton(parse(EVERY_OPERATION), [0, 1], axes=2, num_xcds=8, cus_per_xcd=38)
    body = "\n    ".join((*code.lines, f"at = tl.cast({code.outputs[0]}, tl.int32) * M"))
    (tmp_path / "own.py").write_text(
        "import triton, triton.language as tl\n@triton.jit\ndef rows(x, M, N, B: tl.constexpr):\n"
        f"    {body}\n    tl.store(x + at + tl.cast({code.outputs[1]}, tl.int32) + N, B)\n"
    )
    own = compiled(runpy.run_path(str(tmp_path / "own.py"))["rows"], **kinds)
    with overlay.applied(swizzles(tmp_path, rows, EVERY_OPERATION)):
        assert operations(compiled(rows, **kinds)) == operations(own)


def operations(kernel: CompiledKernel) -> list[str]:
    """Those of its IR, in order of their names, without what they are of."""
    return sorted(re.findall(r"(?:arith|tt)\.\w+(?: [a-z]+,)?", kernel.asm["ttir"]))


def test_caches_see_another_kernel(tmp_path: Path) -> None:
    plain = compiled(rows)
    with overlay.applied(swizzles(tmp_path, rows, "pid_0 = grid_0 - 1 - pid_0")):
        first = compiled(rows)
        assert compiled(rows).hash == first.hash
    with overlay.applied(swizzles(tmp_path, rows, "pid_1 = grid_1 - 1 - pid_1")):
        second = compiled(rows)
    assert len({plain.hash, first.hash, second.hash}) == 3
    assert compiled(rows).hash == plain.hash


def test_copies_of_the_module_in_one_process_agree(tmp_path: Path) -> None:
    overlay.watch_compilations()
    copy = runpy.run_path(overlay.__file__)
    with copy["applied"](swizzles(tmp_path, rows, "pid_0 = grid_0 - 1 - pid_0")) as kernels:
        assert instructions(compiled(rows)) == instructions(compiled(reversed_rows))
        assert kernels[-1] == "rows"
    assert instructions(compiled(rows)) != instructions(compiled(reversed_rows))


def test_proxies_of_what_is_gone_do_not_disturb(tmp_path: Path) -> None:
    class Gone:
        pass

    proxy = weakref.proxy(Gone())
    with overlay.applied(swizzles(tmp_path, rows, "pid_0 = grid_0 - 1 - pid_0")) as kernels:
        compiled(rows)
    assert kernels[-1] == "rows"
    assert issubclass(type(proxy), weakref.ProxyTypes)


def test_a_method_of_an_aggregate_is_swizzled_and_part_of_the_source(tmp_path: Path) -> None:
    kernel = planned(own_number)
    with overlay.applied(swizzles(tmp_path, kernel, "pid_0 = grid_0 - 1 - pid_0")):
        assert "tt.get_num_programs" in compiled(kernel).asm["ttir"]
        with pytest.warns(UserWarning, match="its source has changed"):
            assert "tt.get_num_programs" not in compiled(planned(next_number)).asm["ttir"]


def test_a_kernel_has_an_order_for_each_configuration(tmp_path: Path) -> None:
    plain = instructions(compiled(rows))
    files = [
        swizzles(tmp_path, rows, f"pid_{axis} = grid_{axis} - 1 - pid_{axis}", configs=[{"B": B}])
        for axis, B in ((1, 4), (0, 5))
        if (tmp_path := tmp_path / str(B)).mkdir() is None
    ]
    both = [json.loads(file.read_text())["kernels"][0] for file in files]
    files[0].write_text(json.dumps({"format": 1, "kernels": both}))
    with overlay.applied(files[0]):
        assert instructions(compiled(rows)) == instructions(compiled(reversed_rows))
        assert "tt.get_num_programs y" in compiled(rows, B=4).asm["ttir"]
        assert "tt.get_num_programs" not in compiled(rows, B=6).asm["ttir"]
    assert instructions(compiled(rows)) == plain


def test_what_torch_generates_is_known_by_its_text_under_any_name(tmp_path: Path) -> None:
    text = (
        "import triton, triton.language as tl\n@triton.jit\ndef NAME(x, M, N, B: tl.constexpr):\n"
    )
    text += "    tl.store(x + tl.program_id(0) * M + N, B)\n"
    kernels = []
    for number in range(3):
        name = f"triton_tem_fused_mm_{number}"
        own = text.replace("NAME", name).replace("+ N", "- N" if number == 2 else "+ N")
        (tmp_path / f"{name}.py").write_text(own)
        kernels.append(runpy.run_path(str(tmp_path / f"{name}.py"))[name])
        kernels[-1].fn.__module__ = f"torch._inductor.runtime.compile_tasks.c{number}"
    with overlay.applied(swizzles(tmp_path, kernels[0], "pid_0 = grid_0 - 1 - pid_0",
                                  module="torch._inductor")):  # fmt: skip
        found = ["tt.get_num_programs" in compiled(kernel).asm["ttir"] for kernel in kernels]
    assert found == [True, True, False]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"source": "0" * 32}, "its source has changed"),
        ({"triton": "3.5"}, "Triton's version has changed"),
        ({"reads": ["x"]}, "not an integer"),
    ],
)
def test_another_kernel_than_was_proved_is_left_alone(
    tmp_path: Path, changed: Mapping[str, object], reason: str
) -> None:
    plain = compiled(rows)
    file = swizzles(tmp_path, rows, "pid_0 = grid_0 - 1 - pid_0", **changed)
    with overlay.applied(file), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert instructions(compiled(rows)) == instructions(plain)
        compiled(rows)
    assert [reason in str(warning.message) for warning in seen] == [True]


def test_a_script_in_a_process_that_it_spawned_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows.fn, "__module__", "__main__")
    file = swizzles(tmp_path, rows, "pid_0 = grid_0 - 1 - pid_0")
    known = overlay.identity(rows)
    monkeypatch.setattr(rows.fn, "__module__", "__mp_main__")
    assert overlay.identity(rows) == known
    with overlay.applied(file):
        assert instructions(compiled(rows)) == instructions(compiled(reversed_rows))


def test_a_function_that_is_not_inlined(tmp_path: Path) -> None:
    with overlay.applied(swizzles(tmp_path, far_rows, "pid_0 = grid_0 - 1 - pid_0")):
        assert "tt.get_num_programs" in compiled(far_rows).asm["ttir"]
    reading = swizzles(tmp_path, far_rows, "pid_0 = where(M == 1, grid_0 - 1 - pid_0, pid_0)")
    with overlay.applied(reading), pytest.warns(UserWarning, match="not inlined"):
        assert "tt.get_num_programs" not in compiled(far_rows).asm["ttir"]


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    for text in ("[]", "{", '{"format": 99, "kernels": []}', '{"format": 1, "kernels": [{}]}'):
        file.write_text(text)
        with pytest.raises(ValueError, match=r"other\.json"):
            overlay.install(file)


def test_it_runs_beside_triton_alone(tmp_path: Path) -> None:
    source = Path(overlay.__file__).read_text()
    lines = [line.split() for line in source.splitlines()]
    imports = [words[1] for words in lines if words[:1] in (["import"], ["from"])]
    assert not [
        module for module in imports if module.startswith(("intelliperf", "torch", "numpy"))
    ]
    assert source.count("\n") <= 250
