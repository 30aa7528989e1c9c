# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From a recorded kernel to `apply`: a real application, recorded, and run with its swizzle."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.language import TRITON
from intelliperf_swizzle.frontends.triton.overlay import runtime
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.records import Capture, MappedLaunch

APPLICATION = """\
import sys
import torch, triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource

@triton.jit
def twice(x, y, n, T: tl.constexpr):
    at = tl.program_id(0) * T + tl.arange(0, T)
    tl.store(y + at, tl.load(x + at) * 2)

if sys.argv[1:] == ["compile"]:
    types = {"x": "*fp32", "y": "*fp32"}
    source = ASTSource(twice, {**types, "n": "i32", "T": "constexpr"}, {(3,): 64})
    text = triton.compile(source, target=GPUTarget("hip", "gfx942", 64)).asm["ttir"]
    print("swizzled" if "tt.get_num_programs" in text else "plain")
else:
    x = torch.ones(4096, device="cuda")
    twice[(64,)](x, torch.empty_like(x), 4096, 64)
"""


@pytest.fixture(scope="module")
def swizzles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The application, and `swizzles.json` beside it."""
    folder = tmp_path_factory.mktemp("app")
    (folder / "app.py").write_text(APPLICATION)
    request = RecordRequest([sys.executable, "app.py"], folder, folder / "records", compute="never")
    launches = TRITON.record(request).launches
    order = parse("pid = where(n % 2 == 0, num_pids - 1 - pid, pid)")
    edit = TRITON.edit(launches, order, load_target("mi300x"), name="any", roots=[folder])
    (folder / "swizzles.json").write_text(edit.swizzles)
    return folder / "swizzles.json"


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def applied(folder: Path, *arguments: str, verb: str = "apply") -> subprocess.CompletedProcess[str]:
    return run(folder, sys.executable, "-m", "intelliperf_swizzle", verb, *arguments)


def test_an_application_gets_the_swizzle_and_its_source_stays(swizzles: Path) -> None:
    folder = swizzles.parent
    compiled = ("--", sys.executable, "app.py", "compile")
    assert applied(folder, "swizzles.json", *compiled).stdout == "swizzled\n"
    assert run(folder, *compiled[1:]).stdout == "plain\n"
    assert (folder / "app.py").read_text() == APPLICATION


def test_a_changed_kernel_is_left_alone_with_a_warning(swizzles: Path, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION.replace("* 2)", "* 3)"))
    ended = applied(tmp_path, str(swizzles), "--", sys.executable, "app.py", "compile")
    assert ended.stdout == "plain\n"
    assert "its source has changed" in ended.stderr


def test_an_application_that_swizzles_are_applied_to_is_recorded_without(
    swizzles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(runtime.VARIABLE, str(swizzles))
    request = RecordRequest(
        [sys.executable, "app.py"], swizzles.parent, tmp_path / "r", compute="never"
    )
    recorded = TRITON.record(request)
    assert (recorded.exit_code, [launch.kernel for launch in recorded.launches]) == (0, ["twice"])


COMPILED = """\
import os
import torch
import torch._inductor.config as config
from intelliperf_swizzle import applied
config.max_autotune, config.max_autotune_gemm_backends = True, "TRITON"
a, b = (torch.zeros(128, 128, device="cuda", dtype=torch.bfloat16) for _ in "ab")
if "SWIZZLES" in os.environ:
    with applied(os.environ["SWIZZLES"]) as kernels:
        torch.compile(lambda a: (a + 1).relu())(a)
        torch.compile(lambda a, b: torch.relu(a @ b))(a, b)
    print(*kernels)
else:
    torch.compile(lambda a, b: torch.relu(a @ b))(a, b)
