# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A machine with stand-ins for profilers, and a project with a kernel that they can measure.

The stand-ins are executables at the process boundary: they run the application that they are given
and write what the real tool would write of it. What they "count" the application has left in a
file, so that an edit that takes effect changes the numbers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.frontends.ports import frontends
from intelliperf_swizzle.hardware.detect import Machine
from intelliperf_swizzle.profile import Application, TracedLaunch
from intelliperf_swizzle.records import Grid, KernelSource, Launch, SourceFunction

APPLICATION = """\
import os
from pathlib import Path

HITS = 600  # of 1000


def compile_kernel():
    compiled = Path(os.environ["TRITON_CACHE_DIR"]) / "KEY"
    compiled.mkdir(parents=True)
    (compiled / "a_kernel.ttir").write_text(f'#loc = loc("{__file__}":7:0)\\n')


if __name__ == "__main__":
    compile_kernel()
    Path("hits.txt").write_text(str(HITS))
    print("the application is done")
"""
"""What of an application matters here: it compiles a kernel, and its text decides what happens."""


@dataclass
class Bench:
    """A folder with a project, and executables that are found before any others."""

    folder: Path

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def app(self) -> Path:
        return self.project / "app.py"

    @property
    def machine(self) -> Machine:
        return Machine(self.folder / "root", str(self.folder / "bin"), 5.0)

    def application(self, *command: str, **more: Any) -> Application:
        command = command or (sys.executable, "app.py")
        return Application(command, self.project, frontends()[-1], **more)

    def stand_in(self, name: str, body: str, **behaviour: Any) -> None:
        """Installs an executable, in which the behaviour is `BEHAVIOUR`; it logs its calls."""
        path = self.folder / "bin" / name
        path.write_text(
            f"#!{sys.executable}\n"
            "import json, os, subprocess, sys, time\n"
            "from pathlib import Path\n"
            f"BEHAVIOUR = json.loads({json.dumps(behaviour)!r})\n"
            f"LOG = Path({str(self.folder / 'calls.json')!r})\n"
            "calls = json.loads(LOG.read_text()) if LOG.exists() else []\n"
            "LOG.write_text(json.dumps([*calls, sys.argv[1:]]))\n"
            f"{body}"
        )
        path.chmod(0o755)

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of each call of a stand-in."""
        log = self.folder / "calls.json"
        return json.loads(log.read_text()) if log.exists() else []

    def edit(self, hits: int) -> Edit:
        """An edit after which the kernel hits so often."""
        before = self.app.read_text()
        after = before.replace("HITS = 600", f"HITS = {hits}")
        return Edit({}, {str(self.app): after}, {str(self.app): before}, "")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for folder in ("project", "bin", "root"):
        (tmp_path / folder).mkdir()
    (tmp_path / "project" / "app.py").write_text(APPLICATION)
    return Bench(tmp_path)


@pytest.fixture
def launched() -> Callable[..., TracedLaunch]:
    return launched_on


def launched_on(
    grid: Grid, count: int = 1, num_warps: int = 4, kernel: str = "a_kernel", **options: Any
) -> TracedLaunch:
    """A launch as it was recorded; of its trace a hardware profiler wants nothing."""
    function = SourceFunction(kernel, "/app.py", 1, f"def {kernel}(): pass\n")
    launch = Launch(
        kernel=kernel,
        source=KernelSource(kernel, {kernel: function}),
        grid=grid,
        arguments={},
        constexprs=(),
        options={"num_warps": num_warps, **options},
        storages={},
        count=count,
    )
    return TracedLaunch(launch, None, 1)  # type: ignore[arg-type]
