# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Looks at the machine part by part.

Nothing heavy is imported and no GPU is started, and every tool has a time limit: a machine on
which something hangs is the one that needs a diagnosis.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata, util
from pathlib import Path
from urllib.parse import urlsplit

from intelliperf_swizzle.doctor.diagnosis import Diagnosis, Finding
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.hardware import Device, Target, devices, load_target
from intelliperf_swizzle.hardware.detect import HERE as THESE_GPUS
from intelliperf_swizzle.hardware.detect import Sources
from intelliperf_swizzle.hardware.device import unknown
from intelliperf_swizzle.options import DEFAULT_TARGET, FORMULAS, PROPOSERS
from intelliperf_swizzle.profile.tools import HERE as THIS_MACHINE
from intelliperf_swizzle.profile.tools import (
    KINDS,
    PROFILERS,
    Machine,
    Tool,
    ToolName,
    tool_for,
)
from intelliperf_swizzle.propose.llm.transport import KEY_VARIABLE, Endpoint, find_endpoint

PYTHONS = ((3, 10), (3, 14))
TORCHES = ((2, 6), (1000, 0))
TRITONS = ((3, 6), (3, 10))
"""Versions from and before which this package works, as in its metadata."""


@dataclass(frozen=True)
class Wishes:
    """What is asked for; as the options of a run.

    Attributes:
        target: a name or a file; None = the GPU present, else the default.
        profiler: as `--profiler`.
        device: number of the GPU, None = the first.
        proposer: as `--proposer`.
        formula: as `--formula`.
        model: the language model.
        provider: its provider.
        internal: AMD's internal provider.
    """

    target: str | None = None
    profiler: str = "auto"
    device: int | None = None
    proposer: str = "auto"
    formula: str = FORMULAS[0]
    model: str = "gpt-4o"
    provider: str = "openai"
    internal: bool = False

    @property
    def on_hardware(self) -> bool:
        """Whether a hardware profiler is demanded."""
        return self.profiler in KINDS

    @property
    def of_a_model(self) -> bool:
        """Whether a language model is demanded."""
        return self.proposer in ("llm", "both") or self.formula in FORMULAS[1:]


@dataclass(frozen=True)
class Place:
    """Where it is looked: a machine, its GPUs, its environment."""

    machine: Machine = THIS_MACHINE
    sources: Sources = THESE_GPUS
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)


HERE = Place()


def diagnose(wishes: Wishes, place: Place = HERE) -> Diagnosis:
    """What is here and what is missing for what is asked for; takes as long as the slowest tool.

    Raises:
        UsageError: there is no such target, profiler, proposer or GPU.
    """
    _check(wishes)
    asked = None if wishes.target is None else load_target(wishes.target)
    present = devices(place.sources, place.environment)
    device = _device(wishes, present)
    target = asked or (device and device.target) or load_target(DEFAULT_TARGET)
    with ThreadPoolExecutor(len(KINDS)) as pool:
        tools = list(pool.map(lambda name: tool_for(name, target, device, place.machine), KINDS))
    measuring = _measuring(wishes, device, target)
    endpoint = find_endpoint(wishes.model, wishes.provider, wishes.internal, place.environment)
    findings = (
        _python(),
        _torch(wishes, device),
        _package("Triton", "triton", TRITONS),
        *_compiler(wishes, device, place.machine),
        *_gpus(wishes, present, target, place),
        *_profilers(wishes, device, tools),
        *_language_model(wishes, endpoint, place.environment),
        _intelliperf(),
    )
    return Diagnosis(
        findings=findings,
        target=target.name,
        device=measuring,
        profiler=_profiler(wishes, measuring, tools),
        proposer=_proposer(wishes, endpoint),
    )


def _check(wishes: Wishes) -> None:
    for kind, value, known in (
        ("profiler", wishes.profiler, PROFILERS),
        ("proposer", wishes.proposer, PROPOSERS),
    ):
        if value not in known:
            raise UsageError(f"there is no {kind} `{value}`", hint=f"one of: {', '.join(known)}")


# --- software -----------------------------------------------------------------------------------


def _python() -> Finding:
    found = f"{platform.python_version()} ({sys.executable})"
    if PYTHONS[0] <= sys.version_info[:2] < PYTHONS[1]:
        return Finding("Python", found)
    command = "python3.12 -m venv .venv && .venv/bin/pip install intelliperf-swizzle"
    return Finding("Python", found, "it must be 3.10 to 3.13", command, needed=True)


