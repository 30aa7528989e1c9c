# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""From a run's outcome to files, and into the user's source if that was asked for."""

from __future__ import annotations

from intelliperf_swizzle.edit import apply
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.report.files import write_files
from intelliperf_swizzle.search.conclude import Outcome


def deliver(outcome: Outcome, options: Options) -> list[str]:
    """Writes the files and applies the edit if asked for; a line for each, for people.

    Args:
        outcome: of a run.
        options: which name other places for the result.
    """
    written = write_files(
        outcome,
        outcome.folder,
        output_file=options.output_file,
        attempts_directory=options.trace_path,
    )
    if options.in_place and outcome.interrupted:
        written.append("nothing applied: the run was interrupted")
    elif options.in_place and outcome.edit:
        backups = apply(outcome.edit)
        applied = zip(outcome.edit.files, backups, strict=True)
        written += [f"applied: {path} (before: {backup})" for path, backup in applied]
    elif options.in_place:
        written.append("nothing applied: no eligible swizzle")
    outcome.lock.release()
    return written
