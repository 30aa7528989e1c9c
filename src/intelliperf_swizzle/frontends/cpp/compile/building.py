# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The user's project, copied and built so that its executable keeps device bitcode."""

import re
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from intelliperf_swizzle import edit as edits
from intelliperf_swizzle.errors import BuildError, CaptureError, SwizzleError
from intelliperf_swizzle.frontends.cpp.code import binaries
from intelliperf_swizzle.frontends.cpp.compile.cuda_toolchain import CudaToolchain
from intelliperf_swizzle.frontends.cpp.compile.extensions import compile_cuda, loads_extension
from intelliperf_swizzle.frontends.cpp.compile.toolchain import HipToolchain, Toolchain
from intelliperf_swizzle.frontends.ssa import reached

PROJECT = edits.PLACE
"""The copy that is built, in the folder of a recording."""
_CMAKE_TEXT = (".txt", ".make", ".cmake", ".ninja", ".marks", ".json", ".internal")
_MAKEFILES = ("[Mm]akefile*", "*.mk", "*.mak")
_VENDORS_PLACE = re.compile(
    r"(?m)^[ \t]*(?:export +)?(\w+)[ \t]*[:?]?=[ \t]*(?:/usr/local/cuda|/opt/rocm)[-.\d]*"
    r"(/[^\s$]*)?[ \t]*(?:#.*)?$"
)
_REBUILD = "give the build with -b/--build_command, so that it keeps what is needed"
TOOLCHAINS: Mapping[str, type[Toolchain]] = {"HIP": HipToolchain, "CUDA": CudaToolchain}


@dataclass(frozen=True)
class Recipe:
    """How a program is made and started.

    Attributes:
        command: the application.
        project: where it runs, links followed.
        build_command: as the user types it; None = it is built already, with bitcode.
        arch: the GPU of which code objects are taken if there are several.
        language: `HIP` or `CUDA`.
        build_files: of an extension of PyTorch, once they are known (`extensions`); None = it is a
            program.
    """

    command: tuple[str, ...]
    project: str
    build_command: str | None
    arch: str
    language: str
    build_files: Mapping[str, str] | None = field(default=None, repr=False)

    @property
    def builds(self) -> bool:
        """Whether it can be built, with an edit too."""
        return bool(self.build_command) or self.build_files is not None

    @property
    def toolchain(self) -> type[Toolchain]:
        """Of its language."""
        return TOOLCHAINS[self.language]


@dataclass(frozen=True)
class Built:
    """A project that can be recorded.

    Attributes:
        folder: where it is: a copy, or the project where nothing was to be built.
        command: the application, paths into the project turned into the copy's.
        objects: its code objects with bitcode, one GPU's of each translation unit.
        others: those of other programs that the command builds.
        notes: sentences for the report.
    """

    folder: Path
    command: tuple[str, ...]
    objects: tuple[binaries.CodeObject, ...]
    others: tuple[binaries.CodeObject, ...]
    notes: tuple[str, ...]