def _package(part: str, name: str, versions: tuple[tuple[int, int], tuple[int, int]]) -> Finding:
    """A package that every run needs, by what its metadata say."""
    first, end = versions
    wanted = f"{name}>={first[0]}.{first[1]}" + (f",<{end[0]}.{end[1]}" if end[0] < 1000 else "")
    command = f"pip install '{wanted}'"
    version = _version(name)
    if version is None:
        return Finding(part, None, "it is not installed", command, needed=True)
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    if not first <= tuple((*numbers, 0, 0)[:2]) < end:
        return Finding(part, version, f"this package needs {wanted}", command, needed=True)
    return Finding(part, version)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _torch(wishes: Wishes, device: Device | None) -> Finding:
    """PyTorch, and whether its build can use the GPU."""
    finding = _package("PyTorch", "torch", TORCHES)
    if finding.gap:
        return finding
    build = _torch_build()
    described = {"cuda": "for CUDA", "hip": "for ROCm", None: "for CPUs alone"}[build]
    found = f"{finding.found}, built {described}"
    if device is None or build == device.backend:
        return Finding("PyTorch", found)
    index = (
        "" if device.backend == "cuda" else " --index-url https://download.pytorch.org/whl/rocm7.1"
    )
    return Finding(
        "PyTorch",
        found,
        f"its build cannot use the {device.product}",
        f"pip install --force-reinstall torch{index}",
        needed=wishes.on_hardware,
    )


def _torch_build() -> str | None:
    """`cuda` or `hip`; read from its file of versions, since to import it takes seconds."""
    spec = util.find_spec("torch")
    file = Path(spec.origin).parent / "version.py" if spec and spec.origin else None
    text = file.read_text(encoding="utf-8") if file and file.is_file() else ""
    for build in ("cuda", "hip"):
        if re.search(rf"^{build}\b[^=]*= *['\"]", text, re.MULTILINE):
            return build
    return None


def _compiler(wishes: Wishes, device: Device | None, machine: Machine) -> Iterator[Finding]:
    """The C compiler that Triton builds its launchers with; only on a machine with a GPU."""
    if device is None:
        return
    names = ("cc", "gcc", "clang")
    found = next(filter(None, (shutil.which(name, path=machine.search) for name in names)), None)
    if found:
        yield Finding("C compiler", found)
    else:
        gap = "there is none, and Triton needs it to launch kernels"
        needed = wishes.profiler != "model"
        yield Finding("C compiler", None, gap, "sudo apt install gcc", needed)


def _intelliperf() -> Finding:
    spec = util.find_spec("intelliperf")
    if spec is not None:
        where = Path(spec.origin).parent if spec.origin else "installed"
        return Finding("IntelliPerf", f"{_version('intelliperf') or ''} {where}".strip())
    return Finding("IntelliPerf", "not installed; only `intelliperf --formula swizzle` needs it")


# --- GPUs and profilers -------------------------------------------------------------------------


def _device(wishes: Wishes, present: tuple[Device, ...]) -> Device | None:
    number = wishes.device or 0
    if wishes.device is not None and number >= len(present):
        listed = ", ".join(f"{one.number}: {one.product}" for one in present) or "none"
        raise UsageError(f"there is no GPU {number}", hint=f"visible: {listed}")
    return present[number] if number < len(present) else None


def _measuring(wishes: Wishes, device: Device | None, target: Target) -> str | None:
    """The GPU that would measure times, where it is the target and all is not to be modelled."""
    if device is None or device.target is None or wishes.profiler == "model":
        return None
    return device.product if device.target.name == target.name else None


def _gpus(
    wishes: Wishes, present: tuple[Device, ...], target: Target, place: Place
) -> Iterator[Finding]:
    if not present:
        yield _no_gpu(wishes, place)
    for device in present:
        part = f"GPU {device.number}"
        found = ", ".join(_facts(device, place.machine.root))
        if device.target is None and wishes.target is None:
            fact, hint = unknown(device)
            yield Finding(part, found, f"{fact}: {hint}", needed=wishes.on_hardware)
        else:
            yield Finding(part, found)
    chosen = "asked for" if wishes.target else "the GPU present" if present else "the default"
    domains = _counted(target.num_xcds, "L2")
    yield Finding("target", f"{target.name}: {target.product}, {domains} ({chosen})")


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("s" if number != 1 else "")


