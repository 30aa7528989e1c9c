# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Configurations of the kernels of `../h200` that no parameter of the model was fitted to.

They are listed, timed and run like those: `python kernels.py list`.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from h200.kernels import attention, gemm, main, spmv, stencil, transpose

CONFIGS = {
    "gemm_6144_6144_6144_b128_256_64": lambda: gemm(6144, 6144, 6144, 128, 256, 64),
    "gemm_8192_4096_4096_b64_128_32": lambda: gemm(
        8192, 4096, 4096, 64, 128, 32, warps=4, stages=4
    ),
    "stencil_8192_8192_b64_64": lambda: stencil(8192, 8192, 64, 64),
    "stencil_4096_32768_b16_128": lambda: stencil(4096, 32768, 16, 128),
    "transpose_8192_8192_b64_64": lambda: transpose(8192, 8192, 64, 64),
    "spmv_ell_1048576_w32_band65536": lambda: spmv(1048576, 32, 65536),
    "attn_h32_s4096_d128_b64_64": lambda: attention(32, 4096, 128, 64, 64),
    "attn_h128_s2048_d64_b128_64": lambda: attention(128, 2048, 64, 128, 64),
}


if __name__ == "__main__":
    main(CONFIGS, *sys.argv[1:])
