# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Runs the tool on public C++ programs; `cpp_pages.py` writes the page of the records.

    python benchmarks/cpp_programs.py FOLDER [PROGRAM...]

FOLDER holds checkouts of the collections, named as below. Programs are built by their own makefile
and checked by what they print.
"""

from __future__ import annotations

import json
import re
import resource
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parent / "records" / "cpp_programs.json"
LIMIT_SECONDS = 1800.0
COMMIT = subprocess.run(
    ["git", "describe", "--always", "--dirty", "--exclude", "*"],
    cwd=Path(__file__).parent, capture_output=True, text=True, check=True,
).stdout.strip()  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A program of a collection.

    Attributes:
        folder: in the checkouts, with its makefile.
        build: its build command.
        command: runs it, on a size that a CPU executes in seconds.
        check: its exit status tells whether `said.txt`, what the command prints, is right.
    """

    folder: str
    build: str
    command: str
    check: str = "! grep -qi fail said.txt"


def _hecbench(name: str, arguments: str) -> Program:
    build = "make ARCH=sm_90" if name.endswith("-cuda") else "make"
    return Program(f"HeCBench/src/{name}", build, f"./main {arguments}".strip())


PROGRAMS = (
    _hecbench("lud-hip", "-s 128"),
    _hecbench("floydwarshall-hip", "128 1 16"),
    _hecbench("heat-hip", "256 1"),
    _hecbench("matrix-rotate-hip", "1024 1"),
    _hecbench("pathfinder-hip", "4000 40 5"),
    _hecbench("tensorT-hip", "1"),
    _hecbench("permute-hip", "8 1"),
    _hecbench("reverse2D-hip", "512 512 1"),
    _hecbench("lrn-hip", "1"),
    Program(
        "rocm-examples/Applications/floyd_warshall",
        "make HIPCXX=hipcc",
        "./applications_floyd_warshall -n 128 -i 1",
    ),
    _hecbench("convolution1D-cuda", "16384 1"),
    _hecbench("gabor-cuda", "256 256 1"),
    _hecbench("layernorm-cuda", "4 32 768 1"),
    _hecbench("glu-cuda", "3 128 1"),
    _hecbench("upsample-cuda", "1 8 16 16 1"),
    _hecbench("dwconv-cuda", "2 8 32 32 1"),
    _hecbench("laplace-cuda", ""),
    _hecbench("pool-cuda", "2 8 28 28 7 7 1"),
    _hecbench("winograd-cuda", ""),
    _hecbench("rmsnorm-cuda", "32 2048 1"),
)
DRAWN = (
    _hecbench("assert-hip", ""),
    _hecbench("black-scholes-hip", "1"),
    _hecbench("quantVLLM-cuda", "64 1024 1"),
    _hecbench("reverse-hip", "1"),
    _hecbench("lda-hip", "1"),
    _hecbench("myocyte-hip", "1"),
    _hecbench("histogram-cuda", "--i=1 --width=256 --height=128"),
    _hecbench("gemv-cuda", "-s 1024 -i 1 -x 128 -y 4"),
    _hecbench("clenergy-cuda", ""),
    _hecbench("gaussian-hip", "-q -t -s 128"),
    _hecbench("minimod-cuda", "--niters 1 --grid 64 --nsteps 2"),
    _hecbench("damage-hip", "100000 1"),
    _hecbench("binomial-cuda", ""),
    _hecbench("keogh-cuda", "64 20000 1"),
    _hecbench("geglu-hip", "1"),
    _hecbench("doh-cuda", "48 64 1"),
    _hecbench("scan-cuda", "65536 1"),
    _hecbench("tridiagonal-hip", "-num_systems=512"),
    _hecbench("channelShuffle-hip", "2 32 32 1"),
    _hecbench("tsa-hip", "64 64 1"),
)
"""Those of `random.seed(49)` that have their inputs, kernels of their own, and sizes for a CPU."""


