# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A GPU that is present, and the target that it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from intelliperf_swizzle.hardware.registry import load_target, targets
from intelliperf_swizzle.hardware.target import Backend, Target


@dataclass(frozen=True)
class Device:
    """A GPU, or a partition of one, that an application started here would see.

    Attributes:
        number: its place among those that are visible, as `--device` takes it.
        product: as the driver calls it.
        backend: what Triton compiles for it with.
        arch: what Triton calls the architecture (`gfx942`, 90); None = the driver does not say.
        num_xcds: XCDs of the device or partition; None = the driver does not say.
        cus: its compute units; None = the driver does not say.
        partition: `SPX`, `CPX`, …; `MIG`; None where the GPU cannot be partitioned or is not.
        driver: version of the kernel driver; None = unknown.
        environment: what makes an application see this device alone, as its first.
        target: what it is to this package; None = no known GPU.
    """

    number: int
    product: str
    backend: Backend
    arch: str | int | None = None
    num_xcds: int | None = None
    cus: int | None = None
    partition: str | None = None
    driver: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    target: Target | None = None


def identified(identifier: str) -> Target | None:
    """The target of which an identifier is the longest beginning of this one."""
    known = [
        (len(prefix), name)
        for name in targets()
        for prefix in load_target(name).identifiers
        if identifier == prefix or identifier.startswith(f"{prefix} ")
    ]
    return load_target(max(known)[1]) if known else None


def partitioned(target: Target, num_xcds: int) -> Target:
    """The target with as many of its XCDs as a partition has; all if the XCDs share an L2."""
    if num_xcds >= target.num_xcds or num_xcds < 1:
        return target
    return dataclasses.replace(
        target,
        num_xcds=num_xcds,
        dispatch_domains=tuple(range(num_xcds)),
        l2_gb_s=target.l2_gb_s * num_xcds / target.num_xcds,
    )


def nearest(device: Device) -> str | None:
    """The name of the known target most like a device that is none: vendor, architecture, CUs."""
    alike = [one for one in map(load_target, targets()) if one.backend == device.backend]

    def distance(target: Target) -> tuple[int, int]:
        generations = 0 if device.arch is None else abs(_age(target.arch) - _age(device.arch))
        return generations, 0 if device.cus is None else abs(target.cus - device.cus)

    return min(alike, key=distance).name if alike else None


def _age(arch: str | int) -> int:
    """A number that grows with the generation: 90, or 0x942 for `gfx942`."""
    return arch if isinstance(arch, int) else int(arch.removeprefix("gfx"), 16)


def unknown(device: Device) -> tuple[str, str]:
    """Fact and hint for people whose GPU is no known target."""
    more = [str(one) for one in (device.arch, device.partition) if isinstance(one, str)]
    fact = f"the GPU present, {', '.join([device.product, *more])}, is no known target"
    near = nearest(device)
    if near is None:
        return fact, "--target names a GPU or a YAML file that describes one"
    return fact, f"--target {near} is the nearest, or a YAML file with `base: {near}`"
