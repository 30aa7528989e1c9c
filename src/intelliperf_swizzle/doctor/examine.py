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
from intelliperf_swizzle.hardware import Device, Target, devices, load_target, unknown
from intelliperf_swizzle.hardware.detect import HERE as THESE_GPUS
from intelliperf_swizzle.hardware.detect import Sources
from intelliperf_swizzle.kept import kept_for_user
from intelliperf_swizzle.options import DEFAULT_TARGET, FORMULAS, PROPOSERS, Options
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
from intelliperf_swizzle.units import size

PYTHONS = ((3, 10), (3, 14))
TORCHES = ((2, 6), (1000, 0))
TRITONS = ((3, 6), (3, 10))
"""Versions from and before which this package works, as in its metadata."""

ROCM_INDEX = "https://download.pytorch.org/whl/rocm7.1"
"""Where PyTorch for ROCm and its Triton are."""


def demands_hardware(options: Options) -> bool:
    """Whether a hardware profiler is asked for by name."""
    return options.profiler in KINDS


def demands_model(options: Options) -> bool:
    """Whether a language model is asked for."""
    return options.proposer in ("llm", "both") or options.formula in FORMULAS[1:]


@dataclass(frozen=True)
class System:
    """Where it is looked: a machine, its GPUs, its environment."""

    machine: Machine = THIS_MACHINE
    sources: Sources = THESE_GPUS
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)


HERE = System()


def diagnose(options: Options, system: System = HERE) -> Diagnosis:
    """What is here and what is missing for what is asked for; takes as long as the slowest tool.

    Raises:
        UsageError: there is no such target, profiler, proposer or GPU.
    """
    _check(options)
    asked = None if options.target is None else load_target(options.target)
    present = devices(system.sources, system.environment)
    device = _device(options, present)
    target = asked or (device and device.target) or load_target(DEFAULT_TARGET)
    with ThreadPoolExecutor(len(KINDS)) as pool:
        tools = list(pool.map(lambda name: tool_for(name, target, device, system.machine), KINDS))
    measuring = _measuring(options, device, target)
    endpoint = find_endpoint(options.model, options.provider, options.internal, system.environment)
    findings = (
        _python(),
        _torch(options, device),
        _triton(),
        *_compiler(options, device, system.machine),
        *_gpus(options, present, target, system),
        *_profilers(options, device, tools),
        *_language_model(options, endpoint, system.environment),
        _cpp(system, "HIP"),
        _cpp(system, "CUDA"),
        _intelliperf(),
        _cache(system),
    )
    return Diagnosis(
        findings=findings,
        target=target.name,
        device=measuring,
        profiler=_profiler(options, measuring, tools),
        proposer=_proposer(options, endpoint),
    )


