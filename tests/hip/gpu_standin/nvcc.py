# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The `nvcc` of the stand-in for a machine with a GPU: `nvcc SOURCE -o PROGRAM`."""

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
    source, program = words[0], words[-1]
    compiler = ["g++", "-O1", "-x", "c++", f"-I{Path(__file__).parent}"]
    with tempfile.TemporaryDirectory() as folder:
        library, assembly = Path(folder, "kernels.so"), Path(folder, "fat.s")
        shared = ["-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", str(library)]
        status = subprocess.call([*compiler, "-DDEVICE", source, *shared])
        if status:
            return status
        code = library.read_bytes()
        Path(folder, "fat").write_bytes(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(code)) + code)
        assembly.write_text(f'.section .nv_fatbin,"a"\n.incbin "{folder}/fat"\n')
        shared_runtime = "-cudart shared" in os.environ.get("NVCC_APPEND_FLAGS", "")
        runtime = ["-x", "none", f"-L{HERE}", "-lcudart"] if shared_runtime else ["-lnone"]
        linked = [source, "-x", "assembler", str(assembly), *runtime, "-o", program]
        return subprocess.call([*compiler, *linked])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
