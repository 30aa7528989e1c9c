# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Environments with our wheel and with the double of the host, made by pip or by uv.

Nothing is fetched: they borrow the dependencies of the environment that runs the tests.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
DOUBLE = HERE / "double"
CHECKOUT_OF_HOST = os.environ.get("INTELLIPERF_CHECKOUT")
UV = os.environ.get("UV") or shutil.which("uv")


@dataclass(frozen=True)
class Environment:
    """A virtual environment, filled by one installer."""

    folder: Path
    installer: str

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def pip(self, command: str, *arguments: str) -> None:
        if self.installer == "uv":
            program = [str(UV), "pip", command, "--python", str(self.python), "--offline"]
        else:
            program = [sys.executable, "-m", "pip", "--python", str(self.python), command]
            arguments = (*arguments, "-y") if command == "uninstall" else arguments
        done = subprocess.run(
            [*program, "-q", *arguments], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr

    def install(self, *what: str) -> None:
        self.pip("install", "--no-deps", "--no-build-isolation", "--no-index", *what)

    def install_again(self, *what: str) -> None:
        again = "--reinstall" if self.installer == "uv" else "--force-reinstall"
        self.install(again, *what)

    def uninstall(self, name: str) -> None:
        self.pip("uninstall", name)

    def hook(self, verb: str = "install-hook") -> str:
        done = self.run("intelliperf-swizzle", verb)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(
        self, program: str, *arguments: str, cwd: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("INTELLIPERF_", "PYTHON", "LLM_", "GT_"))
        }
        path = f"{self.folder / 'bin'}:{inherited['PATH']}"
        return subprocess.run(
            [self.folder / "bin" / program, *arguments],
            cwd=cwd or self.folder,
            env={**inherited, "PATH": path, "LITELLM_LOCAL_MODEL_COST_MAP": "True", **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # CI may ignore it
        )


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Our wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True, timeout=120)
    (path,) = folder.glob("*.whl")
    return str(path)


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Environment]:
    """Makes an environment for an installer, pip or uv."""

    def make(installer: str) -> Environment:
        if installer == "uv" and UV is None:
            pytest.skip("there is no uv: neither on PATH nor named by the variable UV")
        folder = tmp_path_factory.mktemp(installer) / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        (packages,) = folder.glob("lib/python*/site-packages")
        # A folder named in a .pth file lends its modules, but its own .pth files have no effect.
        lent = [path for path in sys.path if path.endswith("site-packages")]
        (packages / "borrowed.pth").write_text("\n".join(lent) + "\n")
        return Environment(folder, installer)

    return make


@pytest.fixture(
    scope="session",
    params=["double", pytest.param("intelliperf", marks=pytest.mark.intelliperf)],
)
def source(request: pytest.FixtureRequest) -> str:
    """The checkout of a host: the double, or IntelliPerf itself where there is one."""
    if request.param == "double":
        return str(DOUBLE)
    if CHECKOUT_OF_HOST is None:
        pytest.skip("INTELLIPERF_CHECKOUT names no checkout of IntelliPerf")
    return CHECKOUT_OF_HOST


def _host(make: Callable[[str], Environment], source: str) -> Environment:
    """A host and our checkout, both editable; what was compiled there once stays compiled."""
    made = make("pip")
    made.install("-e", source, "-e", str(CHECKOUT))
    made.hook()
    return made


@pytest.fixture(scope="session")
def any_host(source: str, environment: Callable[[str], Environment]) -> Environment:
    """The double with our formulas; and IntelliPerf where there is one."""
    return _host(environment, source)


@pytest.fixture(scope="session")
def host(environment: Callable[[str], Environment]) -> Environment:
    """The double with our formulas."""
    return _host(environment, str(DOUBLE))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's project: an application and its kernel."""
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(HERE / "application.py", folder / "app.py")
    shutil.copy(HERE / "copying.py", folder)
    shutil.copy(CHECKOUT / "benchmarks" / "kernels" / "gemm.py", folder)
    return folder
