# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What coding agents read of the repository, in IntelliKit's layout of a tool, holds."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
import yaml

from intelliperf_swizzle import __version__

CHECKOUT = Path(__file__).parents[2]
PLUGIN = json.loads((CHECKOUT / ".claude-plugin" / "plugin.json").read_text())
SERVERS = json.loads((CHECKOUT / ".mcp.json").read_text())["mcpServers"]


def test_skill_is_one_that_agents_accept() -> None:
    """As of agentskills.io: the front matter, and the limits of its two fields."""
    text = (CHECKOUT / "skill" / "SKILL.md").read_text()
    assert text == (CHECKOUT / "SKILL.md").read_text()
    _, front, _ = text.split("---\n", 2)
    skill = yaml.safe_load(front)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", skill["name"])
    assert len(skill["name"]) <= 64
    assert 0 < len(skill["description"]) <= 1024
    assert skill["name"] == PLUGIN["name"]
    assert skill["name"] in PLUGIN["description"]


def test_plugin_is_of_this_version() -> None:
    assert PLUGIN["version"] == __version__
    assert set(SERVERS) == {"swizzle"}
    assert "swizzle MCP server" in PLUGIN["description"]


def test_entry_starts_the_tools() -> None:
    """The command is found on PATH, as after an installation."""
    pytest.importorskip("mcp")
    import anyio
    from mcp import Client, StdioServerParameters

    [entry] = SERVERS.values()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    server = StdioServerParameters(**entry, env={**os.environ, "PATH": path})

    async def main() -> None:
        with anyio.fail_after(240):
            async with Client(server) as client:
                assert "prove" in {tool.name for tool in (await client.list_tools()).tools}

    anyio.run(main)