def build(
    recipe: Recipe,
    folder: Path,
    toolchain: Toolchain,
    environment: Mapping[str, str],
    edit: edits.Edit | None = None,
) -> Built:
    """Builds a copy of the project, and reads its device code.

    Args:
        recipe: how.
        folder: for the copy.
        toolchain: that is used where the user has none.
        environment: of the build.
        edit: of files of the project, for the copy.

    Raises:
        SwizzleError: the build failed.
        CaptureError: there is no device code, or none with bitcode.
    """
    place, files, notes, builds = Path(recipe.project), [], [], recipe.builds
    if builds:
        place = folder / PROJECT
        edits.copy_project(Path(recipe.project), place, edit)
        begun, ran = time.time(), toolchain.run_environment(environment)  # `make` may test, too
        try:
            files = _build(recipe, place, toolchain, toolchain.build_environment(ran))
        except SwizzleError as error:
            hinted = _with_hint(error, toolchain)
            made = " ".join(edits.moved_command(recipe.command, Path(recipe.project), place))
            words = re.findall(r"[^\s;&|'\"]+", made)  # a shell's, too
            programs = programs_of(words, place, recipe.language)
            if not any(program.stat().st_mtime >= begun for program in programs):
                raise hinted from None
            failed = as_build_error(error, "the build made the program but failed elsewhere", place)
            notes = [f"{failed.fact} ({hinted.hint})" if hinted.hint else failed.fact]
        for file, text in (edit.files if edit else {}).items():
            copied = edits.place_in_copy(Path(file), Path(recipe.project), place)
            if copied is None or copied.read_bytes() != text.encode():
                raise BuildError(f"the build generates {file}, so a patch of it would be lost")
    moved = tuple(edits.moved_command(recipe.command, Path(recipe.project), place))
    files = files or device_files(moved, place, recipe.language, below=builds)
    if not files:
        other, target = ("CUDA", "h200") if recipe.language == "HIP" else ("HIP", "mi300x")
        hint = f"{toolchain.name_of_compiler} builds one" if builds else _REBUILD
        if any(programs_of(moved, place, other)):
            hint = f"its device code is for {other}: --target {target}"
        asked = " ".join(recipe.command)
        raise CaptureError(f"`{asked}` names no program with device code", hint=hint)
    objects, without = _read(files, recipe.arch)
    if not objects:
        raise CaptureError(
            f"{', '.join(sorted(without))} was built without device bitcode"
            + (", although the build was asked to keep it" if builds else ""),
            hint=toolchain.keeping if builds else _REBUILD,
        )
    notes += [f"{name} was built without device bitcode" for name in sorted(without)]
    beside = built_files(place, recipe.language) if builds and edit is None else ()
    linked = [f for f in beside if _is_linked(f) and f.resolve() not in files]
    return Built(place, moved, tuple(objects), tuple(_read(linked, recipe.arch)[0]), tuple(notes))


def _build(
    recipe: Recipe, place: Path, toolchain: Toolchain, environment: Mapping[str, str]
) -> list[Path]:
    """Builds a copy so that bitcode is kept; where it is, if that is not to be looked for."""
    if recipe.build_files is not None:
        nvcc = toolchain.root / "bin" / "nvcc" if recipe.language == "CUDA" else None
        return compile_cuda(recipe.build_files, place, Path(recipe.project), environment, nvcc)
    _forget_builds_without_bitcode(place)
    move_cmake(Path(recipe.project), place, toolchain.root)
    # make goes on after an error: other programs of a project need not concern this one
    vendors = toolchain.has_vendors and recipe.language == "HIP"
    settings = "" if vendors else "".join(_moved_settings(place, toolchain.root))
    given = environment.get("MAKEFLAGS", "")  # the user's, or of a make that started this
    flags = f"k {given}" if given.startswith("-") else f"k{given}"
    flags += settings if " -- " in flags else f" --{settings}"
    edits.run_build(str(recipe.build_command), place, {**environment, "MAKEFLAGS": flags})
    return []


def _moved_settings(place: Path, root: Path) -> Iterator[str]:
    """Variables of makefiles that have a vendor's usual place, with ours, in make's words."""

    def included(file: Path) -> list[Path]:
        named = re.findall(r"(?m)^-?include[ \t]+(\S+)", file.read_text("utf-8", "replace"))
        return [makefile for name in named if (makefile := file.parent / name).is_file()]

    begin = (file for kind in _MAKEFILES for file in place.rglob(kind) if file.is_file())
    for file in reached(begin, included):
        for name, rest in _VENDORS_PLACE.findall(file.read_text("utf-8", "replace")):
            yield f" {name}={root}{rest}"


def as_build_error(error: SwizzleError, fact: str, place: Path) -> BuildError:
    """The error of a build in a copy, with the first that a compiler says, or Python."""
    patterns = ("error|fatal", "Error: ")
    wrong = (line for pattern in patterns for line in error.details if re.search(pattern, line))
    message = next(wrong, error.fact).replace(f"{place}/", "")
    return BuildError(f"{fact}: {message}", details=error.details)


