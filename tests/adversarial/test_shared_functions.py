# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Functions that others use, too: refused with the place, or the patched application is right.

Each application is recorded, its kernel `copy` is renumbered backwards, the patch is applied by
`git apply`, and the application judges itself. One process imports torch and forks for each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.source import splice
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.records import Launch

HEADER = "import triton\nimport triton.language as tl\n"

HELPER = """
@triton.jit
def tile():
    return tl.program_id(0)
"""

COPY = """
@triton.jit
def copy(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at))
"""

COPY_WITH_HELPER = COPY.replace("tl.program_id(0)", "tile()")

SHIFT = """
@triton.jit
def shift(x, y, B: tl.constexpr):
    at = TILE() * B + tl.arange(0, B)
    to = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + to, tl.load(x + at) + 1)
"""
"""Wrong as soon as `TILE` is renumbered."""

TWICE = """
@triton.jit
def twice(x, y, z, B: tl.constexpr):
    CALL(x, y, B)
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(z + at, tl.load(y + at) + 1)
"""
"""Wrong as soon as what it calls is renumbered."""

START = """
import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda")


def tensors(n=256):
    x = torch.arange(n, dtype=torch.float32, device=DEVICE)
    return x, torch.zeros_like(x), torch.zeros_like(x)


def launch_copy(kernel):
    x, y, _ = tensors()
    kernel[(16,)](x, y, 16)
    assert torch.equal(y, x), "copy"


def launch_shift(kernel, *more):
    x, y, _ = tensors(64)
    kernel[(4,)](x, y, 16, *more)
    assert torch.equal(y, x + 1), "shift"


def launch_twice(kernel):
    x, y, z = tensors(64)
    kernel[(4,)](x, y, z, 16)
    assert torch.equal(z, x + 1), "twice"
"""

IMPORTS = "from start import launch_copy, launch_shift, launch_twice\n"

Files = dict[str, str]


def main(text: str) -> str:
    return HEADER + IMPORTS + text


