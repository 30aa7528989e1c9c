# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Compiles a recorded kernel for a GPU that need not be there, and reads what it needs of it."""

from intelliperf_swizzle import children, errors, hardware, records
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.frontends.triton.walk import CHILD_ENVIRONMENT
from intelliperf_swizzle.hardware.target import Build

BUILD_SECONDS = 300.0
"""After this a compilation is taken to hang. Triton needs 1 to 2 s for a GEMM."""


def build(launch: records.Launch, target: hardware.Target, edit: Edit | None = None) -> Build:
    """Compiles a launch's kernel, edited or not, for a target; 2 to 4 s.

    Args:
        launch: gives the types, constexprs and options to compile for.
        target: the GPU to compile for.
        edit: of its source.

    Raises:
        BuildError: with Triton's message.
    """
    edits = dict(edit.functions) if edit else {}
    try:
        built: Build = children.call(
            "intelliperf_swizzle.frontends.triton.source.compile_child:compile_here",
            (launch, target, edits),
            environment=CHILD_ENVIRONMENT,
            limit_seconds=BUILD_SECONDS,
        )
        return built
    except children.CallError as error:
        if error.too_late:
            limit = f"{BUILD_SECONDS:.0f} s"
            raise errors.BuildError(f"compiling `{launch.kernel}` took more than {limit}") from None
        raise errors.BuildError(
            f"the compiler of `{launch.kernel}` {error.how}", details=error.ended.last_lines(8)
        ) from None
