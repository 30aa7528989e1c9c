# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""C++ extensions of PyTorch, built by `torch.utils.cpp_extension` and recorded where they run.

PyTorch and ninja are real; the GPU is a stand-in, as in `test_cuda_trials.py`.
`test_cuda_on_gpu.py` has a real one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from standin_machine import STANDIN, machine

from intelliperf_swizzle.api import optimize
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import CaptureError, SwizzleError, ValidationError
from intelliperf_swizzle.frontends.cpp import gpu_trials as trials
from intelliperf_swizzle.frontends.cpp import language
from intelliperf_swizzle.frontends.cpp.language import CUDA, HIP, Cpp
from intelliperf_swizzle.frontends.cpp.trace.trace_slices import trace_here
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.hardware import Device, load_target
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.profile import Application, carrying, profiling_environment
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.records import Capture
from intelliperf_swizzle.search import setup
from intelliperf_swizzle.search.stages import UnitTest

pytest.importorskip("torch.utils.cpp_extension")
pytestmark = pytest.mark.hip
COMMAND = [sys.executable, "app.py"]
INDEX = "blockIdx.x * blockDim.x + threadIdx.x;"
SETUP = """
from gpu_torch import HOME, cpp_extension
from setuptools import setup
made = cpp_extension.CUDAExtension("scaled", ["scale.cu"], library_dirs=[HOME])
setup(name="scaled", ext_modules=[made], cmdclass={"build_ext": cpp_extension.BuildExtension})
"""


@dataclass(frozen=True)
class Bed:
    """The application's project and the machine's environment."""

    language: Cpp
    project: Path
    environment: dict[str, str]

    @property
    def device(self) -> Device:
        target = load_target(self.language.default_target)
        return Device(0, "a test", target.backend, target.arch, target=target)

    def request(self, folder: Path, build: str | None = None, **changes: object) -> RecordRequest:
        request = RecordRequest(
            COMMAND, self.project, folder, self.device.target, self.device,
            environment=self.environment, build_command=build, limit_seconds=120,
        )  # fmt: skip
        return RecordRequest(**{**vars(request), **changes})

    def edit(self, old: str, new: str) -> Edit:
        file = self.project / "scale.cu"
        before = file.read_text()
        assert old in before
        text = before.replace(old, new)
        return Edit({}, {str(file): text}, {str(file): before}, f"{old} > {new}")


@pytest.fixture(scope="module", params=[CUDA, HIP], ids=["cuda", "hip"])
def bed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bed:
    language: Cpp = request.param
    try:
        toolchain = language.tools.find(os.environ)
    except SwizzleError as error:
        if "does not compile" in error.fact:  # what we ship
            raise
        pytest.skip(f"{error.fact}: {error.hint}")
    if shutil.which("ninja") is None:
        pytest.skip("PyTorch needs ninja")
    folder = tmp_path_factory.mktemp("bed")
    environment = machine(folder, language.name)
    environment |= {"TORCH_CUDA_ARCH_LIST": "9.0", "PYTORCH_ROCM_ARCH": "gfx942"}
    if language is HIP:
        environment |= {"FAKE_HIPCC": f"{toolchain.root}/bin/hipcc", "HIP_CLANG": toolchain.clang}
    for name in ("c10", "torch"):  # which PyTorch for CPUs has not
        library = str(folder / f"lib{name}_{language.name.lower()}.so")
        subprocess.run(["g++", "-shared", "-x", "c++", os.devnull, "-o", library], check=True)
    shutil.copytree(STANDIN / "extension", project := folder / "project")
    text = (STANDIN / "app.cu").read_text().replace("int main()", 'extern "C" int run()')
    if language is HIP:  # the rest is PyTorch's to translate
        text = text.replace("CUDA__", "HIP__").replace("fake_cuda.h", "fake_hip.h")
    (project / "scale.cu").write_text(text)
    return Bed(language, project, environment)


