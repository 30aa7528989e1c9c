# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What `docs/api.md` and `SKILL.md` show is so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from intelliperf_swizzle.cli import VERBS
from intelliperf_swizzle.language import parse

CHECKOUT = Path(__file__).parents[2]
API = (CHECKOUT / "docs" / "api.md").read_text()
SKILL = (CHECKOUT / "SKILL.md").read_text()


@pytest.mark.parametrize("code", re.findall(r"<!-- tested -->\n```python\n(.*?)```", API, re.S))
def test_examples_run(code: str) -> None:
    exec(compile(code, "docs/api.md", "exec"), {})


def test_skill_names_verbs_that_exist_and_a_swizzle_that_parses() -> None:
    called = set(re.findall(r"`intelliperf-swizzle ([a-z-]+)", SKILL)) - {"-", "--"}
    assert called <= set(VERBS)
    assert {"prove", "score", "explain", "report", "mcp"} <= called
    (text,) = re.findall(r"```\n(.*?)```", SKILL, re.S)
    assert parse(text).outputs == ("pid",)


def test_the_skill_documents_every_tool() -> None:
    pytest.importorskip("mcp")
    agents = (CHECKOUT / "docs" / "api.md").read_text().partition("## Coding agents")[2]
    code = "import asyncio; from intelliperf_swizzle.mcp.server import make_server as m; "
    code += "print(*(tool.name for tool in asyncio.run(m().list_tools())))"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    tools = set(listed.stdout.split())
    assert tools == set(re.findall(r"^\| `(\w+)` \|", agents, re.M))
    for tool in tools:
        assert f"`{tool}`" in SKILL
