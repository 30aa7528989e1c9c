# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A swizzle is put into a kernel's source: minimal, format-preserving, or refused with the line."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from launches_by_hand import (
    CONTIGUOUS,
    GROUPED,
    HEADER,
    HELPER,
    REVERSED,
    TRANSPOSE,
    gemm_launch,
    helper_launch,
    launch_of,
    persistent_launch,
    transpose_launch,
    volume_launch,
    write_kernel,
)
from pytest_mock import MockerFixture

from intelliperf_swizzle.edit import Edit, apply
from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.frontends.triton.language import TRITON
from intelliperf_swizzle.frontends.triton.source import splice
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.records import Launch

MI300X = load_target("mi300x")


def spliced(launch: Launch, text: str = REVERSED, root: Path | None = None) -> Edit:
    return splice(
        launch.source,
        parse(text),
        target=MI300X,
        launches=[launch],
        name="sample",
        roots=[root] if root else [],
    )


def one_axis(folder: Path, body: str, header: str = HEADER, **constexprs: int) -> Launch:
    """A 1-D kernel `k(x, n, …)` with this body."""
    names = "".join(f", {name}: tl.constexpr" for name in constexprs)
    path = write_kernel(folder, f"\n@triton.jit\ndef k(x, n{names}):\n{body}\n", header)
    return launch_of(path, "k", (10,), {"x": ("fp32", (10,)), "n": 10}, constexprs)


def removed_and_added(edit: Edit) -> tuple[list[str], list[str]]:
    lines = edit.diff.split("\n")[2:]
    return (
        [line[1:] for line in lines if line.startswith("-")],
        [line[1:] for line in lines if line.startswith("+")],
    )


def test_gemm_changes_one_line_and_adds_a_named_block(tmp_path: Path) -> None:
    edit = spliced(gemm_launch(tmp_path), GROUPED)
    removed, added = removed_and_added(edit)
    assert removed == ["    pid = tl.program_id(axis=0)"]
    assert added[0] == "    # swizzle sample for mi300x"
    assert added[-1] == "    pid = swizzle_pid.to(tl.int32)"


def test_a_name_stays_on_the_line_of_its_comment(tmp_path: Path) -> None:
    launch = gemm_launch(tmp_path)
    name = "best\n    tl.store(a_ptr, 0.0)\r\f\u2028" + "!" * 100
    edit = splice(launch.source, parse(REVERSED), target=MI300X, launches=[launch], name=name)
    _, added = removed_and_added(edit)
    assert added[0] == f"    # swizzle best tl.store(a_ptr, 0.0) {'!' * 34} for mi300x"
    assert added[1:] == removed_and_added(spliced(launch))[1][1:]


@pytest.mark.parametrize("make", [transpose_launch, volume_launch, persistent_launch])
def test_outside_the_block_only_reads_change(tmp_path: Path, make: object) -> None:
    launch = make(tmp_path)  # type: ignore[operator]
    removed, added = removed_and_added(spliced(launch, CONTIGUOUS))
    assert all("program_id" in line for line in removed)
    kept = added[-len(removed) :]
    assert all("program_id" not in line for line in kept)
    assert "num_programs" not in "".join(removed) or "num_programs" in "".join(kept)


