# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In an image with PyTorch for ROCm its own Triton stays, and `doctor` sees if it did not.

PyTorch, the Tritons and the other dependencies are stand-ins with the names and demands of the real
distributions; pip and `doctor` are real.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]


def write_wheel(folder, name, version, modules=(), requires=()):
    """A wheel whose modules hold the name of the distribution."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    demands = "".join(f"Requires-Dist: {one}\n" for one in requires)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{demands}"
    files = {f"{module}/__init__.py": f"OF = {name!r}\n" for module in modules}
    if name == "torch":
        files["torch/version.py"] = "cuda = None\nhip = '7.1.0'\n"
    files[f"{info}/METADATA"] = metadata
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    listed = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for file, text in {**files, f"{info}/RECORD": listed}.items():
            wheel.writestr(file, text)


class Image:
    """A virtual environment as an image has it, and what its index offers."""

    def __init__(self, folder, wheel, triton, asks):
        self.index, self.root = folder / "index", folder / "environment"
        self.index.mkdir()
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.root], check=True)
        (self.packages,) = self.root.glob("lib/python*/site-packages")
        write_wheel(self.index, triton, "3.6.0", ["triton"])
        write_wheel(self.index, "triton", "3.7.0", ["triton"])
        write_wheel(
            self.index, "torch", "2.9.1+rocm7.1", ["torch"],
            [f'{triton}==3.6.0; platform_system == "Linux"'] if asks else [],
        )  # fmt: skip
        for name in ("jinja2", "numba", "numpy", "nvidia-ml-py", "pyyaml", "rich"):
            write_wheel(self.index, name, "99.0")
        self.wheel = shutil.copy(wheel, self.index)
        self.pip("install", "torch", f"{triton}==3.6.0")

    def pip(self, *words):
        program = [sys.executable, "-m", "pip", "--python", str(self.root / "bin" / "python")]
        environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index)}
        subprocess.run([*program, *words], env=environment, check=True, timeout=120)

    @property
    def triton(self):
        """The distribution whose module `triton` is there."""
        return re.findall(r"'(.*)'", (self.packages / "triton" / "__init__.py").read_text())[0]

    def doctor(self, lent):
        """What `doctor` finds of Triton; the modules that it needs itself are lent."""
        ran = subprocess.run(
            [self.root / "bin" / "intelliperf-swizzle", "doctor", "--json"],
            env={**os.environ, "PYTHONPATH": str(lent)}, capture_output=True, text=True,
            check=False, timeout=120,
        )  # fmt: skip
        assert ran.stdout, ran.stderr
        findings = json.loads(ran.stdout)["findings"]
        return next(one for one in findings if one["part"] == "Triton")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Ours."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ["-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run([sys.executable, *build], cwd=CHECKOUT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(
    scope="module",
    params=[("pytorch-triton-rocm", True), ("triton-rocm", False)],
    ids=["torch asks for it", "torch asks for none"],
)
def image(request, wheel, tmp_path_factory):
    made = Image(tmp_path_factory.mktemp("image"), wheel, *request.param)
    assert made.triton == request.param[0]
    return made


@pytest.fixture(scope="module")
def lent(tmp_path_factory):
    """The packages of this environment, without PyTorch and Triton."""
    folder = tmp_path_factory.mktemp("lent")
    for packages in (Path(one) for one in sys.path if one.endswith("site-packages")):
        for path in packages.iterdir():
            own = re.match(r"(pytorch.)?(torch|triton)|.*\.pth$|intelliperf", path.name)
            if not own and not (folder / path.name).exists():
                (folder / path.name).symlink_to(path)
    return folder


def documented():
    """The two lines of the page."""
    page = (CHECKOUT / "docs" / "intelliperf.md").read_text().partition("### In a ROCm image")[2]
    return [line for line in page.splitlines() if line.startswith("pip install")][:2]


def test_the_documented_lines_name_every_other_dependency():
    _, dependencies = documented()
    named = set(shlex.split(dependencies)[2:])
    left_out = {one for one in PROJECT["dependencies"] if re.match("torch|triton", one)}
    assert named == set(PROJECT["dependencies"]) - left_out
    assert len(left_out) == 2


def test_the_documented_lines_leave_triton_and_torch_as_they_are(image, lent):
    own = image.triton
    for line in documented():
        line = line.replace("<path of this repository>", shlex.quote(image.wheel))
        image.pip(*shlex.split(line)[1:])
    assert image.triton == own
    found = image.doctor(lent)
    assert found["found"] == "3.6.0"
    assert found["gap"] is None

    image.pip("install", "intelliperf-swizzle")  # what the page warns of
    image.pip("install", "triton")
    assert image.triton == "triton"
    found = image.doctor(lent)
    assert f"needs {own}: triton was written over it" in found["gap"]
    command = found["command"].partition(" --index-url")[0]
    assert command.count("&&") == 1
    for words in map(shlex.split, command.split("&&")):
        assert words[0] == "pip"
        image.pip(*words[1:])
    assert image.triton == own
    assert image.doctor(lent)["gap"] is None


def test_doctor_sees_a_triton_that_is_missing_or_another_one(wheel, lent, tmp_path):
    image = Image(tmp_path, wheel, "triton-rocm", asks=True)
    image.pip("install", "--no-deps", image.wheel)
    image.pip("uninstall", "-y", "triton-rocm")
    found = image.doctor(lent)
    assert found["found"] is None
    assert found["gap"] == "this PyTorch needs triton-rocm: it is not installed"
    image.pip("install", "triton")
    found = image.doctor(lent)
    assert found["found"] == "triton 3.7.0"
    assert found["gap"] == "this PyTorch needs triton-rocm: triton is in its place"
