# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Runs a HIP or CUDA program on the stand-in for the runtime and reads what it has launched."""

import json
import math
import re
import shutil
import signal
import struct
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from intelliperf_swizzle import records as nouns
from intelliperf_swizzle.errors import CaptureError
from intelliperf_swizzle.frontends.child_processes import Ending, start, watch_to_end
from intelliperf_swizzle.frontends.cpp.code.memory_operands import FLOATS, VARIABLES, size_of
from intelliperf_swizzle.frontends.cpp.compile.building import Built, Recipe, programs_of
from intelliperf_swizzle.frontends.cpp.compile.extensions import runs_extension
from intelliperf_swizzle.frontends.cpp.compile.toolchain import Toolchain
from intelliperf_swizzle.frontends.cpp.record import device_code
from intelliperf_swizzle.frontends.cpp.record.device_code import DeviceKernel
from intelliperf_swizzle.frontends.cpp.record.preparing import make, make_on_gpu
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.trials.journal import Journal
from intelliperf_swizzle.hardware import load_target

_WORD = 16
"""Hexadecimal digits of a pointer."""
_BUDGET_SECONDS = 20.0
_DTYPES = {"float": "fp32", "double": "fp64", "half": "fp16", "bfloat": "bf16"}


def capture(request: RecordRequest, tools: type[Toolchain]) -> nouns.Capture:
    """Builds and runs a program that launches kernels of C++, and records the launches.

    Args:
        request: the command; its folder also gets the copy that is built, and `app.log`.
        tools: of its language.

    Raises:
        SwizzleError: the build failed.
        CaptureError: a tool is missing, or no launch was recorded.
    """
    begun = time.monotonic()
    folder = Path(request.folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if request.target and request.target.backend != tools.backend:
        raise CaptureError(
            f"{tools.language} programs do not run on the target {request.target.name}",
            hint=f"--target {tools.default_target}",
        )
    arch = str((request.target or load_target(tools.default_target)).arch)
    project = str(request.cwd.resolve())
    recipe = Recipe(tuple(request.command), project, request.build_command, arch, tools.language)
    program, environment = _make(request, recipe, folder)
    journal = _LaunchJournal(Journal(folder, device_code.LAUNCHES))
    ending = _run(request, program, folder, environment, journal, begun)
    kernels = device_code.read_kernels(folder)
    launches = tuple(_launches(journal, kernels, folder, ending.exit_code == 0))
    if not launches:
        files = programs_of(program.command, program.folder, tools.language)
        called = {name.decode() for file in files for name in _OF_GPU.findall(file.read_bytes())}
        raise _no_launch(tools, journal, ending, sorted(called))
    return nouns.Capture(
        launches=launches,
        ended_by=ending.ended_by,
        exit_code=ending.exit_code,
        seconds=time.monotonic() - begun,
        notes=(*program.notes, *journal.notes, *_compute(journal, kernels)),
        cautions=(
            *ending.cautions(all(ran["computed"] for ran in journal.ran.values())),
            *(f"a launch of {n} was not recorded: it has no bitcode" for n in journal.refused),
        ),
        last_lines=ending.last_lines,
        folder=folder,
    )


def _make(request: RecordRequest, recipe: Recipe, folder: Path) -> tuple[Built, Mapping[str, str]]:
    """What is to be run, on the stand-in or, if it is PyTorch, on a GPU; and its environment."""
    named = any(programs_of(request.command, request.cwd, recipe.language))
    if not named and runs_extension(request.command, request.cwd):
        return make_on_gpu(request, recipe, folder)
    toolchain = recipe.toolchain.find(request.environment)
    variables = {
        "SWIZZLE_HIP_FOLDER": str(folder),
        "SWIZZLE_HIP_COMPUTE": request.compute,
        "SWIZZLE_HIP_BUDGET": f"{_BUDGET_SECONDS:g}",
    }
    program = make(recipe, folder, toolchain, request.environment)
    return program, {**toolchain.run_environment(request.environment), **variables}


# --- running --------------------------------------------------------------------------------------


@dataclass
class _LaunchJournal:
    """What the stand-in has written so far."""

    journal: Journal
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    ran: dict[str, dict[str, Any]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    forms: Counter[object] = field(default_factory=Counter)
    indices: dict[str, int] = field(default_factory=dict)
    refused: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def read(self) -> None:
        """Takes in complete lines."""
        for event in self.journal.read_new():
            if event["event"] == "new":
                self.records[event["id"]] = event
                self.indices.setdefault(event["key"], self.forms[_form(event)])
            elif event["event"] == "ran":
                self.ran[event["id"]] = event
                self.counts[event["id"]] += 1
                if event["id"] in self.records:  # else it was forked with it
                    self.forms[_form(self.records[event["id"]])] += 1
            elif event["event"] == "refused":
                self.refused[event["kernel"]] = None
            elif event["event"] == "note":
                self.notes[event["text"]] = None


def _run(
    request: RecordRequest,
    program: Built,
    folder: Path,
    environment: Mapping[str, str],
    journal: _LaunchJournal,
    begun: float,
) -> Ending:
    command = list(program.command)
    try:
        child = start(command, folder, program.folder, environment)
    except (OSError, ValueError) as error:
        raise CaptureError(
            f"the application `{' '.join(command)}` cannot be started: {error}",
            hint="does -b/--build_command build this program?",
        ) from error
    ending = watch_to_end(child, request, folder, begun + request.limit_seconds)
    journal.read()
    return ending


def _form(new: Mapping[str, Any]) -> object:
    """The process of a launch, its kernel, grid, block and shared memory."""
    return new["id"].partition("-")[0], new["kernel"], *new["grid"], *new["block"], new["shared"]


# --- launches -------------------------------------------------------------------------------------


def _launches(
    journal: _LaunchJournal, kernels: Mapping[str, tuple[Path, DeviceKernel]], folder: Path,
    whole: bool,
) -> list[nouns.Launch]:  # fmt: skip
    """The recorded launches; processes that launched the same are one.

    Unless recorded as a `whole`, others may follow whose buffers hold something else.
    """
    (folder / "launches").mkdir(exist_ok=True)
    by_key: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for name, event in journal.records.items():
        by_key.setdefault(event["key"], (event, []))[1].append(name)
    launches: list[nouns.Launch] = []
    keys: list[tuple[str, int, list[str]]] = []
    for event, names in by_key.values():
        path, kernel = kernels[event["kernel"]]
        if kernel.source is None:
            journal.notes[
                f"a launch of {event['kernel']} was not recorded: its source was not found"
            ] = None
            continue
        launch = replace(
            _launch(event, path, kernel, folder),
            count=max(1, sum(journal.counts[name] for name in names)),
            computed=any(journal.ran.get(name, {}).get("computed") for name in names),
            ordinal=len(launches),
        )
        part = re.compile(rf"(?<!\d){len(launch.kernel)}{re.escape(launch.kernel)}")
        refused = any(name == launch.kernel or part.search(name) for name in journal.refused)
        if refused or not whole:
            hidden = kernel.slice.contents is None or VARIABLES in kernel.slice.contents
            others = (nouns.NOT_RECORDED,) if refused or hidden else tuple(dict(launch.tensors()))
            launch = replace(launch, varying=others)
        nouns.save_launch(launch, folder / "launches" / f"{launch.ordinal}.json")
        launches.append(launch)
        values = [_mask(argument, event["buffers"]) for argument in event["arguments"]]
        keys.append((event["key"], journal.indices[event["key"]], values))
    (folder / device_code.KEYS).write_text(json.dumps(keys), "utf-8")
    return launches


def _mask(value: str, buffers: Sequence[tuple[int, int, str]]) -> str:
    """Bytes of an argument, with dots for addresses."""
    words = [value[at : at + _WORD] for at in range(0, len(value), _WORD)]
    for place, word in enumerate(words):
        address = int.from_bytes(bytes.fromhex(word), "little")
        if len(word) == _WORD and any(at <= address <= at + size for at, size, _ in buffers):
            words[place] = "." * _WORD
    return "".join(words)


def _launch(
    event: Mapping[str, Any], path: Path, kernel: DeviceKernel, folder: Path
) -> nouns.Launch:
    assert kernel.source is not None
    storages: dict[int, nouns.Storage] = {}
    addresses: dict[int, int] = {}
    for number, (address, size, contents) in enumerate(event["buffers"]):
        kept = str(folder / "contents" / contents) if contents else None
        storages[number] = nouns.Storage(size, kept)
        addresses[number] = address
    arguments = {}
    for number, (parameter, kind, text) in enumerate(
        zip(kernel.code.parameters, kernel.types, event["arguments"], strict=True)
    ):
        element = kernel.slice.elements.get(number, "i8")
        arguments[parameter.name] = _argument(kind, text, element, addresses, storages)
    x, y, z = event["grid"]
    return nouns.Launch(
        kernel=kernel.source.entry.name,
        source=kernel.source,
        grid=(x, y, z),
        arguments=arguments,
        constexprs=(),
        options={
            "block": tuple(event["block"]),
            "shared": event["shared"],
            "num_warps": -(-math.prod(event["block"]) // kernel.code.wave_lanes),
            "device_kernel": str(path),
            "addresses": tuple(addresses.values()),
        },
        storages=storages,
    )


def _argument(
    kind: str,
    text: str,
    element: str,
    addresses: Mapping[int, int],
    storages: Mapping[int, nouns.Storage],
) -> nouns.Argument:
    """An argument from its bytes: a number, a buffer, or the bytes themselves as hexadecimal.

    An integer that is an address of a buffer is a buffer, as a pointer is.
    """
    raw = bytes.fromhex(text)
    if kind.startswith("ptr") or kind == "i64":
        address = int.from_bytes(raw, "little")
        for number, begin in addresses.items():
            if begin <= address < begin + max(1, storages[number].bytes):
                element, size = element.split()[0], size_of(element)
                kind = "int" if re.match(r"i\d+$", element) else "b"  # a pointer, or a struct
                return nouns.TensorArgument(
                    storage=number,
                    dtype=_DTYPES.get(element, f"{kind}{8 * size}"),
                    shape=(storages[number].bytes // size,),
                    strides=(1,),
                    offset_bytes=address - begin,
                )
        if kind != "i64":
            return address or None
    if re.match(r"i\d+$", kind):
        return int.from_bytes(raw, "little", signed=True)
    if kind in FLOATS:
        value: float = struct.unpack(FLOATS[kind], raw)[0]
        return value
    return text


# --- words ----------------------------------------------------------------------------------------


def _compute(
    journal: _LaunchJournal, kernels: Mapping[str, tuple[Path, DeviceKernel]]
) -> list[str]:
    """Which launches were recorded and not executed."""
    why: dict[str, str] = {}
    for name, event in journal.ran.items():
        if name in journal.records and not event["computed"] and event["why"] != "off":
            symbol = journal.records[name]["kernel"]
            kernel = kernels[symbol][1]
            source = kernel.source
            reason = kernel.foreign or "its code for the CPU cannot be loaded"
            if event["why"] == "budget":
                left = f"more than is left of {_BUDGET_SECONDS:g} s for all kernels; see --compute"
                reason = f"about {event['seconds']:.1f} s, {left}"
            why[source.entry.name if source else symbol] = reason
    return [
        f"`{name}` was recorded but not computed ({reason}): ignore the application's own checks "
        "of outputs"
        for name, reason in why.items()
    ]


_MISSING = (
    (
        r"undefined symbol: (\w+)",
        "the stand-in for the {1} runtime does not know `{0}`",
        "record a build that does not call it; please report the name",
    ),
    (
        r"error while loading shared libraries: (\S+):",
        "{} was not found, and there is no stand-in for it",
        "install it, or add its folder to LD_LIBRARY_PATH; or record a build without it",
    ),
)


_OF_GPU = re.compile(rb"\0lib((?:cu|hip|roc)(?:blas|dnn|fft|rand|solver|sparse))[\w.]*\.so")
"""Libraries of the vendors' in which nothing works without a GPU."""


def _no_launch(
    tools: type[Toolchain], journal: _LaunchJournal, ending: Ending, called: Sequence[str]
) -> CaptureError:
    for pattern, fact, remedy in _MISSING:
        found = re.search(pattern, "\n".join(ending.last_lines))
        if found:
            return CaptureError(
                fact.format(found[1], tools.language), hint=remedy, details=ending.last_lines
            )
    hint = None
    if journal.refused:
        hint = f"{', '.join(journal.refused)}: built without device bitcode; rebuild all of it"
    elif journal.records:
        hint = "what cannot be recorded is named above"
    elif ending.ended_by == "limit":
        hint = "give it smaller inputs, or raise the time limit"
    elif ending.exit_code == -signal.SIGKILL:
        hint = "this machine's memory may not suffice for it: give it smaller inputs"
    elif ending.exit_code and called:
        hint = f"it calls {', '.join(called)}, which needs a GPU: run it so that none is called"
    elif ending.exit_code:
        hint = "it failed before its first launch; its last lines are above"
    return CaptureError(
        f"no {tools.language} launch was recorded: {ending.sentence}",
        hint=hint or (None if journal.notes else "it launched no kernel"),
        details=(*ending.last_lines, *journal.notes),
    )
