# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""HIP projects are built by what they bring, without ROCm: CMake's language HIP, 16-bit floats."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from recorded_programs import record

import intelliperf_swizzle.frontends.cpp.compile.toolchain as tools
from intelliperf_swizzle.edit import PLACE
from intelliperf_swizzle.errors import SpliceError, SwizzleError, ValidationError
from intelliperf_swizzle.frontends.cpp.compile.gpu_builds import preload
from intelliperf_swizzle.frontends.cpp.language import HIP
from intelliperf_swizzle.frontends.cpp.trace.trace_slices import trace_here
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse

pytestmark = pytest.mark.hip
REVERSED = parse("pid = num_pids - 1 - pid")
CMAKE = """cmake_minimum_required(VERSION 3.21)
project(two LANGUAGES HIP CXX)
{find}
add_executable(halves halves.hip)
add_executable(sums sums.hip)
{link}
"""
PACKAGE = """find_package(hip REQUIRED)
if(NOT EXISTS "${HIP_HIPCC_EXECUTABLE}")
  message(FATAL_ERROR "no hipcc")
endif()"""
HALVES = """
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
#include <hip/hip_ext.h>
#include <hip/hip_cooperative_groups.h>
#include <cassert>
#include <cstdio>
#include <vector>

__device__ __attribute__((noinline)) void rest() { asm volatile("s_nop 1"); }
__global__ void unrelated() { rest(); }

__device__ __attribute__((noinline)) __half twice(__half x) { return __hmul(x, __float2half(2)); }
__global__ void scale(const __half* in, __hip_bfloat16* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(n == 256);
  const half2 x(in[i % n]), sum = x + x;
  auto tile = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
  unsigned ranks = tile.thread_rank();
  for (int by = 8; by; by /= 2) ranks += tile.shfl_xor(ranks, by);
  const bool same = tile.ballot(tile.thread_rank() < 3) == 7 && tile.all(ranks == 120);
  if (i >= n || !same || tile.meta_group_size() != 4) return;
  if (__hbeq2(sum, __hmul2(x, half2(2.0f))) && __hle(x.x, sum.y))
    out[i] = __float2bfloat16(__half2float(twice(in[i])));
}

int main() {
  const int n = 256;
  std::vector<__half> in(n);
  std::vector<__hip_bfloat16> out(n);
  for (int i = 0; i < n; i++) in[i] = i;
  __half* a;
  __hip_bfloat16* b;
  (void)hipMalloc(&a, n * sizeof *a);
  (void)hipMalloc(&b, n * sizeof *b);
  (void)hipMemcpy(a, in.data(), n * sizeof *a, hipMemcpyHostToDevice);
  hipEvent_t begin, end;
  (void)hipEventCreate(&begin);
  (void)hipEventCreate(&end);
  hipExtLaunchKernelGGL(scale, dim3(n / 64), dim3(64), 0, 0, begin, end, 0, a, b, n);
  (void)hipMemcpy(out.data(), b, n * sizeof *b, hipMemcpyDeviceToHost);
  for (int i = 0; i < n; i++)
    if (float(out[i]) != float(__hip_bfloat16(2.0f * i))) return 1 + i;
  return float(__hip_bfloat16(257.0f)) != 256.0f;  // ties to even
}
"""
MORE = """__global__ void count(int* out, int width) {
  out[blockIdx.x * width + threadIdx.x] = blockIdx.x;
#ifdef MORE
  out[0] = blockIdx.x;
#endif
}

int main() {"""
SUMS = "#include <thrust/device_vector.h>\nint main() {}\n"


@pytest.fixture(autouse=True)
def toolchain() -> None:
    if shutil.which("cmake") is None:
        pytest.skip("there is no cmake")
    try:
        found = tools.HipToolchain.find()
    except SwizzleError as error:
        if "does not compile" in error.fact:  # what we ship
            raise
        pytest.skip(f"{error.fact}: {error.hint}")
    if found.has_vendors:
        pytest.skip("ROCm is here")


def write(folder: Path, find: str = "", link: str = "") -> None:
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(CMAKE.format(find=find, link=link))
    (folder / "halves.hip").write_text(HALVES)
    (folder / "sums.hip").write_text(SUMS)


@pytest.mark.parametrize(
    "packages", [{}, {"find": PACKAGE, "link": "target_link_libraries(halves hip::device)"}],
    ids=["language", "package"],
)  # fmt: skip
def test_a_program_is_recorded_although_another_lacks_a_header(
    packages: dict[str, str], tmp_path: Path
) -> None:
    write(tmp_path / "project", **packages)
    build = "cmake -S . -B build && make -C build"
    done = record(tmp_path / "project", tmp_path / "records", ["./build/halves"], build)
    [launch] = done.capture.launches
    assert (launch.kernel, launch.grid[0]) == ("scale", 4)
    assert done.capture.exit_code == 0
    notes = " ".join(done.capture.notes)
    assert "thrust/device_vector.h" in notes
    assert "rocthrust" in notes


