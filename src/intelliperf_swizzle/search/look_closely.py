# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is only looked for in a kernel that is worked on."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from intelliperf_swizzle.frontends.ports import SourceExaminer
from intelliperf_swizzle.hardware import targets
from intelliperf_swizzle.launch_files import as_text
from intelliperf_swizzle.progress import Progress
from intelliperf_swizzle.records import Launch
from intelliperf_swizzle.search.setup import Setup
from intelliperf_swizzle.search.subject import Subject

DEPENDENCE_SECONDS = 300.0
"""For checking all launches that are not traced."""


def look_closely(subject: Subject, setup: Setup, progress: Progress) -> Subject:
    """The subject with what is only looked for in a kernel that is worked on."""
    return add_cautions(add_dependences(subject, setup, progress), setup, progress)


def add_cautions(subject: Subject, setup: Setup, progress: Progress) -> Subject:
    """The subject with a caution if the remap that its source has already drops tiles.

    Costs nothing if no program touches what another one stores, else a second or two for the
    largest such launch.
    """
    suspects = [one.launch for one in subject.traced if one.trace.shared_writes]
    if not suspects or not isinstance(setup.language, SourceExaminer):
        return subject
    progress.phase(f"looking at who stores what in {subject.kernel}")
    found = setup.language.cautions(suspects[:1], _prove_command(setup, suspects[0]), setup.kept)
    return replace(subject, cautions=(*subject.cautions, *found))


def _prove_command(setup: Setup, launch: Launch) -> str:
    """Shell text that proves the remap which the kernel's source has already."""
    source = ["--source", launch.source.entry.file, "-k", launch.kernel]
    place = [] if setup.project == Path.cwd() else ["-p", str(setup.options.project_directory)]
    gpu = ["--target", setup.target.name] if setup.target.name in targets() else []
    words = ["intelliperf-swizzle", "prove", *source, *place, *gpu, "--", *setup.command]
    return shlex.join(words)


def add_dependences(subject: Subject, setup: Setup, progress: Progress) -> Subject:
    """The subject with the dependences of the launches that are not traced.

    Costs a child process, and in it one trace for all launches that differ in nothing that decides
    what they touch.
    """
    untraced = subject.untraced
    if not untraced:
        return subject
    progress.phase(f"checking {len(untraced)} further launches of {subject.kernel}")
    found = setup.kept.call(
        "dependences",
        [(as_text(one), one.count) for one in untraced],
        lambda: setup.language.find_dependences(untraced, timeout_seconds=DEPENDENCE_SECONDS),
        is_final=lambda them: not any(one.unknown for one in them),
    )
    by_ordinal = {one.ordinal: of for one, of in zip(untraced, found, strict=True)}
    return replace(subject, dependences=by_ordinal)