OTHERS = (
    Program("PolyBench-ACC/CUDA/linear-algebra/kernels/gemm", "make", "./gemm.exe"),
    Program("gpu-rodinia/cuda/nw", "make", "./needle 512 10"),
    Program("rocm-examples/HIP-Basic/matrix_multiplication", "make", "./hip_matrix_multiplication"),
    Program(
        "HPCTrainingExamples/HIP/basic_examples/07_matrix_multiply_shared/solution",
        "make",
        "./matrix_multiply",
    ),
    Program("SGEMM_CUDA", "make", "./build/sgemm 5"),
    Program(
        "cuda-samples/Samples/6_Performance/transpose",
        "cmake -B build && cmake --build build",
        "./build/transpose",
    ),
)
"""Of six other collections, by their plain commands."""
HIP_BUILD = "cmake -B build -DMODEL=hip -DCMAKE_CXX_COMPILER=hipcc && cmake --build build"
SAMPLES = "HIP-Examples/HIP-Examples-Applications"
FURTHER = (
    Program("llm.c/dev/cuda", "make layernorm_forward", "./layernorm_forward 5"),
    Program(
        "XSBench/hip",
        "make",
        "./XSBench -m event -s small -g 100 -l 10000",
        "grep -q 'checksum: 28382 ' said.txt",  # known for its largest sizes alone
    ),
    Program("RSBench/cuda", "make", "./rsbench -m event -s small -l 1000"),
    Program("BabelStream", HIP_BUILD, "./build/hip-stream -s 262144 -n 2"),
    Program("miniBUDE", HIP_BUILD, "./build/hip-bude -n 64 -i 1 --deck data/bm1"),
    Program(f"{SAMPLES}/RecursiveGaussian", "make RecursiveGaussian", "./RecursiveGaussian"),
    Program(
        "HIP-Examples/mini-nbody/hip",
        "hipcc -I../ -DSHMOO nbody-block.cpp -o nbody-block",
        "./nbody-block 1024",
    ),
    Program(
        "code-samples/series/cuda-cpp/finite-difference",
        "nvcc -O3 finite-difference.cu -o finite-difference",
        "./finite-difference",
    ),
    Program(
        "amd-lab-notes/finite-difference/examples",
        "make kernel3",
        "./laplacian_dp_kernel3 64 64 64",
    ),
    Program("gpu-rodinia/cuda/srad/srad_v2", "make", "./srad 128 128 0 31 0 31 0.5 2"),
    Program(
        "rocm-examples/Applications/prefix_sum",
        "make HIPCXX=hipcc",
        "./applications_prefix_sum -n 2048",
    ),
    Program("HPCTrainingExamples/HIP/transpose", "make transpose_tiled", "./transpose_tiled"),
    Program(
        "CUDA_Freshman",
        "cmake -B build && cmake --build build --target transform_shared_memory",
        "./build/26_transform_shared_memory/transform_shared_memory",
    ),
    Program(
        "mixbench/mixbench-hip", "cmake -B build && cmake --build build", "./build/mixbench-hip"
    ),
)
"""Of other collections, chosen before they were tried."""
CMAKE = "cmake -B build && cmake --build build"
BOOK = "CUDA-by-Example-source-code-for-the-book-s-examples-"
LATER = (
    Program("cuda_programming/02_matrix_mul/tiled", "nvcc mmul.cu -o mmul", "./mmul"),
    Program(
        "CUDA-Programming/src/08-shared-memory",
        "nvcc -O3 -arch=sm_75 bank.cu -o bank",
        "./bank 256",
    ),
    Program("hip-tests/samples/2_Cookbook/3_shared_memory", CMAKE, "./build/sharedMemory"),
    Program("Kernels/Cxx11", "make transpose-hip HIPCC=hipcc", "./transpose-hip 2 256"),
    Program(
        "Learn-CUDA-Programming/Chapter02/02_memory_overview/04_matrix_transpose",
        "make",
        "./matrix_transpose",
    ),
    Program("How_to_optimize_in_GPU/reduce", "mkdir -p bin && make", "bin/reduce_v7"),
    Program("hip-training-series/Lecture1/HIP/hip-stream", "make", "./stream"),
    Program(
        "simple_HIP_examples/vector_addition",
        "nvcc -o vector_addition vector_addition.cu",
        "./vector_addition",
    ),
    Program(
        "hip-programming/optimization/03-matrix_transpose",
        "hipcc -O3 matrix_transpose_with_SM.cpp -o transpose",
        "./transpose",
    ),
    Program(
        "professional-cuda-c-programming/examples/chapter04",
        "make transpose",
        "./transpose 4 16 16 256 256",
    ),
    Program("CloverLeaf", HIP_BUILD, "./build/hip-cloverleaf --file InputDecks/clover_sodxy.in"),
    Program(
        "gpu-programming/content/examples/non-portable-kernel-models",
        "nvcc cuda-matrix-transpose-v2.cu -o transpose",
        "./transpose",
    ),
)
"""Of further authors: what was refused wrongly was mended."""
LAST = (
    Program(
        "hip_transpose",
        "hipcc -c transpose_kernel.cpp && hipcc -c transpose_test.cpp && "
        "hipcc -lm -o transpose_test transpose_test.o transpose_kernel.o",
        "./transpose_test 512 512 2",
    ),
    Program(
        "hundred-kernels", "cmake -B build && make -C build reduction_3", "./build/reduction_3"
    ),
    Program("cuda-examples", CMAKE, "./build/bin/stencil 64"),
    Program("StencilBenchmarks", "make", "./mainProgram 6 6 6"),
    Program("CUDA-Programming/src/13-md/force-only", "make", "./ljmd 4 20"),
    Program(f"{BOOK}/chapter05", "nvcc dot.cu -o dot", "./dot"),
    Program("hip-tests/samples/2_Cookbook/5_2dshfl", CMAKE, "./build/2dshfl"),
    Program("hip-training-series/Lecture1/HIP/saxpy", "make", "./saxpy"),
    Program(
        "hip-programming/optimization/04-histogram",
        "hipcc histo_basic.cpp -o histo",
        "./histo 1 256 200000",
    ),
    Program("GPU/day 30", "hipcc rope_hip.cpp -o rope", "./rope"),
    Program(
        "cuda_learning/04_transformer/ops",
        "nvcc -O3 --use_fast_math -lcublas -lcublasLt residual_forward.cu -o residual_forward",
        "./residual_forward 2",
    ),
    Program(
        "professional-cuda-c-programming/examples/chapter05",
        "make reduceInteger",
        "./reduceInteger",
    ),
)
"""Of further authors, chosen before they were tried."""
FINAL = (
    Program("rocm-examples/Applications/bitonic_sort", "make", "./applications_bitonic_sort -l 10"),
    Program(
        "rocm-examples/Applications/convolution", "make", "./applications_convolution -x 256 -y 256"
    ),
    Program("rocm-examples/HIP-Basic/moving_average", "make", "./hip_moving_average"),
    Program("gpu-rodinia/cuda/pathfinder", "make", "./pathfinder 4000 40 5"),
    Program("PolyBench-ACC/CUDA/stencils/jacobi-1d-imper", "make", "./jacobi1D.exe"),
    Program("gpu-rodinia/cuda/lud", "make", "cuda/lud_cuda -s 128"),
    Program("HPCTrainingExamples/HIP/matrix_addition", "make", "./matrix_addition"),
    Program("hip-tests/samples/2_Cookbook/6_dynamic_shared", CMAKE, "./build/dynamic_shared"),
    Program("GPU/day 07", "nvcc 2d_convolution_with_tiling.cu -o tiled", "./tiled"),
    Program(
        "gpu-programming/content/examples/cuda-hip/hip/03_matrix_summation",
        "make 03_matrix_summation_GPU_2D2D_2D1D_1D1D",
        "./03_matrix_summation_GPU_2D2D_2D1D_1D1D",
    ),
    Program(
        "cuda_programming/05_convolution/1d_tiled",
        "nvcc convolution.cu -o convolution",
        "./convolution",
    ),
    Program(
        "CUDA-Programming/src/09-atomic",
        "nvcc -O3 -arch=sm_75 neighbor2gpu.cu -o neighbor",
        "./neighbor",
    ),
    Program("rocm-examples/Applications/histogram", "make", "./applications_histogram"),
    Program("rocm-examples/HIP-Basic/shared_memory", "make", "./hip_shared_memory"),
    Program("rocm-examples/HIP-Basic/warp_shuffle", "make", "./hip_warp_shuffle"),
    Program("gpu-rodinia/cuda/backprop", "make", "./backprop 1024"),
    Program("hip-tests/samples/2_Cookbook/4_shfl", CMAKE, "./build/shfl"),
    Program(
        "cuda_programming/04_histogram/shmem_atomic",
        "nvcc histogram.cu -o histogram",
        "./histogram",
    ),
    Program("GPU/day 05", "nvcc LayerNorm.cu -o layer_norm", "./layer_norm"),
    Program(
        "hip-programming/kernels/04-kernel-copy2d/solution",
        "hipcc copy2d.cpp -o copy2d",
        "./copy2d",
    ),
)
"""The last that were chosen before they were tried."""
SAMPLES_OF_CUDA = "cuda-samples/Samples"
AGREES = "grep -q 'Percent: 0$' said.txt"


