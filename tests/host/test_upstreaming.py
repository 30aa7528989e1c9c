# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is in `docs/upstreaming` does in IntelliPerf what it says; beside the double if it can."""

from __future__ import annotations

import ctypes.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
UPSTREAMING = HERE.parents[1] / "docs" / "upstreaming"
FORMULA = UPSTREAMING / "formulas_swizzle.py"
[PATCH] = UPSTREAMING.glob("*.patch")
DRIVE = """
import sys
from intelliperf.formulas.swizzle import swizzle

kernel, in_place, *command = sys.argv[1:]
formula = swizzle(
    name="run", build_command=None, instrument_command=None, project_directory=".",
    app_cmd=command, top_n=10, in_place=in_place == "True", unittest_command=None, num_attempts=1,
)
formula.build(), formula.profile_pass(), formula.source_code_pass(), formula.instrument_pass()
optimized = formula.optimize_pass(target_kernel=kernel or None)
if not optimized:
    sys.exit(optimized.error_report)
assert formula.build_pass(validate_build_result=False)
assert formula.correctness_validation_pass(accordo_absolute_tolerance=1e-6)
assert formula.performance_validation_pass()
formula.write_results("out.json")
"""
"""The calls that IntelliPerf's `main` makes, in its order."""


def checkout(source, folder):
    """A copy of a host."""
    if source is None:
        pytest.skip("INTELLIPERF_CHECKOUT names no checkout of IntelliPerf")
    ignored = shutil.ignore_patterns(".git", "*.egg-info", "__pycache__")
    return Path(shutil.copytree(source, folder / "intelliperf", ignore=ignored))


@pytest.fixture(scope="module")
def rocm(tmp_path_factory):
    """Where a library stands in for `libamdhip64.so`, which IntelliPerf loads to be imported."""
    folder = tmp_path_factory.mktemp("rocm")
    stub = Path("/lib/x86_64-linux-gnu") / str(ctypes.util.find_library("m"))
    if not stub.exists():
        pytest.skip("no shared library to stand in for ROCm's")
    (folder / "libamdhip64.so").symlink_to(stub)
    return str(folder)


@pytest.fixture(scope="module")
def with_formula(environment, source, tmp_path_factory):
    """A host with the formula of our page in its tree, and our package."""
    copy = checkout(source, tmp_path_factory.mktemp("formula"))
    shutil.copy(FORMULA, copy / "src/intelliperf/formulas/swizzle.py")
    made = environment("pip")
    made.install("-e", str(copy), "-e", str(HERE.parents[1]))
    return made, copy


