# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""CUDA programs are built, recorded and traced with no GPU and no nvcc, as HIP's are."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from recorded_programs import Recorded, lines_of, record

import intelliperf_swizzle.frontends.cpp.code.inline_ptx as inline_ptx
import intelliperf_swizzle.frontends.cpp.compile.cuda_toolchain as tools
from intelliperf_swizzle.api import optimize
from intelliperf_swizzle.errors import CaptureError, SwizzleError, TraceError
from intelliperf_swizzle.frontends.cpp.compile.toolchain import PROBES
from intelliperf_swizzle.frontends.cpp.language import CUDA, HIP
from intelliperf_swizzle.frontends.cpp.record.device_code import read_kernel
from intelliperf_swizzle.frontends.cpp.trace.trace_slices import execute_slice
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.records import TensorArgument
from intelliperf_swizzle.search.setup import choose_language

pytestmark = pytest.mark.hip
APPLICATION = Path(__file__).parent / "cuda"
EXAMPLES = Path(__file__).parents[2] / "benchmarks" / "cuda"


@pytest.fixture(scope="module", autouse=True)
def toolchain() -> tools.CudaToolchain:
    try:
        return tools.CudaToolchain.find()
    except SwizzleError as error:
        if "does not compile" in error.fact:  # what we ship
            raise
        pytest.skip(f"{error.fact}: {error.hint}")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Two translation units, by a makefile that names a folder, device code to link and a static
    library."""
    folder = tmp_path_factory.mktemp("cuda")
    shutil.copytree(APPLICATION, folder / "project")
    return record(folder / "project", folder, ["./app"], "make", CUDA)


TRACED = {
    "through_structure": 15, "sparse": 4, "one_line": 4, "by_variables": 6, "by_lane": 4,
    "warp_sums": 4, "passed": 2, "transposed": 12, "votes": 2, "halves": 2, "shorts": 2,
    "streamed": 4, "gather": 1, "packed": 4, "by_value": 3,
}  # fmt: skip


@pytest.mark.parametrize("kernel", TRACED)
def test_the_trace_has_the_lines_of_native_execution(recorded: Recorded, kernel: str) -> None:
    trace = recorded.trace(kernel)
    native = recorded.native[recorded.launch(kernel).ordinal]
    assert len(native) == trace.tiles == TRACED[kernel]
    for tile, touched in native.items():
        assert np.array_equal(lines_of(trace, tile), np.unique(touched)), tile
    assert trace.tiles_outside == 0
    executed = ("gather", "packed", "by_lane", "passed", "halves")  # threads or floats decide
    assert bool(trace.notes) == (kernel in executed)


def test_warps_have_32_lanes_that_exchange_what_they_hold(recorded: Recorded) -> None:
    """128 ones: a warp's sum is 32, thrice more from other lanes, and 1 for the votes.

    Of 64 threads 32 are odd, not all are below 50 and one is 9; 32 pairs of halves add up to 404.
    """
    assert recorded.capture.last_lines[-1] == "516 516 129 404 refused"
    trace = recorded.trace("one_line")
    assert np.count_nonzero(trace.lines(0) == trace.lines(0)[0]) == 8  # 256 threads


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        ("by_assembly", "inline assembly that accesses memory"),
        ("clustered", "its workgroups are in clusters (`__cluster_dims__`)"),
    ],
)
def test_what_is_not_known_here_is_refused(recorded: Recorded, kernel: str, what: str) -> None:
    with pytest.raises(TraceError) as refused:
        recorded.trace(kernel)
    assert what in refused.value.fact


def test_what_is_not_recorded_is_named(recorded: Recorded) -> None:
    notes = "\n".join(recorded.capture.notes)
    assert "a texture is not recorded" in notes
    assert "a launch of clusters was refused" in notes
    assert re.search(r"`asm` \(\S*main\.cu:\d+\) is the GPU's alone", notes)
    grids = [launch.grid for launch in recorded.capture.launches if launch.kernel == "one_line"]
    assert grids == [(4, 1, 1), (2, 1, 1)]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("#include <cublas_v2.h>", "pip install nvidia-cublas (0.5 GB)"),
        ("#include <helper_cuda.h>", "NVIDIA/cuda-samples"),
        ("int of(cudaDeviceProp p) { return p.clockRate; }", "toolkit of CUDA 12"),
        ("__managed__ int x;\n__global__ void k(int* y) { *y = x; }", "app.cu:1: clang knows no"),
    ],
)
def test_what_does_not_compile_is_refused_with_the_remedy(
    text: str, remedy: str, tmp_path: Path
) -> None:
    (tmp_path / "app.cu").write_text(f"{text}\n", encoding="utf-8")
    request = RecordRequest(
        command=["./app"], cwd=tmp_path, folder=tmp_path / "records",
        build_command="nvcc app.cu -o app",
    )  # fmt: skip
    with pytest.raises(SwizzleError, match="build command failed") as refused:
        CUDA.record(request)
    assert remedy in str(refused.value.hint)


def test_libraries_of_packages_are_found_by_the_linker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "site" / "nvidia" / "cu99" / "lib" / "libcuwanted.so.7"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.syspath_prepend(tmp_path / "site")
    root = tools.CudaToolchain.find({**os.environ, "XDG_CACHE_HOME": str(tmp_path)}).root
    for name in ("libcuwanted.so", library.name):
        assert (root / "lib64" / name).resolve() == library


def test_one_process_executes_both_dialects(tmp_path: Path) -> None:
    """Each on its own stand-in, whichever came before."""
    recorded = []
    for language, probe, compiler in (
        (HIP, PROBES["HIP"], "hipcc"),
        (CUDA, PROBES["CUDA"], "nvcc"),
    ):
        project = tmp_path / language.name
        project.mkdir()
        (project / "probe.cu").write_text(probe, encoding="utf-8")
        build = f"{compiler} -x {language.name.lower()} probe.cu -o probe"
        recorded.append(record(project, project / "records", ["./probe"], build, language))
    for program in recorded * 2:
        launch = program.launch("scale")
        trace = execute_slice(launch, read_kernel(launch), "to compare")
        assert np.array_equal(lines_of(trace, 0), np.unique(program.native[0][0]))


@pytest.mark.parametrize(
    "text",
    [
        "@p add.s32 $0, $1, 1;",  # a predicate of nothing
        "setp.eq.s32 p, $1, 0; @p ld.global.b32 $0, [$1];",
        "ld.global.s32 $0, [$1 + 4];",
        "ld.global.b16 $0, [$1];",  # wider than what is read
        "shl.b32 $0, $1, 40;",
        "add.s32 $0, $1, other;",
        "add.s32 other, $1, 1;",  # without a result
        "mov.b32 {$0, low, high}, $1;",
    ],
)
def test_assembly_that_is_not_known_stays_assembly(text: str) -> None:
    assert inline_ptx.function("one", text, "i32", ["i32"], "=r,r", kept=False) is None
    assert inline_ptx.function("one", "add.s32 $0, $1, 1;", "i32", ["i32"], "=r,r", kept=False)


WARP_SUM = r"""
#include <cstdio>
__global__ void sums(float* y) {
  float x = threadIdx.x;
  for (int off = 1; off < 32; off *= 2)
    asm volatile("{ .reg .f32 r; .reg .pred p; shfl.sync.down.b32 r|p, %0, %1, 31, 0xffffffff;"
                 "  @p add.f32 r, r, %0; @!p mov.f32 r, %0; mov.f32 %0, r; }" : "+f"(x) : "r"(off));
  y[blockIdx.x * 32 + threadIdx.x] = x;
}
int main() {
  float *y, host[64];
  cudaMalloc(&y, sizeof host);
  sums<<<2, 32>>>(y);
  cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; i++) if (host[i] != (i % 32 + 31) * (32 - i % 32) / 2) return 1;
}
"""


def test_a_shuffle_reports_whether_there_is_such_a_lane(tmp_path: Path) -> None:
    """As CUB reduces a warp: the sum of a lane and all above it."""
    (tmp_path / "warp.cu").write_text(WARP_SUM, encoding="utf-8")
    recorded = record(tmp_path, tmp_path / "records", ["./warp"], "nvcc -O2 warp.cu -o warp", CUDA)
    assert recorded.capture.launches[0].computed
    assert recorded.capture.exit_code == 0


FUNCTIONS = r"""
#include <cuda_fp16.h>
#include <iterator>
using namespace std;
int data = time(nullptr) < 0;  // C++17 has `std::data`, too; nvcc includes `time.h`
typedef unsigned U;
__global__ void known(const U* in, U* out, U* cells) {
  const int k = threadIdx.x;
  const U a = in[k], b = in[k + 32], c = in[k + 64];
  out += 7 * k;
  out[0] = __byte_perm(a, b, c);
  out[1] = __sad((int)a, (int)b, c);
  out[2] = __usad(a, b, c);
  out[3] = __dp4a((int)a, (int)b, (int)c);
  out[4] = __dp4a(a, b, c);
  out[5] = __half2float(hfloor(__float2half(k / 3.f)));
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(out[6]) : "r"(a), "r"(b), "r"(c));
  atomicAdd_system(cells, 3);
  atomicAdd_block(cells + 1 + blockIdx.x, k);
  atomicOr_system(cells + 3, 1u << k);
}
int main() {
  U in[96], out[224], cells[4], *din, *dout, *dcells, seed = 1;
  for (U& one : in) one = seed = seed * 1664525u + 1013904223u;
  cudaMemAdvise(in, sizeof in, cudaMemAdviseSetReadMostly, 0); cudaMemPrefetchAsync(in, 4, 0);
  cudaMalloc(&din, sizeof in); cudaMalloc(&dout, sizeof out); cudaMalloc(&dcells, sizeof cells);
  cudaMemset(dcells, 0, sizeof cells);
  cudaMemcpy(din, in, sizeof in, cudaMemcpyHostToDevice);
  known<<<2, 32>>>(din, dout, dcells);
  cudaMemcpy(out, dout, sizeof out, cudaMemcpyDeviceToHost);
  cudaMemcpy(cells, dcells, sizeof cells, cudaMemcpyDeviceToHost);
  U bad = cells[0] != 192 || cells[1] != 496 || cells[2] != 496 || cells[3] != -1u;
  for (int k = 0; k < 32; k++) {
    const U a = in[k], b = in[k + 32], c = in[k + 64];
    const int x = a, y = b;
    const unsigned long long both = (unsigned long long)b << 32 | a;
    U want[7] = {0, (x > y ? a - b : b - a) + c, (a > b ? a - b : b - a) + c, c, c, (U)k / 3, 0};
    for (int i = 0; i < 32; i += 8) {
      const U p = a >> i & 255, q = b >> i & 255;
      const int s = (signed char)p, t = (signed char)q;
      const int byte = (signed char)(both >> 8 * (c >> i / 2 & 7));
      want[0] |= (U)(byte & 255) << i;
      want[6] |= (U)((c >> i / 2 & 8 ? byte >> 7 : byte) & 255) << i;
      want[3] += s * t;
      want[4] += p * q;
    }
    for (int i = 0; i < 7; i++)
      if (out[7 * k + i] != want[i]) bad |= 2, printf("%d %x %x\n", i, out[7 * k + i], want[i]);
  }
  return bad + data;
}
"""


def test_device_functions_yield_what_they_should(tmp_path: Path) -> None:
    """Bytes, distances, products, halves, and atomics with a scope, next to C++ on the host."""
    (tmp_path / "known.cu").write_text(FUNCTIONS, encoding="utf-8")
    build = "nvcc -O2 -std=c++14 -arch=sm_90 known.cu -o known"
    recorded = record(tmp_path, tmp_path / "records", ["./known"], build, CUDA)
    assert recorded.capture.launches[0].computed
    assert recorded.capture.exit_code == 0


def test_a_launch_has_names_numbers_and_views(recorded: Recorded) -> None:
    sparse = recorded.launch("sparse")
    assert sparse.constants == {"rows": 200}
    assert list(sparse.arguments) == ["begin", "column", "value", "x", "y", "rows"]
    begin = sparse.arguments["begin"]
    assert isinstance(begin, TensorArgument)
    assert (begin.dtype, begin.shape) == ("int32", (201,))
    assert set(recorded.launch("through_structure").source.functions) == {
        "through_structure",
        "cell",
    }


def test_the_build_is_what_ptxas_says(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # without nvcc
    build = CUDA.build(recorded.launch("transposed"), load_target("h200"))
    assert build.lds_bytes == 33 * 32 * 4
    assert build.num_warps == 8
    assert build.registers is not None
    assert 8 < build.registers <= 64
    assert build.scalar_registers is None


def test_a_target_of_another_vendor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SwizzleError, match="CUDA programs do not run on the target mi300x"):
        optimize(["./probe"], target="mi300x", project_directory=str(_probe(tmp_path)))


def _probe(folder: Path) -> Path:
    """A program that was built, by the user."""
    (folder / "probe.cu").write_text(PROBES["CUDA"], encoding="utf-8")
    toolchain = tools.CudaToolchain.find()
    build = [str(toolchain.root / "bin" / "nvcc"), "probe.cu", "-o", "probe"]
    environment = toolchain.build_environment(os.environ)
    subprocess.run(build, cwd=folder, env=environment, check=True)
    assert choose_language(Options(), ["./probe"], folder, Silent()).name == "CUDA"
    return folder


def test_an_environment_that_goes_takes_no_toolchain_of_others_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = Path(sys.executable)
    (tmp_path / "python").symlink_to(python)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    theirs = tools.CudaToolchain.find({**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")})
    (tmp_path / "python").unlink()
    monkeypatch.setattr(sys, "executable", str(python))
    assert tools.CudaToolchain.find().root.name != theirs.root.name
    _probe(tmp_path)


@pytest.mark.parametrize("builder", ["clang", "cmake"])
def test_what_else_builds_cuda_is_recorded(tmp_path: Path, builder: str) -> None:
    """By clang with the static library of a toolkit, and by CMake's language with code to link."""
    (tmp_path / "probe.cu").write_text(PROBES["CUDA"], encoding="utf-8")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE, encoding="utf-8")
    clang = "clang++ -O2 --cuda-gpu-arch=sm_80 probe.cu -o probe -L/usr/local/cuda/lib64"
    build = f"{clang} -lcudart_static -ldl -pthread"
    if builder == "cmake":
        if shutil.which("cmake") is None:
            pytest.skip("there is no cmake")
        build = "cmake -S . -B . && cmake --build ."
    [launch] = record(tmp_path, tmp_path / "records", ["./probe"], build, CUDA).capture.launches
    assert (launch.kernel, list(launch.arguments)) == ("scale", ["x", "by", "n"])