@pytest.mark.parametrize(
    ("ending", "last", "indent"),
    [("\n", "\n", "    "), ("\r\n", "\r\n", "    "), ("\n", "", "\t"), ("\r\n", "", "  ")],
)
@pytest.mark.parametrize("tool", [["git", "apply"], ["patch", "-p1", "-i"]])
def test_the_diff_applies_and_keeps_the_format(
    tmp_path: Path, ending: str, last: str, indent: str, tool: list[str]
) -> None:
    if shutil.which(tool[0]) is None:
        pytest.skip(f"no {tool[0]}")
    text = HEADER + TRANSPOSE.replace("    ", indent).rstrip("\n")
    path = tmp_path / "a folder" / "app.py"
    path.parent.mkdir()
    path.write_bytes((text.replace("\n", ending) + last).encode())
    arguments = {"x": ("fp32", (75, 110)), "y": ("fp32", (110, 75)), "M": 75, "N": 110}
    launch = launch_of(path, "transpose", (5, 7), arguments, {"B": 16})
    edit = spliced(launch, root=tmp_path)
    patch = tmp_path / "best.patch"
    patch.write_bytes(edit.diff.encode())
    subprocess.run([*tool, str(patch)], cwd=tmp_path, check=True, capture_output=True)
    after = path.read_bytes()
    assert after.decode() == edit.files[str(path)]
    assert after.count(b"\r") == (after.count(b"\n") if ending == "\r\n" else 0)
    assert after.endswith(b"mask=mask)" + last.encode())
    assert f"{indent}swizzle_pid".encode() in after


@pytest.mark.parametrize("tool", [["git", "apply"], ["patch", "-p1", "-i"]])
def test_the_diff_names_any_file(tmp_path: Path, tool: list[str]) -> None:
    names = [
        *(
            'a "quoted" name.py',
            "back\\slash.py",
            "tab\there.py",
            "line\nend.py",
            "cr\r.py",
            " lead.py",
        ),
        *(
            "trail.py ",
            "-dash.py",
            "a/b/x.py",
            "é ü.py",
            "\u2028.py",
            "k.py\t2026-01-01",
            "$x `y`.py",
        ),
    ]
    launch = one_axis(tmp_path, "    tl.store(x + tl.program_id(0), 1.0)")
    before = Path(launch.source.entry.file).read_text()
    project = tmp_path / "project"
    for name in names:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before)
        entry = replace(launch.source.entry, file=str(path))
        source = replace(launch.source, functions={launch.source.kernel: entry})
        edit = spliced(replace(launch, source=source), root=project)
        patch = tmp_path / "best.patch"
        patch.write_bytes(edit.diff.encode())
        subprocess.run([*tool, str(patch)], cwd=project, check=True, capture_output=True)
        assert path.read_text() == edit.files[str(path)] != before


def test_a_file_outside_the_project_is_patched_where_it_lies(tmp_path: Path) -> None:
    kernel = HEADER + "\n@triton.jit\ndef k(x):\n    tl.store(x + tl.program_id(0), 1.0)\n"
    package = tmp_path / "site-packages" / "rows"
    (package / "ops").mkdir(parents=True)
    for path in (package, package / "ops"):
        (path / "__init__.py").touch()
    (package / "ops" / "norm.py").write_text(kernel)
    (tmp_path / "linked.py").write_text(kernel)
    (tmp_path / "project").mkdir()
    link = tmp_path / "project" / "linked.py"
    link.symlink_to(tmp_path / "linked.py")

    def diff(file: Path) -> str:
        launch = launch_of(file, "k", (10,), {"x": ("fp32", (10,))})
        return spliced(launch, root=tmp_path / "project").diff

    assert "+++ b/rows/ops/norm.py" in diff(package / "ops" / "norm.py")
    assert "+++ b/linked.py" in diff(link)  # the file itself, beside the link


def test_a_name_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    launch = one_axis(tmp_path, "    tl.store(x + tl.program_id(0), 1.0)")
    entry = replace(launch.source.entry, file=str(tmp_path / "k\udcff.py"))
    source = replace(launch.source, functions={launch.source.kernel: entry})
    assert "k\\udcff.py is not UTF-8" in refused(replace(launch, source=source))


def test_a_helper_that_only_some_launches_use_is_refused(tmp_path: Path) -> None:
    """Two kernels made from one text; both are edited, whatever they call."""
    text = """
@triton.jit
def zero():
    return 0


@triton.jit
def mine():
    return tl.program_id(0)


def make(row):
    @triton.jit
    def k(x):
        tl.store(x + tl.program_id(0) + row(), 1.0)

    return k


first, second = make(zero), make(mine)
"""
    path = write_kernel(tmp_path, text)
    first, second = (
        launch_of(path, name, (10,), {"x": ("fp32", (20,))}) for name in ("first", "second")
    )
    with pytest.raises(SpliceError, match=r":11: `mine` reads .* in some launches"):
        splice(first.source, parse(REVERSED), target=MI300X, launches=[first, second])


