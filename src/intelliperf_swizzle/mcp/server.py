# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The tools, and the child process behind each call."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from intelliperf_swizzle import __version__
from intelliperf_swizzle.codec import decode, dumps, loads
from intelliperf_swizzle.mcp.answers import (
    Explained,
    Optimized,
    ProvedSource,
    ProvedSwizzle,
    Reported,
    Scored,
)
from intelliperf_swizzle.options import DEFAULT_TARGET, Options, declaration, options_of
from intelliperf_swizzle.readers import natural, positive

Answer = TypeVar("Answer")

GRACE_SECONDS = 5.0
"""How long a cancelled worker may take to end what it started before it is killed."""
_LONGEST_LINE = 1 << 26
"""Bytes of the longest answer (a result with all its attempts is far below)."""

INSTRUCTIONS = """\
Finds, proves and scores workgroup swizzles (renumberings of Triton program ids) for chiplet GPUs.
A swizzle is a few integer assignments, e.g. `pid = (pid % 8) * (num_pids // 8) + pid // 8`.
Commands are argument lists and are run as they are, without a shell; no GPU is needed.
Numbers whose `source` is `modelled` come from a cache model: never call them measured.
A swizzle that is not proved to be a permutation drops tiles: do not use it."""

Swizzle = Annotated[
    str, Field(description="text in the swizzle language, or the name of a pattern", min_length=1)
]
Grid = Annotated[
    list[Annotated[int, Field(ge=1)]],
    Field(description="programs along the axes of the launch", min_length=1, max_length=3),
]
Command = Annotated[
    list[str],
    Field(description='the application as an argument list: ["python", "app.py"]', min_length=1),
]
TargetName = Annotated[str, Field(description="GPU: mi300x, mi325x, mi355x, h200, …")]
Directory = Annotated[str, Field(description="where the application is started")]
_LEAST: Mapping[Any, int] = {positive: 1, natural: 0}
"""What such an option is at least."""
_PATHS = ("source", "project_directory", "report_dir", "history", "result_file")
"""Arguments that a worker, which is started elsewhere, takes from here."""
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_RUNS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)


def make_server() -> MCPServer:
    """The server with its tools; `run("stdio")` serves."""
    server = MCPServer(
        "intelliperf-swizzle", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )
    server.tool(annotations=_READS)(prove)
    server.tool(annotations=_RUNS)(prove_source)
    for verb in (explain, score, optimize):
        server.tool(annotations=_RUNS)(_with_options(verb))
    server.tool(annotations=_READS)(report)
    return server


def _with_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb with a parameter for each of its options in place of `**options`."""
    signature = inspect.signature(verb, eval_str=True)
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    kinds = get_type_hints(Options)
    options = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=Annotated[
                kinds[option.name],
                Field(description=declared.help, ge=_LEAST.get(declared.read)),
            ],
        )
        for option in options_of(verb.__name__)
        if (declared := declaration(option)).tool
    ]

    @functools.wraps(verb)
    async def called(**arguments: Any) -> Any:
        return await verb(**arguments)

    called.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    return called


async def prove(
    swizzle: Swizzle,
    grid: Grid,
    ctx: Context[Any, Any],
    target: TargetName = DEFAULT_TARGET,
    constants: Annotated[
        dict[str, int], Field(description="integer arguments of the kernel, by name")
    ] = {},  # noqa: B006 - a default of the schema; never changed
) -> ProvedSwizzle:
    """Is a swizzle a permutation of the tiles of a grid? If not: who collides, what is dropped."""
    return await _work(ProvedSwizzle, "prove", locals())


async def prove_source(
    command: Command,
    source: Annotated[str, Field(description="file with the kernel, or with its remap")],
    ctx: Context[Any, Any],
    kernel: Annotated[str | None, Field(description="only this kernel of the file")] = None,
    target: TargetName = DEFAULT_TARGET,
    project_directory: Directory = ".",
) -> ProvedSource:
    """Does a kernel, with the remap that its source already has, compute each tile exactly once?

    Runs the application without a GPU and looks at the launches of the file's kernels.
    """
    return await _work(ProvedSource, "prove_source", locals())


async def explain(command: Command, ctx: Context[Any, Any], **options: Any) -> Explained:
    """What matters for the order of a kernel's workgroups: launch, sharing of data, GPU, L2."""
    return await _work(Explained, "explain", locals())


async def score(
    swizzle: Swizzle,
    command: Command,
    ctx: Context[Any, Any],
    parameters: Annotated[dict[str, int], Field(description="of the pattern")] = {},  # noqa: B006
    **options: Any,
) -> Scored:
    """Prove one swizzle on an application's kernel, and say what L2 hit rate it gives."""
    return await _work(Scored, "score", locals())


async def optimize(command: Command, ctx: Context[Any, Any], **options: Any) -> Optimized:
    """Find a swizzle: search, prove, model or measure, validate. Takes minutes.

    The sources stay as they are; the answer has a patch.
    """
    return await _work(Optimized, "optimize", locals())


async def report(
    result_file: Annotated[str, Field(description="result.json of an earlier run")],
    ctx: Context[Any, Any],
) -> Reported:
    """An earlier run again, as Markdown; runs nothing."""
    return await _work(Reported, "report", locals())


async def _work(answer: type[Answer], verb: str, arguments: dict[str, Any]) -> Answer:
    """What a worker answers; raises ToolError with what it says if it cannot."""
    context = arguments.pop("ctx")
    arguments |= arguments.pop("options", {})
    if verb == "optimize":
        arguments["report_dir"] = arguments["report_dir"] or "swizzle-out"
    for name in _PATHS:
        if arguments.get(name) is not None:
            arguments[name] = str(Path(arguments[name]).resolve())
    process = await anyio.open_process(
        [sys.executable, "-m", "intelliperf_swizzle.mcp.worker"],
        cwd="/",  # Python looks there for modules first, and must not find the user's
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        call = {"verb": verb, "arguments": arguments}
        return decode(answer, await _answer(process, call, context))
    finally:
        await _end(process)


async def _answer(
    process: anyio.abc.Process, call: dict[str, Any], context: Context[Any, Any]
) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdin.send(dumps(call).encode() + b"\n")
    lines = BufferedByteReceiveStream(process.stdout)
    told = 0
    while True:
        try:
            line = loads(await lines.receive_until(b"\n", _LONGEST_LINE))
        except (anyio.EndOfStream, anyio.IncompleteRead):
            code = await process.wait()
            raise ToolError(f"the worker ended with exit code {code}") from None
        if "answer" in line:
            return line["answer"]
        if "error" in line:
            raise ToolError(line["error"])
        told += 1
        await context.report_progress(told, None, line["progress"])


async def _end(process: anyio.abc.Process) -> None:
    """Ends a worker, and through it all that it started; also when the call is cancelled."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.terminate()
        with anyio.move_on_after(GRACE_SECONDS):
            await process.wait()
        if process.returncode is None:
            process.kill()
        await process.aclose()
