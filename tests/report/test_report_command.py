# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`intelliperf-swizzle report` shows a result file again, in every format, without running."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from intelliperf_swizzle.cli import main
from intelliperf_swizzle.records import Run
from intelliperf_swizzle.report.files import plain, write_files
from intelliperf_swizzle.report.pages import markdown, render
from intelliperf_swizzle.search.deliver import Outcome


@pytest.fixture
def folder(shown: Run, outcome: Outcome, tmp_path: Path) -> Path:
    """The files of a run, as it writes them."""
    finished = SimpleNamespace(
        run=shown, edit=outcome.edit, initial=outcome.initial, optimized=outcome.optimized
    )
    write_files(finished, tmp_path, output_file=None, attempts_directory=None)
    return tmp_path


def test_it_shows_what_the_run_itself_wrote(
    shown: Run, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for face, name in ((render, "html"), (markdown, "md"), (plain, "text")):
        assert main(["report", str(folder / "result.json"), "--format", name]) == 0
        assert capsys.readouterr().out == face(shown)
    assert (folder / "report.html").read_text() == render(shown)
    assert (folder / "report.md").read_text() == markdown(shown)


@pytest.mark.parametrize("ending", [".html", ".md", ".txt"])
def test_the_format_follows_the_name_of_the_output(
    ending: str, outcome: Outcome, tmp_path: Path
) -> None:
    output = tmp_path / "new" / f"report{ending}"
    write_files(outcome, tmp_path, output_file=None, attempts_directory=None)
    assert main(["report", str(tmp_path / "result.json"), "-o", str(output)]) == 0
    assert "gemm_kernel" in output.read_text()
    assert output.read_text().startswith("<!DOCTYPE html>") is (ending == ".html")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "the following arguments are required: result"),
        (["/dev/zero"], "/dev/zero is not a regular file"),
        (["."], "cannot read `.`: Is a directory"),
        (["\0.json"], "embedded null byte"),
        (["nowhere.json"], "cannot read `nowhere.json`: No such file"),
        ([str(Path(__file__))], "is not a result file: not JSON at 1:1"),
        (["result.json", "-o", "report.pdf"], "cannot tell a format from `report.pdf`"),
        (["result.json", "--format", "pdf"], "invalid choice"),
    ],
)
def test_bad_input_is_one_clear_error(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert "Traceback" not in err


def test_the_patch_of_the_report_for_a_pull_request_applies(
    run: Run, outcome: Outcome, tmp_path: Path
) -> None:
    page = markdown(run)
    assert len(page.splitlines()) < 120
    assert run.best is not None
    patch = page.partition("```diff\n")[2].partition("\n```")[0] + "\n"
    assert patch == run.best.diff
    [path] = [line[6:] for line in patch.splitlines() if line.startswith("+++ b/")]
    copy = tmp_path / path
    copy.parent.mkdir(parents=True)
    copy.write_text(outcome.initial)
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=tmp_path, check=True)
    assert copy.read_text() == outcome.optimized


def test_a_report_needs_neither_torch_nor_triton_nor_numba(
    outcome: Outcome, tmp_path: Path
) -> None:
    write_files(outcome, tmp_path, output_file=None, attempts_directory=None)
    code = (
        "import sys\n"
        "from intelliperf_swizzle.cli import main\n"
        f"assert main(['report', {str(tmp_path / 'result.json')!r}, '--format', 'html']) == 0\n"
        "assert not {'torch', 'triton', 'numba'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