def _with_hint(error: SwizzleError, toolchain: Toolchain) -> SwizzleError:
    """The error of a build that wants what is not here, with a hint that says so."""
    printed = "\n".join(error.details)
    call = re.search(r"undefined reference to `((?:cuda|hip|cu)[A-Z]\w+)'", printed)
    missing = _MISSING.search(printed)
    wanted = missing[missing.lastindex or 0] if missing else ""
    name, compiler = toolchain.language, toolchain.name_of_compiler
    whole = re.search(rf"(/\S+/{compiler}): (?:No such file|not found)", printed)
    package = _install(wanted, name)
    deeper = toolchain.root.glob(f"include/*/{wanted}") if re.fullmatch(r"\w+\.h", wanted) else ()
    here = next((header.relative_to(toolchain.root / "include") for header in deeper), None)
    removed = re.search(r"no member named '(\w+)' in 'cudaDeviceProp'", printed)
    managed = re.search(r"(\S+:\d+):\d+: note: host variable declared here\n.*__managed__", printed)
    if managed:
        hint = f"{managed[1]}: clang knows no managed variables of CUDA; use cudaMallocManaged"
    elif removed:
        hint = f"CUDA 13 has no `{removed[1]}` there: set CUDA_HOME to a toolkit of CUDA 12"
    elif call:
        hint = f"launches are recorded on a stand-in for {name}'s runtime, which has no `{call[1]}`"
    elif whole:
        hint = f"the build calls {whole[1]} by its whole path: let it call `{compiler}`"
    elif here:
        hint = f"`{wanted}` is here as `{here}`: include it by that name"
    elif package:
        hint = f"for `{wanted}`: {package}"
    elif wanted.startswith("helper_"):
        hint = "git clone https://github.com/NVIDIA/cuda-samples, and add its Common to CPATH"
    elif re.match(r"[gi]?omp(?![a-z])", wanted):
        hint = f"clang's OpenMP: sudo apt install libomp-{toolchain.version}-dev"
    elif toolchain.has_vendors or not missing or wanted.startswith("."):
        return error
    else:
        hint = (
            f"if `{wanted}` is of {toolchain.vendors}, install it: Triton has {name}'s main "
            "headers alone"
        )
    return SwizzleError(error.fact, hint=hint, details=error.details)


_MISSING = re.compile(
    r"fatal error: '([^']+)' file not found|(?:cannot find|unable to find library) -l(\w+)"
    r'|CUDA_(\w+)_LIBRARY \(ADVANCED\)|"CUDA::(\w+)" but|provided by\s+"(\w+)" with'
    r"|target was not found:\s+CUDA::(\w+)"
)
"""A header or a library that is not there, in the words of compilers, linkers and CMake."""
_PACKAGES = {
    "CUDA": {
        "cublas": "nvidia-cublas (0.5 GB)", "cudnn": "nvidia-cudnn-cu13 (0.5 GB)",
        "thrust/": "nvidia-cuda-cccl", "cub/": "nvidia-cuda-cccl", "cuda/std/": "nvidia-cuda-cccl",
        "curand": "nvidia-curand", "cusparse": "nvidia-cusparse", "cufft": "nvidia-cufft",
        "cusolver": "nvidia-cusolver", "nccl": "nvidia-nccl-cu13", "nvtx": "nvidia-nvtx",
        "nvToolsExt": "nvidia-nvtx", "nvml": "nvidia-nvml-dev", "nvrtc": "nvidia-cuda-nvrtc",
    },
    "HIP": {
        "thrust/": "rocthrust", "cub/": "hipcub", "miopen": "miopen-hip", "ck/": "composablekernel",
        **{begin: begin.rstrip("/") for begin in (
            "hip/", "hipcub", "rocprim", "rocwmma", "rccl", "rocblas", "hipblas", "rocrand",
            "hiprand", "rocfft", "hipfft", "rocsparse", "hipsparse", "rocsolver", "hipsolver",
        )},
    },
}  # fmt: skip
"""Packages with headers, of the Python package index for CUDA and of ROCm's repository for HIP, by
how the headers' names begin."""


def _install(header: str, language: str) -> str | None:
    """The command that installs a vendor's header or library; None if it is not known whose."""
    known = _PACKAGES[language].items()
    names = (header, header.rpartition("/")[2])  # `rocblas/rocblas.h`
    package = next((p for begin, p in known for name in names if name.startswith(begin)), None)
    if package is None or language == "CUDA":
        return package and f"pip install {package}"
    return f"sudo apt install {package}-dev hipcc, of ROCm's repository; add /opt/rocm/bin to PATH"


