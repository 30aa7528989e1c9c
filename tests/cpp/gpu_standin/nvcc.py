# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The `nvcc` or `hipcc` of the stand-in for a machine with a GPU.

nvcc [-c | -fatbin] SOURCE -o PROGRAM
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(os.environ["FAKE_CUDA"])


def main(words: list[str]) -> int:
    """Compiles the source for the host, twice: as the program and as what its fat binary holds."""
    if "--dryrun" in words:
        print(f'#$ LIBRARIES= "-L{HERE}/stubs" "-L{HERE}"', file=sys.stderr)
        return 0
    if "--version" in words:
        print("Cuda compilation tools, release 13.0, V13.0.0")
        return 0
    if "--cubin" in words:
        Path(words[2].partition("=")[2]).write_bytes(Path(words[3]).read_bytes())
        return 0
    if "CCC_OVERRIDE_OPTIONS" in os.environ and "FAKE_HIPCC" in os.environ:  # as a hipcc's clang
        os.execv(os.environ["FAKE_HIPCC"], ["hipcc", *words])
    if os.environ["FAKE_LANGUAGE"] == "none":
        print("nvcc fatal   : there is no such host compiler", file=sys.stderr)
        return 1
    source = next(word for word in words if word.endswith((".cu", ".cpp", ".hip")))
    program = words[words.index("-o") + 1]
    compiler = ["g++", "-O1", "-fPIC", "-x", "c++", f"-I{HERE}"]
    with tempfile.TemporaryDirectory() as folder:
        library, assembly = Path(folder, "kernels.so"), Path(folder, "fat.s")
        shared = ["-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", str(library)]
        status = subprocess.call([*compiler, "-DDEVICE", source, *shared])
        if status:
            return status
        code = library.read_bytes()
        header = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(code))
        section, library_flag = ".nv_fatbin", "-lcudart_static"
        if os.environ["FAKE_LANGUAGE"] == "HIP":
            header = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(code))
            section, library_flag = ".hip_fatbin", "-lamdhip64"
        if "-fatbin" in words:
            Path(program).write_bytes(header + code)
            return 0
        Path(folder, "fat").write_bytes(header + code)
        assembly.write_text(f'.section {section},"a"\n.incbin "{folder}/fat"\n')
        if "-c" in words:
            subprocess.check_call(["g++", "-c", str(assembly), "-o", f"{folder}/fat.o"])
            subprocess.check_call([*compiler, "-c", source, "-o", f"{folder}/host.o"])
            parts = [f"{folder}/host.o", f"{folder}/fat.o"]
            return subprocess.call(["ld", "-r", *parts, "-o", program])
        runtime = ["-x", "none", f"-L{HERE}", library_flag]
        linked = [source, "-x", "assembler", str(assembly), *runtime, "-o", program]
        return subprocess.call([*compiler, *linked])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
