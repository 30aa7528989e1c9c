# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The device code of a built program, prepared for recording: in the child process of `record`.

For each kernel: its metadata, its address slice, its source, and code for the host.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from intelliperf_swizzle import children
from intelliperf_swizzle.codec import decode, dumps, encode, loads
from intelliperf_swizzle.errors import CaptureError, SwizzleError, TraceError
from intelliperf_swizzle.frontends.cpp.code import llvm, native, nvptx
from intelliperf_swizzle.frontends.cpp.code.binaries import CodeObject, KernelCode
from intelliperf_swizzle.frontends.cpp.code.block_index_reads import CallGraph, Reader
from intelliperf_swizzle.frontends.cpp.code.slicing import AddressSlice, optimise, slice_kernel
from intelliperf_swizzle.frontends.cpp.code.source import DebugInfo, Place
from intelliperf_swizzle.frontends.cpp.compile import cuda_toolchain as ptx
from intelliperf_swizzle.records import KernelSource, Launch

_OTHER_UNIT = "it calls `{}` of another translation unit (-fgpu-rdc, -rdc=true)"
_EMPTY = re.compile(r'= (?:tail )?call (\w+) asm (?:sideeffect )?"", "=\w+,0"\(\1 ([^\s()]+)\).*')
"""Assembly without a word, as of `__all` and `__any`: it yields what it is given."""
_KERNEL = re.compile(r"(?m)^define [^\n]*?\bamdgpu_kernel [^\n]*?@([\w.$]+)\(")
_PRINTING = re.compile(r"(?ms)^(define [^\n]*? (\w+) @__ockl_f?printf_\w+\([^\n]*\{\n).*?^\}$")
"""What a HIP kernel prints with, also where it asserts; its result is ignored."""
STANDIN = "standin.so"
"""A link to the stand-in runtime, in the folder of a recording."""
LAUNCHES = "launches.jsonl"
"""What the stand-in says of each launch, in the folder of a recording."""
KEYS = "keys.json"
"""By what a process makes each launch again is known, by ordinal: the stand-in's hash; its index of
the launches of this kernel with this grid, block and shared memory; and the bytes of each argument
as hexadecimal, with dots for those of a pointer, which are others on a GPU."""
OF = ".of."
"""In a name: the file and translation unit follow, where another one has that name, too."""
GLOBALS = 15 << 30
"""Where device variables lie; `kGlobals` of the stand-in."""


@dataclass(frozen=True)
class DeviceKernel:
    """A kernel of the program, ready to be recorded and traced.

    Attributes:
        code: its metadata.
        slice: what decides its addresses.
        source: its text and that of what it calls; None if lines do not lead there.
        readers: itself, and the functions in which it reads the number of its workgroup.
        variables: address and bytes of each device variable of its module, by name.
        types: of its parameters, as LLVM has them; `byref` of those passed by reference.
        instance: its name with its template arguments.
        prints: whether it may call `printf`, which does nothing here.
        foreign: why it cannot be executed on a CPU; None if it can.
        differs_in: another program that was built, which has other code of its lines.
    """

    code: KernelCode
    slice: AddressSlice
    source: KernelSource | None
    readers: tuple[Reader, ...]
    variables: Mapping[str, tuple[int, int]]
    types: tuple[str, ...]
    instance: str = ""
    prints: bool = False
    foreign: str | None = None
    differs_in: str | None = None

    def line_of(self, operation: str) -> str | None:
        """File and line of an operation of the slice."""
        return DebugInfo(self.slice.text).place(operation)

    def variable_at(self, address: int) -> str | None:
        """The device variable that an address lies in, as the source calls it."""
        for name, (begin, size) in self.variables.items():
            if begin <= address < begin + size:
                return source_name(name)
        return None


def source_name(mangled: str) -> str:
    """Of a variable: `table` of `_ZN5outer5tableE`, with a length before each part."""
    at, name = 2, mangled
    while part := re.compile(r"[NKL]*(\d+)").match(mangled, at):
        at = part.end() + int(part[1])
        name = mangled[part.end() : at]
    return name


def recording_of(launch: Launch) -> Path:
    """The folder of the recording that a launch is of."""
    return Path(launch.options["device_kernel"]).parents[1]


def read_kernels(folder: Path) -> dict[str, tuple[Path, DeviceKernel]]:
    """The kernels that were prepared in a folder, each with its file, by symbol."""
    found = {}
    for path in sorted((folder / "kernels").glob("*.json")):
        kernel = decode(DeviceKernel, loads(path.read_bytes()))
        found[kernel.code.symbol] = (path, kernel)
    return found


def refuse_shared_names(recording: Path) -> None:
    """Raises CaptureError if two kernels or variables have a name: a GPU run knows them by it."""
    if any(OF in (recording / name).read_text("utf-8") for name in ("kernels.txt", "globals.txt")):
        raise CaptureError("two files define a kernel or a device variable of the same name")


