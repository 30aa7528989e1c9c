# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""HIP programs are built, recorded and traced with no GPU, as native execution would."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from recorded_programs import Recorded, lines_of, record

import intelliperf_swizzle.frontends.cpp.compile.toolchain as tools
from intelliperf_swizzle.api import optimize
from intelliperf_swizzle.cache import ceiling
from intelliperf_swizzle.context.locality import hardware_context
from intelliperf_swizzle.errors import CaptureError, SpliceError, SwizzleError, TraceError
from intelliperf_swizzle.formulas import load_formula
from intelliperf_swizzle.frontends.cpp.language import HIP
from intelliperf_swizzle.frontends.cpp.record.device_code import read_kernel
from intelliperf_swizzle.frontends.cpp.trace.trace_slices import (
    access_digests,
    execute_slice,
    trace_here,
)
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.modelled import model_launches
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose.llm.prompt import proposal
from intelliperf_swizzle.records import TensorArgument
from intelliperf_swizzle.search.setup import choose_language

pytestmark = pytest.mark.hip
APPLICATION = Path(__file__).parent / "application"
EXAMPLES = Path(__file__).parents[2] / "benchmarks" / "hip"
FLAGS = "-O3 -std=c++17"
PROMPT_MI300X = replace(load_target("mi300x"), launch_us=0.0)
"""Launches take no time by themselves, so that what a small one saves counts."""


@pytest.fixture(scope="module", autouse=True)
def toolchain() -> tools.Toolchain:
    try:
        return tools.HipToolchain.find()
    except SwizzleError as error:
        if "does not compile" in error.fact:  # what we ship
            raise
        pytest.skip(f"{error.fact}: {error.hint}")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("hip")
    project = folder / "project"
    shutil.copytree(APPLICATION, project)
    return record(project, folder, ["./app"], "make")


TRACED = {
    "through_structure": 15, "sparse": 4, "rows_alone": 2, "one_line": 4, "by_variables": 6,
    "lane_sums": 4, "transposed": 12, "guarded": 8, "by_argument": 2, "copied": 1,
}  # fmt: skip
EXECUTED = {
    "gather": "a value in shared memory decides what is accessed",
    "binned": "a value in shared memory decides what is accessed",
    "packed": "a value of another lane decides what is accessed",
    "fused": "floating-point arithmetic decides what is accessed",
    "by_floats": "floating-point arithmetic decides what is accessed",
}


@pytest.mark.parametrize("kernel", [*TRACED, *EXECUTED])
def test_the_trace_has_the_lines_of_native_execution(recorded: Recorded, kernel: str) -> None:
    trace = recorded.trace(kernel)
    native = recorded.native[recorded.launch(kernel).ordinal]
    assert len(native) == trace.tiles == TRACED.get(kernel, trace.tiles)
    for tile, touched in native.items():
        assert np.array_equal(lines_of(trace, tile), np.unique(touched)), tile
    assert trace.tiles_outside == 0


@pytest.mark.parametrize("kernel", EXECUTED)
def test_what_only_threads_know_is_executed(recorded: Recorded, kernel: str) -> None:
    trace = recorded.trace(kernel)
    [note] = trace.notes
    assert f"{kernel} is traced by execution on the CPU: {EXECUTED[kernel]}" in note
    assert bool(trace.cautions) == (kernel == "fused")
    assert all("a GPU may round differently" in caution for caution in trace.cautions)


@pytest.mark.parametrize("kernel", TRACED)
def test_an_executed_slice_has_the_trace_of_an_interpreted_one(
    recorded: Recorded, kernel: str
) -> None:
    launch, trace = recorded.launch(kernel), recorded.trace(kernel)
    assert not trace.notes
    executed = execute_slice(launch, read_kernel(launch), "to compare")
    assert np.array_equal(access_digests(trace), access_digests(executed))
    assert executed.shared_writes == trace.shared_writes
    assert executed.order_matters == trace.order_matters


def test_native_execution_sees_a_wrong_address(recorded: Recorded) -> None:
    trace = recorded.trace("one_line")
    native = recorded.native[recorded.launch("one_line").ordinal]
    assert not np.array_equal(lines_of(trace, 0), np.unique(native[1]))


