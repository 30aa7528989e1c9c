# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What docs/report.md and docs/ci.yml have people run is what the commands understand."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from intelliperf_swizzle import history
from intelliperf_swizzle.cli import Parser, main
from intelliperf_swizzle.options import add_options
from intelliperf_swizzle.report.files import SCHEMA, result
from intelliperf_swizzle.search.deliver import Outcome

DOCUMENTS = Path(__file__).parents[2] / "docs"
PAGE = (DOCUMENTS / "report.md").read_text(encoding="utf-8")
ACTION = yaml.safe_load((DOCUMENTS / "ci.yml").read_text(encoding="utf-8"))
STEPS = {
    step.get("name"): step["run"] for step in ACTION["jobs"]["swizzle"]["steps"] if "run" in step
}


@pytest.fixture(scope="module")
def result_text(outcome: Outcome) -> str:
    """The result file of a real run."""
    return json.dumps(result(outcome.run, initial=outcome.initial, optimized=outcome.optimized))


def test_the_commands_of_the_page_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result_text: str
) -> None:
    folder = tmp_path / "swizzle-out" / "gemm_kernel"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(result_text)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)[0].splitlines()
    assert len(commands) == 3
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0
    assert (tmp_path / "report.html").is_file()


def test_the_action_runs_what_there_is(tmp_path: Path, result_text: str) -> None:
    parser = Parser()
    add_options(parser)
    words = shlex.split(STEPS["Find a swizzle"])
    assert parser.parse_args(words[1 : words.index("--")]).output_file == "result.json"
    (tmp_path / "result.json").write_text(result_text)
    (tmp_path / "gh").write_text('#!/bin/sh\necho "$@" > called\n')
    (tmp_path / "gh").chmod(0o755)
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    for name in ("Report", "Comment"):
        subprocess.run(
            ["bash", "-eu", "-c", STEPS[name]], cwd=tmp_path, check=True,
            env={"PATH": path, "GITHUB_STEP_SUMMARY": "summary", "NUMBER": "7"},
        )  # fmt: skip
    assert (tmp_path / "called").read_text() == "pr comment 7 --body-file report.md\n"
    assert (tmp_path / "summary").read_text() == (tmp_path / "report.md").read_text()


def test_the_page_knows_the_schemas() -> None:
    assert f"schema {SCHEMA} of results and {history.SCHEMA} of histories" in " ".join(PAGE.split())
