# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Compiles a recorded kernel for a GPU that need not be there, and reads what it needs of it."""

from __future__ import annotations

import json
import os
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from intelliperf_swizzle.children import run_child
from intelliperf_swizzle.errors import BuildError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.hardware.occupancy import Build
from intelliperf_swizzle.interpreter.render import render_module
from intelliperf_swizzle.records import Launch

BUILD_SECONDS = 300.0
"""After this a compilation is taken to hang. Triton needs 1 to 2 s for a GEMM."""


def build(launch: Launch, target: Target, edits: Mapping[str, str] = {}) -> Build:
    """Compiles a launch's kernel, edited or not, for a target; 2 to 4 s.

    Args:
        launch: gives the types, constexprs and options to compile for.
        target: the GPU to compile for.
        edits: function key -> its other text.

    Raises:
        BuildError: with Triton's message.
    """
    outcome = build_all(launch, target, [edits])[0]
    if isinstance(outcome, BuildError):
        raise outcome
    return outcome


def build_all(
    launch: Launch, target: Target, edits: Sequence[Mapping[str, str]]
) -> tuple[Build | BuildError, ...]:
    """Compiles several edits of one kernel in one child process, which saves its start of 1 s.

    Raises:
        BuildError: if the child dies or hangs; an edit that does not compile is in the outcomes.
    """
    with tempfile.TemporaryDirectory(prefix="swizzle-build-") as name:
        folder = Path(name)
        modules = [render_module(launch.source, folder, edit) for edit in edits]
        request = (launch, target.backend, target.arch, target.warp_size, modules)
        (folder / "request.pickle").write_bytes(pickle.dumps(request))
        _run_child(launch, folder)
        outcomes = json.loads((folder / "builds.json").read_text())
    return tuple(_outcome(launch, target, outcome) for outcome in outcomes)


def _run_child(launch: Launch, folder: Path) -> None:
    child = run_child(
        "intelliperf_swizzle.kernel.compile_child",
        folder,
        environment={k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"},
        limit_seconds=BUILD_SECONDS,
    )
    if child is None:
        raise BuildError(f"compiling `{launch.kernel}` took more than {BUILD_SECONDS:.0f} s")
    if child.returncode or not (folder / "builds.json").exists():
        raise BuildError(
            f"the compiler of `{launch.kernel}` ended with exit code {child.returncode}",
            details=tuple(child.stderr.splitlines()[-8:]),
        )


def _outcome(launch: Launch, target: Target, outcome: dict[str, Any]) -> Build | BuildError:
    if "error" not in outcome:
        return Build(**outcome)
    lines = str(outcome["error"]).splitlines() or ["no message"]
    return BuildError(
        f"`{launch.kernel}` does not compile for {target.name}: {lines[-1].strip()}",
        details=tuple(lines[-12:]),
    )
