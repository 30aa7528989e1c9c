# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""C++ that a patch may easily get wrong: patched right and compared, or refused by name."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle.edit import Edit, unified_diff
from intelliperf_swizzle.errors import SpliceError, TraceError
from intelliperf_swizzle.frontends.cpp import validate as gates
from intelliperf_swizzle.frontends.cpp.language import CUDA, HIP
from intelliperf_swizzle.frontends.cpp.record.preparing import make_edited
from intelliperf_swizzle.frontends.cpp.validate import compare_bytes
from intelliperf_swizzle.frontends.ports import KernelLanguage, RecordRequest
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.records import Capture, Launch, MappedLaunch, Validation
from intelliperf_swizzle.search.examine import _by_kernel

pytestmark = pytest.mark.hip
HOSTILE = Path(__file__).parent / "hostile"
REVERSED = parse("pid = num_pids - 1 - pid")
LANGUAGES: Mapping[str, KernelLanguage] = {"HIP": HIP, "CUDA": CUDA}
on_hip = pytest.mark.parametrize("program", ["HIP"], indirect=True)
on_both = pytest.mark.parametrize("program", LANGUAGES, indirect=True)
PATCHED = ("in_macro", "in_lambda", "striding", "two_readers", "sorted", "in_struct",
           "in_another_file", "hands_over")  # fmt: skip


@dataclass(frozen=True)
class Program:
    """The recorded program, built for HIP or for CUDA."""

    language: KernelLanguage
    project: Path
    capture: Capture
    traced: dict[str, list[MappedLaunch]] = field(default_factory=dict)

    def launches(self, kernel: str) -> list[Launch]:
        return [launch for launch in self.capture.launches if launch.kernel == kernel]

    def edit(self, kernel: str) -> Edit:
        target = load_target(self.language.default_target)
        launches, roots = self.launches(kernel), [self.project]
        return self.language.edit(launches, REVERSED, target, name="reversed", roots=roots)

    def mapped(self, kernel: str) -> list[MappedLaunch]:
        if kernel not in self.traced:
            self.traced[kernel] = [
                MappedLaunch(
                    launch, self.language.trace(launch), np.arange(launch.programs)[::-1].copy()
                )
                for launch in self.launches(kernel)
            ]
        return self.traced[kernel]

    def validate(self, kernel: str, edit: Edit | None = None) -> Validation:
        mapped, edit = self.mapped(kernel), edit or self.edit(kernel)
        return self.language.validate(mapped, edit, tolerance=0.0, budget_seconds=20.0)

    def edit_by_hand(self, edit: Edit, old: str, new: str) -> Edit:
        [(file, text)] = edit.files.items()
        assert text.count(old) == 1
        files = {file: text.replace(old, new)}
        diff = unified_diff(edit.before, files, self.project)
        return replace(edit, files=files, diff=diff)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Program]:
    """The program of a language, recorded once."""

    @functools.cache
    def recorded(name: str) -> Program:
        language = LANGUAGES[name]
        if (compiler := language.compiler(os.environ)).found is None:
            pytest.skip(f"{compiler.gap}: {compiler.command}")
        folder = tmp_path_factory.mktemp("hostile")
        shutil.copytree(HOSTILE, folder / "project")
        recording = RecordRequest(
            command=["./app"], cwd=folder / "project", folder=folder / "capture",
            target=load_target(language.default_target), build_command=f"make {name}",
        )  # fmt: skip
        return Program(language, folder / "project", language.record(recording))

    return recorded


@pytest.fixture
def program(request: pytest.FixtureRequest, programs: Callable[[str], Program]) -> Program:
    return programs(request.param)


@pytest.mark.parametrize(
    ("program", "kernel"),
    [
        *(("HIP", name) for name in (*PATCHED, "twice", "told")),
        *(("CUDA", name) for name in ("sorted", "asserted", "voted", "told")),
    ],
    indirect=["program"],
)
def test_a_patch_is_the_original_renumbered(program: Program, kernel: str) -> None:
    validation = program.validate(kernel)
    assert validation.difference is None
    assert validation.same_bits
    assert validation.method == "all-tiles"
    assert validation.launches == (2 if kernel == "twice" else 1)


REFUSED = (
    ("uses_helper", "`shared_helper` reads `blockIdx` and is used by `uses_it_too` too"),
    ("shares_a_header", "`row_of_others` reads `blockIdx` and is named in "),
    ("low", "`low` shares its source with `high`, which was not recorded"),
    (
        "captures_nothing",
        "a lambda with the captures `[]` that reads `blockIdx`, and would not see",
    ),
    ("uses_template", "main.hip.cpp:79 too, where another kernel may use it"),
    ("begins", "`Begins` reads `blockIdx` before its body, where no line can be put"),
    ("given", "`Given` reads `blockIdx` before its body, where no line can be put"),
    ("defaults", "`by_default` reads `blockIdx` before its body, where no line can be put"),
)


@pytest.mark.parametrize(
    ("program", "kernel", "why"),
    [
        *((language, *case) for language in LANGUAGES for case in REFUSED),
        ("HIP", "by_intrinsic", "through `__builtin_amdgcn_workgroup_id_x`"),
        ("HIP", "by_group", "through `group_index`"),
        ("CUDA", "by_intrinsic", "through `nvvm.read.ptx.sreg.ctaid.x`"),
        ("CUDA", "by_register", "through `inline assembly`"),
        ("CUDA", "by_value_in_assembly", "through `inline assembly`"),
    ],
    indirect=["program"],
)
def test_what_cannot_be_patched_is_refused_by_line(program: Program, kernel: str, why: str) -> None:
    with pytest.raises(SpliceError) as refused:
        program.edit(kernel)
    assert why in refused.value.fact


