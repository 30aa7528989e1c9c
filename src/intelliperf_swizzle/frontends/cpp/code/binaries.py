# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What an executable's fat binary holds: code objects, with bitcode and what each kernel takes.

Of CUDA's, only the modules that our `nvcc` has put there, each in LLVM's wrapper.

Source: LLVM, ClangOffloadBundler.html (bundles), AMDGPUUsage.html (code objects, their metadata),
BitCodeFormat.html (the wrapper).
"""

import mmap
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from intelliperf_swizzle.errors import BuildError

BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED = b"CCOB"
_WRAPPER = struct.pack("<3I", 0x0B17C0DE, 0, 20)
"""Begins a wrapped module, whose size and GPU follow."""
SECTIONS = {".hip_fatbin": "HIP", ".nv_fatbin": "CUDA"}
"""Of fat binaries, and whose."""
_FATBIN_MAGIC = 0xBA55ED50
_BUNDLE_ALIGNMENT = 4096
_NOTES = 7
"""Kind of a section."""
_METADATA_NOTE = 32


@dataclass(frozen=True)
class Parameter:
    """One explicit argument of a kernel.

    Attributes:
        name: as in the source; `argN` where the build has kept no names.
        bytes: its size.
    """

    name: str
    bytes: int


@dataclass(frozen=True)
class KernelCode:
    """A compiled kernel.

    Attributes:
        symbol: its mangled name.
        parameters: in order.
        registers: vector registers of a thread, those for matrices included; None if not known.
        scalar_registers: of a wave; None if it has none.
        stack_bytes: scratch of a thread; None if not known.
        lds_bytes: static shared memory.
        wave_lanes: threads of a wave.
    """

    symbol: str
    parameters: tuple[Parameter, ...]
    registers: int | None
    scalar_registers: int | None
    stack_bytes: int | None
    lds_bytes: int
    wave_lanes: int


@dataclass(frozen=True)
class CodeObject:
    """Device code of one translation unit for one GPU.

    Attributes:
        file: it was found in.
        arch: `gfx942`, without features, or `sm_90`.
        number: of the translation unit in the file, in the order in which their code lies there.
        bitcode: modules of LLVM before optimisation; none if the file was built without.
        kernels: by symbol, from the metadata; of CUDA's, none are known yet.
    """

    file: Path
    arch: str
    number: int
    bitcode: tuple[bytes, ...] = field(repr=False)
    kernels: Mapping[str, KernelCode] = field(default_factory=dict)


def holds_device_code(file: Path, language: str | None = None) -> bool:
    """Whether a file is an executable or a library with a fat binary, of a language or any."""
    names = [section for section, whose in SECTIONS.items() if language in (None, whose)]
    return not section_names(file).isdisjoint(names)


def section_names(file: Path) -> set[str]:
    """The names of an ELF file's sections; none if it is not one. A program has `.interp`."""
    try:
        with (
            file.open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as raw,
        ):
            return {name for name, _, _ in _sections(raw)} if raw[:4] == b"\x7fELF" else set()
    except (OSError, ValueError, struct.error):
        return set()


def read_code_objects(file: Path) -> list[CodeObject]:
    """The code objects in an executable, a library, or a wrapped module.

    Raises:
        BuildError: the fat binary is compressed.
    """
    raw = file.read_bytes()
    if raw.startswith(_WRAPPER):
        return list(_unwrap(file, raw))
    parts = _fat_sections(raw)
    if ".nv_fatbin" in parts:
        return list(_unwrap(file, parts[".nv_fatbin"])) or [CodeObject(file, "", 0, ())]
    bundled = parts.get(".hip_fatbin", b"")
    if bundled[:4] == COMPRESSED:
        raise BuildError(
            f"the device code in {file.name} is compressed",
            hint="build it with --no-offload-compress, or let -b/--build_command build it",
        )
    return [_code_object(file, *entry) for entry in _unbundle(bundled)]


def read_fat_binaries(file: Path) -> list[bytes]:
    """What a driver can load of a program or a library: a fat binary of each translation unit.

    Source: CUDA's `fatbinary_section.h` (magic, version, bytes of the header, bytes behind it).
    """
    parts = _fat_sections(file.read_bytes())
    if ".nv_fatbin" in parts:
        return list(_fat_binaries(parts[".nv_fatbin"]))
    data = parts.get(".hip_fatbin", b"")
    aligned = range(0, len(data), _BUNDLE_ALIGNMENT)
    begins = [at for at in aligned if data.startswith((BUNDLE, COMPRESSED), at)]
    return [data[at:end] for at, end in pairwise([*begins, len(data)])]


