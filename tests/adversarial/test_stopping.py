# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Signals in every phase of the whole command: it ends at once, and nothing is left of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

sys.path.append(str(Path(__file__).parents[1] / "llm"))
from openai_endpoint import Endpoint, Hang, handler_of

from intelliperf_swizzle.disk import FolderLock

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
SECONDS = 2.0
"""What the end of a run may take."""
SLACK = 8.0
"""More on a machine that does other things, too."""
GEMM = ["python", "gemm.py", "--m", "512", "--n", "512", "--k", "64", "--block-m", "32",
        "--block-n", "32", "--block-k", "32", "--group-m", "1", "--num-warps", "8"]  # fmt: skip

NEVER_ENDS = """\
import os, subprocess, sys, time
if os.fork() == 0:
    os.setsid()
time.sleep(600)
"""

ENDLESS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def endless_kernel(x, n):
    for step in range(n):
        tl.store(x + tl.program_id(0), step)


endless_kernel[(64,)](torch.zeros(64, dtype=torch.int32, device="cuda"), 2000000000)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "tmp").mkdir()
    shutil.copy(KERNELS / "gemm.py", folder)
    (folder / "never_ends.py").write_text(NEVER_ENDS)
    (folder / "endless.py").write_text(ENDLESS)
    (tmp_path / "small.yaml").write_text(
        "base: mi300x\nname: small\nlaunch_us: 0\nl2_bytes_per_xcd: 65536\nl2_channels_per_xcd: 1\n"
        "l2_channel_bits: hashed\nl2_set_bits: hashed\ncus_per_xcd: 4\n"
    )
    return folder


@pytest.fixture
def silent_endpoint() -> Iterator[Endpoint]:
    """A language model that never answers."""
    endpoint = Endpoint(script=[Hang()])
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(endpoint))
    server.daemon_threads = True
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    Thread(target=server.serve_forever, daemon=True).start()
    yield endpoint
    endpoint.over.set()
    server.shutdown()
    server.server_close()


