# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Installing this package changes nothing of what an image has; `doctor` sees if another did.

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
HARMLESS = {"jinja2", "numba", "numpy", "pyyaml", "rich"}


def write_wheel(folder, name, version, modules=(), requires=()):
    """A wheel whose modules hold the name of the distribution."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    demands = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
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
        for name in (*HARMLESS, "llvmlite", "msgpack", "dspy", "pillow", "mcp"):
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

    def contents(self):
        """Path -> text of all that is installed."""
        return {
            path: path.read_text() for path in self.packages.rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }  # fmt: skip

    def installed(self):
        """The names of the distributions."""
        return {
            re.sub("-.*", "", path.name).replace("_", "-")
            for path in self.packages.glob("*.dist-info")
        }

    def run(self, lent, *words, cwd=None, **variables):
        """Our command, with the modules that it needs itself."""
        return subprocess.run(
            [self.root / "bin" / "intelliperf-swizzle", *words],
            env={**os.environ, "PYTHONPATH": str(lent), **variables},
            capture_output=True, text=True, check=False, timeout=120, cwd=cwd,
        )  # fmt: skip

    def doctor(self, lent):
        """What `doctor` finds of Triton; the modules that it needs itself are lent.

        It sees no compiler, for which it would build something in each new environment.
        """
        ran = self.run(lent, "doctor", "--json", PATH=str(self.root / "bin"))
        assert ran.stdout, ran.stderr
        findings = json.loads(ran.stdout)["findings"]
        return next(finding for finding in findings if finding["part"] == "Triton")


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
    for packages in (Path(entry) for entry in sys.path if entry.endswith("site-packages")):
        for path in packages.iterdir():
            own = re.match(r"(pytorch.)?(torch|triton)|.*\.pth$|intelliperf", path.name)
            if not own and not (folder / path.name).exists():
                (folder / path.name).symlink_to(path)
    return folder


def documented(page):
    """The lines of a page that install this package from its checkout."""
    return re.findall(
        r"^pip install '?\.(?:\[\w+\])?'?", (CHECKOUT / page).read_text(), re.MULTILINE
    )


def test_only_what_is_harmless_is_added(image):
    before, names = image.contents(), image.installed()
    image.pip("install", image.wheel)
    after = image.contents()
    assert {path: after.get(path) for path in before} == before
    assert image.installed() - names == HARMLESS | {"intelliperf-swizzle"}


def test_documented_lines_leave_torch_and_triton_as_they_are(image):
    before = image.contents()
    pages = ("README.md", "docs/intelliperf.md", "docs/hip.md", "docs/llm.md")
    lines = {line for page in pages for line in documented(page) if "[triton]" not in line}
    assert len(lines) >= 3
    words = {shlex.split(line)[2] for line in lines}
    image.pip("install", *(word.replace(".", image.wheel, 1) for word in words))
    after = image.contents()
    assert {path: after.get(path) for path in before} == before


def test_doctor_sees_a_triton_that_was_written_over_another(image, lent):
    own = image.triton
    image.pip("install", image.wheel)
    assert image.doctor(lent)["gap"] is None
    image.pip("install", "triton")
    assert image.triton == "triton"
    found = image.doctor(lent)
    assert found["gap"] == f"triton and {own} are both installed and share files"
    command = found["command"].partition(" --index-url")[0]
    for words in map(shlex.split, command.split("&&")):
        assert words[0] == "pip"
        image.pip(*words[1:])
    assert image.triton == own
    assert image.doctor(lent)["gap"] is None


def test_without_triton_the_extra_is_named(wheel, lent, tmp_path):
    image = Image(tmp_path, wheel, "triton-rocm", asks=True)
    image.pip("install", image.wheel)
    image.pip("uninstall", "-y", "triton-rocm")
    assert "pip install 'intelliperf-swizzle[triton]'" in image.doctor(lent)["found"]
    (tmp_path / "app.py").write_text("import triton\n")
    for verb in ([], ["explain"], ["prove", "--source", "app.py"]):
        ran = image.run(lent, *verb, "--target", "mi300x", "--", "python", "app.py", cwd=tmp_path)
        assert ran.returncode == 1
        assert "hint: pip install 'intelliperf-swizzle[triton]'" in ran.stderr
        assert "Traceback" not in ran.stderr
    for verb in (["targets"], ["patterns"], ["prove", "xcd-contiguous", "--grid", "228"]):
        assert image.run(lent, *verb, cwd=tmp_path).returncode == 0


def test_a_triton_that_was_not_tested_is_used_with_a_note(mocker):
    from intelliperf_swizzle.frontends.triton import versions

    for version, noted in (("3.6.0", 0), ("3.9.1", 0), ("3.10.0", 1), ("3.5.1", 1), ("4.0", 1)):
        mocker.patch.object(versions.metadata, "version", return_value=version)
        assert len(versions.untested()) == noted
