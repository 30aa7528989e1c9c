# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Kills runs with SIGKILL at random instants: `python tests/adversarial/kills.py 200`.

Every second run edits the user's file in place. After each kill all files are whole or absent, the
user's file is as it was or as it should become, no process is left, and no attempt that the history
held before is lost. The next run resumes. At the end a run that is not killed leaves nothing but
its results.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

KERNEL = Path(__file__).parents[2] / "benchmarks" / "kernels" / "gemm.py"
TARGET = """\
base: mi300x
name: small
launch_us: 0
llc_gb_s: 500
l2_bytes_per_xcd: 65536
l2_channels_per_xcd: 1
l2_channel_bits: hashed
l2_set_bits: hashed
cus_per_xcd: 4
"""
APPLICATION = ["python", "gemm.py", "--m", "256", "--n", "256", "--k", "32", "--block-m", "32",
               "--block-n", "32", "--block-k", "32", "--group-m", "1"]  # fmt: skip
RESULTS = {
    "best.patch", "history.jsonl", "report.html", "report.md", "result.json", "swizzles.json",
}  # fmt: skip
PATIENCE_SECONDS = 20.0
"""Within which the children of a killed process are gone, on a busy machine."""


@dataclass
class Kills:
    """A project, and what runs that were killed in it have left.

    Attributes:
        place: an empty folder.
        phases: what the runs were doing when they were killed, and how often.
        kept: lines of the history that were complete after the last kill.
    """

    place: Path
    phases: Counter[str] = field(default_factory=Counter)
    kept: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.project = self.place / "project"
        self.temporary = self.place / "tmp"
        self.results = self.project / "swizzle-out" / "gemm_kernel"
        self.temporary.mkdir()
        (self.place / "small.yaml").write_text(TARGET)
        self.begin_anew()

    def begin_anew(self) -> None:
        """The project as its user has written it."""
        shutil.rmtree(self.project, ignore_errors=True)
        self.project.mkdir()
        shutil.copy(KERNEL, self.project)
        self.kept = []

    def start(self, *options: str) -> subprocess.Popen[str]:
        """A run; it resumes the one before."""
        scripts = Path(sys.executable).parent
        given = ["--target", "../small.yaml", "--candidates", "8", "--compute", "never", "--resume"]
        return subprocess.Popen(
            [str(scripts / "intelliperf-swizzle"), *given, *options, "--", *APPLICATION],
            cwd=self.project,
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith("INTELLIPERF_")},
                "PATH": f"{scripts}:{os.environ['PATH']}",
                "TMPDIR": str(self.temporary),
                "KILLS": str(self.place),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, *options: str) -> float:
        """A run to its end; the seconds that it took."""
        begun = time.monotonic()
        run = self.start(*options)
        _, message = run.communicate(timeout=600)
        assert run.returncode == 0, message
        return time.monotonic() - begun

    def kill(self, seconds: float, *options: str) -> None:
        """Kills a run after some time, and checks what it has left."""
        run = self.start(*options)
        try:
            run.wait(seconds)
        except subprocess.TimeoutExpired:
            run.kill()
        _, message = run.communicate()
        assert "Traceback" not in message, message
        assert run.returncode in (0, -9), message
        self.phases["at its end" if run.returncode == 0 else phase(message)] += 1
        self.check()

    def check(self) -> None:
        """Raises AssertionError where something is torn, lost or left."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while left := self.processes():
            assert time.monotonic() < deadline, f"left running: {left}"
            time.sleep(0.05)
        original = KERNEL.read_text()
        files = {path.name: path.read_text() for path in self.project.iterdir() if path.is_file()}
        allowed = {original, self.optimized}
        for name, text in files.items():
            if not name.endswith(".swizzle-partial"):
                assert text in allowed, f"{name} is torn"
        if (result := self.results / "result.json").exists():
            assert json.loads(result.read_text())["kernel_name"] == "gemm_kernel"
        if (report := self.results / "report.html").exists():
            assert report.read_text().rstrip().endswith("</html>")
        if (patch := self.results / "best.patch").exists():
            assert patch.read_text() == self.patch
        if (history := self.results / "history.jsonl").exists():
            complete = history.read_bytes().splitlines(keepends=True)
            complete = [line for line in complete if line.endswith(b"\n")]
            for line in complete:
                json.loads(line)
            assert complete[: len(self.kept)] == self.kept, "attempts were lost"
            self.kept = complete

    def processes(self) -> list[str]:
        """Those that the runs have started, and that still run."""
        mark = f"KILLS={self.place}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append((folder / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
        return found

    def learn(self) -> float:
        """What a run comes to, and how long it takes."""
        self.finish("-l")  # what numba compiles is kept
        self.optimized = (self.project / "gemm.py").read_text()
        self.patch = (self.results / "best.patch").read_text()
        assert self.optimized != KERNEL.read_text()
        self.begin_anew()
        seconds = self.finish()
        self.begin_anew()
        return seconds

    def finally_nothing_is_left(self) -> None:
        """A run to its end leaves its results and nothing else."""
        edited = (self.project / "gemm.py").read_text() == self.optimized
        if edited:
            shutil.copy(KERNEL, self.project)
        self.finish("-l")
        assert (self.project / "gemm.py").read_text() == self.optimized
        assert list(self.temporary.iterdir()) == []
        backups = {path.name for path in self.project.iterdir()} - {"gemm.py", "swizzle-out"}
        assert backups <= {"gemm.py.swizzle-backup"}, backups
        assert {path.name for path in self.results.iterdir()} == RESULTS


def phase(message: str) -> str:
    """What a run was doing, from what it printed last."""
    known = ("recording", "tracing", "searching", "evaluating", "validating")
    words = [line.split()[0] for line in message.splitlines() if line.split()]
    return next((word for word in reversed(words) if word in known), "starting")


def run_kills(place: Path, count: int, seed: int = 0) -> Counter[str]:
    """Kills so many runs; how often in which phase.

    Args:
        place: an empty folder.
        count: of runs.
        seed: of the instants.
    """
    kills = Kills(place)
    seconds = kills.learn()
    instants = random.Random(seed)
    for number in range(count):
        if number % 8 == 7 or (kills.project / "gemm.py").read_text() == kills.optimized:
            kills.begin_anew()
        kills.kill(instants.uniform(0.0, seconds), *(["-l"] if number % 2 else []))
    kills.finally_nothing_is_left()
    return kills.phases


def main() -> None:
    """Prints what the runs were doing when they were killed."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("count", type=int, help="runs to kill")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as place:
        phases = run_kills(Path(place), options.count, options.seed)
    killed = options.count - phases["at its end"]
    print(f"{killed} of {options.count} runs killed; nothing torn, lost or left")
    for name, count in phases.most_common():
        print(f"  {name}: {count}")


if __name__ == "__main__":
    main()