@on_both
@pytest.mark.parametrize("kernel", ["ticket", "last_block"])
def test_what_the_order_of_workgroups_decides_is_not_traced(program: Program, kernel: str) -> None:
    with pytest.raises(TraceError, match="the result of an atomic decides what is accessed"):
        program.mapped(kernel)


@on_both
def test_a_workgroup_that_waits_for_another_one_is_not_traced(program: Program) -> None:
    with pytest.raises(TraceError, match=r"until memory changes \(\S*:127\), which"):
        program.mapped("turnstile")
    with pytest.raises(TraceError, match=r"reads what the launch itself writes \(\S*:135\), which"):
        program.mapped("jumps")


@pytest.mark.parametrize(
    ("program", "kernel", "why"),
    [
        (
            "CUDA",
            "by_processor",
            r"it uses `llvm.nvvm.read.ptx.sreg.smid`, which is not known here (",
        ),
        ("CUDA", "by_clock", "it uses `llvm.nvvm.read.ptx.sreg.clock64`"),
    ],
    indirect=["program"],
)
def test_what_shows_when_or_where_a_workgroup_runs_is_refused(
    program: Program, kernel: str, why: str
) -> None:
    with pytest.raises(TraceError) as refused:
        program.mapped(kernel)
    assert why in refused.value.fact


@on_both
def test_workgroups_that_update_what_others_read_keep_their_order(program: Program) -> None:
    validation = program.validate("in_place")
    assert not validation.same_bits
    assert "would be launched in the opposite order" in str(validation.difference)


@on_both
@pytest.mark.parametrize("kernel", ["reads_own", "reads_its_own"])
def test_variables_of_two_files_are_not_taken_for_one(program: Program, kernel: str) -> None:
    assert program.validate(kernel).same_bits


@on_both
def test_a_variable_goes_by_its_name_in_the_source(program: Program) -> None:
    assert "touch the same part of `kept`" in str(program.validate("to_variable").difference)


@on_both
def test_a_reader_that_decides_values_alone_is_not_missed(program: Program) -> None:
    """Neither the mapping nor any trace shows it."""
    edit = program.edit("two_readers")
    [text] = edit.files.values()
    store = next(row for row in text.split("\n") if "out[first() +" in row)
    unpatched = program.edit_by_hand(edit, store, store.replace("= blockIdx", "= ::blockIdx"))
    mapped = program.mapped("two_readers")
    folder = make_edited(program.capture.folder, unpatched)
    assert gates._trace_difference(mapped, folder) is None
    validation = program.validate("two_readers", unpatched)
    assert "reads the number that the launch gives it" in str(validation.difference)
    _, difference = compare_bytes(mapped, folder, 5.0)
    assert "leaves other bytes at byte 2816 of `out`" in str(difference)


@on_both
def test_a_text_that_is_included_twice_is_one_kernel_whose_helper_gets_the_number(
    program: Program,
) -> None:
    [launches] = [
        group for group in _by_kernel(program.capture.launches) if group[0].kernel == "low"
    ]
    assert [launch.kernel for launch in launches] == ["low", "high"]
    swizzle = parse("pid = where(limit < 100, num_pids - 1 - pid, pid)")
    target = load_target(program.language.default_target)
    edit = program.language.edit(
        launches, swizzle, target, name="reversed", roots=[program.project]
    )
    assert "int own_row(const dim3 blockIdx, int width)" in edit.diff
    assert "out[own_row(blockIdx, 64) + threadIdx.x]" in edit.diff
    mapped = [*program.mapped("low"), *program.mapped("high")]
    validation = program.language.validate(mapped, edit, tolerance=0.0, budget_seconds=20.0)
    assert (validation.same_bits, validation.method) == (True, "all-tiles")


@on_hip
def test_equality_of_traces_shows_a_reader_that_was_missed(program: Program) -> None:
    edit = program.edit("two_readers")
    missed = program.edit_by_hand(edit, "return blockIdx.x * 64; }", "return ::blockIdx.x * 64; }")
    folder = make_edited(program.capture.folder, missed)
    difference = gates._trace_difference(program.mapped("two_readers"), folder)
    assert "program 0 touches something else than tile" in str(difference)
    assert not program.validate("two_readers", missed).same_bits


@on_hip
def test_a_patch_is_taken_by_git_and_by_patch(program: Program, tmp_path: Path) -> None:
    edit = program.edit("twice")
    for command in (["git", "apply"], ["patch", "-p1"]):
        project = tmp_path / command[0]
        shutil.copytree(program.project, project)
        subprocess.run(command, input=edit.diff, text=True, cwd=project, check=True)
        [text] = edit.files.values()
        assert (project / "main.hip.cpp").read_text(encoding="utf-8") == text


@on_hip
def test_a_file_that_was_changed_since_is_refused(program: Program, tmp_path: Path) -> None:
    source = program.project / "main.hip.cpp"
    text = source.read_text(encoding="utf-8")
    try:
        source.write_text(text.replace("in[at] + 1", "in[at] + 2"), encoding="utf-8")
        with pytest.raises(SpliceError, match="has changed since `striding` was recorded"):
            program.edit("striding")
    finally:
        source.write_text(text, encoding="utf-8")