def test_another_program_may_have_the_same_kernel_and_none_of_other_code(tmp_path: Path) -> None:
    write(tmp_path / "project")
    calls = "count<<<4, 64>>>((int*)b, 32);\n  hipEvent_t begin"
    text = HALVES.replace("int main() {", MORE).replace("hipEvent_t begin", calls)
    (tmp_path / "project" / "halves.hip").write_text(text)
    (tmp_path / "project" / "sums.hip").write_text('#define MORE\n#include "halves.hip"\n')
    build = "cmake -S . -B build -DCMAKE_HIP_FLAGS=-O2 && make -C build"
    done = record(tmp_path / "project", tmp_path / "records", ["./build/halves"], build)
    count, scale = done.capture.launches
    assert trace_here(scale, tmp_path / "project").tiles == 4
    target, roots = load_target("mi300x"), [tmp_path / "project"]
    assert HIP.edit([scale], REVERSED, target, name="reversed", roots=roots).diff
    with pytest.raises(SpliceError) as refused:
        HIP.edit([count], REVERSED, target, name="reversed", roots=roots)
    assert "shares its source with `count of sums`" in refused.value.fact


def test_a_makefile_that_names_the_usual_place_of_rocm_finds_what_is_here(tmp_path: Path) -> None:
    write(tmp_path / "project")
    (tmp_path / "rocm.config").write_text("ROCM := /opt/rocm-6.2.4\n")
    (tmp_path / "project" / "Makefile").write_text(
        "include ../rocm.config\nHIPCC ?= $(ROCM)/bin/hipcc\nhalves: halves.hip\n"
        "\t$(HIPCC) --offload-arch=$(shell rocminfo | grep -m 1 -o 'gfx.*') $< -o $@\n"
    )
    done = record(tmp_path / "project", tmp_path / "records", ["./halves"], "make halves")
    assert done.capture.exit_code == 0


def test_a_program_whose_header_is_missing_is_refused_with_the_package(tmp_path: Path) -> None:
    write(tmp_path / "project")
    build = "cmake -S . -B build && make -C build"
    with pytest.raises(SwizzleError, match="build command failed") as refused:
        record(tmp_path / "project", tmp_path / "records", ["./build/sums"], build)
    assert "rocthrust-dev hipcc" in str(refused.value.hint)


def test_a_test_that_make_runs_is_run_on_the_stand_in(tmp_path: Path) -> None:
    """By the build, and again where the program is started by a shell, as a unit test is."""
    write(tmp_path / "project")
    (tmp_path / "project" / "Makefile").write_text(
        "all: halves\n\t./halves; test $$? -ne 127\n\tfalse\nhalves: halves.hip\n\thipcc $< -o $@\n"
    )
    command = ["sh", "-c", "./halves > said.txt && test -e said.txt"]
    done = record(tmp_path / "project", tmp_path / "records", command, "make")
    assert done.capture.exit_code == 0
    assert "Error 127" not in " ".join(done.capture.notes)


def test_a_header_that_lies_deeper_is_named_in_full(tmp_path: Path) -> None:
    (tmp_path / "app.cpp").write_text('#include "hip_runtime.h"\nint main() {}\n')
    with pytest.raises(SwizzleError, match="build command failed") as refused:
        record(tmp_path, tmp_path / "records", ["./app"], "hipcc app.cpp -o app")
    assert "`hip/hip_runtime.h`" in str(refused.value.hint)


def test_a_program_of_an_earlier_build_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write(project)
    build = "cmake -S . -B build && make -C build"
    record(project, tmp_path / "records", ["./build/halves"], build)
    shutil.copytree(tmp_path / "records" / "capture" / PLACE / "build", project / "build")
    (project / "halves.hip").write_text("this is no C++\n")
    with pytest.raises(SwizzleError, match="build command failed"):
        record(project, tmp_path / "again", ["./build/halves"], build)


def test_what_is_preloaded_is_compiled_once_by_a_compiler(tmp_path: Path) -> None:
    """For all folders; each language has its own."""
    (compiler := tmp_path / "g++").write_text(f"""#!/bin/sh
echo "$*" >> {tmp_path}/calls
for last; do :; done
echo "$*" > "$last"
""")
    compiler.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path / "cache"),
                   "LD_PRELOAD": "libother.so"}  # fmt: skip
    made = {}
    for name, language in {"a": "CUDA", "b": "CUDA", "c": "HIP"}.items():
        (folder := tmp_path / name).mkdir()
        library, other = preload(language, folder, environment)["LD_PRELOAD"].split(":")
        assert (Path(library).parent, other) == (folder, "libother.so")
        made[name] = Path(library).read_text()
    assert made["a"] == made["b"]
    assert ["-DFOR_HIP" in made[name] for name in made] == [False, False, True]
    assert len((tmp_path / "calls").read_text().splitlines()) == 2
    compiler.write_text("#!/bin/sh\necho no such header\nexit 1\n")
    environment |= {"LD_PRELOAD": "", "XDG_CACHE_HOME": str(tmp_path / "new")}
    with pytest.raises(ValidationError, match="does not compile") as caught:
        preload("CUDA", tmp_path, environment)
    assert caught.value.details == ("no such header",)