def _polybench(folder: str, name: str) -> Program:
    above = "../" * (folder.count("/") + 1)
    build = f"nvcc -O3 -DMINI_DATASET -DRUN_ON_CPU {name}.cu -I{above}utilities -o {name}.exe"
    return Program(f"PolyBench-ACC/CUDA/{folder}", build, f"./{name}.exe", AGREES)


SHARING = (
    _hecbench("convolution3D-cuda", "2 6 16 14 14 5 1"),
    _hecbench("convolutionSeparable-hip", "512 512 1"),
    _hecbench("stencil3d-hip", "64 1"),
    _hecbench("attention-cuda", "1024 256 0 1"),
    _hecbench("matrixT-hip", "512 512 1"),
    _hecbench("laplace3d-cuda", "64 64 64 1 1"),
    _hecbench("heat2d-cuda", "512 512 1"),
    _hecbench("nw-hip", "256 10 1"),
    _hecbench("burger-cuda", "512 512 1"),
    Program(
        f"{SAMPLES_OF_CUDA}/0_Introduction/matrixMul",
        CMAKE,
        "./build/matrixMul -wA=64 -hA=128 -wB=128 -hB=64",
    ),
    Program(
        f"{SAMPLES_OF_CUDA}/5_Domain_Specific/FDTD3d",
        CMAKE,
        "./build/FDTD3d --dimx=96 --dimy=96 --dimz=96 --timesteps=1",
    ),
    _polybench("linear-algebra/kernels/2mm", "2mm"),
    _polybench("linear-algebra/kernels/syrk", "syrk"),
    _polybench("stencils/convolution-3d", "3DConvolution"),
    Program(
        "code-samples/series/cuda-cpp/transpose",
        "nvcc -O3 transpose.cu -o transpose",
        "./transpose",
    ),
    _hecbench("tissue-hip", "16 1"),
    Program("gpu-rodinia/cuda/lavaMD", "make", "./lavaMD -boxes1d 4"),
    Program("cuda-gemm-from-scratch", CMAKE, "./build/gemm_runner --kernel 4 --size 256"),
    Program("rocm-examples/HIP-Basic/streams", "make", "./hip_streams"),
    Program("rocm-examples/HIP-Basic/dynamic_shared", "make", "./hip_dynamic_shared"),
)
"""Whose workgroups share what they read, chosen before they were tried."""
UNTRIED = (
    _hecbench("jacobi-cuda", ""),
    _hecbench("bilateral-cuda", "256 256 0.5 0.5 1"),
    _hecbench("softmax-hip", "1000 784 1 1"),
    _hecbench("maxpool3d-hip", "64 64 4 1"),
    _hecbench("matern-cuda", "100 1"),
    _hecbench("depixel-cuda", "256 256 1"),
    _hecbench("mandelbrot-hip", "1"),
    _hecbench("wyllie-hip", "20000 1 1"),
    _hecbench("all-pairs-distance-cuda", "1"),
    _hecbench("hwt1d-cuda", "65536 1"),
    _polybench("stencils/fdtd-2d", "fdtd2d"),
    _polybench("datamining/covariance", "covariance"),
    _polybench("linear-algebra/solvers/lu", "lu"),
    Program("gpu-rodinia/cuda/streamcluster", "make", "./sc_gpu 4 8 16 512 512 50 none out.txt 1"),
    Program(f"{SAMPLES_OF_CUDA}/2_Concepts_and_Techniques/scalarProd", CMAKE, "./build/scalarProd"),
    Program(f"{SAMPLES_OF_CUDA}/0_Introduction/mergeSort", CMAKE, "./build/mergeSort"),
    Program("rocm-examples/HIP-Basic/device_globals", "make", "./hip_device_globals"),
    Program("code-samples/series/cuda-cpp/shared-memory", "nvcc shared-memory.cu -o s", "./s"),
    _hecbench("stencil1d-hip", "1048576 1"),
    _hecbench("dct8x8-cuda", "512 512 1"),
)
"""Twenty more, chosen before they were tried."""
ALTIS = "cmake -B build && cmake --build build --target pathfinder"
DECIDED = (
    _hecbench("merge-cuda", "4096 1"),
    _hecbench("ising-hip", "-x 256 -y 256 -w 1 -n 2"),
    _hecbench("ntt-cuda", "1"),
    _hecbench("jaccard-hip", "64 32 1"),
    _hecbench("romberg-hip", "128 64 1"),
    _polybench("linear-algebra/kernels/atax", "atax"),
    _polybench("stencils/jacobi-2d-imper", "jacobi2D"),
    Program(
        "gpu-rodinia/cuda/particlefilter",
        "make naive",
        "./particlefilter_naive -x 32 -y 32 -z 3 -np 256",
    ),
    Program(
        f"{SAMPLES_OF_CUDA}/2_Concepts_and_Techniques/threadFenceReduction",
        CMAKE,
        "./build/threadFenceReduction --n=65536",
    ),
    Program("altis", ALTIS, "./build/bin/level1/pathfinder --rows 64 --cols 4096"),
)
"""Ten more, decided before they were tried."""
NEXT = (
    _hecbench("fsm-hip", "4096"),
    _hecbench("lr-hip", "10000 0"),
    _hecbench("bitpermute-hip", "1"),
    _hecbench("linearprobing-hip", "16 8"),
    _hecbench("remap-cuda", "100000 1"),
    _hecbench("attentionMergeState-cuda", "64 8 128 1"),
    _polybench("linear-algebra/kernels/bicg", "bicg"),
    Program(
        f"{SAMPLES_OF_CUDA}/2_Concepts_and_Techniques/reduction",
        CMAKE,
        "./build/reduction --n=65536",
    ),
    Program("llm.c/dev/cuda/.", "make gelu_forward", "./gelu_forward 1"),
    Program("gpu-rodinia/cuda/hybridsort", "make", "./hybridsort r"),
)
"""Ten more of these, decided before they were tried."""
ALL = (
    PROGRAMS + DRAWN + OTHERS + FURTHER + LATER + LAST + FINAL + SHARING + UNTRIED + DECIDED + NEXT
)