def _facts(device: Device, root: Path) -> Iterator[str]:
    yield device.product
    if device.target is not None:
        yield f"target {device.target.name}"
    if device.partition:
        xcds = f" of {_counted(device.num_xcds, 'XCD')}" if device.num_xcds else ""
        yield f"{device.partition} mode{xcds}"
    if device.driver:
        yield f"driver {device.driver}"
    rocm = root / "opt/rocm/.info/version"
    if device.backend == "hip" and rocm.is_file():
        yield f"ROCm {rocm.read_text(encoding='utf-8', errors='replace').strip()}"


def _no_gpu(wishes: Wishes, place: Place) -> Finding:
    """No GPU is visible; why, as far as it can be told."""
    hidden = [name for name in _VISIBLE if name in place.environment]
    if hidden and devices(place.sources, {}):
        gap = f"{hidden[0]}={place.environment[hidden[0]]} hides every GPU"
        return Finding("GPU", None, gap, f"unset {hidden[0]}", needed=wishes.on_hardware)
    smi = shutil.which("nvidia-smi", path=place.machine.search)
    if smi:
        gap = f"{smi} is there and shows no GPU: is the driver loaded?"
        return Finding("GPU", None, gap, "sudo modprobe nvidia", needed=wishes.on_hardware)
    return Finding("GPU", "none: hit rates are modelled")


_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def _profiler(wishes: Wishes, measuring: str | None, tools: list[Tool]) -> str:
    """What hit rates would come from: the one asked for, or the first that works."""
    if wishes.profiler != "auto":
        return wishes.profiler
    if measuring is None:
        return "model"
    return next((tool.name for tool in tools if tool.problem is None), "model")


def _profilers(wishes: Wishes, device: Device | None, tools: list[Tool]) -> Iterator[Finding]:
    """Those that are here, that this GPU could do with, or that are asked for."""
    for tool in tools:
        fits = device is not None and KINDS[tool.name].backend == device.backend
        asked = wishes.profiler == tool.name
        found = None
        if tool.path:
            found = f"{tool.version or 'version unknown'} ({tool.path})"
            if fits and tool.problem is None:
                found += ", may read counters"
        if tool.problem is None or not (asked or fits):
            if found:
                yield Finding(tool.name, found)
            continue
        helps = asked or tool.name in _FIRST
        yield Finding(
            tool.name,
            found,
            tool.problem.fact if helps else None,
            tool.problem.command,
            needed=asked,
        )


_FIRST: tuple[ToolName, ...] = ("ncu", "rocprofv3")
"""What `auto` takes first on its kind of GPU; the others are no gap where they are missing."""


# --- the language model -------------------------------------------------------------------------


def _language_model(
    wishes: Wishes, endpoint: Endpoint | None, environment: Mapping[str, str]
) -> Iterator[Finding]:
    version = _version("dspy")
    if version:
        yield Finding("DSPy", version)
    else:
        gap = "it is not installed, and a language model is reached through it"
        command = "pip install 'intelliperf-swizzle[llm]'"
        yield Finding("DSPy", None, gap, command, _proposer(wishes, endpoint) in ("llm", "both"))
    if endpoint is None:
        gap = f"{KEY_VARIABLE} is not set: candidates come from the offline search alone"
        command = f"export {KEY_VARIABLE}=..."
        yield Finding("language model", None, gap, command, needed=wishes.of_a_model)
    else:
        yield Finding("language model", _addressed(endpoint, wishes.provider, environment))


def _addressed(endpoint: Endpoint, provider: str, environment: Mapping[str, str]) -> str:
    """Model, host and where the key is; never the key, which a URL may hold too."""
    where = f" at {urlsplit(endpoint.url).hostname}" if endpoint.url else ""
    variables = (KEY_VARIABLE, f"{provider.upper()}_API_KEY")
    key = next((name for name in variables if environment.get(name)), None)
    return f"{endpoint.model}{where}, {f'key in {key}' if key else 'no key'}"


def _proposer(wishes: Wishes, endpoint: Endpoint | None) -> str:
    if wishes.proposer != "auto":
        return wishes.proposer
    return "offline" if endpoint is None else "both"