"""


@pytest.mark.long
def test_what_torch_generates_is_found_again_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app.py").write_text(COMPILED)

    def recorded(folder: str) -> Capture:
        command = [sys.executable, "app.py"]
        return TRITON.record(RecordRequest(command, tmp_path, tmp_path / folder, compute="never"))

    launches = [launch for launch in recorded("first").launches if "_mm_" in launch.kernel]
    order = parse("pid = num_pids - 1 - pid"), load_target("mi300x")
    (tmp_path / "s.json").write_text(
        TRITON.edit(launches, *order, name="any", roots=[tmp_path]).swizzles
    )
    monkeypatch.setenv("SWIZZLES", str(tmp_path / "s.json"))
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    assert recorded("second").last_lines[-1] == launches[0].kernel


def test_the_module_can_be_taken_along(swizzles: Path, tmp_path: Path) -> None:
    assert applied(tmp_path, "--vendor", "mine.py", verb="overlay").returncode == 0
    assert len((tmp_path / "mine.py").read_text().splitlines()) <= 250
    text = "import mine, sys\nmine.install(sys.argv.pop(1))\n" + APPLICATION
    (tmp_path / "app.py").write_text(text)
    ended = run(tmp_path, sys.executable, "app.py", str(swizzles), "compile")
    assert ended.stdout == "swizzled\n", ended.stderr


def test_a_helper_of_another_file_changes_for_this_kernel_alone(tmp_path: Path) -> None:
    helper = "import triton, triton.language as tl\n\n@triton.jit\ndef tile():\n"
    (tmp_path / "elsewhere.py").write_text(helper + "    return tl.program_id(0)\n")
    text = APPLICATION.replace("tl.program_id(0)", "tile()").replace(
        "@triton.jit",
        "@triton.autotune([triton.Config({'T': T}) for T in (64, 32)], [])\n@triton.jit",
    )
    text = text.replace("4096, 64)", "4096)").replace("ASTSource(twice,", "ASTSource(twice.fn,")
    text = text.replace("(3,): 64", "(3,): int(sys.argv[2])").replace(
        'argv[1:] == ["', 'argv[1:2] == ["'
    )
    (tmp_path / "app.py").write_text("from elsewhere import tile\n" + text)
    request = RecordRequest([sys.executable, "app.py"], tmp_path, tmp_path / "r", compute="never")
    launches = TRITON.record(request).launches
    target = load_target("mi300x")
    order = parse("pid = num_pids - 1 - pid")
    edit = TRITON.edit(launches, order, target, name="any", roots=[tmp_path])
    assert (edit.files, edit.diff) == ({}, "")
    assert "elsewhere.py" in edit.notes[0]
    tile = np.arange(64)[::-1]
    mapped = MappedLaunch(launches[0], TRITON.trace(launches[0]), tile)
    assert TRITON.validate([mapped], edit, tolerance=0.0, budget_seconds=10).same_bits
    (tmp_path / "s.json").write_text(edit.swizzles)
    compiled = ("s.json", "--", sys.executable, "app.py", "compile")
    assert applied(tmp_path, *compiled, "64").stdout == "swizzled\n"
    assert applied(tmp_path, *compiled, "32").stdout == "plain\n"


DECIDED = """\
import os
import torch, triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource

FACTOR = tl.constexpr(int(os.environ.get("FACTOR", 2)))

@triton.jit
def times(x, y, scale, S: tl.constexpr):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    if x.dtype.element_ty == tl.int32:
        if scale == S:
            tl.store(y + at, tl.load(x + at) + 1)
    else:
        tl.store(y + at, tl.load(x + at) * FACTOR)

def compiled(kind):
    types = {"x": f"*{kind}", "y": "*fp32", "scale": "fp32", "S": "constexpr"}
    source = ASTSource(times, types, {(3,): 0.5})
    text = triton.compile(source, target=GPUTarget("hip", "gfx942", 64)).asm["ttir"]
    return "swizzled" if "tt.get_num_programs" in text else "plain"

if "KINDS" in os.environ:
    print(*map(compiled, os.environ["KINDS"].split()))
else:
    x = torch.ones(4096, device="cuda", dtype=torch.float16)
    times[(64,)](x, torch.empty_like(x), 0.5, 0.5)
