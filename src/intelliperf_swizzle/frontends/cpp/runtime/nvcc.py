# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The `nvcc` or `clang++` of a build that is to be recorded: device bitcode is kept.

Each CUDA source is compiled twice: for the GPU, to bitcode before optimisation, and for the host,
with that bitcode where the fat binary would be. What only ptxas and nvlink understand is left out.
Runs by itself, with nothing but Python's own library.
"""

import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDES = [
    word for place in ("include/cccl", "include") for word in ("-isystem", str(ROOT / place))
]
CLUSTERS = '-Dcluster_dims(...)=section("__cluster_dims__")'
"""Marks the kernels whose workgroups are in clusters, which clang does not know."""
NEWEST = 90
"""Compute capability, tenfold, for which code is kept at the most: that of the default target."""
CLANG = str(ROOT / "llvm" / "clang++")
VERSION = (ROOT / "version").read_text()
SUFFIXES = (".cu", ".cpp", ".cxx", ".cc", ".c", ".C")
PHASES = {
    "-c": "object", "-compile": "object", "-dc": "object", "-device-c": "object",
    "-dw": "object", "-device-w": "object", "-E": "host", "-preprocess": "host", "-M": "host",
    "-MM": "host", "-generate-dependencies": "host", "-ptx": "device", "-cubin": "device",
    "-fatbin": "device", "-dlink": "nothing", "-device-link": "nothing", "-lib": "library",
    "-link": "program",
}  # fmt: skip
"""What is made. Of options with two dashes nvcc takes each with one, too, and so stand here."""
ALIASES = {
    "-output-file": "-o", "-include-path": "-I", "-define-macro": "-D", "-undefine-macro": "-U",
    "-library-path": "-L", "-library": "-l", "-pre-include": "-include", "-preprocess": "-E",
    "-system-include": "-isystem", "-compiler-options": "-Xcompiler", "-optimize": "-O",
    "-linker-options": "-Xlinker", "-gpu-architecture": "-arch", "-generate-code": "-gencode",
    "-gpu-code": "-code", "-options-file": "-optf", "-debug": "-g", "-device-debug": "-G",
    "-dependency-output": "-MF", "-output-directory": "-odir", "-generate-dependencies": "-M",
    "-generate-dependencies-with-compile": "-MD",
}  # fmt: skip
JOINED = ("-I", "-D", "-U", "-L", "-l", "-O")
"""Options whose value may follow at once."""
TAKES_VALUE = {
    *JOINED[:-1], "-x", "-o", "-std", "-include", "-isystem", "-Xcompiler", "-Xlinker", "-arch",
    "-gencode", "-code", "-optf", "--cuda-gpu-arch", "--offload-arch", "-MF", "-MT", "-MQ", "-fmad",
    "-ftz", "-odir",
}  # fmt: skip
LEFT_OUT = {
    "-Xptxas", "-ptxas-options", "-Xcudafe", "-Xnvlink", "-nvlink-options", "-Xfatbin",
    "-maxrregcount", "-ccbin", "-compiler-bindir", "-diag-suppress", "-diag-error", "-diag-warn",
    "-t", "-threads", "-rdc", "-relocatable-device-code", "-cudart", "-prec-div", "-prec-sqrt",
    "-default-stream", "-keep-dir", "-split-compile", "-m", "-machine", "-Werror",
}  # fmt: skip
"""With a value, and without meaning here."""
FLAGS_LEFT_OUT = re.compile(
    r"-(expt-.*|extended-lambda|lineinfo|generate-line-info|keep|restrict|res-usage|resource-usage"
    r"|allow-unsupported-compiler|m64|dryrun|verbose|v|forward-.*|cudadevrt|src-in-ptx|std-.*"
    r"|extra-device-vectorization|compress-mode.*|Wno-deprecated-gpu-targets|Wreorder|save-temps"
    r"|source-in-ptx|relocatable-ptx|disable-warnings-.*|no-align-double|no-compress|no-exceptions|dlto|lto|objdir-as-tempdir)$"
)


LAUNCH = re.compile(r"(?<!operator)<<[ \t]+<([^;{}]*?)>>[ \t]+>(?=\s*\()")
"""As some editors write `<<<grid, block>>>`; nvcc takes it."""
CLANG_PAIRS = ("-Xclang", "-mllvm", "-Xarch_device", "-Xarch_host", "-target", "-Xassembler")


@dataclass
class Asked:
    """What a command line asks for, in clang's words."""

    phase: str = "program"
    output: str | None = None
    inputs: list[str] = field(default_factory=list)
    language: str | None = None
    both: list[str] = field(default_factory=list)
    host: list[str] = field(default_factory=list)
    device: list[str] = field(default_factory=lambda: ["-O3"])
    linked: list[str] = field(default_factory=list)
    architectures: list[int] = field(default_factory=list)
    folder: str = ""