CMAKE = """cmake_minimum_required(VERSION 3.18)
project(probe LANGUAGES CXX CUDA)
add_executable(probe probe.cu)
set_target_properties(probe PROPERTIES CUDA_SEPARABLE_COMPILATION ON CUDA_STANDARD 17)
"""


def test_without_a_toolkit_the_headers_are_tritons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_toolkits", lambda environment: iter(()))
    found = CUDA.compiler(os.environ)
    assert found.gap is None
    assert "Triton's headers of CUDA" in str(found.found)


def test_what_nvcc_itself_has_built_is_refused(tmp_path: Path) -> None:
    """Its fat binary is there, and no bitcode is in it."""
    source = tmp_path / "probe.c"
    fat = '__attribute__((section(".nv_fatbin"))) const char fat[64] = "\\x50\\xed\\x55\\xba";'
    source.write_text(f"{fat}\nint main(void) {{ return fat[1]; }}\n", encoding="utf-8")
    subprocess.run(["cc", "probe.c", "-o", "probe"], cwd=tmp_path, check=True)
    assert choose_language(Options(), ["./probe"], tmp_path, Silent()).name == "CUDA"
    with pytest.raises(CaptureError, match="probe was built without device bitcode") as refused:
        record(tmp_path, tmp_path / "records", ["./probe"], None, CUDA)
    assert "--build_command" in str(refused.value.hint)
    with pytest.raises(CaptureError, match="no program with device code") as refused:
        record(tmp_path, tmp_path / "records", ["./probe"], None, HIP)
    assert "its device code is for CUDA: --target h200" in str(refused.value.hint)