def test_a_byte_order_mark_stays(tmp_path: Path) -> None:
    body = "    tl.store(x + tl.program_id(0), 1.0)"
    launch = one_axis(tmp_path, body, "\ufeff" + HEADER)
    (text,) = spliced(launch).files.values()
    assert text.startswith("\ufeffimport triton")
    assert "x + swizzle_pid" in text


def test_an_indented_and_decorated_kernel_among_namesakes(tmp_path: Path) -> None:
    text = """
@triton.jit
def k(x):
    tl.store(x + tl.program_id(0), 1.0)


first = k

if True:
    @triton.autotune(configs=[triton.Config({"B": 1}, num_warps=4)], key=[])
    @triton.jit
    def k(x, B: tl.constexpr):  # the second
        tl.store(x + tl.program_id(0), 2.0)
"""
    launch = launch_of(write_kernel(tmp_path, text), "k", (10,), {"x": ("fp32", (10,))}, {"B": 1})
    edit = spliced(launch)
    after = next(iter(edit.files.values()))
    assert "tl.store(x + tl.program_id(0), 1.0)" in after
    assert "        tl.store(x + swizzle_pid, 2.0)" in after
    assert "\n        # swizzle sample for mi300x\n" in after
    assert edit.functions[launch.source.kernel].startswith("@triton.autotune")


@pytest.mark.parametrize(
    ("header", "read"),
    [
        (HEADER, "tl.program_id(0).to(tl.int64)"),
        (HEADER, "tl.program_id(\n        axis=0,\n    )"),
        (HEADER + "import triton.language\n", "triton.language.program_id(0)"),
        (HEADER + "from triton.language import program_id\n", "program_id(0)"),
        (HEADER + "from triton.language import program_id as where_am_i\n", "where_am_i(axis=0)"),
    ],
)
def test_every_spelling_of_a_read(tmp_path: Path, header: str, read: str) -> None:
    launch = one_axis(tmp_path, f"    at = {read} + 0\n    tl.store(x + at, 1.0)", header)
    text = spliced(launch).functions[launch.source.kernel]
    after_block = text[text.index("    at = ") :]
    assert "program_id" not in after_block
    assert "where_am_i" not in text
    assert "swizzle_pid" in after_block


def test_a_kernel_whose_module_names_no_triton_is_refused(tmp_path: Path) -> None:
    header = "from triton import jit\nfrom triton.language import program_id, store\n\n\n"
    path = write_kernel(tmp_path, "@jit\ndef k(x):\n    store(x + program_id(0), 1.0)\n", header)
    launch = launch_of(path, "k", (10,), {"x": ("fp32", (10,))})
    with pytest.raises(SpliceError, match=r"no name for `triton.language`"):
        spliced(launch)


def test_several_reads_and_text_beside_them(tmp_path: Path) -> None:
    body = '    s = "é", tl.program_id(0), tl.program_id(0)  # ü program_id(0)\n    tl.store(x, n)'
    launch = one_axis(tmp_path, body)
    removed, added = removed_and_added(spliced(launch))
    assert removed == ['    s = "é", tl.program_id(0), tl.program_id(0)  # ü program_id(0)']
    assert added[-1] == '    s = "é", swizzle_pid, swizzle_pid  # ü program_id(0)'


def test_names_of_the_kernel_are_not_taken(tmp_path: Path) -> None:
    launch = one_axis(tmp_path, "    swizzle_pid = tl.program_id(0)\n    tl.store(x, swizzle_pid)")
    text = spliced(launch).functions[launch.source.kernel]
    assert "    swizzle_pid = swizzle2_pid\n" in text


