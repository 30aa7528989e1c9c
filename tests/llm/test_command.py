# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The command as a user starts it, with a model behind a URL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from openai_endpoint import KEY, Status, answer

HERE = Path(__file__).parent
TRANSPOSE = HERE.parents[1] / "benchmarks" / "kernels" / "transpose.py"
BLOCKS = """\
xcd = pid % num_xcds
slot = pid // num_xcds
block = slot // 4 * num_xcds + xcd
half = grid_0 // 2
pid_0 = block % half * 2 + slot % 2
pid_1 = block // half * 2 + slot // 2 % 2
"""
SMALL = """\
base: mi300x
name: small
launch_us: 0
l2_bytes_per_xcd: 262144
llc_bytes: null
llc_gb_s: null
"""
"""A GPU with small L2s right before memory: what they save is time."""


def run(
    folder: Path, *arguments: str, key: str = "", target: str = "mi300x"
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LLM_GATEWAY_KEY": key, "HOME": str(folder)}
    command = [sys.executable, "-m", "intelliperf_swizzle", "--target", target, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200
    )


def test_a_run_with_a_model_leaves_totals_and_no_key(endpoint, tmp_path, read_result):
    endpoint.script = [
        "[[ ## memory_analysis ## ]]\nShared.\n\n[[ ## completed ## ]]",
        Status(429, f"slow down, {KEY}"),
        answer(BLOCKS, idea="blocks of two by two"),
    ]
    sizes = ["--m", "2048", "--n", "2048"]
    options = ["--proposer", "llm", "-r", endpoint.url, "--num_attempts", "1", "-v"]
    (tmp_path / "small.yaml").write_text(SMALL)
    app = ["--", sys.executable, str(TRANSPOSE), *sizes]
    done = run(tmp_path, *options, *app, key=KEY, target="small.yaml")
    assert done.returncode == 0, done.stderr
    assert len(endpoint.requests) == 3
    folder = tmp_path / "swizzle-out" / "transpose_kernel"
    outcome = read_result(folder / "result.json")
    assert outcome["success"]
    assert outcome["swizzle"]["proposer"] == "llm"
    assert outcome["swizzle"]["usage"]["calls"] == 2
    assert outcome["swizzle"]["usage"]["input_tokens"] == 200
    assert outcome["swizzle"]["best"]["origin"] == "llm"
    assert "language model: 2 calls, 200 tokens in, 40 out" in " ".join(done.stdout.split())
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert folder / "history.jsonl" in written
    for text in (
        done.stdout,
        done.stderr,
        *(path.read_bytes().decode("latin1") for path in written),
    ):
        assert KEY not in text


def test_nothing_to_gain_is_reported_before_the_first_call(endpoint, tmp_path):
    endpoint.script = [answer(BLOCKS)]
    options = ["--proposer", "llm", "-r", endpoint.url]
    done = run(tmp_path, *options, "--", sys.executable, str(HERE / "softmax_app.py"))
    assert done.returncode == 0, done.stderr
    assert "nothing to gain" in done.stdout
    assert endpoint.requests == []
    assert not (tmp_path / "owned").exists()


def test_a_model_is_needed_and_none_is_configured(tmp_path):
    app = ["--", sys.executable, str(TRANSPOSE)]
    for options in (["--proposer", "llm"], ["-f", "swizzle-unaware"], ["--proposer", "both"]):
        refused = run(tmp_path, *options, *app)
        assert refused.returncode == 2
        assert "needs a language model" in refused.stderr
        assert "LLM_GATEWAY_KEY" in refused.stderr


def test_explain_of_the_softmax(tmp_path):
    command = [sys.executable, "-m", "intelliperf_swizzle", "explain", "--target", "mi300x"]
    done = subprocess.run(
        [*command, "--", sys.executable, str(HERE / "softmax_app.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    for section in ("source", "launch", "bottleneck", "locality", "target", "dispatch"):
        assert f"[[ ## {section} ## ]]\n" in done.stdout
    assert done.stdout.startswith("# call 1\n\n## system\n\nYour input fields are:\n")
    assert "# call 2\n\n## system\n\n" in done.stdout
    assert "You are a GPU performance engineer." in done.stdout
    assert "`swizzle` (str): " in done.stdout
    assert "tiles that touch a line: 1 on average, 1 at most" in done.stdout
    assert "headroom +0.0 points" in done.stdout
