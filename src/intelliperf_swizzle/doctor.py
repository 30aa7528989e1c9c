# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is here, what is missing, what would be used, and the command that closes each gap.

Asks what a run would choose, and looks at the rest of the machine part by part. Nothing heavy is
imported and no GPU is started, and every tool has a time limit: a machine on which something hangs
is the one that needs a diagnosis.
"""

import os
import platform
import sys
import textwrap
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import metadata, util
from pathlib import Path
from typing import Any

from intelliperf_swizzle import __version__, disk, hardware, hook, progress, readers
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.frontends.ports import KernelLanguage, frontends
from intelliperf_swizzle.hardware import HERE, Device, Machine, Target, devices, unknown
from intelliperf_swizzle.options import PROPOSERS, Options
from intelliperf_swizzle.profile.installed import KINDS, PROFILERS, Tool, first_usable, tool_for
from intelliperf_swizzle.propose.llm import KEY_VARIABLE, Endpoint, find_endpoint, proposer_kind
from intelliperf_swizzle.search.setup import choose_device, choose_target


@dataclass(frozen=True)
class Finding:
    """One part of the machine.

    Attributes:
        part: what was looked for.
        found: what is there, None if it is not.
        gap: what is missing or wrong, None if nothing is.
        command: the one command that mends the gap, None if none does.
        needed: whether what was asked for cannot work with the gap.
    """

    part: str
    found: str | None = None
    gap: str | None = None
    command: str | None = None
    needed: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """What was found, and what a run would use.

    Attributes:
        findings: part by part.
        target: the GPU that a run would be for.
        device: the GPU that would measure, None if all is modelled.
        profiler: what hit rates would come from.
        proposer: who would offer candidates.
    """

    findings: tuple[Finding, ...]
    target: str
    device: str | None
    profiler: str
    proposer: str

    @property
    def works(self) -> bool:
        """Whether what was asked for can work."""
        return not any(finding.gap and finding.needed for finding in self.findings)


_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_FIRST = ("ncu", "rocprofv3")
"""What `auto` takes first on its kind of GPU; the others are no gap if they are missing."""


TORCH_BUILDS = {"cuda": "cu130", "hip": "rocm7.1"}


def diagnose(
    options: Options, machine: Machine = HERE, environment: Mapping[str, str] = os.environ
) -> Diagnosis:
    """What is here and what is missing for what is asked for; takes as long as the slowest tool.

    Raises:
        UsageError: there is no such target, profiler, proposer or GPU.
    """
    for kind, known in (("profiler", PROFILERS), ("proposer", PROPOSERS)):
        if (asked := getattr(options, kind)) not in known:
            raise UsageError(f"there is no {kind} `{asked}`", hint=f"one of: {', '.join(known)}")
    present = devices(machine, environment)
    target = choose_target(options, progress.Silent(), present=present)
    measuring = choose_device(options, target, present)
    device = next(iter(present[options.device or 0 :]), None)
    with ThreadPoolExecutor(len(KINDS)) as pool:
        tools = list(pool.map(lambda name: tool_for(name, target, device, machine), KINDS))
    usable = first_usable(tools) if measuring else None
    automatic = usable.name if usable else "model"
    endpoint = find_endpoint(options.model, options.provider, options.internal, environment)
    proposer, refusal = options.proposer, None
    try:
        proposer = proposer_kind(options, endpoint)
    except UsageError as error:
        refusal = error.fact
    findings = (
        Finding("Python", f"{platform.python_version()} ({sys.executable})"),
        _torch(options, device),
        *(_language(frontend, machine, environment) for frontend in reversed(frontends())),
        *_c_compiler(options, device, machine),
        *_gpus(options, present, target, machine, environment),
        *_profilers(options, device, tools),
        *_language_model(endpoint, proposer, refusal, environment),
        _intelliperf(),
        _cache(environment),
    )
    return Diagnosis(
        findings=findings,
        target=target.name,
        device=measuring.product if measuring else None,
        profiler=automatic if options.profiler == "auto" else options.profiler,
        proposer=proposer,
    )


# --- software -----------------------------------------------------------------------------------


def _version(name: str) -> str | None:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(name)
    return None


def _torch(options: Options, device: Device | None) -> Finding:
    """PyTorch, which applications bring, and whether its build can use the GPU."""
    version, build = _version("torch"), hardware.torch_build()
    if version is None:
        return Finding("PyTorch", "none; only applications that import it need it")
    described = {"cuda": "for CUDA", "hip": "for ROCm", None: "for CPUs only"}[build]
    found = Finding("PyTorch", f"{version}, built {described}")
    if device is None or build == device.backend:
        return found
    wheels = f"https://download.pytorch.org/whl/{TORCH_BUILDS[device.backend]}"
    return replace(
        found,
        gap=f"its build cannot use the {device.product}",
        command=f"pip install --force-reinstall torch --index-url {wheels}",
        needed=options.profiler in KINDS,
    )


def _language(
    language: KernelLanguage, machine: Machine, environment: Mapping[str, str]
) -> Finding:
    """The compiler of a kernel language; none is needed by the programs of another."""
    search = {"PATH": machine.search} if machine.search else {}
    compiler = language.compiler({**environment, **search})
    if compiler.found is None:
        none = f"none; only {language.name} programs need it: {compiler.gap}"
        return Finding(language.name, none + (f": {compiler.command}" if compiler.command else ""))
    return Finding(language.name, compiler.found, compiler.gap, compiler.gap and compiler.command)


def _c_compiler(options: Options, device: Device | None, machine: Machine) -> Iterator[Finding]:
    """What Triton builds its launchers with; only on a machine with a GPU."""
    found = [machine.program(name) for name in ("cc", "gcc", "clang")]
    if device is not None and not any(found):
        gap = "there is none, and Triton needs it to launch kernels"
        yield Finding("C compiler", None, gap, "sudo apt install gcc", options.profiler != "model")
    elif device is not None:
        yield Finding("C compiler", next(filter(None, found)))


def _intelliperf() -> Finding:
    none = "not installed; only `intelliperf --formula swizzle` needs it"
    if util.find_spec("intelliperf") is None:
        return Finding("IntelliPerf", none)
    found = f"{_version('intelliperf') or ''} here".strip()
    if hook.hook_files():
        return Finding("IntelliPerf", f"{found}, start-up hook installed")
    gap = "without the start-up hook an unpatched IntelliPerf says: invalid choice: 'swizzle'"
    return Finding("IntelliPerf", found, gap, "intelliperf-swizzle install-hook")


def _cache(environment: Mapping[str, str]) -> Finding:
    kept = disk.user_cache(environment)
    if kept.folder is None:
        return Finding("cache", "off: nothing is kept")
    used = f"{readers.size(kept.bytes)} of at most {readers.size(kept.limit_bytes)}"
    return Finding("cache", f"{used} in {kept.folder}")


# --- GPUs and profilers -------------------------------------------------------------------------


def _gpus(
    options: Options,
    present: tuple[Device, ...],
    target: Target,
    machine: Machine,
    environment: Mapping[str, str],
) -> Iterator[Finding]:
    needed = options.profiler in KINDS
    if not present:
        yield _no_gpu(needed, machine, environment)
    for device in present:
        gap = None
        if device.target is None and options.target is None:
            gap = ": ".join(unknown(device))
        found = ", ".join(_facts(device, machine.root))
        yield Finding(f"GPU {device.number}", found, gap, needed=bool(gap) and needed)
    chosen = "asked for" if options.target else "the GPU present" if present else "the default"
    domains = readers.count(target.num_xcds, "L2")
    yield Finding("target", f"{target.name}: {target.product}, {domains} ({chosen})")


def _facts(device: Device, root: Path) -> Iterator[str]:
    yield device.product
    if device.target is not None:
        yield f"target {device.target.name}"
    if device.partition:
        xcds = f" of {readers.count(device.num_xcds, 'XCD')}" if device.num_xcds else ""
        yield f"{device.partition} mode{xcds}"
    if device.driver:
        yield f"driver {device.driver}"
    rocm = root / "opt/rocm/.info/version"
    if device.backend == "hip" and rocm.is_file():
        yield f"ROCm {rocm.read_text(encoding='utf-8', errors='replace').strip()}"


def _no_gpu(needed: bool, machine: Machine, environment: Mapping[str, str]) -> Finding:
    """No GPU is visible; why, as far as it is known."""
    hidden = [name for name in _VISIBLE if name in environment]
    if hidden and devices(machine, {}):
        gap = f"{hidden[0]}={environment[hidden[0]]} hides every GPU"
        return Finding("GPU", None, gap, f"unset {hidden[0]}", needed)
    if smi := machine.program("nvidia-smi"):
        gap = f"{smi} is installed but shows no GPU: is the driver loaded?"
        return Finding("GPU", None, gap, "sudo modprobe nvidia", needed)
    return Finding("GPU", "none: hit rates are modelled")


def _profilers(options: Options, device: Device | None, tools: list[Tool]) -> Iterator[Finding]:
    """Those that are here, that this GPU could do with, or that are asked for."""
    for tool in tools:
        fits = device is not None and KINDS[tool.name].backend == device.backend
        asked = options.profiler == tool.name
        found = f"{tool.version or 'version unknown'} ({tool.path})" if tool.path else None
        if tool.problem is not None and (asked or fits):
            gap = tool.problem.fact if asked or tool.name in _FIRST else None
            yield Finding(tool.name, found, gap, tool.problem.command, needed=asked)
        elif found:
            yield Finding(tool.name, found + (", may read counters" if fits else ""))


def _language_model(
    endpoint: Endpoint | None, proposer: str, refusal: str | None, environment: Mapping[str, str]
) -> Iterator[Finding]:
    """What would be asked, and where; DSPy, through which it is asked."""
    found = _version("dspy") or "not installed; only a language model needs it"
    if proposer in ("llm", "both") and not _version("dspy"):
        gap = "it is not installed, and a language model is reached through it"
        yield Finding("DSPy", None, gap, "pip install 'intelliperf-swizzle[llm]'", needed=True)
    else:
        yield Finding("DSPy", found)
    if refusal:
        yield Finding("language model", None, refusal, f"export {KEY_VARIABLE}=...", needed=True)
    elif endpoint is None:
        yield Finding("language model", f"none: {KEY_VARIABLE} is not set")
    else:
        keys = (name for name, value in environment.items() if value and value == endpoint.key)
        key = next((f"key in {name}" for name in keys), "no key")
        yield Finding("language model", f"{endpoint.describe()}, {key}")


SCHEMA = 1
WIDTH = 80
_PART_WIDTH = 14


def as_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """The diagnosis as a JSON object; what is not there is null."""
    used = asdict(diagnosis)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "works": diagnosis.works,
        "findings": list(used.pop("findings")),
        "would_use": used,
    }


def as_text(diagnosis: Diagnosis) -> str:
    """The diagnosis for people: what is there, what would be used, then gap by gap."""
    lines = [f"intelliperf-swizzle {__version__}", ""]
    for finding in diagnosis.findings:
        lines += _row(finding.part, finding.found or "-")
    if diagnosis.works:
        lines += ["", *_row("would use", _would_use(diagnosis))]
    for title, needed in (("needed", True), ("would help", False)):
        gaps = [f for f in diagnosis.findings if f.gap and f.needed is needed]
        if gaps:
            lines += ["", f"{title}:", *(line for gap in gaps for line in _gap(gap))]
    if not diagnosis.works:
        lines += ["", "These options cannot work here."]
    return "\n".join(lines)


def _would_use(diagnosis: Diagnosis) -> str:
    rates = "modelled" if diagnosis.profiler == "model" else f"from {diagnosis.profiler}"
    times = f"times from the {diagnosis.device}" if diagnosis.device else "times modelled"
    return f"target {diagnosis.target}; hit rates {rates}, {times}; proposer {diagnosis.proposer}"


def _row(part: str, found: str) -> list[str]:
    """A part and what was found of it, in two columns."""
    return _wrap(found, f"  {part:<{_PART_WIDTH}}  ", " " * (_PART_WIDTH + 4))


def _gap(finding: Finding) -> list[str]:
    """What is missing, and the command that mends it, over several lines that a shell joins."""
    command = _wrap(finding.command, "    $ ", " " * 6, WIDTH - 2) if finding.command else []
    joined = [f"{line} \\" for line in command[:-1]] + command[-1:]
    return [*_wrap(f"{finding.part}: {finding.gap}", "  ", "    "), *joined]


def _wrap(text: str, first: str, further: str, width: int = WIDTH) -> list[str]:
    wrapper = textwrap.TextWrapper(width, first, further, break_on_hyphens=False)
    wrapper.break_long_words = not first.endswith("$ ")  # a command's words stay what they are
    return wrapper.wrap(text)
