# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A machine that seems to have a GPU: a runtime whose kernels are host code, and its compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

STANDIN = Path(__file__).parent / "gpu_standin"


def machine(folder: Path, language: str) -> dict[str, str]:
    """Makes one in a folder, for CUDA or HIP; the environment of whoever uses it."""
    for name, copy in {"fake_cuda.h": "fake_cuda.h", "fake_cuda.cpp": "fake.cpp"}.items():
        text = (STANDIN / name).read_text()
        if language == "HIP":
            copy, text = copy.replace("cuda", "hip"), as_hip(text)
        (folder / copy).write_text(text)
    soname = "libcudart.so" if language == "CUDA" else "libamdhip64.so"
    library = ["-shared", "-fPIC", str(folder / "fake.cpp"), "-ldl"]
    subprocess.run(
        ["g++", *library, f"-Wl,-soname,{soname}", "-o", str(folder / soname)], check=True
    )
    (folder / "libcuda.so.1").symlink_to(soname)
    (bin_folder := folder / "bin").mkdir()
    for tool in ("nvcc", "hipcc"):
        (bin_folder / tool).write_text(
            f'#!/bin/sh\nexec {sys.executable} "{STANDIN}/nvcc.py" "$@"\n'
        )
        (bin_folder / tool).chmod(0o755)
    return {
        **os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "FAKE_CUDA": str(folder),
        "FAKE_LANGUAGE": language, "LD_LIBRARY_PATH": str(folder),
    }  # fmt: skip


def as_hip(text: str) -> str:
    """CUDA's names as HIP's."""
    text = text.replace("cuLaunchKernel", "hipModuleLaunchKernel").replace("_v2", "")
    text = text.replace("CUDA__", "HIP__").replace("cuda_runtime.h", "hip/hip_runtime.h")
    return text.replace("cuda", "hip").replace("cuM", "hipM")