_SOURCES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".h", ".hpp", ".hip", ".hh", ".inl", ".inc")


def sources(project: Path, suffixes: Sequence[str] = _SOURCES) -> Iterator[tuple[Path, str]]:
    """The project's files of C++, each with its text."""
    for file in project.rglob("*"):
        if file.suffix in suffixes and file.is_file():
            yield file, file.read_text(encoding="utf-8", errors="replace")


def device_files(command: Sequence[str], place: Path, language: str, *, below: bool) -> list[Path]:
    """Programs and libraries with device code that a command names, or are in its folder.

    Another program than the one that the command names is none of its business.
    """
    found = list(programs_of(command, place, language))
    if below:
        alone = any(".interp" in binaries.section_names(file) for file in found)
        built = sorted(built_files(place, language))
        others = (file.resolve() for file in built if _is_linked(file))
        found += (
            other for other in others if not alone or ".interp" not in binaries.section_names(other)
        )
    return list(dict.fromkeys(found))


def programs_of(command: Sequence[str], place: Path, language: str) -> Iterator[Path]:
    """The words of a command that are programs with a fat binary of a language."""
    for word in command:
        file = place / word
        if file.is_file() and binaries.holds_device_code(file, language):
            yield file.resolve()


def names_program(command: Sequence[str], project: Path, language: str, *, torch: bool) -> bool:
    """Whether a word is such a program, or, where `torch` is for it, Python with an extension."""
    extension = torch and loads_extension(command, project)
    return extension or any(programs_of(command, project, language))


def _is_linked(file: Path) -> bool:
    """Whether an ELF file is linked, not an object file."""
    with file.open("rb") as stream:
        return bool(struct.unpack("<H", stream.read(18)[16:])[0] != 1)


def _read(files: Sequence[Path], arch: str) -> tuple[list[binaries.CodeObject], set[str]]:
    """One GPU's code objects with bitcode, and the names of files that have some without."""
    objects: list[binaries.CodeObject] = []
    without: set[str] = set()
    for file in files:
        found = binaries.read_code_objects(file)
        kept = [code for code in found if code.bitcode]
        if len(kept) < len(found):
            without.add(file.name)
        archs = list(dict.fromkeys(code.arch for code in kept))
        chosen = arch if arch in archs else archs[0] if archs else ""
        objects += [code for code in kept if code.arch == chosen]
    return objects, without


def _forget_builds_without_bitcode(copy: Path) -> None:
    """Removes what was built without bitcode, so that it is built again."""
    for file in built_files(copy):
        try:
            stale = not all(code.bitcode for code in binaries.read_code_objects(file))
        except BuildError:
            stale = True
        if stale:
            file.unlink()


def built_files(copy: Path, language: str | None = None) -> Iterator[Path]:
    """Objects, libraries and programs in a folder with device code, of a language or any."""
    for file in copy.rglob("*"):
        if file.is_file() and not file.is_symlink() and binaries.holds_device_code(file, language):
            yield file


def move_cmake(project: Path, copy: Path, root: Path | None) -> None:
    """Moves CMake's paths to a copy.

    Args:
        project: where CMake was run.
        copy: of it.
        root: of the toolchain whose compiler is to be used; None = the one that CMake has found.
    """
    for cache in copy.rglob("CMakeCache.txt"):
        for file in cache.parent.glob("CMakeFiles/*/CMakeCUDACompiler.cmake") if root else ():
            file.unlink()  # so that CMake looks at a compiler again, which is ours
            ours = f"CMAKE_CUDA_COMPILER:FILEPATH={root}/bin/nvcc"
            kept = cache.read_text("utf-8")
            cache.write_text(re.sub(r"(?m)^CMAKE_CUDA_COMPILER:.*", ours, kept), "utf-8")
        for file in cache.parent.rglob("*"):
            if file.is_file() and (file.suffix in _CMAKE_TEXT or file.name.startswith("Makefile")):
                text = file.read_bytes()
                file.write_bytes(text.replace(str(project).encode(), str(copy).encode()))
