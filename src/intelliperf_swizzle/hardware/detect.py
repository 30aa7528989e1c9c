# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Which GPUs are present, without importing torch or loading a driver library.

AMD GPUs are read from the tables of the kernel driver, NVIDIA GPUs from `nvidia-smi`, or from the
driver's tables where that does not answer. Neither starts a GPU.
"""

import csv
import dataclasses
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import util
from pathlib import Path
from typing import TypeVar

from intelliperf_swizzle.hardware.target import Backend, Target, load_target, targets


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
        partition: `SPX`, `CPX`, …; `MIG`; None if the GPU cannot be partitioned or is not.
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


def identify(identifier: str) -> Target | None:
    """The target of which an identifier is the longest beginning of this one."""
    known = [
        (len(prefix), name)
        for name in targets()
        for prefix in load_target(name).identifiers
        if identifier == prefix or identifier.startswith(f"{prefix} ")
    ]
    return load_target(max(known)[1]) if known else None


def with_xcds(target: Target, num_xcds: int) -> Target:
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
    alike = [gpu for gpu in map(load_target, targets()) if gpu.backend == device.backend]

    def distance(target: Target) -> tuple[int, int]:
        generations = 0 if device.arch is None else abs(_age(target.arch) - _age(device.arch))
        return generations, 0 if device.cus is None else abs(target.cus - device.cus)

    return min(alike, key=distance).name if alike else None


def _age(arch: str | int) -> int:
    """A number that grows with the generation: 90, or 0x942 for `gfx942`."""
    return arch if isinstance(arch, int) else int(arch.removeprefix("gfx"), 16)


def unknown(device: Device) -> tuple[str, str]:
    """Fact and hint for people whose GPU is not a known target."""
    more = [str(part) for part in (device.arch, device.partition) if isinstance(part, str)]
    fact = f"the GPU present, {', '.join([device.product, *more])}, is not a known target"
    near = nearest(device)
    if near is None:
        return fact, "--target names a GPU or a YAML file that describes one"
    return fact, f"--target {near} is the nearest, or a YAML file with `base: {near}`"


_T = TypeVar("_T")


@dataclass(frozen=True)
class Machine:
    """Where GPUs, tools and permissions are looked for.

    Attributes:
        root: of the file system.
        search: folders with programs, as in `PATH`; None = those of `PATH`.
        limit_seconds: a tool that does not answer in this time hangs.
    """

    root: Path = Path("/")
    search: str | None = None
    limit_seconds: float = 10.0

    def program(self, name: str) -> str | None:
        """The path of a program; None if there is none."""
        return shutil.which(name, path=self.search)


HERE = Machine()


def devices(
    machine: Machine = HERE, environment: Mapping[str, str] = os.environ
) -> tuple[Device, ...]:
    """The GPUs that a process started here would see, in that order; AMD ones first.

    Args:
        machine: where they are looked for.
        environment: of that process; `CUDA_VISIBLE_DEVICES` and its like are obeyed.
    """
    seen = [*_amd(machine.root, environment), *_nvidia(machine, environment)]
    return tuple(replace(device, number=number) for number, device in enumerate(seen))


def torch_build() -> str | None:
    """Of what PyTorch here is, `cuda` or `hip`; read from its file, as its import takes seconds."""
    spec = util.find_spec("torch")
    file = Path(spec.origin).parent / "version.py" if spec and spec.origin else None
    text = file.read_text(encoding="utf-8") if file and file.is_file() else ""
    found = re.search(r"^(cuda|hip)\b[^=]*= *['\"]", text, re.MULTILINE)
    return found[1] if found else None


# --- AMD ----------------------------------------------------------------------------------------

_MODES = {1: "SPX", 2: "DPX", 3: "TPX", 4: "QPX"}
"""Name of a partition mode by the number of partitions; as many as XCDs is CPX."""


def _amd(root: Path, environment: Mapping[str, str]) -> list[Device]:
    driver = text_of(root / "sys/module/amdgpu/version")
    nodes = list(_gpu_nodes(root / "sys/class/kfd/kfd/topology/nodes"))
    present = [_amd_device(node, root / "sys/class/drm", driver) for node in nodes]
    unique = [f"GPU-{node.get('unique_id', 0):016x}" for node in nodes]
    for_rocr = _visible(present, unique, environment.get("ROCR_VISIBLE_DEVICES"))
    hip = "HIP_VISIBLE_DEVICES"
    numbered = [replace(gpu, environment={hip: str(at)}) for at, gpu in enumerate(for_rocr)]
    for_hip = environment.get(hip, environment.get("CUDA_VISIBLE_DEVICES"))
    return _visible(numbered, [""] * len(numbered), for_hip)


def _gpu_nodes(kfd: Path) -> Iterator[dict[str, int]]:
    """The properties of each node that is a GPU, in the driver's order."""
    for folder in sorted(kfd.glob("[0-9]*"), key=lambda path: int(path.name)):
        pairs = [line.split() for line in (text_of(folder / "properties") or "").splitlines()]
        properties = {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and _whole(pair[1])}
        if properties.get("simd_count", 1) and properties.get("device_id"):
            yield properties


