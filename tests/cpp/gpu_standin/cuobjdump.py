# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The `cuobjdump` of the stand-in for a CUDA toolkit, of a program with one kernel.

FAKE_CODE holds the GPU that the program has code for, and the kernel's symbol. For another GPU than
`sm_90` the kernel takes 72 registers and no shared memory is reserved, as in code of nvcc 13.0.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

arch, symbol = os.environ["FAKE_CODE"].split()
PTX = "compiled for sm_90"
USED = {"sm_90": "REG:64 STACK:8 SHARED:9472", "sm_75": "REG:72 STACK:0 SHARED:8448"}

if sys.argv[1] == "--extract-ptx":
    Path("one.1.sm_75.ptx").write_text(PTX)
    sys.exit()
file = Path(sys.argv[2])
of = "sm_90" if file.read_bytes() == PTX.encode() else arch
if of == arch:
    print(f"\nFatbin elf code:\n================\narch = {of}\ncode version = [1,8]\nhost = linux")
print("\nResource usage:\n Common:\n  GLOBAL:0")
print(f" Function {symbol}:\n  {USED[of]} LOCAL:0 CONSTANT[0]:556 TEXTURE:0 SURFACE:0 SAMPLER:0")