def main(words: list[str]) -> int:
    """Compiles as asked; the exit status."""
    if Path(sys.argv[0]).name != "nvcc":
        return main_of_clang(words)
    if {"--version", "-V"} & set(words):
        print("nvcc: NVIDIA (R) Cuda compiler driver (as clang++)")
        print(f"Cuda compilation tools, release {VERSION}, V{VERSION}.0")
        return 0
    if {"-v", "--verbose", "--dryrun", "-dryrun"} & set(words):
        tell_parts(words)
    given = (shlex.split(os.environ.get(f"NVCC_{p}_FLAGS", "")) for p in ("PREPEND", "APPEND"))
    before, after = given
    asked = read([*before, *words, *after])
    if not asked.inputs and not asked.linked:
        print("nvcc: no input files", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        return build(asked, Path(folder))


def main_of_clang(words: list[str]) -> int:
    """The same in clang's words; what is not CUDA it compiles as ever."""
    asked = read(words, of_clang=True)
    levels = [word for word in asked.host if re.fullmatch(r"-O\w*", word)]
    asked.device = [*(levels[-1:] or ["-O0"]), *(word for word in asked.host if word[:2] == "-f")]
    linking = asked.phase == "program" and not {"-S", "-fsyntax-only"} & set(words)
    runtime = [f"-L{ROOT / 'lib64'}"] if linking and (asked.inputs or asked.linked) else []
    if any(is_cuda(asked, source) for source in asked.inputs):
        asked.linked[:0] = runtime
        with tempfile.TemporaryDirectory() as folder:
            return build(asked, Path(folder))
    return subprocess.call([CLANG, *runtime, *words])


def tell_parts(words: list[str]) -> None:
    """What CMake reads: where CUDA is, and how the host's compiler links."""
    libraries = f'"-L{ROOT / "lib64"}"'
    output = words[words.index("-o") + 1] if "-o" in words else "a.out"
    for line in (
        f"TOP={ROOT}", f"PATH={os.environ.get('PATH', '')}", f'INCLUDES="-I{ROOT / "include"}"',
        f"LIBRARIES= {libraries}", f"NVVMIR_LIBRARY_DIR={ROOT / 'nvvm/libdevice'}",
        "cicc -arch compute_90",
        f'{CLANG} -o "{output}" {libraries} -lcudadevrt -lcudart_static -lrt -lpthread -ldl',
    ):  # fmt: skip
        print(f"#$ {line}", file=sys.stderr)


def read(words: list[str], *, of_clang: bool = False) -> Asked:
    """The words of a command line."""
    asked, left = Asked(), list(words)
    while left:
        word = left.pop(0)
        if not of_clang:
            word = re.sub(r"^--(?=\w)", "-", word)
        name, equals, value = word.partition("=")
        name = ALIASES.get(name, name)
        joined = next((o for o in JOINED if name.startswith(o) and name != o), None)
        if word in PHASES:
            asked.phase = PHASES[word]
            asked.host += [name] if asked.phase == "host" else []
        elif not word.startswith("-") or word == "-":
            source = Path(word).suffix in SUFFIXES or asked.language not in (None, "none")
            (asked.inputs if source else asked.linked).append(word)
        elif of_clang and word in CLANG_PAIRS:
            asked.host += [word, left.pop(0)]
        elif name == "--cuda-path" or (not of_clang and FLAGS_LEFT_OUT.match(word)):
            continue
        elif not of_clang and name in LEFT_OUT:
            del left[: 0 if equals else 1]
        elif name in TAKES_VALUE:
            take(asked, name, value if equals else left.pop(0), left)
        elif joined:
            take(asked, joined, word[len(joined) :], left)
        else:
            flag(asked, ALIASES.get(word, word))
    return asked


def take(asked: Asked, name: str, value: str, left: list[str]) -> None:
    """An option with its value."""
    if name == "-o":
        asked.output = value
    elif name == "-odir":
        asked.folder = value
    elif name == "-x":
        asked.language = value
    elif name == "-optf":
        left[:0] = shlex.split(Path(value).read_text())
    elif name in ("-arch", "-gencode", "-code", "--cuda-gpu-arch", "--offload-arch"):
        asked.architectures += [int(n) for n in re.findall(r"(?:sm|compute)_(\d+)", value)]
    elif name in ("-Xcompiler", "-Xlinker"):
        parts = [part for word in shlex.split(value) for part in word.split(",") if part]
        asked.host += parts if name == "-Xcompiler" else []
        linked = [part for part in parts if not part.startswith(("-W", "-O"))]
        asked.linked += linked if name == "-Xcompiler" else [f"-Wl,{part}" for part in parts]
    elif name in ("-L", "-l"):
        asked.linked.append(name + value)
    elif name == "-O":
        asked.host.append(f"-O{value}")
    elif name == "-fmad":
        asked.device += ["-ffp-contract=off"] if value == "false" else []
    elif name == "-ftz":
        asked.device += ["-fgpu-flush-denormals-to-zero"] if value == "true" else []
    elif name in ("-MF", "-MT", "-MQ"):
        asked.host += [name, value]
    elif name == "-std":
        asked.both += [f"-std={value}", "-Wno-register"]
    else:
        asked.both += [name, value]


def flag(asked: Asked, word: str) -> None:
    """An option without a value."""
    if word == "-G":
        asked.device = ["-O0"]
    elif word == "-use_fast_math":
        asked.device += ["-fgpu-flush-denormals-to-zero", "-fgpu-approx-transcendentals"]
    elif word == "-shared" or word.startswith("-Wl,"):
        asked.linked.append(word)
    elif word == "-w":
        asked.both.append(word)
    else:
        asked.host.append(word)
        asked.linked += [word] if word.startswith(("-pthread", "-fopenmp", "-g")) else []


def build(asked: Asked, folder: Path) -> int:
    """Compiles and links; the exit status."""
    if asked.phase == "nothing":
        empty = [CLANG, "-c", "-x", "c", "/dev/null", "-o", asked.output or "a_dlink.o"]
        return subprocess.call(empty)
    objects: list[str] = []
    for number, source in enumerate(asked.inputs):
        wanted = asked.phase in ("object", "device", "host")
        output = asked.output if wanted else str(folder / f"{number}.o")
        suffix = ".o" if asked.phase != "device" else ".fatbin"
        if asked.phase != "host":
            output = output or str(Path(asked.folder, Path(source).stem + suffix))
        status = compile_one(asked, source, output, folder / f"{number}.bitcode")
        newer = [re.sub("^(-std=.*)(?:03|11|14)$", r"\g<1>17", word) for word in asked.both]
        if status and newer != asked.both:  # CUDA 13's own libraries (thrust, cub) need 17
            asked.both = newer
            status = compile_one(asked, source, output, folder / f"{number}.bitcode")
        if status:
            return status
        objects.append(str(output))
    if asked.phase == "library":
        return subprocess.call(["ar", "rcs", asked.output or "a.a", *objects, *asked.linked])
    if asked.phase != "program":
        return 0
    runtime = [f"-L{ROOT / 'lib64'}", "-lcudart", "-lpthread", "-ldl"]
    output = asked.output or "a.out"
    return subprocess.call([CLANG, *objects, *asked.linked, *runtime, "-o", output])


def is_cuda(asked: Asked, source: str) -> bool:
    """Whether a source is CUDA's."""
    return Path(source).suffix == ".cu" or asked.language in ("cu", "cuda")


def compile_one(asked: Asked, source: str, output: str | None, kept: Path) -> int:
    """A source for GPU and host; the exit status."""
    to = ["-o", output] if output else []
    quiet = ["-Wno-unknown-cuda-version", "-Wno-unknown-warning-option"]
    if not is_cuda(asked, source):
        language = ["-x", "c"] if source.endswith(".c") else []
        phase = [] if asked.phase == "host" else ["-c"]
        return subprocess.call(
            [CLANG, *asked.both, *asked.host, *INCLUDES, *phase, *language, source, *to]
        )
    common = [
        CLANG, "-x", "cuda", f"--cuda-path={ROOT}", "-idirafter", str(ROOT / "more"), *quiet,
        "--no-offload-new-driver", "-include", "cuda_host.h", *asked.both, *INCLUDES,
    ]  # fmt: skip
    if Path(source).name == "CMakeCUDACompilerId.cu":  # asks which compiler it is
        numbers = zip(("MAJOR", "MINOR", "BUILD"), f"{VERSION}.0".split("."), strict=True)
        common += ["-nocudainc", "-nocudalib", "-D__NVCC__", "-D__CUDACC__"]
        common += [f"-D__CUDACC_VER_{name}__={number}" for name, number in numbers]
    text = Path(source).read_text(errors="surrogateescape") if Path(source).is_file() else ""
    if (read := LAUNCH.sub(r"<<<\1>>>", text)) != text:
        common += ["-ivfsoverlay", overlaid(Path(source).absolute(), read, kept)]
    if asked.phase == "host":
        return subprocess.call([*common, "--cuda-host-only", *asked.host, source, *to])
    # CUDA 13 knows none before 75
    architecture = max(75, *([n for n in asked.architectures if n <= NEWEST] or [NEWEST]))
    # in the names of CUB's kernels; clang's own is the oldest
    common += ["-U__CUDA_ARCH_LIST__", f"-D__CUDA_ARCH_LIST__={10 * architecture}"]
    status = subprocess.call([
        *common, "--cuda-device-only", f"--cuda-gpu-arch=sm_{architecture}", *asked.device,
        "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-gline-tables-only",
        "-fno-discard-value-names", CLUSTERS, "-c", source, "-o", str(kept),
    ])  # fmt: skip
    if status:
        return status
    bitcode = kept.read_bytes()  # LLVM's wrapper has the GPU as its CPU. Source: BitCodeFormat
    kept.write_bytes(struct.pack("<5I", 0x0B17C0DE, 0, 20, len(bitcode), architecture) + bitcode)
    if asked.phase == "device":
        return subprocess.call(["cp", str(kept), str(output)])
    return subprocess.call([
        *common, "--cuda-host-only", *asked.host, "-Xclang", "-fcuda-include-gpubinary", "-Xclang",
        str(kept), "-c", source, *to,
    ])  # fmt: skip


def overlaid(source: Path, text: str, beside: Path) -> str:
    """A file that has clang read another text as a source."""
    (other := beside.with_suffix(".cu")).write_text(text, errors="surrogateescape")
    file = {"name": str(source), "type": "file", "external-contents": str(other)}
    overlay = {"version": 0, "use-external-names": False, "roots": [file]}
    (listed := beside.with_suffix(".yaml")).write_text(json.dumps(overlay))
    return str(listed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