def test_the_block_stands_before_an_argument_changes(tmp_path: Path) -> None:
    launch = one_axis(tmp_path, "    n = n // 2\n    pid = tl.program_id(0)\n    tl.store(x, pid)")
    text = spliced(launch, "pid = (pid + n) % num_pids").functions[launch.source.kernel]
    assert text.index("# swizzle") < text.index("n = n // 2") < text.index("pid = swizzle_pid")


def test_a_named_axis_is_patched_for_its_recorded_value(tmp_path: Path) -> None:
    launch = one_axis(tmp_path, "    tl.store(x + tl.program_id(WHICH), 1.0)", WHICH=0)
    _, added = removed_and_added(spliced(launch))
    assert added[1:3] == ["    swizzle_pid = tl.program_id(WHICH)", "    if WHICH == 0:"]
    assert added[-1] == "    tl.store(x + swizzle_pid, 1.0)"


def test_an_axis_read_by_name_and_number_is_for_the_compiler(tmp_path: Path) -> None:
    body = "    tl.store(x + tl.program_id(WHICH) + tl.program_id(0), 1.0)"
    launch = one_axis(tmp_path, body, WHICH=0)
    with pytest.raises(SpliceError, match=r"`program_id` names an axis in two ways"):
        spliced(launch)
    for_the_compiler(launch)


def for_the_compiler(launch: Launch) -> Edit:
    root = Path(launch.source.entry.file).parent
    target = load_target("mi300x")
    made = TRITON.edit([launch], parse(REVERSED), target, name="any", roots=[root])
    assert (made.files, len(made.rules)) == ({}, 1)
    return made


def test_a_helper_that_reads_the_program_id(tmp_path: Path) -> None:
    launch = helper_launch(tmp_path)
    edit = spliced(launch)
    (key,) = edit.functions
    assert key != launch.source.kernel
    assert "return swizzle_pid" in edit.functions[key]


def refused(launch: Launch, text: str = REVERSED) -> str:
    with pytest.raises(SpliceError) as caught:
        spliced(launch, text)
    return caught.value.fact


@pytest.mark.parametrize(
    ("body", "line", "reason"),
    [
        ("    tl.store(x, 1.0)", 6, "never reads `program_id`"),
        ("    a = 1\n    tl.store(x + tl.program_id(n), a)", 9, "axis of `tl.program_id(n)`"),
        ("    where = tl.program_id\n    tl.store(x + where(0), 1.0)", 8, "without calling it"),
        ('    tl.store(x + getattr(tl, "program_id")(0), 1.0)', 8, "without calling it"),
        ("    tl.store(x + tl.program_id(3), 1.0)", 8, "axis of `tl.program_id(3)`"),
    ],
)
def test_refused_with_the_line(tmp_path: Path, body: str, line: int, reason: str) -> None:
    launch = one_axis(tmp_path, body)
    fact = refused(launch)
    assert reason in fact
    assert f"{launch.source.entry.file}:{line}:" in fact


def test_a_body_on_the_line_of_def_is_refused(tmp_path: Path) -> None:
    text = "\n@triton.jit\ndef k(x): tl.store(x + tl.program_id(0), 1.0)\n"
    launch = launch_of(write_kernel(tmp_path, text), "k", (10,), {"x": ("fp32", (10,))})
    assert ":7: the body is on the line of `def`" in refused(launch)


def test_a_helper_that_lacks_an_argument_is_refused(tmp_path: Path) -> None:
    fact = refused(helper_launch(tmp_path), "pid = (pid + n) % num_pids")
    assert "helper `my_row` reads `program_id` but does not know `n`" in fact
    assert ":6:" in fact


def test_a_helper_of_two_kernels_is_refused(tmp_path: Path) -> None:
    other = "\n\n@triton.jit\ndef other(x):\n    tl.store(x + my_row(), 1.0)\n"
    arguments = {"x": ("fp32", (37, 20)), "y": ("fp32", (37, 20)), "n": 20}
    path = write_kernel(tmp_path, HELPER + other)
    fact = refused(launch_of(path, "scale_rows", (37,), arguments, {"B": 32}))
    assert "`my_row` reads `program_id` and is used by `other`" in fact
    assert f"({path}:19) too" in fact