"""


def test_what_is_compiled_in_must_have_its_recorded_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A global that the environment decides, and a tensor's type."""
    (tmp_path / "app.py").write_text(DECIDED)
    request = RecordRequest([sys.executable, "app.py"], tmp_path, tmp_path / "r", compute="never")
    launches = TRITON.record(request).launches
    given = parse("pid = num_pids - 1 - pid"), load_target("mi300x")

    def swizzles(*fixed: str) -> str:
        limited = [dataclasses.replace(launch, fixed=fixed) for launch in launches]
        return TRITON.edit(limited, *given, name="any", roots=[tmp_path]).swizzles

    (tmp_path / "s.json").write_text(swizzles("x.dtype.element_ty", "S"))
    monkeypatch.setenv("KINDS", "fp16 fp32 i32")
    compiled = ("s.json", "--", sys.executable, "app.py")
    assert applied(tmp_path, *compiled).stdout == "swizzled plain plain\n"
    monkeypatch.setenv("FACTOR", "3")
    assert applied(tmp_path, *compiled).stdout == "plain plain plain\n"
    assert swizzles("scale") == "", "which is not known yet when the kernel is compiled"


GIVEN = """\
import os, sys
import torch, triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource

@triton.jit
def double(x):
    return x * 2

@triton.jit
def number(x):
    return x + tl.program_id(0)

@triton.jit
def triple(x):
    return x * 3

chosen, other = (double, triple) if "OTHER" not in os.environ else (triple, double)

@triton.jit
def given(x, y, n, F: tl.constexpr, G: tl.constexpr):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(y + at, F(tl.load(x + at)) + G(1))

@triton.jit
def choosing(x, y, n):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(y + at, chosen(tl.load(x + at)) + other(1))

def compiled(kernel, *functions):
    types = {"x": "*fp32", "y": "*fp32", "n": "i32"}
    types |= dict.fromkeys("FG"[:len(functions)], "constexpr")
    source = ASTSource(kernel, types, {(3 + at,): one for at, one in enumerate(functions)})
    text = triton.compile(source, target=GPUTarget("hip", "gfx942", 64)).asm["ttir"]
    return "swizzled" if "tt.get_num_programs" in text else "plain"

if sys.argv[1] == "compile":
    pairs = (double, triple), (triple, double), (number, triple)
    print(*(compiled(given, *pair) for pair in pairs), compiled(choosing))
else:
    x = torch.ones(4096, device="cuda")
    if sys.argv[1] in ("given", "both"):
        given[(64,)](x, torch.empty_like(x), 4096, double, triple)
    if sys.argv[1] == "both":
        given[(64,)](x, torch.empty_like(x), 4096, triple, double)
    if sys.argv[1] == "choosing":
        choosing[(64,)](x, torch.empty_like(x), 4096)
"""


@pytest.mark.parametrize(
    ("kernel", "same", "other"),
    [
        ("given", "swizzled plain plain plain", "swizzled plain plain plain"),
        ("both", "swizzled swizzled plain plain", "swizzled swizzled plain plain"),
        ("choosing", "plain plain plain swizzled", "plain plain plain plain"),
    ],
)
def test_a_kernel_with_other_functions_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, same: str, other: str
) -> None:
    """Those that a launch gives it, and those that a condition has chosen, which no patch tests."""
    (tmp_path / "app.py").write_text(GIVEN)
    command = [sys.executable, "app.py", kernel]
    request = RecordRequest(command, tmp_path, tmp_path / "r", compute="never")
    launches = TRITON.record(request).launches
    order = parse("pid = num_pids - 1 - pid"), load_target("mi300x")
    edit = TRITON.edit(launches, *order, name="any", roots=[tmp_path])
    assert bool(edit.diff) is (kernel != "choosing")
    (tmp_path / "s.json").write_text(edit.swizzles)
    compiled = ("s.json", "--", sys.executable, "app.py", "compile")
    assert applied(tmp_path, *compiled).stdout == f"{same}\n"
    monkeypatch.setenv("OTHER", "1")
    changed = applied(tmp_path, *compiled)
    assert changed.stdout == f"{other}\n"
    assert "its source has changed" in changed.stderr


def test_what_cannot_be_applied_is_reported(swizzles: Path) -> None:
    ended = applied(swizzles.parent, "none.json", "--", sys.executable, "app.py")
    assert ended.returncode == 2
    assert "there is no file none.json" in ended.stderr


def test_an_edit_without_rules_has_no_file() -> None:
    assert dataclasses.replace(Edit({}, {}, {}, "")).swizzles == ""