@pytest.mark.parametrize(
    ("kernel", "what", "text"),
    [
        ("ticket", "the result of an atomic", "atomicAdd(counter, 1)"),
        ("calling", "a function that is not inlined", "put(out, blockIdx.x"),
        ("by_table", "a function that is not inlined", "table[threadIdx.x % 2]"),
    ],
)
def test_what_cannot_be_followed_is_refused_by_line(
    recorded: Recorded, kernel: str, what: str, text: str
) -> None:
    source = recorded.project / "main.hip.cpp"
    lines = source.read_text(encoding="utf-8").splitlines()
    [line] = [number for number, source_line in enumerate(lines, 1) if text in source_line]
    with pytest.raises(TraceError) as refused:
        recorded.trace(kernel)
    assert what in refused.value.fact
    assert f"({source}:{line})" in refused.value.fact


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        ("racing", "depends on their order: a race"),
        ("in_step", "may be global points to shared memory"),
        ("rewritten", r"what the launch itself writes \(\S*main.hip.cpp:150\)"),
    ],
)
def test_what_the_order_of_threads_decides_is_refused(
    recorded: Recorded, kernel: str, why: str
) -> None:
    with pytest.raises(TraceError, match=why):
        recorded.trace(kernel)


def test_a_language_model_gets_the_unmodified_source(recorded: Recorded) -> None:
    traced = TracedLaunch(recorded.launch("transposed"), recorded.trace("transposed"), 8)
    target = load_target("mi300x")
    context = hardware_context(
        traced.launch, traced.trace, target, occupancy=8, launches=[traced.launch],
        baseline=model_launches([traced], [np.arange(12)], target),
        ceiling=ceiling([traced.trace], target, [1]),
    )  # fmt: skip
    question = proposal(load_formula("swizzle"), context, None, [], None)
    assert "You improve one HIP C++ kernel" in question.text
    assert "```cpp\n// Tiles" in question.text or "```cpp\n__global__" in question.text
    assert "int x = blockIdx.x * 32 + threadIdx.x" in question.text


def test_kernels_of_one_name_are_two(recorded: Recorded) -> None:
    files = [recorded.launch("twin", number).source.entry.file for number in (0, 1)]
    assert {Path(file).name for file in files} == {"main.hip.cpp", "second.hip.cpp"}
    assert recorded.trace("twin").tiles == 2
    assert recorded.capture.exit_code == 0


def test_a_launch_has_names_numbers_and_views(recorded: Recorded) -> None:
    sparse = recorded.launch("sparse")
    assert sparse.constants == {"rows": 200}
    assert list(sparse.arguments) == ["begin", "column", "value", "x", "y", "rows"]
    begin = sparse.arguments["begin"]
    assert isinstance(begin, TensorArgument)
    assert (begin.dtype, begin.shape) == ("int32", (201,))
    kept = [name for name, tensor in sparse.tensors() if sparse.storages[tensor.storage].contents]
    assert kept == ["begin", "column"]
    assert sparse.computed
    assert sparse.source.entry.file == str(recorded.project / "main.hip.cpp")
    assert sparse.source.entry.text.startswith("__global__ void sparse(")
    assert set(recorded.launch("through_structure").source.functions) == {
        "through_structure",
        "cell",
    }
    assert [launch.grid for launch in recorded.capture.launches if launch.kernel == "one_line"] == [
        (4, 1, 1),
        (2, 1, 1),
    ]


def test_the_project_stays_unchanged(recorded: Recorded) -> None:
    assert {path.name for path in recorded.project.iterdir()} == {
        path.name for path in APPLICATION.iterdir()
    }


def test_each_wave_touches_a_line_for_itself(recorded: Recorded) -> None:
    trace = recorded.trace("one_line")
    reads = [np.count_nonzero(trace.lines(0) == trace.lines(0)[0])]
    assert reads == [4]  # 256 threads are four waves


