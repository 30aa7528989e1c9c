# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which GPU is present, without importing torch or any driver library."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

from intelliperf_swizzle.hardware.registry import load_target, targets
from intelliperf_swizzle.hardware.target import Target

KFD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
"""Where the AMD kernel driver describes its devices."""

NVIDIA_SMI = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")


def detect(nodes: Path = KFD_NODES, nvidia_smi: tuple[str, ...] = NVIDIA_SMI) -> Target | None:
    """The first GPU present that is a known target, or None.

    An AMD device in a partition mode has fewer XCDs than its product; the driver's count is taken.

    Args:
        nodes: folder of the KFD topology.
        nvidia_smi: the command that prints the names of NVIDIA GPUs.
    """
    return _amd(nodes) or _nvidia(nvidia_smi)


def _amd(nodes: Path) -> Target | None:
    for node in sorted(nodes.glob("*/properties")):
        try:
            lines = node.read_text(encoding="ascii").splitlines()
        except OSError:
            continue
        properties = dict(line.split(maxsplit=1) for line in lines if " " in line)
        target = _identified(f"0x{int(properties.get('device_id', 0)):x}")
        if target is not None:
            return _partition(target, int(properties.get("num_xcc", target.num_xcds)))
    return None


def _partition(target: Target, num_xcds: int) -> Target:
    if num_xcds == target.num_xcds or num_xcds < 1:
        return target
    return dataclasses.replace(target, num_xcds=num_xcds, dispatch_domains=tuple(range(num_xcds)))


def _nvidia(command: tuple[str, ...]) -> Target | None:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    for name in ran.stdout.splitlines():
        target = _identified(name.strip())
        if target is not None:
            return target
    return None


def _identified(identifier: str) -> Target | None:
    """The target with the identifier that is the longest beginning of this one."""
    known = [
        (len(prefix), name)
        for name in targets()
        for prefix in load_target(name).identifiers
        if identifier == prefix or identifier.startswith(f"{prefix} ")
    ]
    return load_target(max(known)[1]) if known else None
