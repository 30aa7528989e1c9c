# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Memory, instances and updates of C++: known, or refused by name."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle.dependence import find_dependence, safe_order
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import SpliceError, TraceError
from intelliperf_swizzle.frontends.cpp.language import HIP
from intelliperf_swizzle.frontends.cpp.trace.terms import bitwise, of
from intelliperf_swizzle.frontends.cpp.trace.trace_slices import trace_here
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.records import Launch, MappedLaunch, Trace, Validation

pytestmark = pytest.mark.hip
BANDS = parse("pid = min(pid // 2, num_pids // 2 - 1) + pid % 2 * (num_pids // 2)")


@pytest.fixture(scope="module")
def launches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Launch]:
    """The program's launches by kernel, recorded once; a header lies beside its folder."""
    if (compiler := HIP.compiler(os.environ)).found is None:
        pytest.skip(f"{compiler.gap}: {compiler.command}")
    folder = tmp_path_factory.mktemp("known")
    shutil.copytree(Path(__file__).parent / "known", folder / "project")
    (folder / "beside").mkdir()
    (folder / "beside" / "width.h").write_text("#define WIDTH 64u\n")
    recording = RecordRequest(
        command=["./app"], cwd=folder / "project", folder=folder / "capture",
        target=load_target("mi300x"), build_command="make",
    )  # fmt: skip
    return {launch.kernel: launch for launch in HIP.record(recording).launches}


def trace_of(launch: Launch) -> Trace:
    return trace_here(launch, Path())


def edit_of(launch: Launch) -> Edit:
    roots = [Path(launch.source.entry.file).parent]
    return HIP.edit([launch], BANDS, load_target("mi300x"), name="bands", roots=roots)


def reversal_of(launch: Launch) -> str | None:
    order = np.arange(launch.programs)[::-1].copy()
    return safe_order(find_dependence(trace_of(launch), launch), order)


