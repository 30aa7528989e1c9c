# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The `nvcc` or `hipcc` of the stand-in for a machine with a GPU: `nvcc SOURCE -o PROGRAM`."""

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
    if "--cubin" in words:
        Path(words[2].partition("=")[2]).write_bytes(Path(words[3]).read_bytes())
        return 0
    source, program = words[0], words[-1]
    compiler = ["g++", "-O1", "-x", "c++", f"-I{HERE}"]
    with tempfile.TemporaryDirectory() as folder:
        library, assembly = Path(folder, "kernels.so"), Path(folder, "fat.s")
        shared = ["-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", str(library)]
        status = subprocess.call([*compiler, "-DDEVICE", source, *shared])
        if status:
            return status
        code = library.read_bytes()
        header = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(code))
        section, library_flag = ".nv_fatbin", "-lcudart"
        if os.environ["FAKE_LANGUAGE"] == "HIP":
            header = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(code))
            section, library_flag = ".hip_fatbin", "-lamdhip64"
        elif "-cudart shared" not in os.environ.get("NVCC_APPEND_FLAGS", ""):
            library_flag = "-lcudart_static"
        Path(folder, "fat").write_bytes(header + code)
        assembly.write_text(f'.section {section},"a"\n.incbin "{folder}/fat"\n')
        runtime = ["-x", "none", f"-L{HERE}", library_flag]
        linked = [source, "-x", "assembler", str(assembly), *runtime, "-o", program]
        return subprocess.call([*compiler, *linked])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
