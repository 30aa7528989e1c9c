# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Splice, build and validate real kernels; edits that cheat are refused."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launches_by_hand import (
    CONTIGUOUS,
    GROUPED,
    HEADER,
    REVERSED,
    atomics_launch,
    bare_trace,
    descriptors_launch,
    gemm_launch,
    helper_launch,
    indented_launch,
    launch_of,
    persistent_launch,
    transpose_launch,
    volume_launch,
    write_kernel,
)
from pytest_mock import MockerFixture

from intelliperf_swizzle.children import CallError, Ended, call_each
from intelliperf_swizzle.dependence import find_dependence, safe_order
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import ValidationError
from intelliperf_swizzle.frontends.triton.language import TRITON
from intelliperf_swizzle.frontends.triton.source import splice
from intelliperf_swizzle.frontends.triton.tracing import trace
from intelliperf_swizzle.frontends.triton.validate import compare
from intelliperf_swizzle.frontends.triton.validate.compare import validate
from intelliperf_swizzle.frontends.triton.validate.compare_child import EDITED, Request
from intelliperf_swizzle.frontends.triton.walk import CHILD_ENVIRONMENT
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.mapping import prove
from intelliperf_swizzle.records import (
    Launch,
    MappedLaunch,
    Proof,
    Storage,
    TensorArgument,
    Validation,
)
from intelliperf_swizzle.report.establish import validation as describe_validation

MI300X = load_target("mi300x")
ALL, SAMPLE = 60.0, 0.0
READ = {"a_ptr", "b_ptr", "x", "total"}


def proved(launch: Launch, text: str) -> Proof:
    proof = prove(
        parse(text),
        launch.grid,
        launch.constants,
        num_xcds=MI300X.num_xcds,
        cus_per_xcd=MI300X.cus_per_xcd,
    )
    assert isinstance(proof, Proof)
    return proof


def edited(launch: Launch, text: str) -> Edit:
    roots = [Path(launch.source.entry.file).parent]
    return TRITON.edit([launch], parse(text), MI300X, name="swizzle", roots=roots)


def validated(
    launch: Launch, edit: Edit, proof: Proof, budget_seconds: float, **flags: Any
) -> Validation:
    read = tuple(READ & set(launch.arguments))
    return validate(
        [MappedLaunch(launch, bare_trace(launch, read, **flags), proof.tile)],
        edit,
        tolerance=1e-5,
        budget_seconds=budget_seconds,
    )


@pytest.mark.parametrize(
    ("make", "text", "budget_seconds"),
    [
        (gemm_launch, GROUPED, ALL),
        (gemm_launch, CONTIGUOUS, SAMPLE),
        (transpose_launch, CONTIGUOUS, ALL),
        (transpose_launch, "pid_0 = grid_0 - 1 - pid_0", SAMPLE),
        (volume_launch, CONTIGUOUS, SAMPLE),
        (helper_launch, CONTIGUOUS, ALL),
        (helper_launch, REVERSED, SAMPLE),
        (persistent_launch, REVERSED, ALL),
        (descriptors_launch, CONTIGUOUS, SAMPLE),
        (indented_launch, CONTIGUOUS, ALL),
    ],
)
def test_right_swizzles_leave_the_same_bits(
    tmp_path: Path, make: Callable[[Path], Launch], text: str, budget_seconds: float
) -> None:
    launch = make(tmp_path)
    outcome = validated(launch, edited(launch, text), proved(launch, text), budget_seconds)
    assert outcome.difference is None
    assert outcome.same_bits
    assert outcome.rule == "bits"
    assert outcome.tiles == launch.programs
    if budget_seconds == ALL:
        assert outcome.method == "all-tiles"
        assert outcome.tiles_compared == launch.programs
    else:
        assert outcome.method == "ir-and-sample"
        assert 1 <= outcome.tiles_compared < launch.programs


def test_atomics_are_compared_within_the_tolerance(tmp_path: Path) -> None:
    launch = atomics_launch(tmp_path)
    outcome = compared_as_traced(launch)
    assert outcome.same_bits
    assert (outcome.rule, outcome.tolerance) == ("tolerance", 1e-5)
    strict = compared_as_traced(launch, order_matters=False)
    assert not strict.same_bits
    assert "`total` differs" in (strict.difference or "")


def compared_as_traced(launch: Launch, **flags: Any) -> Validation:
    traced = replace(trace(launch), **flags)
    return validate(
        [MappedLaunch(launch, traced, proved(launch, REVERSED).tile)],
        edited(launch, REVERSED),
        tolerance=1e-5,
        budget_seconds=ALL,
    )


