# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""How the kernel of some launches is compiled, and what follows from it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from intelliperf_swizzle.errors import BuildError
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.hardware.occupancy import Build, occupancy
from intelliperf_swizzle.launch_files import as_text
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.records import Launch
from intelliperf_swizzle.search.setup import Setup


def variants(launches: Sequence[Launch]) -> list[Launch]:
    """A launch for each way in which the kernel is compiled."""
    return list({compiled_as(launch): launch for launch in reversed(launches)}.values())


def compiled_as(launch: Launch) -> str:
    """Equal for launches that run the same machine code: types, constexprs, options."""
    types = {
        name: getattr(value, "dtype", value if name in launch.constexprs else type(value))
        for name, value in launch.arguments.items()
    }
    return repr((types, sorted(launch.options.items())))


def compile_variants(
    launches: Sequence[Launch], setup: Setup
) -> tuple[dict[str, Build], tuple[str, ...]]:
    """The builds by how the kernel is compiled, and why there is none or another compiler's."""
    builds: dict[str, Build] = {}
    cautions: list[str] = []
    gpu = setup.target
    for launch in variants(launches):
        try:
            builds[compiled_as(launch)] = setup.kept.call(
                "build",
                (as_text(launch), gpu.backend, gpu.arch, gpu.warp_size),
                functools.partial(setup.language.build, launch, gpu),
            )
        except BuildError as error:
            cautions.append(f"one workgroup a {gpu.cu_name} is assumed: {error.fact}")
    cautions += [one.caution for one in builds.values() if one.caution]
    return builds, tuple(dict.fromkeys(cautions))


def resident_workgroups(build: Build | None, target: Target) -> int:
    """Workgroups that a CU holds; 1 where that is not known."""
    return 1 if build is None else occupancy(build, target)


def compare_builds(before: TracedLaunch, after: Build, target: Target) -> str:
    """What a launch takes of a CU, before and with an edit, in words."""
    rows = [(f"workgroups a {target.cu_name}", before.occupancy, occupancy(after, target))]
    registers = before.build.registers if before.build else None
    if registers is not None and after.registers is not None:
        rows = [("registers a thread", registers, after.registers), *rows]
    return ", ".join(
        f"{now} {name}" + ("" if now == was else f" ({was} before)") for name, was, now in rows
    )


def note_spills(builds: Iterable[Build]) -> tuple[str, ...]:
    """Says so if the kernel spills registers."""
    stack = max((one.stack_bytes or 0 for one in builds), default=0)
    if not stack:
        return ()
    return (
        f"each thread has {stack} bytes of scratch or local memory, as a rule for spilled "
        "registers: a GPU's counters have that traffic, too, and modelled numbers leave it out; "
        "more warps a program, or smaller tiles, may end it",
    )