@pytest.mark.parametrize(("build", "name"), [("nvcc app.cu -o app", "CUDA"), ("make app", "HIP")])
def test_where_sources_are_of_both_kinds_the_build_command_says_which(
    build: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "app.cu").write_text(PROBES["CUDA"], encoding="utf-8")
    (tmp_path / "app.cpp").write_text(PROBES["HIP"], encoding="utf-8")
    chosen = choose_language(Options(build_command=build), ["./app"], tmp_path, Silent())
    assert chosen.name == name


def test_names_of_hip_that_a_program_gives_cudas_meaning_are_cuda(tmp_path: Path) -> None:
    names = ("Malloc", "Success", "DeviceSynchronize")
    aliases = "".join(f"#define hip{name} cuda{name}\n" for name in names)
    text = PROBES["HIP"].replace("#include <hip/hip_runtime.h>\n", aliases)
    (tmp_path / "app.cu").write_text(text, encoding="utf-8")
    chosen = choose_language(Options(build_command="make app"), ["./app"], tmp_path, Silent())
    assert chosen.name == "CUDA"


def test_a_search_finds_proves_compares_and_patches(tmp_path: Path) -> None:
    """It takes less time by the model; the program's own check passes with the patch."""
    project = tmp_path / "project"
    project.mkdir()
    shutil.copy(EXAMPLES / "heat.cu", project)
    run = optimize(
        ["./heat", "64", "1"], project_directory=str(project),
        target=replace(load_target("h200"), launch_us=0.0),
        build_command="nvcc -O3 -std=c++17 heat.cu -o heat", candidates=24,
        report_dir=str(tmp_path / "out"), unittest_command="./heat 32 2",
    )  # fmt: skip
    assert run.target == "h200"
    assert run.best is not None
    assert run.best.measurement is not None
    assert run.best.measurement.modelled_time_ms is not None
    assert run.baseline.modelled_time_ms is not None
    assert run.best.measurement.modelled_time_ms < run.baseline.modelled_time_ms
    assert run.best.validation is not None
    assert run.best.validation.method == "all-tiles"
    assert run.best.validation.same_bits
    assert run.best.proof is not None
    assert run.best.proof.condition == "grid_0 == 2 and grid_1 == 8 and grid_2 == 64"
    result = json.loads((tmp_path / "out" / "heat" / "result.json").read_text(encoding="utf-8"))
    assert result["success"]
    patch = ["git", "apply", str(tmp_path / "out" / "heat" / "best.patch")]
    subprocess.run(patch, cwd=project, check=True)
    assert (project / "heat.cu").read_text(encoding="utf-8") == result["optimized"]
