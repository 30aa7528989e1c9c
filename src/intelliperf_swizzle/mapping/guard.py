# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Close a swizzle that holds for multiples of some number only."""

from __future__ import annotations

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.language import Swizzle, parse
from intelliperf_swizzle.language.syntax import assigned_names

_OF_AXES = frozenset(("pid_0", "pid_1", "pid_2", "grid_0", "grid_1", "grid_2"))


def guard(swizzle: Swizzle, multiple_of: int) -> Swizzle:
    """Let a swizzle renumber the first `n // q * q` programs and leave the tail as it is.

    Within the swizzle `num_pids` is that multiple (at least q), so what holds on all multiples of
    q holds, guarded, on every number of programs.

    Raises:
        UsageError: the swizzle is about axes, not about the linear `pid`, or `multiple_of` < 1.
    """
    if multiple_of < 1:
        raise UsageError(f"a guard of {multiple_of} programs", hint="a multiple is at least 1")
    if swizzle.outputs != ("pid",) or swizzle.names & _OF_AXES:
        raise UsageError(
            "only a swizzle of the linear `pid` can be guarded",
            hint="write it with `pid` and `num_pids` instead of axes",
        )
    taken = swizzle.names | assigned_names(swizzle.statements)
    launched, whole = _fresh("launched", taken), _fresh("whole", taken)
    return parse(
        f"{launched} = pid\n"
        f"{whole} = num_pids // {multiple_of} * {multiple_of}\n"
        f"num_pids = max({whole}, {multiple_of})\n"
        f"pid = min(pid, num_pids - 1)\n"
        f"{swizzle.text.rstrip()}\n"
        f"pid = where({launched} < {whole}, pid, {launched})\n"
    )


def _fresh(name: str, taken: frozenset[str] | set[str]) -> str:
    while name in taken:
        name += "_"
    return name