def _fat_binaries(data: bytes) -> Iterator[bytes]:
    """The fat binaries of NVIDIA's in a section, one after the other, each on 8 bytes."""
    at = 0
    while at + 16 <= len(data):
        magic, _, header, size = struct.unpack_from("<IHHQ", data, at)
        if magic == _FATBIN_MAGIC:
            yield data[at : at + header + size]
        at += -(-(header + size) // 8) * 8 if magic == _FATBIN_MAGIC else 8


def _unwrap(file: Path, data: bytes) -> Iterator[CodeObject]:
    """A code object for each wrapped module."""
    at, numbers = data.find(_WRAPPER), count()
    while at >= 0:
        size, arch = struct.unpack_from("<2I", data, at + len(_WRAPPER))
        end = at + 20 + size
        yield CodeObject(file, f"sm_{arch}", next(numbers), (data[at:end],))
        at = data.find(_WRAPPER, end)


def _unbundle(data: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Target, bundle and code of each entry for an AMD GPU, one bundle after the other."""
    start, numbers = data.find(BUNDLE), count()
    while start >= 0:
        at, number = start + len(BUNDLE), next(numbers)
        (entries,) = struct.unpack_from("<Q", data, at)
        at += 8
        for _ in range(entries):
            offset, size, length = struct.unpack_from("<QQQ", data, at)
            name = data[at + 24 : at + 24 + length].decode()
            at += 24 + length
            if size and "amdgcn" in name:
                yield name, number, data[start + offset : start + offset + size]
        start = data.find(BUNDLE, at)


def _fat_sections(raw: bytes) -> dict[str, bytes]:
    return {name: raw[place] for name, _, place in _sections(raw) if name in SECTIONS}


def _sections(raw: bytes | mmap.mmap) -> list[tuple[str, int, slice]]:
    """Name, kind and place of each of a 64-bit little-endian ELF file."""
    (table,) = struct.unpack_from("<Q", raw, 40)
    size, count, names = struct.unpack_from("<HHH", raw, 58)
    rows = [struct.unpack_from("<IIQQQQ", raw, table + size * row) for row in range(count)]
    if not rows:
        return []
    start = rows[names][4]
    found = []
    for name, kind, _, _, offset, length in rows:
        end = raw.find(b"\0", start + name)
        found.append((raw[start + name : end].decode(), kind, slice(offset, offset + length)))
    return found


def _code_object(file: Path, target: str, number: int, raw: bytes) -> CodeObject:
    arch = target.rpartition("-")[2].partition(":")[0]
    if raw[:4] != b"\x7fELF":  # for a linker of device code that has not run
        return CodeObject(file, arch, number, ())
    found = (raw[place] for name, _, place in _sections(raw) if name == ".llvmbc")
    modules = tuple(module for data in found for module in _modules(data))
    return CodeObject(file, arch, number, modules, _read_kernels(raw))


def _read_kernels(code: bytes) -> dict[str, KernelCode]:
    """The kernels of a code object by symbol, from its metadata."""
    return {
        kernel[".name"]: _kernel(kernel)
        for _, kind, place in _sections(code)
        if kind == _NOTES
        for described in _notes(code[place])
        for kernel in described.get("amdhsa.kernels", ())
    }


def _modules(data: bytes) -> Iterator[bytes]:
    """The modules in a section that a linker has joined: each begins with `BC C0 DE`."""
    starts = (found.start() for found in re.finditer(b"BC\xc0\xde", data))
    for start, end in pairwise([*starts, len(data)]):
        yield data[start:end]


def _notes(data: bytes) -> Iterator[dict[str, Any]]:
    at = 0
    while at + 12 <= len(data):
        name, size, kind = struct.unpack_from("<III", data, at)
        begin = at + 12 + (name + 3 & ~3)
        if kind == _METADATA_NOTE and data[at + 12 : at + 18] == b"AMDGPU":
            yield _unpack(data[begin : begin + size])
        at = begin + (size + 3 & ~3)


def _kernel(described: Mapping[str, Any]) -> KernelCode:
    explicit = [a for a in described.get(".args", ()) if "hidden" not in a[".value_kind"]]
    return KernelCode(
        symbol=described[".name"],
        parameters=tuple(
            Parameter(a.get(".name", f"arg{number}").removesuffix(".coerce"), a[".size"])
            for number, a in enumerate(explicit)
        ),
        registers=described[".vgpr_count"],
        scalar_registers=described[".sgpr_count"],
        stack_bytes=described[".private_segment_fixed_size"],
        lds_bytes=described[".group_segment_fixed_size"],
        wave_lanes=described.get(".wavefront_size", 64),
    )


def _unpack(data: bytes) -> Any:
    """MessagePack, as AMD's metadata are."""
    try:
        import msgpack
    except ImportError:
        raise BuildError(
            "msgpack is not installed", hint="pip install 'intelliperf-swizzle[cpp]'"
        ) from None
    return msgpack.unpackb(data, strict_map_key=False)
