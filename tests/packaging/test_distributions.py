# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is built and installed is whole: the code, the formulas and the targets; and no more.

Nothing is fetched: the environments borrow the dependencies of the one that runs the tests.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from intelliperf_swizzle import __version__

CHECKOUT = Path(__file__).parents[2]
WHAT_IS_FOUND = """
import intelliperf_swizzle
from intelliperf_swizzle.formulas import patterns
from intelliperf_swizzle.hardware import targets

print(intelliperf_swizzle.__file__)
print(*(pattern.name for pattern in patterns()))
print(*targets())
"""
WHAT_IS_OFFERED = """
from intelliperf_swizzle import Swizzle, Target, optimize, prove, score
from intelliperf_swizzle.testing import assert_swizzle_is_permutation

stream_k = "pid = pid % num_xcds * (num_pids // num_xcds) + pid // num_xcds"
witness = prove(stream_k, 228)
print(type(prove(stream_k, 304)).__name__)
print(type(witness).__name__, witness.missing)
try:
    assert_swizzle_is_permutation(stream_k, [228])
except AssertionError:
    print("refused")
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment, and an empty folder far from the checkout to run in."""

    folder: Path
    elsewhere: Path

    def install(self, *what: str) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(self.folder / "bin" / "python")]
        offline = ["--no-deps", "--no-build-isolation", "--no-index"]
        subprocess.run([*pip, "install", "-q", *offline, *what], check=True, timeout=120)

    def run(self, program: str, *arguments: str) -> str:
        finished = subprocess.run(
            [self.folder / "bin" / program, *arguments],
            cwd=self.elsewhere,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert finished.returncode == 0, finished.stderr
        return finished.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout without what was made in it."""
    copy = tmp_path_factory.mktemp("copy") / "checkout"
    made = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", "swizzle-out")
    shutil.copytree(CHECKOUT, copy, ignore=made)
    return copy


@pytest.fixture(scope="module")
def distributions(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(build, cwd=checkout, check=True, capture_output=True, timeout=120)
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment in which the package is not yet installed."""
    folder, elsewhere = tmp_path / "environment", tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    # A folder named in a .pth file lends its modules, but its own .pth files, and so the editable
    # install that the tests run from, have no effect.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Environment(folder, elsewhere)


def wheel(distributions: Path) -> Path:
    (path,) = distributions.glob("*.whl")
    return path


def files(folder: Path) -> set[str]:
    """Paths of the files below `folder`, relative to it."""
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def assert_whole(environment: Environment, package_is_in: Path) -> None:
    where, patterns, targets = environment.run("python", "-c", WHAT_IS_FOUND).splitlines()
    assert Path(where).is_relative_to(package_is_in)
    assert set(patterns.split()) == {
        file.stem for file in (CHECKOUT / "formulas" / "patterns").glob("*.yaml")
    }
    assert {"mi300x", "h200"} <= set(targets.split())


def test_wheel_holds_the_package_and_the_formulas_and_nothing_else(
    checkout: Path, distributions: Path
) -> None:
    with zipfile.ZipFile(wheel(distributions)) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = files(checkout / "src")
    formulas = files(checkout / "formulas")
    assert "patterns/identity.yaml" in formulas
    installed_formulas = {f"intelliperf_swizzle/formulas/{name}" for name in formulas}
    assert inside == package | installed_formulas
    assert "intelliperf_swizzle/py.typed" in inside
    assert "intelliperf_swizzle/hardware/gpus/mi300x.yaml" in inside


def test_wheel_installs_and_finds_formulas(distributions: Path, environment: Environment) -> None:
    environment.install(str(wheel(distributions)))
    assert_whole(environment, package_is_in=environment.folder)


def test_editable_install_finds_the_formulas_of_the_checkout(
    checkout: Path, environment: Environment
) -> None:
    environment.install("-e", str(checkout))
    assert_whole(environment, package_is_in=checkout / "src")


def test_sdist_builds_the_same_wheel(distributions: Path, tmp_path: Path) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    shutil.unpack_archive(sdist, tmp_path)
    (source,) = tmp_path.iterdir()
    assert (source / "tests" / "packaging" / Path(__file__).name).is_file()
    assert (source / "benchmarks" / "kernels" / "gemm.py").is_file()
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"]
    subprocess.run(build, cwd=source, check=True, capture_output=True, timeout=120)
    assert wheel(source / "dist").read_bytes() == wheel(distributions).read_bytes()


def test_building_again_gives_the_same_bytes(
    checkout: Path, distributions: Path, tmp_path: Path
) -> None:
    for file in checkout.rglob("*"):
        os.utime(file, (1, 1))
    environment = {**os.environ, "TZ": "Pacific/Auckland", "LC_ALL": "C"}
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run(
        build, cwd=checkout, env=environment, check=True, capture_output=True, timeout=120
    )
    assert files(tmp_path) == files(distributions)
    for name in files(tmp_path):
        assert (tmp_path / name).read_bytes() == (distributions / name).read_bytes()


def test_sdist_holds_what_a_reader_looks_for(distributions: Path, tmp_path: Path) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    shutil.unpack_archive(sdist, tmp_path)
    (source,) = tmp_path.iterdir()
    for name in ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md",
                 "SKILL.md", "Makefile", "mkdocs.yml", "docs/index.md", "docs/api.md"):  # fmt: skip
        assert (source / name).is_file(), name


def test_citation_names_the_paper_and_intelliperf() -> None:
    citation = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == __version__
    titles = " ".join(reference["title"] for reference in citation["references"])
    assert "SwizzlePerf" in titles
    assert "IntelliPerf" in titles


def test_installed_package_is_used_as_it_is_documented(
    distributions: Path, environment: Environment
) -> None:
    environment.install(str(wheel(distributions)))
    message = environment.run("python", "-c", WHAT_IS_OFFERED).splitlines()
    assert message == ["Proof", "Witness (224, 225, 226, 227)", "refused"]
    assert "--source kernel.py" in environment.run("intelliperf-swizzle", "prove", "--help")
    proved = environment.run("intelliperf-swizzle", "prove", "xcd-contiguous", "--grid", "228")
    assert "228" in proved


def test_installed_command_prints_its_version(
    distributions: Path, environment: Environment
) -> None:
    environment.install(str(wheel(distributions)))
    assert __version__ in environment.run("intelliperf-swizzle", "--version")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["targets"], ["patterns"]])
def test_light_verbs_start_without_the_heavy_libraries(arguments: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "intelliperf_swizzle", *arguments]
    finished = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    imported = {line.rpartition("|")[2].strip() for line in finished.stderr.splitlines()}
    assert "intelliperf_swizzle.cli" in imported
    assert not imported & {"torch", "triton", "numba", "libcst", "dspy"}
    assert finished.stdout