def main(words: list[str]) -> int:
    """Runs all programs, or those that are named, and keeps their records."""
    checkouts, names = Path(words[0]), words[1:]
    known = json.loads(RECORDS.read_text("utf-8")) if RECORDS.exists() else []
    records: dict[str, Any] = {one["folder"]: one for one in known}
    for program in ALL:
        if not names or any(name in program.folder for name in names):
            records[program.folder] = run(program, checkouts)
            rows = [records[one.folder] for one in ALL if one.folder in records]
            RECORDS.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
            print(json.dumps(records[program.folder]), flush=True)
    return 0


def _processor_seconds() -> float:
    """Of all that was waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(program: Program, checkouts: Path) -> dict[str, Any]:
    """The outcome of a run with the program's own check as unit test."""
    place = checkouts / program.folder
    result = place / "swizzle.json"
    result.unlink(missing_ok=True)
    end = "&&" if program.check == Program.check else ";"  # its own exit status says nothing
    check = f"{program.command} > said.txt {end} {program.check}"
    command = [
        "intelliperf-swizzle", "-b", program.build, "--unittest_command", check,
        "--candidates", "20", "--num_attempts", "2", "-o", str(result),
        "--", *shlex.split(program.command),
    ]  # fmt: skip
    begun, before = time.monotonic(), _processor_seconds()
    log = place / "swizzle.log"
    with log.open("w") as output:
        try:
            ended = subprocess.run(
                command, cwd=place, stdout=output, stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS
            )
            exit_status = ended.returncode
        except subprocess.TimeoutExpired:
            exit_status = None
    message = log.read_text("utf-8").replace(f"{checkouts}/", "").splitlines()
    found = json.loads(result.read_text("utf-8")) if result.exists() else {}
    wanted = re.compile(r"Recommended|error:|hint:|note: not one|Caution|\S+ on \S+, modelled:")
    named = {name: getattr(program, name) for name in ("folder", "build", "command")}
    return named | {
        "commit": COMMIT,
        "seconds": round(time.monotonic() - begun),
        "processor_seconds": round(_processor_seconds() - before),
        "exit_status": exit_status,
        "kernel": found.get("kernel_name"),
        "said": [line for line in message if wanted.match(line)],
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
