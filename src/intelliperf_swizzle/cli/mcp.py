# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`mcp`: the verbs for coding agents."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from intelliperf_swizzle.cli.arguments import PROGRAM, Parser
from intelliperf_swizzle.errors import UsageError


def run(arguments: Sequence[str]) -> int:
    """Serves on standard input and output until the client leaves."""
    Parser(
        prog=f"{PROGRAM} mcp",
        description="Serve the verbs to a coding agent by the Model Context Protocol (stdio).",
    ).parse_args(arguments)
    if importlib.util.find_spec("mcp") is None:
        raise UsageError(
            "the MCP server needs the package `mcp`", hint="pip install 'intelliperf-swizzle[mcp]'"
        )

    from intelliperf_swizzle.mcp.server import make_server

    make_server().run("stdio")
    return 0