class Run:
    """The command, started in the project."""

    def __init__(self, project: Path, *arguments: str):
        self.mark = f"STOPPING={project}"
        self.temporary = project.parent / "tmp"
        scripts = Path(sys.executable).parent
        self.process = subprocess.Popen(
            [str(scripts / "intelliperf-swizzle"), *arguments],
            cwd=project,
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith("INTELLIPERF_")},
                "PATH": f"{scripts}:{os.environ['PATH']}",
                "TMPDIR": str(self.temporary),
                "STOPPING": str(project),
            },
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # CI may ignore it
        )

    def wait_for(self, phase: str) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if line.startswith(phase):
                return
        raise AssertionError(f"the run ended before `{phase}`")

    def stop(self, number: signal.Signals) -> tuple[str, float]:
        """Its last words, and the seconds that it took to end."""
        begun = time.monotonic()
        self.process.send_signal(number)
        _, message = self.process.communicate(timeout=120)
        return message, time.monotonic() - begun

    def left(self) -> list[str]:
        """What it has left: processes that do not end, and temporary files."""
        patience = time.monotonic() + SECONDS + SLACK
        while self._processes() and time.monotonic() < patience:
            time.sleep(0.05)  # killed, and not gone before the system has run them once more
        found = [f"process {pid}" for pid in self._processes()]
        return found + [str(path) for path in self.temporary.iterdir()]

    def _processes(self) -> list[int]:
        """Those with its mark in their environment, but for itself and zombies."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                variables = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if self.mark.encode() in variables and int(folder.name) != self.process.pid:
                found.append(int(folder.name))
        return found


MODEL = ["--target", "../small.yaml", "--compute", "never", "--candidates"]

PHASES = {
    "recording": ("recording", [*MODEL, "9", "--", "python", "never_ends.py"]),
    "building": (
        "recording",
        [*MODEL, "9", "-b", "python never_ends.py", "--", "python", "never_ends.py"],
    ),
    "tracing": ("tracing", [*MODEL, "9", "--", "python", "endless.py"]),
    "searching": ("searching", [*MODEL, "4000", "--", *GEMM]),
    "evaluating": ("evaluating", [*MODEL, "100", "--", *GEMM]),
    "validating": ("validating", [*MODEL, "8", "--validation_seconds", "500", "--", *GEMM]),
    "unit test": (
        "running the unit test",
        ["--target", "../small.yaml", "--candidates", "8", "--compute", "always",
         "--unittest_command", "python never_ends.py", "--", *GEMM],
    ),
}  # fmt: skip
PAUSE = {"recording": 1.0, "tracing": 2.0, "unit test": 4.0}
"""Seconds after the phase was announced, so that it is well on its way."""


@pytest.mark.parametrize(
    ("phase", "number"),
    [
        ("recording", signal.SIGTERM),
        ("tracing", signal.SIGINT),
        ("searching", signal.SIGTERM),
        ("evaluating", signal.SIGINT),
        ("validating", signal.SIGTERM),
        ("unit test", signal.SIGINT),
    ],
)
def test_a_signal_ends_a_run_in_every_phase(
    project: Path, phase: str, number: signal.Signals
) -> None:
    before = (project / "gemm.py").read_bytes()
    announced, arguments = PHASES[phase]
    run = Run(project, "-l", *arguments)
    run.wait_for(announced)
    time.sleep(PAUSE.get(phase, 0.1))
    message, seconds = run.stop(number)
    print(f"{phase}, {number.name}: {seconds:.2f} s")
    assert run.process.returncode == 128 + number
    assert message.endswith(f"interrupted by {number.name}\n")
    assert "Traceback" not in message
    assert run.left() == []
    assert seconds < SECONDS + SLACK
    assert (project / "gemm.py").read_bytes() == before
    written = sorted(path.name for path in project.glob("swizzle-out/*/*"))
    if phase in ("recording", "tracing"):
        assert written == []
    elif phase == "unit test":  # of the unmodified project, before any attempt
        assert written == ["history.jsonl"]
    else:
        assert {"history.jsonl", "report.html", "report.md", "result.json"} <= set(written)
        assert read(project)["swizzle"]["interrupted"] is True


@pytest.mark.gpu
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "announced", ["recording", "profiling", "searching", "validating and timing", "confirming"]
)
def test_a_signal_ends_a_run_on_a_gpu(
    project: Path, announced: str, number: signal.Signals
) -> None:
    before = (project / "gemm.py").read_bytes()
    run = Run(project, "-l", "--candidates", "50", "--measure", "4", "--", *GEMM)
    run.wait_for(announced)
    time.sleep(1.0)
    message, seconds = run.stop(number)
    print(f"{announced}, {number.name}: {seconds:.2f} s")
    assert run.process.returncode == 128 + number
    assert message.endswith(f"interrupted by {number.name}\n")
    assert "Traceback" not in message
    left = run.left()  # ncu, torch and Triton leave files of their own
    assert [line for line in left if "process" in line or "intelliperf-swizzle" in line] == []
    assert seconds < SECONDS + SLACK
    assert (project / "gemm.py").read_bytes() == before


def read(project: Path) -> dict:
    [result] = project.glob("swizzle-out/*/result.json")
    found: dict = json.loads(result.read_text())
    return found


def test_a_signal_ends_the_users_build_command(project: Path) -> None:
    run = Run(project, *PHASES["building"][1])
    while "never_ends.py" not in " ".join(map(command_of, run._processes())):
        time.sleep(0.05)
    run.stop(signal.SIGTERM)
    assert run.process.returncode == 143
    assert run.left() == []


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_the_best_so_far_is_written_while_a_language_model_hangs(
    project: Path, silent_endpoint: Endpoint
) -> None:
    pytest.importorskip("dspy")
    run = Run(project, *MODEL, "8", "-r", silent_endpoint.url, "--", *GEMM)
    run.wait_for("asking")
    while not silent_endpoint.requests:
        time.sleep(0.05)
    _, seconds = run.stop(signal.SIGINT)
    print(f"language model, SIGINT: {seconds:.2f} s")
    assert run.process.returncode == 130
    assert run.left() == []
    assert seconds < SECONDS + SLACK
    result = read(project)
    assert result["success"] is True
    assert result["swizzle"]["best"]["validation"]["same_bits"] is True
    [patch] = project.glob("swizzle-out/*/best.patch")
    assert patch.read_text() == result["diff"]
    subprocess.run(["git", "apply", "--check", str(patch)], cwd=project, check=True)


@pytest.mark.parametrize("prefix", [["score", "snake"], ["explain"]])
def test_every_other_verb_that_runs_the_application_stops(
    project: Path, prefix: Sequence[str]
) -> None:
    run = Run(project, *prefix, "--target", "mi300x", "--", "python", "endless.py")
    run.wait_for("recording")
    time.sleep(1)
    message, _ = run.stop(signal.SIGTERM)
    assert run.process.returncode == 143
    assert message.endswith("interrupted by SIGTERM\n")
    assert run.left() == []


def test_what_sigkill_leaves_behind_the_next_run_removes(project: Path) -> None:
    run = Run(project, *MODEL, "9", "--", "python", "endless.py")
    run.wait_for("tracing")
    time.sleep(1)
    run.stop(signal.SIGKILL)
    deadline = time.monotonic() + SLACK
    while run._processes() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not run._processes()
    following = Run(project, *MODEL, "9", "--", "python", "-c", "0")
    following.process.communicate(timeout=120)
    assert following.left() == []


def test_of_two_runs_into_one_folder_the_second_is_refused(project: Path) -> None:
    folder = project / "swizzle-out" / "gemm_kernel"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text("of the first")
    first = FolderLock(folder)
    second = Run(project, *MODEL, "8", "--", *GEMM)
    _, message = second.process.communicate(timeout=240)
    assert second.process.returncode == 2
    assert "error: another run is writing to swizzle-out/gemm_kernel\n" in message
    assert message.endswith("hint: name another folder with --report_dir\n")
    assert [path.read_text() for path in folder.iterdir()] == ["of the first"]
    first.release()


def test_a_limit_ends_a_run_with_what_was_validated_until_then(project: Path) -> None:
    small = str(project.parent / "small.yaml")
    limited = ["--seconds", "25", "--candidates", "100000", "--budget", "100000", "--no-cache"]
    begun = time.monotonic()
    run = Run(project, "--target", small, "--proposer", "offline", *limited, "--", *GEMM)
    _, message = run.process.communicate(timeout=120)
    assert time.monotonic() - begun < 25 + SECONDS + SLACK
    assert run.process.returncode == 0, message
    result = json.loads((project / "swizzle-out/gemm_kernel/result.json").read_text())
    assert result["swizzle"]["established"]
    assert not run.left()


def test_a_limit_before_any_search_is_no_success(project: Path) -> None:
    run = Run(project, "--seconds", "4", "--target", "mi300x", "--", "python", "never_ends.py")
    _, message = run.process.communicate(timeout=120)
    assert (run.process.returncode, message.splitlines()[-1]) == (124, "ended at --seconds")
    assert not run.left()