SUMMED_AND_RACED = """
@triton.jit
def k(x, total, raced, B: tl.constexpr):
    pid = tl.program_id(0)
    tl.atomic_add(total, tl.sum(tl.load(x + pid * B + tl.arange(0, B))))
    tl.store(raced, 1.0 + pid * 1e-7)
"""


def test_beside_atomics_all_else_must_be_the_same_bits(tmp_path: Path) -> None:
    arguments = {"x": ("fp32", (20 * 16,)), "total": ("fp32", (1,)), "raced": ("fp32", (1,))}
    launch = launch_of(write_kernel(tmp_path, SUMMED_AND_RACED), "k", (20,), arguments, {"B": 16})
    outcome = compared_as_traced(launch, shared_writes=())
    assert not outcome.same_bits
    assert "`raced` differs" in (outcome.difference or "")


TINY = """
@triton.jit
def k(total, tail):
    tl.atomic_add(total + tl.program_id(0) % 3, 1e-9)
    tl.store(tail, 1)
"""


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [("1e-9)", "2e-9)", "`total[0]`"), ("tail, 1)", "tail, 2)", "`tail[0]`"), ("% 3", "% 3", "")],
)
def test_tiny_sums_and_what_lies_behind_them_are_compared(
    tmp_path: Path, old: str, new: str, differs: str
) -> None:
    launch = launch_of(write_kernel(tmp_path, TINY), "k", (20,), {"total": ("fp32", (3,))})
    np.save(tmp_path / "zeros.npy", np.zeros(13, np.uint8))
    tail = TensorArgument(0, "uint8", (1,), (1,), 12)
    launch = replace(
        launch,
        arguments={**launch.arguments, "tail": tail},
        storages={0: Storage(13, str(tmp_path / "zeros.npy"))},
    )
    edits = {launch.source.kernel: launch.source.entry.text.replace(old, new)}
    touched = frozenset({0})
    request = Request(
        launch, edits, np.arange(20), touched, touched, None,
        together=False, tolerance=1e-5, must_execute=True,
    )  # fmt: skip
    answers, error = call_each(
        "intelliperf_swizzle.frontends.triton.validate.compare_child:compare",
        [request],
        environment=CHILD_ENVIRONMENT,
        limit_seconds=60.0,
    )
    assert error is None
    found = answers[-1].difference or ""
    assert found.endswith(f"first at {differs}") if differs else not found


LOCKED = """
@triton.jit
def add_up(x, total, lock, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * B + at)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total + at, tl.load(total + at) + v)
    tl.atomic_xchg(lock, 0)
"""


def locked_launch(folder: Path) -> Launch:
    arguments = {"x": ("fp32", (20 * 16,)), "total": ("fp32", (16,)), "lock": ("int32", (1,))}
    launch = launch_of(write_kernel(folder, LOCKED), "add_up", (20,), arguments, {"B": 16})
    open_lock = folder / "lock.npy"
    np.save(open_lock, np.zeros(4, np.uint8))
    storages = {**launch.storages, 2: replace(launch.storages[2], contents=str(open_lock))}
    return replace(launch, storages=storages)


def test_programs_that_wait_are_all_run(tmp_path: Path) -> None:
    """By its trace, such a launch allows no permutation; were it run, it would be run whole."""
    launch = locked_launch(tmp_path)
    traced = trace(launch)
    assert traced.waits
    found = find_dependence(traced, launch)
    assert safe_order(found, proved(launch, "pid = pid").tile) is None
    assert "wait for each other" in (safe_order(found, proved(launch, REVERSED).tile) or "")
    edit, proof = edited(launch, "pid = pid"), proved(launch, "pid = pid")
    outcome = validate(
        [MappedLaunch(launch, traced, proof.tile)], edit, tolerance=1e-5, budget_seconds=SAMPLE
    )
    assert outcome.same_bits
    assert (outcome.method, outcome.tiles_compared) == ("all-tiles", 20)


LAST_WRITER = """
@triton.jit
def last_writer(x, y, last, B: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) * 2)
    tl.store(last, pid)
"""
HALO = """
@triton.jit
def halo(x, y, n, B: tl.constexpr, STEP: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * STEP + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at, mask=at < n) * (pid + 1), mask=at < n)
"""
PARTLY = """
@triton.jit
def partly(x, y, N: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(y + pid, pid)
    if (pid == 3) | (pid == 9):
        tl.store(y + N, pid)
"""
SIDE_BY_SIDE = """
@triton.jit
def row_sums(x, y, B: tl.constexpr):
    row = tl.program_id(0)
    tl.store(y + row, tl.sum(tl.load(x + row * B + tl.arange(0, B))))
"""