def test_threads_that_walk_along_rows_are_kept_by_sectors(recorded: Recorded) -> None:
    trace = recorded.trace("rows_alone")
    assert len(trace.access_base) == 2 * (64 // 8 + 1)  # 8 numbers a sector, and the store


def test_atomics_that_collide_are_seen(recorded: Recorded) -> None:
    assert recorded.trace("lane_sums").order_matters
    assert not recorded.trace("transposed").shared_writes


def test_the_build_is_read_from_the_code_object(recorded: Recorded) -> None:
    build = HIP.build(recorded.launch("transposed"), load_target("mi300x"))
    assert build.lds_bytes == 33 * 32 * 4
    assert build.num_warps == 4
    assert build.registers is not None
    assert 0 < build.registers <= 64


def test_what_was_built_before_is_refused_and_built_anew(
    toolchain: tools.Toolchain, tmp_path: Path
) -> None:
    (tmp_path / "probe.hip").write_text(tools.PROBE, encoding="utf-8")
    (tmp_path / "Makefile").write_text(f"probe: probe.hip\n\thipcc {FLAGS} probe.hip -o probe\n")
    plain = toolchain.build_environment({**os.environ}) | {
        "CCC_OVERRIDE_OPTIONS": "", "HIPCC_COMPILE_FLAGS_APPEND": "",
    }  # fmt: skip
    subprocess.run(["make"], cwd=tmp_path, env=plain, check=True, capture_output=True)
    subprocess.run(["strip", "probe"], cwd=tmp_path, check=True)
    assert choose_language(Options(), ["./probe"], tmp_path, Silent()).name == "HIP"
    with pytest.raises(CaptureError, match="probe was built without device bitcode") as refused:
        record(tmp_path, tmp_path / "first", ["./probe"], None)
    assert "--build_command" in str(refused.value.hint)
    again = record(tmp_path, tmp_path / "second", ["./probe"], "make")
    assert [launch.kernel for launch in again.capture.launches] == ["scale"]


def test_objects_in_an_archive_are_linked(tmp_path: Path) -> None:
    """Whatever plugins `ar` has: an older LLVM's does not read the bitcode that is kept."""
    text = tools.PROBE.replace(
        "int main() {", "int two();\nint main() {\n  if (two() != 2) return 9;"
    )
    (tmp_path / "probe.hip").write_text(text, encoding="utf-8")
    (tmp_path / "two.hip").write_text("int two() { return 2; }\n", encoding="utf-8")
    build = (
        "hipcc -c two.hip -o two.o && ar rcs libtwo.a two.o && hipcc probe.hip -o probe -L. -ltwo"
    )
    recorded = record(tmp_path, tmp_path / "records", ["./probe"], build)
    assert recorded.capture.exit_code == 0


def test_a_process_that_is_forked_makes_launches_again(tmp_path: Path) -> None:
    text = tools.PROBE.replace("int main() {", "#include <unistd.h>\nint main() {")
    launched = "scale<<<1, 256>>>(x, 2.0f, 256);"
    text = text.replace(launched, f"{launched}\n  if (!fork()) {launched}")
    (tmp_path / "probe.hip").write_text(text, encoding="utf-8")
    recorded = record(tmp_path, tmp_path / "records", ["./probe"], "hipcc probe.hip -o probe")
    assert [launch.kernel for launch in recorded.capture.launches] == ["scale"]


def test_managed_variables_are_of_host_and_gpu(tmp_path: Path) -> None:
    text = tools.PROBE.replace("__global__", "__managed__ float by[9], all[512];\n__global__", 1)
    text = text.replace("float by, int n", "int n").replace("x[i] *= by", "all[i] += by[8]")
    text = text.replace("(x, 2.0f, 256)", "(x, 256)").replace("int main() {", "int main() {\n"
        "  by[8] = 3;\n  all[255] = 1;")  # fmt: skip
    text = text.replace("return hipDevice", "return all[255] != 4 || hipDevice")
    (tmp_path / "probe.hip").write_text(text, encoding="utf-8")
    recorded = record(tmp_path, tmp_path / "records", ["./probe"], "hipcc probe.hip -o probe")
    assert recorded.capture.exit_code == 0
    assert trace_here(recorded.launch("scale"), tmp_path).tiles == 1


def test_a_cooperative_launch_is_refused(tmp_path: Path) -> None:
    """By a kernel's attribute, as by the call of its own."""
    text = tools.PROBE.replace(
        "scale<<<1, 256>>>(x, 2.0f, 256);",
        """
  float by = 2;
  int n = 256;
  void* given[] = {&x, &by, &n};
  hipLaunchAttribute attribute = {hipLaunchAttributeCooperative, {}, {}};
  attribute.val.cooperative = 1;
  hipLaunchConfig_t how = {dim3(1), dim3(256), 0, nullptr, &attribute, 1};
  (void)hipLaunchKernelExC(&how, (const void*)scale, given);
  how.numAttrs = 0, how.gridDim = dim3(2);
  (void)hipLaunchKernelExC(&how, (const void*)scale, given);
""",
    )
    (tmp_path / "probe.hip").write_text(text, encoding="utf-8")
    recorded = record(tmp_path, tmp_path / "records", ["./probe"], "hipcc probe.hip -o probe")
    assert [launch.grid for launch in recorded.capture.launches] == [(2, 1, 1)]
    assert "a cooperative launch was refused" in " ".join(recorded.capture.notes)


def test_a_call_that_is_unknown_is_named(tmp_path: Path) -> None:
    text = tools.PROBE.replace("int main() {", "int call();\nint main() {\n  call();")
    (tmp_path / "probe.hip").write_text(text, encoding="utf-8")
    caller = 'extern "C" int hipNewCall();\nint call() { return hipNewCall(); }\n'
    (tmp_path / "caller.cc").write_text(caller, encoding="utf-8")
    link = "-L. -lcaller -Wl,-rpath,. -Wl,--allow-shlib-undefined"
    library = "c++ -shared -fPIC caller.cc -o libcaller.so"
    build = f"{library} && hipcc probe.hip -o probe {link}"
    with pytest.raises(CaptureError, match="does not know `hipNewCall`") as refused:
        record(tmp_path, tmp_path / "records", ["./probe"], build)
    assert "report the name" in str(refused.value.hint)


def calls_rocblas(folder: Path, answer: int) -> str:
    """Writes a program that ends unless rocBLAS answers 0; returns the command that builds both."""
    call = 'extern "C" int rocblas_any();\nint main() {\n  if (rocblas_any()) return 2;'
    text = tools.PROBE.replace("int main() {", call)
    (folder / "probe.hip").write_text(text, encoding="utf-8")
    (folder / "blas.c").write_text(f"int rocblas_any() {{ return {answer}; }}\n", encoding="utf-8")
    library = "cc -shared -fPIC blas.c -Wl,-soname,librocblas.so.4"
    return f"{library} -o LIBRARY && hipcc probe.hip -o probe LIBRARY -Wl,-rpath,."


def test_a_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    build = calls_rocblas(tmp_path, 0).replace("LIBRARY", "librocblas.so")
    with pytest.raises(CaptureError, match=r"librocblas\.so\.4 was not found") as refused:
        record(tmp_path, tmp_path / "records", ["./probe"], build)
    assert "LD_LIBRARY_PATH" in str(refused.value.hint)


def test_a_library_that_works_on_a_gpu_alone_is_named(tmp_path: Path) -> None:
    build = calls_rocblas(tmp_path, 1).replace("LIBRARY", "librocblas.so.4")
    with pytest.raises(CaptureError, match="no HIP launch was recorded") as refused:
        record(tmp_path, tmp_path / "records", ["./probe"], build)
    assert "it calls rocblas, which needs a GPU" in str(refused.value.hint)


def test_a_compiler_that_keeps_no_bitcode_is_named(
    toolchain: tools.Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `hipcc` that calls clang without the variables of the build."""
    forgets = f"unset CCC_OVERRIDE_OPTIONS HIPCC_COMPILE_FLAGS_APPEND\nexec {toolchain.root}/bin/"
    (tmp_path / "hipcc").write_text(f'#!/bin/sh\nHIP_CLANG={toolchain.clang}\nexport HIP_CLANG\n'
                                    f'{forgets}hipcc "$@"\n', encoding="utf-8")  # fmt: skip
    (tmp_path / "hipcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = HIP.compiler(os.environ)
    assert found.gap == "it keeps no device bitcode with -fembed-bitcode"
    (tmp_path / "probe.hip").write_text(tools.PROBE, encoding="utf-8")
    with pytest.raises(CaptureError, match="although the build was asked to keep it") as refused:
        record(tmp_path, tmp_path / "records", ["./probe"], "hipcc probe.hip -o probe")
    assert "probe was built without device bitcode" in refused.value.fact
    assert "CCC_OVERRIDE_OPTIONS must reach clang" in str(refused.value.hint)


def test_what_is_not_optimised_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "probe.hip").write_text(tools.PROBE, encoding="utf-8")
    build = "hipcc -O0 probe.hip -o probe"
    with pytest.raises(TraceError, match="built with -O0"):
        record(project, tmp_path / "plain", ["./probe"], build).trace("scale")
    usual = record(project, tmp_path / "usual", ["./probe"], "hipcc probe.hip -o probe")
    assert len(usual.trace("scale").access_base) == 2  # a read and a write, of four waves


def test_a_function_of_another_translation_unit_is_refused(tmp_path: Path) -> None:
    """What it reads is in no module of the kernel, even if it decides values alone."""
    called = tools.PROBE.replace("x[i] *= by", "x[i] *= weight()")
    (tmp_path / "probe.hip").write_text(
        "__attribute__((device)) float weight();\n" + called, "utf-8"
    )
    weight = "#include <hip/hip_runtime.h>\n__device__ float weight() { return blockIdx.x; }\n"
    (tmp_path / "weight.hip").write_text(weight, encoding="utf-8")
    build = "hipcc -O2 -fgpu-rdc probe.hip weight.hip -o probe"
    probe = record(tmp_path, tmp_path / "records", ["./probe"], build)
    with pytest.raises(TraceError, match="calls `_Z6weightv` of another translation unit"):
        probe.trace("scale")


def test_a_stripped_program_keeps_what_is_needed(tmp_path: Path) -> None:
    (tmp_path / "probe.hip").write_text(tools.PROBE, encoding="utf-8")
    build = "hipcc -O2 probe.hip -o probe && strip probe"
    [launch] = record(tmp_path, tmp_path / "records", ["./probe"], build).capture.launches
    assert (launch.kernel, list(launch.arguments)) == ("scale", ["x", "by", "n"])


def test_without_a_clang_the_remedy_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="and there is none") as refused:
        tools.HipToolchain.find({"PATH": str(tmp_path), "ROCM_PATH": str(tmp_path)})
    assert refused.value.hint == tools.APT


def test_a_failed_build_shows_its_end(tmp_path: Path) -> None:
    (tmp_path / "wrong.hip").write_text("#include <thrust/device_vector.h>\n", encoding="utf-8")
    with pytest.raises(SwizzleError, match="failed with exit code") as refused:
        record(tmp_path, tmp_path / "records", ["./wrong"], "hipcc wrong.hip -o wrong")
    assert any("thrust/device_vector.h" in line for line in refused.value.details)
    assert "rocthrust" in str(refused.value.hint)


def test_a_search_finds_proves_compares_and_patches(tmp_path: Path) -> None:
    """The program's own check passes with the patch."""
    project = tmp_path / "project"
    project.mkdir()
    shutil.copy(EXAMPLES / "stencil.hip.cpp", project)
    build = f"hipcc {FLAGS} stencil.hip.cpp -o stencil"
    run = optimize(
        ["./stencil", "512", "2"], target=PROMPT_MI300X, project_directory=str(project),
        build_command=build, candidates=24, report_dir=str(tmp_path / "out"),
        unittest_command="./stencil 256 2",
    )  # fmt: skip
    assert run.kernel == "jacobi"
    assert run.best is not None
    assert run.best.measurement is not None
    assert run.best.measurement.l2_hit_rate > run.baseline.l2_hit_rate
    assert run.best.validation is not None
    assert run.best.validation.method == "all-tiles"
    assert run.best.validation.same_bits
    assert re.search(
        r"\d+ registers per thread.*, \d+ workgroups per CU", str(run.best.validation.build)
    )
    result = json.loads((tmp_path / "out" / "jacobi" / "result.json").read_text(encoding="utf-8"))
    assert result["success"]
    assert {path.name for path in project.iterdir()} == {"stencil.hip.cpp"}
    patch = ["git", "apply", str(tmp_path / "out" / "jacobi" / "best.patch")]
    subprocess.run(patch, cwd=project, check=True)
    assert (project / "stencil.hip.cpp").read_text(encoding="utf-8") == result["optimized"]
    patched = record(project, tmp_path / "patched", ["./stencil", "256", "2"], build).capture
    assert patched.exit_code == 0
    assert patched.last_lines[-1].startswith("PASSED after 2 steps")


def test_a_test_that_fails_with_the_swizzle_refuses_it(tmp_path: Path) -> None:
    """It is run on the program that was built with the patch."""
    shutil.copy(EXAMPLES / "stencil.hip.cpp", tmp_path)
    run = optimize(
        ["./stencil", "512", "1"], target=PROMPT_MI300X, project_directory=str(tmp_path),
        build_command=f"hipcc {FLAGS} stencil.hip.cpp -o stencil", candidates=8, num_attempts=1,
        kernel="jacobi", report_dir=str(tmp_path / "out"),
        unittest_command="./stencil 64 1 && ! grep -q swizzle_ stencil.hip.cpp",
    )  # fmt: skip
    assert run.best is None
    assert any("exit code 1" in attempt.verdict.reason for attempt in run.attempts)


def test_without_a_build_command_nothing_is_edited(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "stencil.hip.cpp", tmp_path)
    environment = tools.HipToolchain.find().build_environment(os.environ)
    build = ["hipcc", *FLAGS.split(), "stencil.hip.cpp", "-o", "stencil"]
    subprocess.run(build, cwd=tmp_path, env=environment, check=True, capture_output=True)
    launches = record(tmp_path, tmp_path / "records", ["./stencil", "64", "1"], None).capture
    [launch] = launches.launches[:1]
    trace = trace_here(launch, tmp_path)  # of the committed example: executed, it is the same
    executed = execute_slice(launch, read_kernel(launch), "to compare")
    assert np.array_equal(access_digests(trace), access_digests(executed))
    with pytest.raises(SpliceError, match="no build command is known"):
        HIP.edit(launches.launches[:1], parse("pid = num_pids - 1 - pid"), load_target("mi300x"),
                 name="reversed", roots=[tmp_path])  # fmt: skip
