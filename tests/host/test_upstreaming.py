# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The patches of `docs/upstreaming` do on IntelliPerf what they say."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
FORMULAS, GATE = sorted((CHECKOUT / "docs" / "upstreaming").glob("*.patch"))
MODULE = "src/intelliperf/utils/permutation_gate.py"
KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)
"""
READ = "    pid = tl.program_id(0)\n"
EVEN = """\
    pid = tl.program_id(axis=0)
    num = tl.num_programs(0)
    xcd = pid % 8
    pid = xcd * (num // 8) + tl.minimum(xcd, num % 8) + pid // 8
"""
ACCEPTED = {
    "the same": "",
    "blocks of an even share": EVEN,
    "another comment": "    # by XCD\n" + EVEN,
    "backwards": "    pid = tl.num_programs(0) - 1 - tl.program_id(0)\n",
}
REFUSED = {
    "a remainder": (
        "    pid = tl.program_id(0)\n    pid = pid % 8 * (tl.num_programs(0) // 8) + pid // 8\n",
        "not a permutation of 66 programs on 8 XCDs: tile 8 is computed by programs 1 and 64",
    ),
    "few tiles": ("    pid = tl.program_id(0) % 8\n", "never computed: 8 9 10"),
    "half of them": ("    pid = tl.program_id(0)\n    pid //= 2\n", "is not a plain assignment"),
    "a condition": (READ + "    if pid > 8:\n        pid = 0\n", "is not a plain assignment"),
    "an unknown name": ("    pid = tl.program_id(0) + n\n", "unknown name `n`"),
    "a loaded value": ("    pid = tl.load(x + tl.program_id(0))\n", "cannot be called"),
    "read before": (READ + "    n = pid\n    pid = pid + 0\n", "what `pid` was before"),
    "read beside": ("    old = tl.program_id(0)\n    pid = old\n    n = old\n", "what `pid` was"),
    "read again": (READ + "    n = tl.program_id(0)\n", "reads a program id"),
    "other work": (READ + "    n = 0\n", "More than the computation of `pid`"),
    "no Python": ("    pid = = 0\n", "invalid syntax"),
}


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    """The module that the patch adds, which needs nothing of IntelliPerf."""
    folder = tmp_path_factory.mktemp("gate")
    apply(GATE, folder, f"--include={MODULE}")
    spec = importlib.util.spec_from_file_location("permutation_gate", folder / MODULE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def apply(patch, folder, *options):
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(
        ["git", "apply", *options, str(patch)], cwd=folder, env=environment, check=True, timeout=60
    )


def rewritten(lines):
    return KERNEL.replace(READ, lines or READ)


def card(programs=66):
    return {
        "kernel": "add_kernel.kd", "grid": programs * 256.0, "workgroup": 256, "num_xcd": 8,
        "cu_per_gpu": 304,
    }  # fmt: skip


@pytest.mark.parametrize("what", ACCEPTED)
def test_gate_accepts(what, gate):
    assert gate.why_refused(KERNEL, rewritten(ACCEPTED[what]), card()) is None


@pytest.mark.parametrize("what", REFUSED)
def test_gate_refuses(what, gate):
    lines, reason = REFUSED[what]
    assert reason in gate.why_refused(KERNEL, rewritten(lines), card())


def test_gate_asks_for_the_grid_of_the_launch(gate):
    text = rewritten(REFUSED["a remainder"][0])
    assert gate.why_refused(KERNEL, text, card(64)) is None
    assert "not whole workgroups" in gate.why_refused(KERNEL, text, {**card(), "grid": 100})
    assert gate.why_refused(KERNEL, text, card(0)) is not None


def test_gate_refuses_another_kernel(gate):
    for text in ("", KERNEL.replace("add_kernel", "sub_kernel"), KERNEL + "add_kernel = None\n"):
        assert gate.why_refused(KERNEL, text, card()) is not None


@pytest.fixture(scope="module")
def patched(environment, tmp_path_factory):
    """IntelliPerf with both patches, and our formulas; the start-up file is switched off."""
    checkout = os.environ.get("INTELLIPERF_CHECKOUT")
    if checkout is None:
        pytest.skip("INTELLIPERF_CHECKOUT names no checkout of IntelliPerf")
    copy = tmp_path_factory.mktemp("patched") / "intelliperf"
    shutil.copytree(checkout, copy, ignore=shutil.ignore_patterns(".git", "*.egg-info"))
    for patch in (FORMULAS, GATE):
        apply(patch, copy)
    made = environment("pip")
    made.install("-e", str(copy), "-e", str(CHECKOUT))
    return made


OWN_LOOP = {"INTELLIPERF_SWIZZLE_DISABLE": "1"}


@pytest.mark.intelliperf
def test_our_formula_runs_through_the_loop_of_the_host(patched, project, read_result):
    helped = patched.run("intelliperf", "--help", **OWN_LOOP).stdout
    listed = helped.partition("swizzling, ")[2].partition(" (default")[0]
    assert sorted(listed.split(", ")) == ["swizzle", "swizzle-overload", "swizzle-unaware"]
    assert "--candidates" not in helped
    ran = patched.run(
        "intelliperf", "-f", "swizzle", "--target", "mi300x", "--candidates", "7", "-k",
        "copy_kernel", "-o", "out.json", "-l", "--", "python", "copying.py", cwd=project,
        **OWN_LOOP,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    result = read_result(project / "out.json")
    assert result["formula"] == "swizzle"
    assert result["swizzle"]["target"] == "mi300x"
    assert result["swizzle"]["nothing_to_gain"] is True
    assert list((project / "trace").glob("intelliperf_run*.json"))


@pytest.mark.intelliperf
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("-f", "swizzle", "--", "python", "nothing.py"), 1, "nothing.py"),
        (("-vf", "swizzle", "--", "python", "nothing.py"), 1, "nothing.py"),
        (("-f", "swizzle", "--candidates", "0", "--", "./a"), 2, "0 is not positive"),
        (("-f", "swizzle", "-o", "a.xml", "--", "./a"), 2, "a.xml"),
        (("-f", "swizzle"), 2, "Profiling command required"),
        (("-f", "bankConflict", "--", "./a"), 2, "--project_directory is required"),
        (("-f", "diagnoseOnly", "--candidates", "7", "--", "./a"), 2, ""),
    ],
)
def test_failures_end_once_with_their_exit_code(arguments, code, said, patched, tmp_path):
    ran = patched.run("intelliperf", *arguments, cwd=tmp_path, **OWN_LOOP)
    assert ran.returncode == code, ran.stderr
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.intelliperf
def test_their_own_swizzling_is_gated(patched, tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(KERNEL)
    answers = [rewritten(EVEN), *(rewritten(lines) for lines, _ in REFUSED.values())]
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    driver = str(HERE / "swizzling_with_a_gate.py")
    ran = patched.run("python", driver, str(kernel), str(tmp_path / "answers.json"))
    assert ran.returncode == 0, ran.stderr
    accepted, *refused = json.loads(ran.stdout.splitlines()[-1])
    assert accepted == [True, "", True]
    assert len(refused) == len(REFUSED)
    for (success, report, written), (_, reason) in zip(refused, REFUSED.values(), strict=True):
        assert not success
        assert reason in report
        assert not written