def as_traced(launch: Launch, budget_seconds: float) -> Validation:
    return validate(
        [MappedLaunch(launch, trace(launch), proved(launch, REVERSED).tile)],
        edited(launch, REVERSED),
        tolerance=0.0,
        budget_seconds=budget_seconds,
    )


@pytest.mark.parametrize("budget_seconds", [ALL, SAMPLE])
def test_programs_that_store_over_each_other_keep_their_order(
    tmp_path: Path, budget_seconds: float
) -> None:
    """Each sampled tile by itself stores the right bytes; which of them stay is another matter."""
    floats = {"x": ("fp32", (20 * 16,)), "y": ("fp32", (20 * 16,))}
    last = {**floats, "last": ("int32", (1,))}
    launch = launch_of(write_kernel(tmp_path, LAST_WRITER), "last_writer", (20,), last, {"B": 16})
    assert "same part of `last`" in (as_traced(launch, budget_seconds).difference or "")
    halo = launch_of(
        write_kernel(tmp_path, HALO), "halo", (20,), {**floats, "n": 300}, {"B": 16, "STEP": 15}
    )
    assert "same part of `y`" in (as_traced(halo, budget_seconds).difference or "")


def test_programs_that_store_over_each_other_somewhere_alone_keep_their_order(
    tmp_path: Path,
) -> None:
    arguments = {"x": ("fp32", (20,)), "y": ("int32", (65,))}
    launch = launch_of(write_kernel(tmp_path, PARTLY), "partly", (20,), arguments, {"N": 64})
    assert find_dependence(trace(launch), launch).chains.tolist() == [[3, 9]]


@pytest.mark.parametrize("budget_seconds", [ALL, SAMPLE])
def test_programs_that_store_side_by_side_may_go_anywhere(
    tmp_path: Path, budget_seconds: float
) -> None:
    arguments = {"x": ("fp16", (20, 16)), "y": ("fp16", (20,))}
    launch = launch_of(
        write_kernel(tmp_path, SIDE_BY_SIDE), "row_sums", (20,), arguments, {"B": 16}
    )
    assert as_traced(launch, budget_seconds).same_bits


def test_several_launches_are_each_compared(tmp_path: Path) -> None:
    first = gemm_launch(tmp_path)
    second = replace(first, grid=(20, 1, 1), arguments={**first.arguments, "M": 64, "N": 80})
    edit = splice(first.source, parse(GROUPED), target=MI300X, launches=[first, second])
    outcome = validate(
        [
            MappedLaunch(launch, trace(launch), proved(launch, GROUPED).tile)
            for launch in (first, second)
        ],
        edit,
        tolerance=0.0,
        budget_seconds=ALL,
    )
    assert outcome.same_bits
    assert (outcome.launches, outcome.tiles_compared, outcome.tiles) == (2, 55, 55)