@pytest.fixture
def on_this(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is on the machine, with a PyTorch for its GPU."""
    monkeypatch.setattr(language, "torch_build", lambda: bed.device.backend)
    monkeypatch.setattr(setup, "devices", lambda: [bed.device])
    monkeypatch.setattr(trials.processes, "RACE_SECONDS", 0.2)
    for name, value in bed.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def recorded(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    return bed.language.record(bed.request(tmp_path_factory.mktemp("recorded") / "capture"))


def test_launches_are_written_down_where_they_run(bed: Bed, recorded: Capture) -> None:
    launches = recorded.launches
    assert [(launch.grid, launch.count) for launch in launches] == [
        ((2048, 1, 1), 1),
        ((1024, 1, 1), 2),
    ]
    entry = launches[0].source.entry
    assert (entry.name, entry.file) == ("scale", str(bed.project / "scale.cu"))
    assert [tensor.storage for _, tensor in launches[0].tensors()] == [1, 2]
    assert launches[0].arguments["n"] == 1 << 16
    assert trace_here(launches[0], bed.project).tiles == 2048
    assert not list(bed.project.glob("*.hip"))


def test_candidates_are_compared_and_timed(
    bed: Bed, recorded: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that agrees, one with other bytes, one that does not compile."""
    monkeypatch.setattr(trials.processes, "RACE_SECONDS", 0.2)
    traced = [(launch, trace_here(launch, bed.project)) for launch in recorded.launches]
    assert bed.device.target is not None
    request = bed.request(tmp_path / "runs")
    runs = trials.CppOnGpu(request, (bed.device, bed.device.target), traced, 1e-6)
    outcomes = runs.validate_and_time(
        {
            0: bed.edit(INDEX, "(gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x;"),
            1: bed.edit(INDEX, "blockIdx.x % (gridDim.x - 1) * blockDim.x + threadIdx.x;"),
            2: bed.edit(INDEX, "nonsense;"),
        }
    )
    assert outcomes[0].refusal is None
    assert outcomes[0].timing is not None
    assert "`out` differs" in (outcomes[1].refusal or ("", ""))[1]
    kind, text = outcomes[2].refusal or ("", "")
    assert kind == "does not build"
    assert "scale.cu:" in text
    assert "nonsense" in text


@pytest.mark.parametrize("bed", [HIP], ids=["hip"], indirect=True)  # CUDA's: test_cuda_trials.py
@pytest.mark.usefixtures("on_this")
def test_the_plain_command_measures(bed: Bed, tmp_path: Path) -> None:
    """From recording to a patch of the .cu file, on a machine that seems to have the GPU."""
    run = optimize(
        COMMAND, project_directory=str(bed.project), candidates=8, measure=2,
        all=True, unittest_command=f"{sys.executable} app.py", report_dir=str(tmp_path / "out"),
    )  # fmt: skip
    timed = [
        attempt for attempt in run.attempts if attempt.measurement and attempt.measurement.timing
    ]
    assert timed
    assert all(outcome.validation and outcome.validation.method == "gpu" for outcome in timed)
    assert run.baseline.time_ms is not None


def test_an_extension_that_setup_builds_is_recorded(bed: Bed, tmp_path: Path) -> None:
    """By -b; the application loads what it has built."""
    pytest.importorskip("setuptools")
    shutil.copytree(bed.project, project := tmp_path / "project")
    (project / "setup.py").write_text(SETUP)
    loading = "import ctypes, glob\nctypes.CDLL('./' + glob.glob('scaled*.so')[0]).run()\n"
    (project / "app.py").write_text(loading)
    build = f"{sys.executable} setup.py build_ext --inplace"
    captured = bed.language.record(bed.request(tmp_path / "capture", build, cwd=project))
    assert [launch.count for launch in captured.launches] == [1, 2]
    assert captured.launches[0].source.entry.file == str(project / "scale.cu")


def test_a_profiler_sees_the_extension_of_the_copy(bed: Bed, tmp_path: Path) -> None:
    """And not one that another run has left in the user's cache."""
    application = Application(tuple(COMMAND), bed.project, bed.language)
    carrier = carrying(application, tmp_path / "copy", None)
    variables = profiling_environment(application, carrier, tmp_path / "copy", tmp_path)
    assert variables["TORCH_EXTENSIONS_DIR"] == str(tmp_path / "copy" / ".torch_extensions")


def test_without_a_gpu_it_says_what_is_needed(bed: Bed, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="recorded on a GPU only") as caught:
        bed.language.record(bed.request(tmp_path / "capture", device=None))
    assert f"{bed.language.tools.name_of_compiler} and g++" in (caught.value.hint or "")


def test_source_in_a_string_is_refused_by_name(bed: Bed, tmp_path: Path) -> None:
    shutil.copytree(bed.project, project := tmp_path / "project")
    app = (project / "app.py").read_text()
    app = app.replace("cpp_extension.load(", "cpp_extension.load_inline(")
    text = 'text = Path(__file__).with_name("scale.cu").read_text()\nlibrary ='
    app = app.replace("library =", text, 1).replace(
        '    [str(Path(__file__).with_name("scale.cu"))],\n',
        '    "",\n    text,\n    no_implicit_headers=True,\n',
    )
    (project / "app.py").write_text(app)
    with pytest.raises(CaptureError, match="load_inline") as caught:
        bed.language.record(bed.request(tmp_path / "capture", cwd=project))
    assert ".cu file" in (caught.value.hint or "")


@pytest.mark.parametrize("bed", [CUDA], ids=["cuda"], indirect=True)  # a command of either
@pytest.mark.usefixtures("on_this")
def test_a_unit_test_runs_on_the_gpu(bed: Bed) -> None:
    """And judges by its exit code, also before its first launch."""
    app = (bed.project / "app.py").read_text()
    (bed.project / "check.py").write_text(f"{app}\nraise SystemExit(3)\n")
    (bed.project / "broken.py").write_text("import no_cpp_extension\n")
    message = []
    for script in ("app", "check", "broken"):
        options = Options(
            project_directory=str(bed.project), unittest_command=f"{sys.executable} {script}.py",
        )  # fmt: skip
        try:
            UnitTest(setup.prepare(options, COMMAND, Silent())).check()
            message.append("passed")
        except ValidationError as error:
            message.append(error.fact)
    assert message[:2] == [
        "passed",
        "without a swizzle, too, the unit test failed with exit code 3",
    ]
    assert message[2].startswith("without a swizzle, too, the unit test launched no kernel")
    assert "ModuleNotFoundError" in message[2]


def test_an_application_that_builds_nothing_is_refused(bed: Bed, tmp_path: Path) -> None:
    shutil.copytree(bed.project, project := tmp_path / "project")
    (project / "app.py").write_text("print('cpp_extension')\n")
    with pytest.raises(CaptureError, match="has built no CUDA source") as caught:
        bed.language.record(bed.request(tmp_path / "capture", cwd=project))
    assert "setup.py build_ext --inplace" in (caught.value.hint or "")


class Notes(Silent):
    """Keeps the notes."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def note(self, sentence: str) -> None:
        self.messages.append(sentence)


@pytest.mark.parametrize(
    ("files", "kernel", "owner"),
    [
        ({"app.py": "import torch"}, None, "Triton"),
        ({"app.py": "from torch.utils.cpp_extension import load"}, None, "CUDA"),
        ({"app.py": "import ops", "ops.py": "torch.utils.cpp_extension.load()"}, None, "CUDA"),
        ({"app.py": "import os, other", "other.py": "@triton.jit"}, None, "Triton"),
        (
            {"app.py": "import a\nimport b", "a.py": "triton.jit", "b.py": "cpp_extension"},
            None,
            "both: Triton",
        ),
        ({"app.py": "import torch", "other.py": "cpp_extension"}, None, "Triton"),
        ({"app.py": "import torch", "other.py": "cpp_extension"}, "scale", "CUDA"),
        ({"app.py": "from package.ops import f", "package/ops.py": "cpp_extension"}, None, "CUDA"),
        ({"app.py": "torch.compile(model)\nimport b", "b.py": "cpp_extension"}, None, "Triton"),
        ({"app.py": "@triton.jit", "other.py": "cpp_extension"}, None, "Triton"),
        ({"app.py": "cpp_extension", "other.py": "@triton.jit"}, None, "CUDA"),
        ({"app.py": "@triton.jit cpp_extension"}, None, "both: Triton"),
        ({"app.py": "@triton.jit cpp_extension"}, "scale", "both: CUDA"),
        ({"app.py": "@triton.jit cpp_extension"}, "scal", "both: Triton"),
    ],
)
def test_who_owns_a_python_command(
    files: dict[str, str], kernel: str | None, owner: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "scale.cu").write_text("template <int N>\n__global__ void scale (float* x) {}\n")
    notes = Notes()
    options = Options(kernel=kernel)
    chosen = setup.choose_language(options, ["python", "app.py"], tmp_path, notes)
    both, _, name = owner.rpartition(": ")
    assert chosen.name == name
    assert len(notes.messages) == bool(both)
    assert all(f"those of {name} are searched" in note for note in notes.messages)
