# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Random HIP programs: what they compute natively, and what the gates say of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hunt.applications import Application
from hunt.gates import judge_program
from hunt.programs import EFFECTS, OTHER, Native, moved, program
from hunt.truth import LAUNCH, ORDERS
from intelliperf_swizzle.frontends.cpp.language import HIP

pytestmark = pytest.mark.hip
REVERSE = "pid = num_pids - 1 - pid"


@pytest.fixture(autouse=True)
def _compiler() -> None:
    if (compiler := HIP.compiler(os.environ)).found is None:
        pytest.skip(f"{compiler.gap}: {compiler.command}")


def written(app: Application, folder: Path) -> Path:
    folder.mkdir()
    for name, text in app.files.items():
        (folder / name).write_text(text)
    return folder


def first(effect: str, form: str = "plain", axes: int = 2) -> Application:
    wanted = {f"form: {form}", f"{axes} axes"}
    return next(
        app
        for app in map(program, range(100_000))
        if app.effect == effect and wanted <= set(app.traits)
    )


@pytest.mark.parametrize(
    "effect", ["word of its own by a table", "atomicInc, one limit", "chain in a table's row",
               "atomicInc, own limits", "two widths", "ticket is kept"],
)  # fmt: skip
def test_order_changes_what_dependent_workgroups_compute(effect: str, tmp_path: Path) -> None:
    app = first(effect)
    folder = written(app, tmp_path / "app")
    in_order = Native().outcomes(folder, ORDERS)
    assert (len(set(in_order)) == 1) == (EFFECTS[effect].family == "free")
    (folder / "tiles.txt").write_text(moved(app, REVERSE)["tiles.txt"])
    assert Native().outcomes(folder, [LAUNCH]) == in_order[1:2]


@pytest.mark.parametrize("form", ["included twice", "other template"])
def test_all_forms_are_programs(form: str, tmp_path: Path) -> None:
    folder = written(first("chain by a table", form), tmp_path / "app")
    [found] = Native().outcomes(folder, [LAUNCH], variant=OTHER)
    assert len(found) == 16


def test_a_patch_leaves_an_instance_alone_that_was_not_launched(tmp_path: Path) -> None:
    folder = written(first("chained sum", "other template", 1), tmp_path / "app")
    before = Native().outcomes(folder, [LAUNCH], variant=OTHER)
    [verdict] = judge_program(folder, lambda _: [REVERSE])
    assert verdict.patch is not None
    subprocess.run(["git", "apply", "-"], cwd=folder, input=verdict.patch, text=True, check=True)
    (folder / "native").unlink()
    assert Native().outcomes(folder, [LAUNCH], variant=OTHER) == before
