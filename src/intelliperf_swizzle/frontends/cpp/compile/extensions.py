# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""C++ extensions of PyTorch: what `torch.utils.cpp_extension` builds, compiled again alone.

The application builds its extension itself (`load`), or the build command does (`CUDAExtension`);
ninja's files then say how each CUDA source is compiled, here and in copies with an edit.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.edit import moved_command, run_build
from intelliperf_swizzle.errors import CaptureError

MODULE = "torch.utils.cpp_extension"
FOLDER = ".torch_extensions"
"""In a copy of the project, in place of the user's cache."""
BUILD_FILE = "build.ninja"
_HERE = "@project@"
_EDGE = re.compile(r"(?m)^build (\S+): cuda_compile (\S+)")
_PYTHON = ("python", "pytest", "torchrun")


def is_python(command: Sequence[str]) -> bool:
    """Whether a command starts Python."""
    return any(Path(one).name.startswith(_PYTHON) or one.endswith(".py") for one in command)


def loads_extension(words: Sequence[str], project: Path) -> bool:
    """Whether one of the words is a Python file that builds an extension."""
    files = (project / word for word in words if word.endswith(".py"))
    return any(
        "cpp_extension" in one.read_text("utf-8", "replace") for one in files if one.is_file()
    )


def run_variables(environment: Mapping[str, str], project: Path, copy: Path) -> dict[str, str]:
    """What an application needs in a copy: its extensions and modules are the copy's.

    Each tensor has memory of its own, so that what a launch writes is told from what it does not.
    """
    search = environment.get("PYTHONPATH", "").split(os.pathsep)
    return {
        "TORCH_EXTENSIONS_DIR": str(copy / FOLDER),
        "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
        "PYTHONPATH": os.pathsep.join(moved_command(search, project, copy)),
    }


def read_build_files(copy: Path, command: str) -> dict[str, str]:
    """Ninja's files of a copy that compile CUDA sources of the project, without the copy's path.

    Args:
        copy: of the project, in which all was built.
        command: that has built it, for messages.

    Raises:
        CaptureError: there are none.
    """
    texts = {
        one.relative_to(copy): one.read_text("utf-8") for one in sorted(copy.rglob(BUILD_FILE))
    }
    root = str(copy)
    found = {
        str(one): text.replace(root, _HERE) for one, text in texts.items() if any(_own(text, root))
    }
    elsewhere = [source for text in texts.values() for _, source in _EDGE.findall(text)]
    if found:
        return found
    if any(f"/{FOLDER}/" in one for one in elsewhere):
        raise CaptureError(
            "the kernels of load_inline are text in a Python file, where no patch can go",
            hint=f"write them to a .cu file, and {MODULE}.load(sources=[...]) builds it",
        )
    if elsewhere:
        raise CaptureError(
            f"{elsewhere[0]} was compiled, which is not in the copy of the project that was run",
            hint="-p names a wider directory; and a script names its sources by its own place",
        )
    raise CaptureError(
        f"`{command}` has built no CUDA source with {MODULE} and ninja",
        hint="if the extension is built before, by setup.py, let -b build it: "
        '-b "python setup.py build_ext --inplace"',
    )


def objects(build_files: Mapping[str, str], copy: Path) -> list[Path]:
    """What is compiled of the project's CUDA sources in a copy."""
    return [
        (copy / name).parent / output.replace(_HERE, str(copy))
        for name, text in build_files.items()
        for output in _own(text, _HERE)
    ]


def compile_cuda(
    build_files: Mapping[str, str],
    copy: Path,
    environment: Mapping[str, str],
    nvcc: Path | None = None,
) -> list[Path]:
    """Compiles the CUDA sources of a copy as the extension's build does, and nothing else.

    Args:
        build_files: as of `read_build_files`.
        copy: of the project.
        environment: of the compiler.
        nvcc: in place of the one that the build calls: for device code alone.

    Raises:
        SwizzleError: a source does not compile.
    """
    for name, text in build_files.items():
        file = copy / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if nvcc is not None:
            text = re.sub(
                r"(?m)^nvcc = .*$", f"nvcc = {nvcc}", text.replace("-c $in", "-fatbin $in")
            )
        file.write_text(text.replace(_HERE, str(copy)), "utf-8")
        wanted = (one.replace(_HERE, str(copy)) for one in _own(text, _HERE))
        run_build(shlex.join(["ninja", "-C", str(file.parent), *wanted]), copy, environment)
    return objects(build_files, copy)


def _own(text: str, root: str) -> Iterator[str]:
    """Objects of CUDA sources of the project."""
    for output, source in _EDGE.findall(text):
        if source.startswith(f"{root}/") and f"/{FOLDER}/" not in source:
            yield output