def _check(options: Options) -> None:
    for kind, value, known in (
        ("profiler", options.profiler, PROFILERS),
        ("proposer", options.proposer, PROPOSERS),
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


def _package(
    part: str,
    name: str,
    versions: tuple[tuple[int, int], tuple[int, int]],
    distribution: str | None = None,
) -> Finding:
    """A package that every run needs, by what its metadata say, or those of another that has it."""
    first, end = versions
    wanted = f"{name}>={first[0]}.{first[1]}" + (f",<{end[0]}.{end[1]}" if end[0] < 1000 else "")
    command = f"pip install '{wanted}'"
    version = _version(distribution or name)
    if version is None:
        return Finding(part, None, "it is not installed", command, needed=True)
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    if not first <= tuple((*numbers, 0, 0)[:2]) < end:
        return Finding(part, version, f"this package needs {wanted}", command, needed=True)
    return Finding(part, version)


def _triton() -> Finding:
    """Triton, which a PyTorch for ROCm brings under a name of its own.

    Another distribution of the same module replaces that one's files.
    """
    here = {name: found for name in _TRITON_NAMES if (found := _version(name)) is not None}
    wanted = _triton_of_torch(here)
    name = wanted.partition("==")[0]
    others = [one for one in here if one != name]
    if name == "triton" or list(here) == [name]:
        distribution = name if name in here else next(iter(others), name)
        return _package("Triton", "triton", TRITONS, distribution)
    wrong = "it is not installed"
    if others:
        wrong = f"{others[0]} " + ("was written over it" if name in here else "is in its place")
    uninstall = f"pip uninstall -y {' '.join(others)} && " if others else ""
    return Finding(
        "Triton",
        ", ".join(f"{one} {found}" for one, found in here.items()) or None,
        f"this PyTorch needs {name}: {wrong}",
        f"{uninstall}pip install --force-reinstall --no-deps {wanted} --index-url {ROCM_INDEX}",
        needed=not here,
    )


_TRITON_NAMES = ("triton", "pytorch-triton-rocm", "triton-rocm")
"""Distributions of the module `triton`; all but the first are for ROCm."""


def _triton_of_torch(here: Mapping[str, str]) -> str:
    """The Triton that PyTorch asks for: `pytorch-triton-rocm==3.5.1`.

    One that is built in its image asks for none; for ROCm it is then the one for ROCm that is here.

    Args:
        here: name -> version of those that are installed.
    """
    try:
        required = metadata.requires("torch") or ()
    except metadata.PackageNotFoundError:
        required = ()
    plain = (re.sub(r"[\s()]", "", one.partition(";")[0]) for one in required)
    asked = [one for one in plain if one.partition("==")[0] in _TRITON_NAMES]
    for_rocm = [f"{name}=={here[name]}" for name in _TRITON_NAMES[1:] if name in here]
    candidates: list[str] = [*asked, *(for_rocm if _torch_build() == "hip" else ()), "triton"]
    return candidates[0]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _torch(options: Options, device: Device | None) -> Finding:
    """PyTorch, and whether its build can use the GPU."""
    finding = _package("PyTorch", "torch", TORCHES)
    if finding.gap:
        return finding
    build = _torch_build()
    described = {"cuda": "for CUDA", "hip": "for ROCm", None: "for CPUs alone"}[build]
    found = f"{finding.found}, built {described}"
    if device is None or build == device.backend:
        return Finding("PyTorch", found)
    index = "" if device.backend == "cuda" else f" --index-url {ROCM_INDEX}"
    return Finding(
        "PyTorch",
        found,
        f"its build cannot use the {device.product}",
        f"pip install --force-reinstall torch{index}",
        needed=demands_hardware(options),
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


def _compiler(options: Options, device: Device | None, machine: Machine) -> Iterator[Finding]:
    """The C compiler that Triton builds its launchers with; only on a machine with a GPU."""
    if device is None:
        return
    names = ("cc", "gcc", "clang")
    found = next(filter(None, (shutil.which(name, path=machine.search) for name in names)), None)
    if found:
        yield Finding("C compiler", found)
    else:
        gap = "there is none, and Triton needs it to launch kernels"
        needed = options.profiler != "model"
        yield Finding("C compiler", None, gap, "sudo apt install gcc", needed)


def _cpp(system: System, name: str) -> Finding:
    """The compiler of HIP or CUDA programs, tried on a few lines; Triton needs none."""
    try:
        from intelliperf_swizzle.frontends.ports import load_language

        language = load_language(name.lower())
    except ImportError as error:  # of a package that has a finding of its own
        return Finding(f"{name} compiler", f"not tried: {error}")
    search = {"PATH": system.machine.search} if system.machine.search else {}
    compiler = language.compiler({**system.environment, **search})
    if compiler is None or compiler.found is None:
        remedy = f": {compiler.command}" if compiler and compiler.command else ""
        return Finding(f"{name} compiler", f"none; only {name} programs need it{remedy}")
    return Finding(f"{name} compiler", compiler.found, compiler.gap, compiler.command)


def _intelliperf() -> Finding:
    spec = util.find_spec("intelliperf")
    if spec is not None:
        where = Path(spec.origin).parent if spec.origin else "installed"
        return Finding("IntelliPerf", f"{_version('intelliperf') or ''} {where}".strip())
    return Finding("IntelliPerf", "not installed; only `intelliperf --formula swizzle` needs it")


def _cache(system: System) -> Finding:
    kept = kept_for_user(system.environment)
    if kept.folder is None:
        return Finding("cache", "off: nothing is kept")
    used = f"{size(kept.bytes)} of at most {size(kept.limit_bytes)}"
    return Finding("cache", f"{used} in {kept.folder}")


# --- GPUs and profilers -------------------------------------------------------------------------


def _device(options: Options, present: tuple[Device, ...]) -> Device | None:
    number = options.device or 0
    if options.device is not None and number >= len(present):
        listed = ", ".join(f"{one.number}: {one.product}" for one in present) or "none"
        raise UsageError(f"there is no GPU {number}", hint=f"visible: {listed}")
    return present[number] if number < len(present) else None


def _measuring(options: Options, device: Device | None, target: Target) -> str | None:
    """The GPU that would measure times, where it is the target and all is not to be modelled."""
    if device is None or device.target is None or options.profiler == "model":
        return None
    return device.product if device.target.name == target.name else None


def _gpus(
    options: Options, present: tuple[Device, ...], target: Target, system: System
) -> Iterator[Finding]:
    if not present:
        yield _no_gpu(options, system)
    for device in present:
        part = f"GPU {device.number}"
        found = ", ".join(_facts(device, system.machine.root))
        if device.target is None and options.target is None:
            fact, hint = unknown(device)
            yield Finding(part, found, f"{fact}: {hint}", needed=demands_hardware(options))
        else:
            yield Finding(part, found)
    chosen = "asked for" if options.target else "the GPU present" if present else "the default"
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


def _no_gpu(options: Options, system: System) -> Finding:
    """No GPU is visible; why, as far as it can be told."""
    hidden = [name for name in _VISIBLE if name in system.environment]
    if hidden and devices(system.sources, {}):
        gap = f"{hidden[0]}={system.environment[hidden[0]]} hides every GPU"
        return Finding("GPU", None, gap, f"unset {hidden[0]}", needed=demands_hardware(options))
    smi = shutil.which("nvidia-smi", path=system.machine.search)
    if smi:
        gap = f"{smi} is there and shows no GPU: is the driver loaded?"
        return Finding("GPU", None, gap, "sudo modprobe nvidia", needed=demands_hardware(options))
    return Finding("GPU", "none: hit rates are modelled")


_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def _profiler(options: Options, measuring: str | None, tools: list[Tool]) -> str:
    """What hit rates would come from: the one asked for, or the first that works."""
    if options.profiler != "auto":
        return options.profiler
    if measuring is None:
        return "model"
    return next((tool.name for tool in tools if tool.problem is None), "model")


def _profilers(options: Options, device: Device | None, tools: list[Tool]) -> Iterator[Finding]:
    """Those that are here, that this GPU could do with, or that are asked for."""
    for tool in tools:
        fits = device is not None and KINDS[tool.name].backend == device.backend
        asked = options.profiler == tool.name
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
    options: Options, endpoint: Endpoint | None, environment: Mapping[str, str]
) -> Iterator[Finding]:
    version = _version("dspy")
    if version:
        yield Finding("DSPy", version)
    else:
        gap = "it is not installed, and a language model is reached through it"
        command = "pip install 'intelliperf-swizzle[llm]'"
        yield Finding("DSPy", None, gap, command, _proposer(options, endpoint) in ("llm", "both"))
    if endpoint is None:
        gap = f"{KEY_VARIABLE} is not set: candidates come from the offline search alone"
        command = f"export {KEY_VARIABLE}=..."
        yield Finding("language model", None, gap, command, needed=demands_model(options))
    else:
        yield Finding("language model", _addressed(endpoint, options.provider, environment))


def _addressed(endpoint: Endpoint, provider: str, environment: Mapping[str, str]) -> str:
    """Model, host and where the key is; never the key, which a URL may hold too."""
    where = f" at {urlsplit(endpoint.url).hostname}" if endpoint.url else ""
    variables = (KEY_VARIABLE, f"{provider.upper()}_API_KEY")
    key = next((name for name in variables if environment.get(name)), None)
    return f"{endpoint.model}{where}, {f'key in {key}' if key else 'no key'}"


def _proposer(options: Options, endpoint: Endpoint | None) -> str:
    if options.proposer != "auto":
        return options.proposer
    return "offline" if endpoint is None else "both"