def test_a_helper_that_the_host_hands_on_is_refused(tmp_path: Path) -> None:
    other = """

@triton.jit
def other(x, ROW: tl.constexpr):
    tl.store(x + ROW(), 1.0)


def host(x):
    other[(5,)](x, my_row)
"""
    arguments = {"x": ("fp32", (37, 20)), "y": ("fp32", (37, 20)), "n": 20}
    path = write_kernel(tmp_path, HELPER + other)
    fact = refused(launch_of(path, "scale_rows", (37,), arguments, {"B": 32}))
    assert "`my_row` reads `program_id` and is used by whatever receives it in line 24 too" in fact


def test_an_interrupted_apply_leaves_nothing_behind(tmp_path: Path, mocker: MockerFixture) -> None:
    edit = spliced(gemm_launch(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    for module, place in ((os, "fsync"), (Path, "replace")):
        interrupted = mocker.patch.object(module, place, side_effect=KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            apply(edit, backup=False)
        interrupted.assert_called_once()
        mocker.stop(interrupted)
        assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_a_helper_in_another_file_is_for_the_overlay_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = "\n@triton.jit\ndef my_row():\n    return tl.program_id(0)\n"
    (tmp_path / "rows_elsewhere.py").write_text(HEADER + helper)
    monkeypatch.syspath_prepend(tmp_path)
    header = HEADER + "from rows_elsewhere import my_row\n"
    launch = one_axis(tmp_path, "    tl.store(x + my_row(), 1.0)", header)
    assert "is used by kernels of other files (possibly) too" in refused(launch)
    made = for_the_compiler(launch)
    assert "my_row" not in "".join(made.functions), "a patch would change other kernels, too"


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    launch = gemm_launch(tmp_path)
    path = Path(launch.source.entry.file)
    path.write_text("# a new line\n" + path.read_text())
    assert "the file has changed since" in refused(launch)


def test_an_axis_of_one_program_costs_no_arithmetic(tmp_path: Path) -> None:
    """A kernel that reads axis 0 and is launched along it alone knows nothing of other axes."""
    launch = gemm_launch(tmp_path)
    assert "num_programs(1)" not in spliced(launch).functions[launch.source.kernel]
    two_axes = replace(launch, grid=(7, 5, 1))
    text = spliced(two_axes).functions[launch.source.kernel]
    assert "num_programs(1)" in text


def test_apply_keeps_mode_and_a_backup(tmp_path: Path) -> None:
    launch = gemm_launch(tmp_path)
    path = Path(launch.source.entry.file)
    path.chmod(0o755)
    before = path.read_bytes()
    edit = spliced(launch)
    (backup,) = apply(edit)
    assert path.read_text() == edit.files[str(path)]
    assert path.stat().st_mode & 0o777 == 0o755
    assert backup.name == f"{path.name}.swizzle-backup"
    assert backup.read_bytes() == before
    path.write_bytes(before)
    assert apply(edit) == (backup,)  # it holds the same text: a killed run may have left it
    path.write_bytes(before)
    backup.write_bytes(b"of another text")
    assert apply(edit)[0].name.endswith(".swizzle-backup-2")
    assert sorted(p.suffix for p in tmp_path.iterdir() if p.is_file()) == [
        ".py",
        ".swizzle-backup",
        ".swizzle-backup-2",
    ]


def test_apply_refuses_a_read_only_or_changed_file(tmp_path: Path) -> None:
    launch = gemm_launch(tmp_path)
    path = Path(launch.source.entry.file)
    edit = spliced(launch)
    path.chmod(0o444)
    before = path.read_bytes()
    with pytest.raises(SpliceError, match="read-only"):
        apply(edit)
    path.chmod(0o644)
    path.write_bytes(before + b"# more\n")
    with pytest.raises(SpliceError, match="has changed since"):
        apply(edit)
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == [path.name]
    assert path.read_bytes() == before + b"# more\n"