def read_kernel(launch: Launch) -> DeviceKernel:
    """The kernel of a launch, as it was prepared when the launch was recorded."""
    return decode(DeviceKernel, loads(Path(launch.options["device_kernel"]).read_bytes()))


@dataclass(frozen=True)
class PreparationRequest:
    """What is to be prepared.

    Attributes:
        objects: the code objects, at most one GPU's of each translation unit.
        others: those of other programs that were built.
        folder: of the recording.
        moved: the copy that was built, and the project that it is a copy of.
        clang: links them.
    """

    objects: tuple[CodeObject, ...]
    others: tuple[CodeObject, ...]
    folder: Path
    moved: tuple[Path, Path]
    clang: str


def prepare(request: PreparationRequest, _: Path) -> None:
    """Writes the tables of the stand-in, a file for each kernel and the library of the host."""
    for name in ("kernels", "contents", "objects"):
        (request.folder / name).mkdir(parents=True, exist_ok=True)
    preparation = _Preparation(request)
    for code in request.objects:
        for number, bitcode in enumerate(code.bitcode):
            preparation.add(bitcode, code, f"_{number}" if number else "")
    for code in request.others:
        for bitcode in code.bitcode:
            preparation.compare(bitcode, code)
    preparation.write()


class _Preparation:
    def __init__(self, request: PreparationRequest):
        self._request = request
        self._kernels: dict[str, DeviceKernel] = {}
        self._variables: dict[str, tuple[int, int]] = {}
        self._definitions: dict[str, object] = {}
        self._objects: list[Path] = []
        self._foreign: dict[str, str] = {}
        self._places: dict[str, Place | None] = {}
        self._texts: dict[Place | None, list[set[str]]] = {}
        self._differs: dict[Place | None, str] = {}
        self._next = GLOBALS

    def add(self, bitcode: bytes, code: CodeObject, part: str) -> None:
        """The kernels of one module, or of one part of a linked module, that none before has."""
        copy, project = self._request.moved
        codes, arch = code.kernels, code.arch
        if arch.startswith("sm_"):
            cuda, bitcode = bitcode, nvptx.retarget(bitcode, arch)
            codes, arch = ptx.read_kernels(cuda, arch, llvm.parse(bitcode)), nvptx.STANDS_FOR
        elif re.search(rb"__ockl_f?printf", bitcode):
            bitcode = llvm.assemble(_PRINTING.sub(r"\1  ret \2 0\n}", str(llvm.parse(bitcode))))
        as_written = _EMPTY.sub(r"= bitcast \1 \2 to \1", self._placed(str(llvm.parse(bitcode))))
        own = self._own_names(as_written, f"{re.sub(r'[^a-zA-Z0-9]', '_', code.file.name)}"
                              f".{code.number}{part}")  # fmt: skip
        if own:
            codes = {own.get(n, n): replace(k, symbol=own.get(n, n)) for n, k in codes.items()}
            named = re.compile(rf"(?<=[@$])(?:{'|'.join(map(re.escape, own))})(?![\w.$])")
            as_written = named.sub(lambda name: own[name[0]], as_written)
        whole = DebugInfo(as_written)
        calls = CallGraph(as_written, whole)
        module = optimise(as_written, whole, arch)
        text = str(module)
        debug = DebugInfo(text)
        variables = self._place(module, text)
        new = [function for function in llvm.kernels(module) if function.name not in self._kernels]
        for kernel in new:
            try:
                if ' section "__cluster_dims__"' in llvm.head(kernel):
                    raise TraceError("its workgroups are in clusters (`__cluster_dims__`)")
                if elsewhere := calls.missing(kernel.name):
                    name, line = elsewhere
                    why = nvptx.unknown(name) or _OTHER_UNIT.format(name)
                    raise TraceError(f"{why} ({line})" if line else why)
                sliced = slice_kernel(text, kernel, debug)
            except TraceError as error:
                sliced = AddressSlice("", error.fact, frozenset(), frozenset())
            place = self._places[kernel.name] = whole.function(kernel.name)
            if self._request.others:
                self._texts.setdefault(place, []).append(calls.texts(kernel.name))
            self._kernels[kernel.name] = DeviceKernel(
                codes[kernel.name],
                sliced,
                whole.source(kernel.name, calls.reached(kernel.name), project, copy),
                calls.readers(kernel.name),
                variables,
                tuple("byref" if by else kind for kind, by in native.parameters_of(kernel)),
                whole.instance(kernel.name),
                calls.prints(kernel.name),
            )
        if new:
            self._compile(text, new, debug)

    def compare(self, bitcode: bytes, code: CodeObject) -> None:
        """Notes of which kernels another program has other code, or another instance."""
        if not any(place and Path(place[1]).name.encode() in bitcode for place in self._texts):
            return
        if code.arch.startswith("sm_"):
            bitcode = nvptx.retarget(bitcode, code.arch)
        text = self._placed(str(llvm.parse(bitcode)))
        debug = DebugInfo(text)
        calls = CallGraph(text, debug)
        for symbol in _KERNEL.findall(text):
            place = debug.function(symbol)
            if place in self._texts and calls.texts(symbol) not in self._texts[place]:
                self._differs[place] = code.file.name

    def _placed(self, text: str) -> str:
        """A module's text with line tables that name files of the project, not of its copy."""
        copy, project = map(str, self._request.moved)
        return re.sub(r"(?m)^!.*", lambda row: row[0].replace(copy, project), text)

    def _own_names(self, text: str, end: str) -> dict[str, str]:
        """Other names for what a module before has of the same name, each its own: two variables
        would share one address. The stand-in knows them by the same end (`find`)."""
        debug, variables = DebugInfo(text), native.device_variables(text)
        private = {name for name, words in variables.items() if "private " in words[0]}
        found = set()
        for name, words in variables.items():
            known = self._definitions.setdefault(name, words)
            if known is not words and "_odr" not in words[0]:
                found |= set() if "constant" in words[0] and known == words else {name}
        shared = bool(found - private)
        for name in _KERNEL.findall(text):
            place = debug.function(name)
            if self._definitions.setdefault(name, place) != place or shared:
                found.add(name)
        return {name: f"{name}{'.in.' if name in private else OF}{end}" for name in found}

    def _place(self, module: llvm.Module, text: str) -> dict[str, tuple[int, int]]:
        """Address and size of the module's variables."""
        layout = llvm.binding().create_target_data(module.data_layout)
        types = native.device_variables(text)
        for variable in module.global_variables:
            if variable.name in types and variable.name not in self._variables:
                size = int(layout.get_abi_size(variable.global_value_type))
                self._variables[variable.name] = (self._next, size)
                self._next += -(-max(size, 1) // 256) * 256
        return {name: self._variables[name] for name in types if name in self._variables}

    def _compile(self, text: str, kernels: Sequence[llvm.Function], debug: DebugInfo) -> None:
        parameters = {kernel.name: native.parameters_of(kernel) for kernel in kernels}
        try:
            host, foreign = native.host_text(native.mark_positions(text, kernels), parameters)
            for kernel in kernels:
                if what := foreign.get(kernel.name):
                    at = map(debug.place, re.findall(rf".*\b{re.escape(what)}\b.*", str(kernel)))
                    place = next((f" ({place})" for place in at if place), "")
                    self._foreign[kernel.name] = f"`{what}`{place} is the GPU's alone"
            if len(foreign) < len(parameters):
                path = self._request.folder / "objects" / f"{len(self._objects)}.o"
                module, machine = native.host_module(host)
                path.write_bytes(machine.emit_object(module))
                self._objects.append(path)
        except (SwizzleError, RuntimeError) as error:
            self._foreign |= dict.fromkeys(parameters, str(error).splitlines()[0])

    def write(self) -> None:
        """The tables, a file for each kernel, and the library."""
        folder = self._request.folder
        if self._objects and (failure := self._link()):
            self._foreign |= dict.fromkeys(self._kernels, failure)
        rows = []
        for number, (symbol, kernel) in enumerate(self._kernels.items()):
            differs = self._differs.get(self._places[symbol])
            kernel = replace(kernel, foreign=self._foreign.get(symbol), differs_in=differs)
            (folder / "kernels" / f"{number}.json").write_text(dumps(encode(kernel)), "utf-8")
            parameters = (str(parameter.bytes) for parameter in kernel.code.parameters)
            plain = kernel.source.entry.name if kernel.source else "-"
            rows.append(" ".join((symbol, plain, kernel.slice.kept, *parameters)))
        lines = (f"{name} {at} {size}\n" for name, (at, size) in self._variables.items())
        (folder / "globals.txt").write_text("".join(lines), "utf-8")
        (folder / "kernels.txt").write_text("".join(f"{row}\n" for row in rows), "utf-8")

    def _link(self) -> str | None:
        """Why the library cannot be linked; None if it is."""
        places = (f"-Wl,--defsym=at_of_{name}={at:#x}" for name, (at, _) in self._variables.items())
        library = self._request.folder / "kernels.so"
        objects = map(str, self._objects)
        command = [self._request.clang, "-shared", "-o", str(library), *objects, *places, "-lm"]
        linked = children.run(command)
        lines = linked.output.splitlines() or ["no message"]
        return None if linked.exit_code == 0 else lines[0].strip()
