# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A copy of a project finds what lies around the project, and an edit of that stays in the copy."""

from pathlib import Path

import pytest

from intelliperf_swizzle.edit import PLACE, Edit, copy_project
from intelliperf_swizzle.errors import SpliceError


def edit_of(file: Path, text: str) -> Edit:
    before = {str(file): file.read_text()}
    return Edit({}, {str(file): text}, before, diff="")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "all" / "programs" / "one"
    for file in (project / "main.cpp", tmp_path / "all/common/a/check.h", project / "../other.h"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("as it was\n")
    return project


def test_what_lies_beside_and_above_is_found(project: Path, tmp_path: Path) -> None:
    copy_project(project, copy := tmp_path / "records" / PLACE)
    for name in ("main.cpp", "../other.h", "../../common/a/check.h"):
        assert (copy / name).read_text() == "as it was\n"


@pytest.mark.parametrize("name", ["main.cpp", "../other.h", "../../common/a/check.h"])
def test_an_edit_is_in_the_copy_alone(project: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "records" / PLACE
    copy_project(project, copy, edit_of((project / name).resolve(), "edited\n"))
    assert (copy / name).read_text() == "edited\n"
    assert (project / name).read_text() == "as it was\n"


def test_what_lies_elsewhere_is_refused(project: Path, tmp_path: Path) -> None:
    far = Path(__file__).resolve()
    with pytest.raises(SpliceError, match="lies outside"):
        copy_project(project, tmp_path / "records" / "plain", edit_of(far, "edited\n"))