@pytest.mark.parametrize("in_place", [True, False])
def test_the_formula_in_their_tree_finds_what_our_command_finds(
    in_place, with_formula, project, rocm, tmp_path, read_result
):
    host, _ = with_formula
    before = (project / "gemm.py").read_text()
    ran = host.run(
        "python", "-c", DRIVE, "gemm_kernel", str(in_place), "python", "app.py", cwd=project,
        LD_LIBRARY_PATH=rocm, TMPDIR=str(tmp_path), TINY="1",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    result = read_result(project / "out.json")
    assert result["kernel_name"] == "gemm_kernel"
    changed = result["optimized"] if in_place and result["success"] else before
    assert (project / "gemm.py").read_text() == changed


def test_the_formula_says_how_to_get_what_is_missing_and_what_failed(
    with_formula, project, rocm, tmp_path
):
    host, _ = with_formula
    hidden = "import sys; sys.modules['intelliperf_swizzle'] = None\n"
    for begin, message in ((hidden, "pip install"), ("", "nothing.py")):
        ran = host.run(
            "python", "-c", begin + DRIVE, "", "False", "python", "nothing.py", cwd=project,
            LD_LIBRARY_PATH=rocm, TMPDIR=str(tmp_path),
        )  # fmt: skip
        assert ran.returncode == 1
        assert message in ran.stderr
        assert "Traceback" not in ran.stderr


@pytest.mark.intelliperf
def test_their_own_tests_pass_with_the_formula_and_it_has_their_format(
    environment, tmp_path_factory, rocm
):
    copy = checkout(os.environ.get("INTELLIPERF_CHECKOUT"), tmp_path_factory.mktemp("formula"))
    shutil.copy(FORMULA, copy / "src/intelliperf/formulas/swizzle.py")
    host = environment("pip")
    host.install("-e", str(copy))
    ran = host.run(
        "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_llm_validation.py",
        "tests/test_version.py", cwd=copy, LD_LIBRARY_PATH=rocm,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    formatted(copy, "src/intelliperf/formulas/swizzle.py")


def formatted(copy, *files):
    ruff = [sys.executable, "-m", "ruff"]
    for words in (("format", "--check"), ("check",)):
        subprocess.run([*ruff, *words, *files], cwd=copy, check=True, timeout=60)


@pytest.fixture(scope="module")
def patched(environment, tmp_path_factory):
    """IntelliPerf with the patch, and our formulas; without the hook."""
    copy = checkout(os.environ.get("INTELLIPERF_CHECKOUT"), tmp_path_factory.mktemp("patched"))
    ceiling = {**os.environ, "GIT_CEILING_DIRECTORIES": str(copy.parent)}
    subprocess.run(["git", "apply", str(PATCH)], cwd=copy, env=ceiling, check=True, timeout=60)
    made = environment("pip")
    made.install("-e", str(copy), "-e", str(HERE.parents[1]))
    return made, copy


@pytest.mark.intelliperf
def test_the_patch_brings_tests_that_pass_and_has_their_format(patched):
    host, copy = patched
    ran = host.run("python", "-m", "pytest", "-q", "tests/test_external_formulas.py", cwd=copy)
    assert ran.returncode == 0, ran.stdout
    formatted(copy, "src/intelliperf/__main__.py", "tests/test_external_formulas.py")


@pytest.mark.intelliperf
def test_our_formula_runs_under_the_patch(patched, project, read_result):
    host, _ = patched
    helped = host.run("intelliperf", "--help").stdout
    listed = helped.partition("swizzling, ")[2].partition(" (default")[0]
    assert sorted(listed.split(", ")) == ["swizzle", "swizzle-overload", "swizzle-unaware"]
    assert "--candidates" not in helped
    ran = host.run(
        "intelliperf", "-f", "swizzle", "--target", "mi300x", "--candidates", "7", "-o",
        "out.json", "-l", "--", "python", "copying.py", cwd=project,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    result = read_result(project / "out.json")
    assert result["formula"] == "swizzle"
    assert result["swizzle"]["target"] == "mi300x"
    assert result["swizzle"]["nothing_to_gain"] is True
    assert list((project / "trace").glob("intelliperf_run*.json"))


AS_WITH_THE_HOOK = [
    ("-f", "swizzle", "--", "python", "nothing.py"),
    ("-vf", "swizzle", "--", "python", "nothing.py"),
    ("-vf", "swizzle", "--help"),
    ("-f", "swizzle", "--num_attempts", "0", "--", "python", "nothing.py"),
    ("-f", "swizzle", "--candidates", "0", "--", "./a"),
    ("-f", "swizzle", "-o", "a.xml", "--", "./a"),
]


def output(ran):
    """Exit code and messages; entry points are listed by name, and usage may end elsewhere."""
    help_text = ran.stdout.replace(
        "swizzle-overload, swizzle-unaware", "swizzle-unaware, swizzle-overload"
    )
    return ran.returncode, help_text, ran.stderr.splitlines()[-3:]


@pytest.mark.intelliperf
@pytest.mark.parametrize("arguments", AS_WITH_THE_HOOK)
def test_the_patch_behaves_as_the_hook(arguments, patched, environment, tmp_path):
    host, _ = patched
    hooked = environment("pip")
    hooked.install("-e", str(os.environ["INTELLIPERF_CHECKOUT"]), "-e", str(HERE.parents[1]))
    hooked.hook()
    with_patch = host.run("intelliperf", *arguments, cwd=tmp_path)
    with_hook = hooked.run("intelliperf", *arguments, cwd=tmp_path)
    assert output(with_patch) == output(with_hook)
    assert "Traceback" not in with_patch.stderr


@pytest.mark.parametrize("arguments", AS_WITH_THE_HOOK)
def test_the_double_that_reads_entry_points_behaves_as_the_hook(arguments, host, tmp_path):
    with_entry_points = host.run("intelliperf", *arguments, cwd=tmp_path, DOUBLE_PATCHED="1")
    with_hook = host.run("intelliperf", *arguments, cwd=tmp_path)
    assert output(with_entry_points) == output(with_hook)
    assert json.dumps(with_hook.returncode) in "012"
