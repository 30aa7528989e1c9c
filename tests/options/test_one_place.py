# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""An option that is declared in one place is everywhere."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import intelliperf_swizzle

DECLARED = """\
    paint: int = _option(7, "buckets of paint", read=positive, verbs=("optimize", "doctor"))
"""
LOOK = """
import argparse, contextlib, io, json, sys
import anyio
from intelliperf_swizzle import cli
from intelliperf_swizzle.api import prepare_call
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.host.formula import with_ours
from intelliperf_swizzle.mcp.server import make_server
from intelliperf_swizzle.options import read_options, add_options

def printed(*arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        cli.main([*arguments, "--help"])
    return "--paint" in out.getvalue()

def given(verb, **options):
    try:
        return prepare_call(verb, ["true"], "mi300x", options, None).options.paint
    except UsageError as error:
        return str(error)

async def tools():
    listed = await make_server().list_tools()
    return {tool.name: tool.input_schema["properties"].get("paint") for tool in listed}

parser = argparse.ArgumentParser()
add_options(parser)
theirs = argparse.ArgumentParser()
theirs.add_argument("--formula", choices=['bankConflict'])
with_ours(theirs)
print(json.dumps({
    "help": {verb: printed(*verb.split()) for verb in ("", "score", "explain", "doctor")},
    "environment": read_options(parser.parse_args([])).paint,
    "command line": read_options(parser.parse_args(["--paint", "4"])).paint,
    "host": theirs.parse_args([]).paint,
    "api": given("optimize", paint=5),
    "api, another verb": given("score", paint=5),
    "tools": anyio.run(tools),
}))
"""


def test_an_option_is_added_in_one_place(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    package = Path(intelliperf_swizzle.__file__).parent
    shutil.copytree(package, tmp_path / "src" / package.name)
    shutil.copytree(package.parents[1] / "formulas", tmp_path / "formulas")
    source = tmp_path / "src" / package.name / "options.py"
    text = source.read_text()
    place = "    seed: int = "
    assert text.count(place) == 1
    source.write_text(text.replace(place, DECLARED + place))
    ran = subprocess.run(
        [sys.executable, "-c", LOOK],
        env={"PYTHONPATH": str(source.parents[1]), "INTELLIPERF_SWIZZLE_PAINT": "3"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(ran.stdout)
    assert found["help"] == {"": True, "score": False, "explain": False, "doctor": True}
    assert (found["environment"], found["host"], found["command line"]) == (3, 3, 4)
    assert found["api"] == 5
    assert "`score` has no option `paint`" in found["api, another verb"]
    assert found["tools"]["score"] is None
    offered = found["tools"]["optimize"]
    assert (offered["description"], offered["default"], offered["minimum"]) == (
        "buckets of paint", 7, 1,
    )  # fmt: skip