def _amd_device(properties: Mapping[str, int], drm: Path, driver: str | None) -> Device:
    card = drm / f"renderD{properties.get('drm_render_minor', -1)}" / "device"
    device_id = f"0x{properties['device_id']:x}"
    name = text_of(card / "product_name")
    simds_per_cu = properties.get("simd_per_cu", 0)
    seen = Device(
        number=0,
        product=name or f"AMD GPU {device_id}",
        backend="hip",
        arch=_gfx(properties.get("gfx_target_version", 0)),
        num_xcds=properties.get("num_xcc"),
        cus=properties.get("simd_count", 0) // simds_per_cu if simds_per_cu else None,
        driver=driver,
    )
    product = identify(device_id) or _of_product(seen)
    if product is None:
        return replace(seen, partition=text_of(card / "current_compute_partition"))
    return replace(
        seen,
        product=name or product.product,
        arch=product.arch if seen.arch is None else seen.arch,
        partition=text_of(card / "current_compute_partition") or _mode(product, seen.num_xcds),
        target=with_xcds(product, seen.num_xcds or product.num_xcds),
    )


def _of_product(device: Device) -> Target | None:
    """The target of a device by the words of its product name and its architecture."""
    words = device.product.lower().split()
    named = [name for name in targets() if name in words]
    found = load_target(named[0]) if named else None
    return found if found is not None and device.arch in (None, found.arch) else None


def _mode(product: Target, num_xcds: int | None) -> str | None:
    """The partition mode that follows from how many of the product's XCDs the device has."""
    if product.num_xcds == 1 or not num_xcds:
        return None
    partitions = product.num_xcds // num_xcds
    return "CPX" if partitions == product.num_xcds else _MODES.get(partitions)


def _gfx(version: int) -> str | None:
    """`gfx942` for 90402."""
    if not version:
        return None
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


# --- NVIDIA -------------------------------------------------------------------------------------

_FIELDS = "name,uuid,driver_version,compute_cap,mig.mode.current"


def _nvidia(machine: Machine, environment: Mapping[str, str]) -> list[Device]:
    rows = _nvidia_smi(machine) or list(_nvidia_table(machine.root))
    present = [_nvidia_device(*row) for row in rows]
    return _visible(present, [row[1] for row in rows], environment.get("CUDA_VISIBLE_DEVICES"))


def _nvidia_smi(machine: Machine) -> list[list[str]]:
    """Rows of `_FIELDS`; none if it is missing, fails or hangs."""
    query = (f"--query-gpu={_FIELDS}", "--format=csv,noheader")
    try:
        ran = subprocess.run(
            [machine.program("nvidia-smi") or "nvidia-smi", *query],
            capture_output=True, text=True, timeout=machine.limit_seconds, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    rows = csv.reader(ran.stdout.splitlines(), skipinitialspace=True)
    return [row for row in rows if len(row) == len(_FIELDS.split(","))]


def _nvidia_table(root: Path) -> Iterator[list[str]]:
    """The same from the driver's table, which does not know the compute capability."""
    driver = text_of(root / "sys/module/nvidia/version") or ""
    for file in sorted(root.glob("proc/driver/nvidia/gpus/*/information")):
        lines = (line.partition(":") for line in (text_of(file) or "").splitlines())
        facts = {key.strip(): value.strip() for key, _, value in lines}
        yield [facts.get("Model", ""), facts.get("GPU UUID", ""), driver, "", ""]


def _nvidia_device(name: str, uuid: str, driver: str, capability: str, mig: str) -> Device:
    digits = capability.replace(".", "")
    seen = Device(
        number=0,
        product=name,
        backend="cuda",
        arch=int(digits) if _whole(digits) else None,
        driver=driver or None,
    )
    if mig == "Enabled":  # an application sees a slice of it, which has another name
        return replace(seen, partition="MIG")
    target = identify(name)
    if seen.arch is None and target is not None:
        seen = replace(seen, arch=target.arch)
    return replace(seen, environment={"CUDA_VISIBLE_DEVICES": uuid}, target=target)


# --- both ---------------------------------------------------------------------------------------


def _visible(present: Sequence[_T], unique: Sequence[str], variable: str | None) -> list[_T]:
    """Those that a variable such as `CUDA_VISIBLE_DEVICES` names, in its order; None = all.

    As the drivers have it, the list ends at the first entry that names nothing.
    """
    if variable is None:
        return list(present)
    seen: list[_T] = []
    for entry in variable.split(","):
        word = entry.strip()
        if _whole(word):
            found = [int(word)] if int(word) < len(present) else []
        else:
            found = [at for at, name in enumerate(unique) if word and name.startswith(word)]
        if len(found) != 1:
            break
        seen.append(present[found[0]])
    return seen


def _whole(text: str) -> bool:
    return text.isascii() and text.isdigit()


def text_of(file: Path) -> str | None:
    """What a file holds; None if it cannot be read or is empty."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None
