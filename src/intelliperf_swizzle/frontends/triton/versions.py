# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which Triton is here, under whichever name it was installed, and whether it was tested."""

import re
from importlib import metadata, util

from intelliperf_swizzle.frontends.ports import Compiler

TESTED = ((3, 6), (3, 9))
"""The oldest and the newest version that the tests run with."""
ROCM_INDEX = "https://download.pytorch.org/whl/rocm7.1"
"""Where PyTorch for ROCm and its Triton are."""
_FOR_ROCM = ("pytorch-triton-rocm", "triton-rocm")


def find_triton() -> Compiler:
    """The Triton of this environment, and a gap if there is none, or one written over another."""
    here = {}
    for name in ("triton", *_FOR_ROCM):
        try:
            here[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    found = ", ".join(f"{name} {version}" for name, version in here.items())
    if util.find_spec("triton") is None:
        extra = "pip install 'intelliperf-swizzle[triton]'"
        return Compiler(None, "Triton is not installed (a ROCm image brings its own)", extra)
    own = next((name for name in _FOR_ROCM if name in here), None)
    if own and len(here) > 1:
        others = " ".join(name for name in here if name != own)
        return Compiler(
            found,
            f"{others} and {own} are both installed and share files",
            f"pip uninstall -y {others} && pip install --force-reinstall --no-deps "
            f"{own}=={here[own]} --index-url {ROCM_INDEX}",
        )
    return Compiler(found or "of no distribution")


def untested() -> tuple[str, ...]:
    """A note if the version is outside of those tested; it is used all the same."""
    found = find_triton().found or ""
    numbers = re.search(r" (\d+)\.(\d+)", found)
    if numbers is None or TESTED[0] <= (int(numbers[1]), int(numbers[2])) <= TESTED[1]:
        return ()
    first, last = (f"{major}.{minor}" for major, minor in TESTED)
    return (f"{found} is used, and is not among the tested versions, {first} to {last}",)