OTHERS: dict[str, tuple[Files, str]] = {
    "helper under another name in another file": (
        {
            "a.py": HEADER + HELPER + COPY_WITH_HELPER,
            "b.py": HEADER
            + "from a import tile as where_am_i\n"
            + SHIFT.replace("TILE", "where_am_i"),
            "main.py": IMPORTS + "import a, b\nlaunch_copy(a.copy)\nlaunch_shift(b.shift)\n",
        },
        r"`shift` \(.*b.py:5\)",
    ),
    "helper as an attribute of a module in a package, by way of a function between": (
        {
            "pkg/__init__.py": "",
            "pkg/a.py": HEADER + HELPER + COPY_WITH_HELPER,
            "b.py": HEADER
            + "import pkg.a\n\n@triton.jit\ndef between():\n    return pkg.a.tile()\n"
            + SHIFT.replace("TILE", "between"),
            "main.py": IMPORTS
            + "import pkg.a, b\nlaunch_copy(pkg.a.copy)\nlaunch_shift(b.shift)\n",
        },
        r"`between` \(.*b.py:5\)",
    ),
    "helper that a launch hands to another kernel": (
        {
            "a.py": HEADER + HELPER + COPY_WITH_HELPER,
            "b.py": HEADER + SHIFT.replace("B: tl", "B: tl.constexpr, TILE: tl"),
            "main.py": IMPORTS
            + "import a, b\nlaunch_copy(a.copy)\nlaunch_shift(b.shift, a.tile)\n",
        },
        r"`shift` \(.*b.py:4\)",
    ),
    "helper as a default value": (
        {
            "a.py": HEADER + HELPER + COPY_WITH_HELPER,
            "b.py": HEADER
            + "from a import tile\n"
            + SHIFT.replace("B: tl.constexpr", "B: tl.constexpr, TILE: tl.constexpr = tile"),
            "main.py": IMPORTS + "import a, b\nlaunch_copy(a.copy)\nlaunch_shift(b.shift)\n",
        },
        r"`shift` \(.*b.py:5\)",
    ),
    "helper made by a factory, another object for each kernel": (
        {
            "a.py": HEADER
            + "\ndef make():"
            + HELPER.replace("\n", "\n    ").rstrip(" ")
            + "\n    return tile\n\n\ntile, other = make(), make()\n"
            + COPY_WITH_HELPER,
            "b.py": HEADER + "import a\n" + SHIFT.replace("TILE", "a.other"),
            "main.py": IMPORTS + "import a, b\nlaunch_copy(a.copy)\nlaunch_shift(b.shift)\n",
        },
        r"a\.py:14: a patch cannot test `tile`",
    ),
    "helper that is a kernel, too": (
        {
            "a.py": HEADER
            + "\n@triton.jit\ndef mark(y):\n    tl.store(y + tl.program_id(0), 1.0)\n"
            + COPY.replace("    at", "    mark(y)\n    at", 1).replace("tl.program_id(0)", "17"),
            "main.py": main(
                "import a\nfrom start import tensors\n"
                "x, y, _ = tensors()\na.copy[(16,)](x, y, 16)\na.mark[(4,)](y)\n"
            ),
        },
        r"`mark` \(.*a.py:4\)",
    ),
    "kernel that a kernel of another file calls": (
        {
            "a.py": HEADER + COPY,
            "main.py": main("import a\n")
            + TWICE.replace("CALL", "a.copy")
            + "\nlaunch_copy(a.copy)\nlaunch_twice(twice)\n",
        },
        r"`twice` \(.*main.py:6\)",
    ),
    "kernel that a kernel which is never launched calls by another name": (
        {
            "a.py": HEADER + COPY,
            "b.py": HEADER + "from a import copy as tile_of\n" + TWICE.replace("CALL", "tile_of"),
            "main.py": IMPORTS + "import a, b\nlaunch_copy(a.copy)\n",
        },
        r"`twice` \(.*b.py:5\)",
    ),
    "kernel that another one calls, imported after the last launch": (
        {
            "a.py": HEADER + COPY,
            "b.py": HEADER + "from a import copy\n" + TWICE.replace("CALL", "copy"),
            "main.py": IMPORTS + "import a\nlaunch_copy(a.copy)\nimport b\n",
        },
        r"`twice` \(.*b.py:5\)",
    ),
    "kernel below a wrapper of Triton's": (
        {
            "a.py": HEADER
            + COPY
            + "\ntuned = triton.heuristics({'B': lambda arguments: 16})(copy)\n"
            + "FUNCTIONS = (copy,)\n",
            "b.py": HEADER + "from a import FUNCTIONS\n" + TWICE.replace("CALL", "FUNCTIONS[0]"),
            "main.py": IMPORTS
            + "import a, b\nfrom start import tensors, torch\n"
            + "x, y, _ = tensors()\na.tuned[(16,)](x, y)\nassert torch.equal(x, y)\n",
        },
        r"`twice` \(.*b.py:5\)",
    ),
    "kernel of a file that is loaded twice": (
        {
            "main.py": main(COPY)
            + "\nif __name__ == '__main__':\n    import b\n\n    launch_copy(copy)\n"
            "    launch_twice(b.twice)\n",
            "b.py": HEADER + "import main\n" + TWICE.replace("CALL", "main.copy"),
        },
        r"`twice` \(.*b.py:5\)",
    ),
}

OWN: dict[str, Files] = {
    "helper called twice": {
        "main.py": main(HELPER)
        + COPY_WITH_HELPER.replace("    at", "    tl.store(y + tile() * B, 0.0)\n    at", 1)
        + "\nlaunch_copy(copy)\n",
    },
    "helper by way of another one": {
        "main.py": main(HELPER)
        + "\n@triton.jit\ndef between():\n    return tile() + 0\n"
        + COPY.replace("tl.program_id(0)", "between()")
        + "\nlaunch_copy(copy)\n",
    },
    "another kernel with a variable of that name": {
        "main.py": main(COPY)
        + SHIFT.replace("TILE()", "tl.program_id(0)").replace("at", "copy")
        + "\nlaunch_copy(copy)\nlaunch_shift(shift)\n",
    },
    "another kernel of that name": {
        "b.py": HEADER + SHIFT.replace("TILE()", "tl.program_id(0)").replace("shift", "copy"),
        "main.py": main("import b\n") + COPY + "\nlaunch_copy(copy)\nlaunch_shift(b.copy)\n",
    },
    "a host function of that name": {
        "main.py": main("import a\n")
        + "\ndef load(x):\n    launch_copy(a.copy)\n"
        + SHIFT.replace("TILE()", "tl.program_id(0)")
        + "\nload(0)\nlaunch_shift(shift)\n",
        "a.py": HEADER + COPY,
    },
    "kernel made in a loop, two names": {
        "main.py": main("\nfor number in range(2):")
        + COPY.replace("\n", "\n    ").rstrip(" ")
        + "\n    launch_copy(copy)\n\nalias = copy\nlaunch_copy(alias)\n",
    },
    "kernels with helpers of their own": {
        "main.py": main(HELPER)
        + HELPER.replace("tile", "other")
        + COPY_WITH_HELPER
        + SHIFT.replace("TILE", "other")
        + "\nlaunch_copy(copy)\nlaunch_shift(shift)\n",
    },
}


