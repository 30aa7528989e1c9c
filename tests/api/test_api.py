# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs as functions say what the command says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import intelliperf_swizzle
from intelliperf_swizzle import (
    Proof,
    SwizzleError,
    Target,
    Witness,
    load_target,
    optimize,
    parse,
    prove,
    prove_source,
    score,
)
from intelliperf_swizzle.testing import (
    assert_source_is_permutation,
    assert_swizzle_is_permutation,
)

GEMM = Path(__file__).parents[2] / "benchmarks" / "kernels" / "gemm.py"
APPLICATION = [sys.executable, str(GEMM), "--m", "1024", "--n", "1024", "--k", "64"]
STREAM_K = "pid = (pid % num_xcds) * (num_pids // num_xcds) + pid // num_xcds"


def test_everything_that_is_offered_is_there() -> None:
    for name in intelliperf_swizzle.__all__:
        assert getattr(intelliperf_swizzle, name).__module__.startswith("intelliperf_swizzle")
    assert set(intelliperf_swizzle.__all__) <= set(dir(intelliperf_swizzle))
    with pytest.raises(AttributeError, match="no attribute 'optimise'"):
        _ = intelliperf_swizzle.optimise


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import intelliperf_swizzle, sys; print(*sys.modules)"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not set(finished.stdout.split()) & {"numpy", "torch", "triton", "numba", "argparse"}


@pytest.mark.parametrize("swizzle", [STREAM_K, parse(STREAM_K)])
def test_prove_takes_text_and_swizzle(swizzle: str) -> None:
    assert isinstance(prove(swizzle, 304), Proof)
    witness = prove(swizzle, 228)
    assert isinstance(witness, Witness)
    assert witness.missing == (224, 225, 226, 227)


def test_prove_takes_patterns_with_parameters_targets_and_constants() -> None:
    assert isinstance(prove("xcd-contiguous", (57, 76)), Proof)
    proof = prove("grouped-rows", 12 * 20, cols=20, target=load_target("mi300a"))
    assert isinstance(proof, Proof)
    mi300a = prove(STREAM_K, 228, target="mi300a")
    assert isinstance(mi300a, Proof)  # six XCDs
    assert isinstance(prove("pid = (pid + SHIFT) % num_pids", 10, SHIFT=3), Proof)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: prove("no-such", 8), "no-such"),
        (lambda: prove("pid = pid +", 8), "1:"),
        (lambda: prove("identity", ()), "is not a grid"),
        (lambda: prove("identity", 8, cols=3), "does not read `cols`"),
        (lambda: prove("identity", 8, target="mi9"), "mi9"),
        (lambda: score("identity", "python app.py"), "is not an argument list"),
        (lambda: prove_source(APPLICATION, "absent.py"), "there is no file absent.py"),
    ],
)
def test_bad_input_is_one_error(call, message) -> None:
    with pytest.raises(SwizzleError, match=message):
        call()


def test_assertion_shows_the_witness() -> None:
    assert_swizzle_is_permutation("xcd-contiguous", range(1, 300))
    assert_swizzle_is_permutation("xcd-contiguous", [(57, 76), (8, 8, 3), 304])
    with pytest.raises(AssertionError, match="tile 28 is computed by programs 1 and 224") as caught:
        assert_swizzle_is_permutation(STREAM_K, [304, 228])
    assert shown_in(caught) == {__file__}


def test_kernel_with_its_own_remap() -> None:
    folder = Path(__file__).parents[1] / "source_proofs" / "applications"
    source = folder / "published_remaps.py"
    command = [sys.executable, source.name, "stream_k 304 400,stream_k 108 400"]
    holds, fails = prove_source(command, source, project_directory=folder)
    assert (holds.kind, fails.kind) == ("permutation", "not a permutation")
    witness = "108 programs do the work of 104\n  programs 1 and 104 access the same addresses"
    with pytest.raises(AssertionError, match=witness) as caught:
        assert_source_is_permutation(command, source, project_directory=folder)
    assert shown_in(caught) == {__file__}


def shown_in(caught: pytest.ExceptionInfo[AssertionError]) -> set[str]:
    """The files of the frames that pytest shows of a failure."""
    return {str(frame.path) for frame in caught.traceback if not frame.ishidden(caught)}


def test_optimize_returns_what_the_result_file_says(tmp_path: Path) -> None:
    before = GEMM.read_bytes()
    run = optimize(
        APPLICATION,
        target="mi300x",
        proposer="offline",
        profiler="model",
        candidates=20,
        num_attempts=1,
        report_dir=tmp_path,
    )
    written = json.loads((tmp_path / "gemm_kernel" / "result.json").read_text())
    assert GEMM.read_bytes() == before
    assert written["success"] is (run.best is not None)
    assert written["swizzle"]["baseline"]["l2_hit_rate"] == run.baseline.l2_hit_rate
    assert str(run) == written["report_message"]
    assert repr(run).startswith("<Run of gemm_kernel on mi300x: ")
    assert len(repr(run)) < 80
    assert (run.edit is None) is (run.best is None)
    assert isinstance(load_target(run.target), Target)
