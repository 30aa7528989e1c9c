# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the parent and the application's processes exchange, in the folder of the capture.

The parent writes `Settings`; the processes append events to a `trials.journal`:

    {"event": "python"}                                a Python process of the command started
    {"event": "triton"}                                it imported Triton
    {"event": "new", "record": name}                   a launch was seen for the first time
    {"event": "ran", "record": name, …}                the first one is over: how it was `Execution`
    {"event": "unseen", "record": name}                what memory holds is not looked at, or …
    {"event": "same", "record": name, "known": name}   … has turned out to be as in another record
    {"event": "uses", "name": …, "user": place, "used": [place, …]}    of a jit function: `uses`
    {"event": "refused", "kernel": name, "text": …, "usage": …}    a launch could not be recorded;
                                                       the user's to mend
    {"event": "caution", "text": sentence}             what is missing or doubtful of the recording
    {"event": "note", "text": sentence}                something else for the report
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from intelliperf_swizzle.codec import decode, dumps, encode, loads

if TYPE_CHECKING:
    from intelliperf_swizzle.hardware import Target

FOLDER_VARIABLE = "INTELLIPERF_SWIZZLE_CAPTURE"
"""Environment variable that names the folder; without it the hook does nothing."""


MOST_VARIANTS = 32
"""Launches of one kernel on one grid that are kept with contents of floats, too."""
_FILE = "settings.json"


@dataclass(frozen=True)
class Gpu:
    """The target GPU; persistent kernels launch a program per CU.

    Attributes:
        product: its name.
        backend: `hip` or `cuda`.
        arch: as Triton names it: `gfx942`, or 90.
        warp_size: threads of a warp or wavefront.
        compute_units: of the whole device.
        shared_bytes: LDS or shared memory of a compute unit.
    """

    product: str
    backend: str
    arch: str | int
    warp_size: int
    compute_units: int
    shared_bytes: int

    @property
    def capability(self) -> tuple[int, int]:
        """As `torch.cuda.get_device_capability` answers: (9, 4) for `gfx942`, (9, 0) for 90."""
        if isinstance(self.arch, int):
            return divmod(self.arch, 10)
        return int(self.arch[3:-2]), int(self.arch[-2], 16)


def gpu_of(target: Target | None) -> Gpu:
    """The target GPU, if it runs without one."""
    # the application imports this package too, and its Python need not have PyYAML
    from intelliperf_swizzle.hardware import load_target

    it = target or load_target("mi300x")
    return Gpu(it.product, it.backend, it.arch, it.warp_size, it.cus, it.lds_bytes_per_cu)


@dataclass(frozen=True)
class Settings:
    """What is installed, which GPU there seems to be, and whether launches are also executed.

    Attributes:
        agent: the module whose `install(folder, settings)` watches the launches.
        gpu: what the application sees; None if it runs on a real GPU.
        compute: `always`, `never`, or `auto`: as far as the budget goes.
        compute_budget_seconds: for all launches together.
    """

    agent: str
    gpu: Gpu | None
    compute: Literal["auto", "always", "never"]
    compute_budget_seconds: float


def save_settings(settings: Settings, folder: Path) -> None:
    """Write them before the application starts."""
    (folder / _FILE).write_text(dumps(encode(settings)), encoding="utf-8")


def load_settings(folder: Path) -> Settings:
    """Read them in the application."""
    return decode(Settings, loads((folder / _FILE).read_bytes()))


@dataclass(frozen=True)
class Execution:
    """Whether a recorded launch was executed.

    Attributes:
        computed: whether all its programs were run.
        seconds: what that took, or would have taken; None if it was not tried.
    """

    computed: bool
    seconds: float | None