RUN_EACH = """
import multiprocessing, os, sys, types
import torch, triton, triton.language


def run(folder):
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.argv[:] = ["main.py"]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = os.path.join(folder, "main.py")
    with open("main.py") as text:
        exec(compile(text.read(), main.__file__, "exec"), main.__dict__)


*folders, last = sys.argv[1:]
for folder in folders:
    child = multiprocessing.get_context("fork").Process(target=run, args=(folder,))
    child.start()
    child.join()
    print(folder, child.exitcode, flush=True)
run(last)
print(last, 0)
"""
"""The last one in its own process: what is imported after a fork's last launch is not seen."""


@dataclass(frozen=True)
class Project:
    """An application and what it launches on the grid of `copy`."""

    folder: Path
    launches: Sequence[Launch]

    def edit(self) -> str:
        """The patch for the kernel `copy`."""
        return splice(
            self.launches[0].source,
            parse("pid = num_pids - 1 - pid"),
            target=load_target("mi300x"),
            launches=self.launches,
            roots=[self.folder],
        ).diff


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Project]:
    """The applications; each passes its own check."""
    above = tmp_path_factory.mktemp("projects")
    folders: dict[str, Path] = {}
    files_of = {**OWN, **{case: files for case, (files, _) in OTHERS.items()}}
    for case in sorted(files_of, key=lambda case: case.endswith("after the last launch")):
        folders[case] = above / f"project-{len(folders)}"
        for name, text in {**files_of[case], "start.py": START}.items():
            (folders[case] / name).parent.mkdir(exist_ok=True, parents=True)
            (folders[case] / name).write_text(text)
    command = [sys.executable, "-c", RUN_EACH, *map(str, folders.values())]
    request = RecordRequest(command, folder=above / "capture", cwd=above, compute="always")
    recorded = capture(request)
    ended = [line.split()[-1] for line in recorded.last_lines]
    assert set(ended) == {"0"}, recorded.last_lines
    launches = [launch for launch in recorded.launches if launch.grid == (16, 1, 1)]
    return {
        case: Project(
            folder, [launch for launch in launches if folder in Path(launch.source.file).parents]
        )
        for case, folder in folders.items()
    }


@pytest.fixture(scope="module")
def checked(projects: Mapping[str, Project]) -> Mapping[str, str]:
    """How the applications end whose kernel can be edited, with the patch."""
    folders = {case: projects[case].folder for case in OWN}
    for case, folder in folders.items():
        patch = projects[case].edit().encode()
        subprocess.run(["git", "apply"], cwd=folder, input=patch, check=True)
    environment = {**os.environ, "DEVICE": "cpu", "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-c", RUN_EACH, *map(str, folders.values())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    ends = dict(line.split() for line in done.stdout.splitlines())
    return {case: ends[str(folder)] for case, folder in folders.items()}


@pytest.mark.parametrize("case", OTHERS)
def test_refused_with_the_place_of_the_other_use(
    projects: Mapping[str, Project], case: str
) -> None:
    with pytest.raises(SpliceError, match=OTHERS[case][1]):
        projects[case].edit()


@pytest.mark.parametrize("case", OWN)
def test_a_function_of_the_kernel_alone_is_edited(checked: Mapping[str, str], case: str) -> None:
    assert checked[case] == "0"