def test_matrices_of_gigabytes_are_not_executed(tmp_path: Path) -> None:
    small = transpose_launch(tmp_path)
    n = 32768
    matrix = TensorArgument(0, "fp16", (n, n), (n, 1))
    launch = replace(
        small,
        grid=(n // 64, n // 64, 1),
        arguments={"x": matrix, "y": replace(matrix, storage=1), "M": n, "N": n, "B": 64},
        storages={0: Storage(2 * n * n), 1: Storage(2 * n * n)},
    )
    before_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # of any earlier child
    outcome = validated(launch, edited(launch, CONTIGUOUS), proved(launch, CONTIGUOUS), ALL)
    assert outcome.same_bits
    assert (outcome.method, outcome.tiles_compared) == ("ir-and-sample", 0)
    largest_child_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert largest_child_kib < max(1 << 20, before_kib + 1)


# --- cheats -----------------------------------------------------------------------------------


def with_text(launch: Launch, edit: Edit, old: str, new: str) -> Edit:
    """The edit with another text in the function and the file."""
    assert all(old in text for text in (*edit.functions.values(), *edit.files.values()))
    return replace(
        edit,
        functions={key: text.replace(old, new) for key, text in edit.functions.items()},
        files={path: text.replace(old, new) for path, text in edit.files.items()},
    )


def refusal(launch: Launch, edit: Edit, text: str, budget_seconds: float = SAMPLE) -> str:
    outcome = validated(launch, edit, proved(launch, text), budget_seconds)
    assert not outcome.same_bits
    assert outcome.difference
    return outcome.difference


def test_code_that_drops_a_tile_is_refused(tmp_path: Path) -> None:
    """The mapping of the text was proved, the emitted code computes another."""
    launch = gemm_launch(tmp_path)
    whole = edited(launch, REVERSED)
    edit = with_text(launch, whole, "1 - swizzle_pid", "1 - swizzle_pid // 2 * 2")
    assert "gives program 1 the program id 34 along axis 0, the proof 33" in refusal(
        launch, edit, REVERSED
    )


def test_axes_that_are_swapped_are_refused(tmp_path: Path) -> None:
    launch = transpose_launch(tmp_path)
    edit = with_text(
        launch, edited(launch, CONTIGUOUS), "= swizzle_pid_0, swizzle_pid_1",
        "= swizzle_pid_1, swizzle_pid_0",
    )  # fmt: skip
    assert "along axis" in refusal(launch, edit, CONTIGUOUS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mask=mask)\n", "mask=mask & (rows[:, None] > 0))\n"),  # leaves stale output
        ("c_ptr + rows[:, None] * N", "c_ptr + 1 + rows[:, None] * N"),  # writes elsewhere
        ("(rows[:, None] < M) & (inner", "(rows[:, None] < 1) & (inner"),  # reads less
        ("1 - swizzle_pid", "1 - swizzle_pid.to(tl.int64)"),  # overflows elsewhere, or not at all
        # Only program 17, which is not executed, goes wrong.
        ("c_ptr + rows[:, None] * N", "c_ptr + tl.where(pid == 17, 64, 0) + rows[:, None] * N"),
        ("(inner[None, :] < K)", "(inner[None, :] < tl.where(pid == 17, 1, K))"),
        # Nor does it touch anything else here: the number decides a value alone.
        ("accumulator.to(tl.float16)", "(accumulator + tl.program_id(0) // 34).to(tl.float16)"),
    ],
)
def test_other_changes_of_the_kernel_are_refused(tmp_path: Path, old: str, new: str) -> None:
    launch = gemm_launch(tmp_path)
    edit = with_text(launch, edited(launch, REVERSED), old, new)
    assert "`gemm` differs in more than its numbers" in refusal(launch, edit, REVERSED)


def test_a_kernel_that_keeps_its_program_id_is_refused(tmp_path: Path) -> None:
    launch = gemm_launch(tmp_path)
    edit = with_text(
        launch, edited(launch, REVERSED), "pid = swizzle_pid\n", "pid = tl.program_id(0)\n"
    )
    assert "gives program 0 the program id 0 along axis 0, the proof 34" in refusal(
        launch, edit, REVERSED
    )


def test_a_kernel_that_asks_the_hardware_where_it_runs_is_refused(tmp_path: Path) -> None:
    text = """
@triton.jit
def told(x):
    who = tl.inline_asm_elementwise(
        "mov.u32 $0, %ctaid.x;", "=r", [], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(x + tl.program_id(0), who)
"""
    launch = launch_of(write_kernel(tmp_path, text), "told", (8,), {"x": ("int32", (8,))})
    assert "inline assembly at" in refusal(launch, edited(launch, REVERSED), REVERSED)


def test_a_helper_that_keeps_the_old_program_id_is_refused(tmp_path: Path) -> None:
    text = """
@triton.jit
def my_column():
    return tl.program_id(1)


@triton.jit
def k(x, n):
    tl.store(x + tl.program_id(0) * n + my_column(), 1.0)
"""
    arguments = {"x": ("fp32", (6, 6)), "n": 6}
    launch = launch_of(write_kernel(tmp_path, text), "k", (6, 6), arguments)
    whole = edited(launch, REVERSED)
    assert len(whole.functions) == 2
    kernel = launch.source.kernel
    half = replace(whole, functions={kernel: whole.functions[kernel]})
    assert "along axis 1, the proof 5" in refusal(launch, half, REVERSED)


def test_what_is_validated_is_what_the_file_holds(tmp_path: Path) -> None:
    launch = gemm_launch(tmp_path)
    path = Path(launch.source.entry.file)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    edit = edited(launch, REVERSED)
    [text], [file] = edit.functions.values(), edit.files.values()
    assert text.replace("\n", "\r\n") in file
    assert "swizzle_new_pid" in text or "swizzle_pid" in text


# Cheats that the IR shows are shown to the comparison of bytes itself.