def validation_of(launch: Launch) -> Validation:
    pid = np.arange(launch.programs)
    half = launch.programs // 2
    tile = np.minimum(pid // 2, half - 1) + pid % 2 * half
    mapped = [MappedLaunch(launch, trace_of(launch), tile)]
    return HIP.validate(mapped, edit_of(launch), tolerance=0.0, budget_seconds=20.0)


@pytest.mark.parametrize(
    ("kernel", "shared"),
    [
        ("chained", "`table[0]`"),
        ("by_number", "`at`"),
        ("counted", "`cell`"),
        ("counted_wide", "`cell`"),
        ("counted_apart", "`cell`"),
    ],
)
def test_what_comes_from_workgroup_to_workgroup_keeps_its_order(
    launches: dict[str, Launch], kernel: str, shared: str
) -> None:
    assert "would be launched in the opposite order" in str(reversal_of(launches[kernel]))
    assert shared in str(reversal_of(launches[kernel]))


@pytest.mark.parametrize("kernel", ["by_order", "by_page", "by_hash"])
def test_accesses_that_an_addresss_number_decides_are_refused_by_line(
    launches: dict[str, Launch], kernel: str
) -> None:
    with pytest.raises(TraceError, match=r"where buffers lie decides what is accessed \(\S+:\d+\)"):
        trace_of(launches[kernel])


def test_addresses_that_are_compared_within_a_buffer_decide_nothing(
    launches: dict[str, Launch],
) -> None:
    assert reversal_of(launches["by_alignment"]) is None


def test_atomics_that_hand_data_over_at_some_size_are_known(launches: dict[str, Launch]) -> None:
    names = ("counted", "counted_wide", "counted_and_read", "counted_alike", "voted", "batched")
    found = [name for name in names if trace_of(launches[name]).hands_over]
    assert found == ["counted", "counted_wide", "counted_and_read"]


def test_device_variables_that_decide_are_known(launches: dict[str, Launch]) -> None:
    found = {name: trace_of(launches[name]).by_variables for name in ("moved", "gated", "apart")}
    assert found == {"moved": True, "gated": False, "apart": False}


def test_what_no_recorded_launch_stores_is_known(launches: dict[str, Launch]) -> None:
    names = ("gated", "counted_and_read", "chained", "claimed", "voted", "batched", "moved")
    unseen = {name: trace_of(launches[name]).unseen for name in names}
    found = {name: sum(" = " not in place for place in places) for name, places in unseen.items()}
    assert {name: count for name, count in found.items() if count} == {
        "gated": 2, "counted_and_read": 2,
    }  # fmt: skip


def test_what_brings_workgroups_together_at_a_larger_size_is_known(
    launches: dict[str, Launch],
) -> None:
    """Bounds, choices, sums and branches; what lanes do that store nothing does not count."""
    names = ("apart", "clamped", "chosen", "pitched", "crossed", "branched", "rounded_up",
             "in_place", "in_place_of_struct", "in_place_of_variable")  # fmt: skip
    found = {name: [*map(_step, trace_of(launches[name]).unseen)] for name in names}
    assert found.pop("apart") == []
    assert {name: set(steps) for name, steps in found.items()} == {
        "clamped": {"llvm.smin.i32"}, "chosen": {"icmp", "select"}, "pitched": {"add"},
        "crossed": {"xor"}, "branched": {"icmp", "_Z8branchedPi:18"}, "rounded_up": {"srem"},
        "in_place": {"and"}, "in_place_of_struct": {"and"}, "in_place_of_variable": {"and"},
    }  # fmt: skip


def _step(unseen: str) -> str:
    found = re.search(r"= (?:tail call [^@]+@)?([\w.]+)", unseen)
    return found[1] if found else unseen


@pytest.mark.parametrize("kernel", ["pushed", "claimed_twice"])
def test_what_a_thread_may_find_stored_decides_nothing(
    launches: dict[str, Launch], kernel: str
) -> None:
    with pytest.raises(TraceError, match=r"what the launch itself writes \(\S*main.hip.cpp:\d+\)"):
        trace_of(launches[kernel])


@pytest.mark.parametrize("kernel", ["beside", "claimed", "counted_alike", "batched", "voted"])
def test_what_shares_no_byte_or_commutes_comes_in_any_order(
    launches: dict[str, Launch], kernel: str
) -> None:
    assert reversal_of(launches[kernel]) is None


def test_what_lies_in_no_allocation_is_refused_by_line(launches: dict[str, Launch]) -> None:
    with pytest.raises(
        TraceError, match=r"memory outside the program's allocations \(.*main.hip.cpp:32\)"
    ):
        trace_of(launches["beyond"])


def test_stores_that_floats_place_keep_their_order(launches: dict[str, Launch]) -> None:
    refusal = str(reversal_of(launches["stored_by_float"]))
    assert "computes addresses with floating-point arithmetic" in refusal
    assert "a GPU may round differently" in refusal
    assert reversal_of(launches["loaded_by_float"]) is None


def test_what_shared_memory_held_before_is_not_relied_on(launches: dict[str, Launch]) -> None:
    difference = str(validation_of(launches["finds_left"]).difference)
    assert difference.endswith("of `out`, as it reads shared memory that it has not written")
    with pytest.raises(TraceError, match="shared memory that is read before it is written"):
        trace_of(launches["goes_by_left"])
    assert validation_of(launches["leaves_out"]).difference is None


STOPPED = """
#include <hip/hip_runtime.h>
#include <cstdlib>
__global__ void gated(int* cells, const int* chain) {
  if (*chain) cells[blockIdx.x + 1] = cells[blockIdx.x] + 1;
  else cells[blockIdx.x] = 1;
}
int main(int, char** arguments) {
  int *cells, *chain;
  hipMalloc(&cells, 4096), hipMalloc(&chain, 4);
  hipMemset(cells, 0, 4096), hipMemset(chain, 0, 4);
  gated<<<64, 1>>>(cells, chain);
  return atoi(arguments[1]);
}
"""


@pytest.mark.long
@pytest.mark.parametrize(("status", "unknown"), [("0", False), ("1", True)])
def test_what_a_program_that_failed_would_have_launched_is_unknown(
    tmp_path: Path, status: str, unknown: bool
) -> None:
    if (compiler := HIP.compiler(os.environ)).found is None:
        pytest.skip(f"{compiler.gap}: {compiler.command}")
    project = tmp_path / "project"
    project.mkdir()
    (project / "app.hip.cpp").write_text(STOPPED)
    request = RecordRequest(
        command=["./app", status], cwd=project, folder=tmp_path / "capture",
        target=load_target("mi300x"), build_command="hipcc -O2 app.hip.cpp -o app",
    )  # fmt: skip
    [launch] = HIP.record(request).launches
    refusal = str(reversal_of(launch))
    assert ("accesses depend on `chain`" in refusal) is unknown
    assert (refusal == "None") is not unknown


@pytest.mark.parametrize("kernel", ["batched", "moved"])
def test_the_edited_program_does_the_same(launches: dict[str, Launch], kernel: str) -> None:
    """Under `-Wshadow -Wsign-conversion -Werror`, with parameters named `min` and `max`."""
    found = validation_of(launches[kernel])
    assert (found.difference, found.method) == (None, "all-tiles")


def test_a_workgroup_that_votes_reads_its_number_from_block_idx_alone(
    launches: dict[str, Launch],
) -> None:
    assert "const dim3 blockIdx(" in edit_of(launches["voted"]).diff


def test_a_truth_value_that_is_computed_and_widened_is_0_or_1() -> None:
    some, others = (of(np.array(values)) for values in ([0, 1, 1], [1, 1, 0]))
    assert bitwise("and", some, others, 1).array().ravel().tolist() == [0, 1, 0]


def test_an_edit_is_limited_to_the_recorded_instances(launches: dict[str, Launch]) -> None:
    """By all arguments that tell them apart, and by no others."""
    text = edit_of(launches["moved"]).diff
    assert "swizzle_applies = (__is_same(T, float) && mode == Mode::plain)" in text.replace(
        "static_cast<long long>(mode) == 0", "mode == Mode::plain"
    )
    with pytest.raises(SpliceError, match=r"`packed` shares its source with `packed<Here, Here>`"):
        edit_of(launches["packed"])