@pytest.fixture
def no_ir(mocker: MockerFixture) -> None:
    mocker.patch.object(compare, "_first_difference", return_value=None)


@pytest.mark.usefixtures("no_ir")
@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("mask=mask)\n", "mask=mask & (rows[:, None] > 0))\n", "`c_ptr` differs"),
        ("c_ptr + rows[:, None] * N", "a_ptr + rows[:, None] * N", "differs"),
        ("accumulator.to(tl.float16)", "accumulator.to(tl.float16) * 1.001", "`c_ptr` differs"),
        ("pid_m = first", "tl.store(a_ptr + pid, 0.0)\n    pid_m = first", "`a_ptr` differs"),
        ("pid_m = first", "undefined_name\n    pid_m = first", "swizzled kernel fails"),
    ],
)
def test_bytes_that_differ_are_seen(tmp_path: Path, old: str, new: str, names: str) -> None:
    launch = gemm_launch(tmp_path)
    edit = with_text(launch, edited(launch, REVERSED), old, new)
    assert names in refusal(launch, edit, REVERSED, ALL)


@pytest.mark.usefixtures("no_ir")
def test_bytes_that_differ_are_seen_in_a_sample(tmp_path: Path) -> None:
    launch = gemm_launch(tmp_path)
    edit = edited(launch, REVERSED)
    old = "accumulator.to(tl.float16)"
    assert "`c_ptr` differs" in refusal(
        launch, with_text(launch, edit, old, f"{old} * 1.001"), REVERSED
    )


@pytest.mark.usefixtures("no_ir")
def test_output_that_was_right_before_the_launch_does_not_help(tmp_path: Path) -> None:
    """A kernel that writes nothing leaves what an earlier run computed, were it not for poison."""
    text = """
@triton.jit
def double(x, y):
    pid = tl.program_id(0)
    tl.store(y + pid, tl.load(x + pid) * 2)
"""
    launch = launch_of(
        write_kernel(tmp_path, text), "double", (8,), {"x": ("fp32", (8,)), "y": ("fp32", (8,))}
    )
    x = np.arange(8, dtype=np.float32)
    storages = dict(launch.storages)
    for number, values in enumerate((x, 2 * x)):
        contents = tmp_path / f"{number}.npy"
        np.save(contents, values.view(np.uint8))
        storages[number] = replace(storages[number], contents=str(contents))
    launch = replace(launch, storages=storages)
    edit = edited(launch, REVERSED)
    assert validated(launch, edit, proved(launch, REVERSED), ALL).same_bits
    lazy = with_text(launch, edit, "* 2)", "* 2, mask=pid < 0)")
    assert "`y` differs" in refusal(launch, lazy, REVERSED, ALL)


def test_an_original_that_cannot_be_compiled_is_no_verdict(tmp_path: Path) -> None:
    text = """
@triton.jit
def broken(x):
    pid = tl.program_id(0)
    tl.store(x + pid, undefined_name)
"""
    header = HEADER + "undefined_name = object()\n"
    path = write_kernel(tmp_path, text, header)
    launch = launch_of(path, "broken", (8,), {"x": ("fp32", (8,))})
    with pytest.raises(ValidationError, match="`broken` cannot be compiled from its source"):
        validated(launch, edited(launch, REVERSED), proved(launch, REVERSED), ALL)


# --- the second witness -----------------------------------------------------------------------


def few(launch: Launch, edit: Edit, text: str) -> Validation:
    """One tile is executed."""
    return validate(
        [MappedLaunch(launch, trace(launch), proved(launch, text).tile)],
        edit,
        tolerance=0.0,
        budget_seconds=SAMPLE,
    )


def test_a_time_limit_leaves_fewer_executed_tiles_and_no_wrong_ones(
    tmp_path: Path, mocker: MockerFixture
) -> None:
    """A child that is cut off is played: how far a real one gets depends on the machine."""
    launch = gemm_launch(tmp_path)
    edit = edited(launch, REVERSED)
    assert few(launch, edit, REVERSED).tiles_compared == 1
    late = CallError(Ended(None, ""), f"{EDITED} 0")

    def cut_off(function: str, *given: Any, **options: Any) -> Any:
        if "numbers" in function:
            return call_each(function, *given, **options)
        return [], late

    mocker.patch.object(compare, "call_each", cut_off)
    outcome = few(launch, edit, REVERSED)
    assert outcome.same_bits
    assert (outcome.method, outcome.tiles_compared) == ("ir-and-sample", 0)
    assert "no outputs were compared" in describe_validation(outcome)
