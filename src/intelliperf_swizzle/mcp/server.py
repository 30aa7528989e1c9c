# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The tools and resources, and the child process behind each call."""

import inspect
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import anyio
import anyio.abc
import yaml
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import Field

from intelliperf_swizzle import __version__, formulas, options, readers
from intelliperf_swizzle.codec import dumps, encode, loads
from intelliperf_swizzle.hardware import load_target, targets
from intelliperf_swizzle.language import INPUTS
from intelliperf_swizzle.mcp.worker import ANSWER

GRACE_SECONDS = 5.0
"""How long a cancelled worker may take to end what it started before it is killed."""
_LONGEST_LINE = 1 << 26
"""Bytes of the longest answer (a result with all its attempts is far below)."""

_SWIZZLE = (str, "text in the swizzle language, or the name of a pattern", {"min_length": 1})
_COMMAND = (list[str], 'the application, no shell: ["python", "app.py"]', {"min_length": 1})
_TARGET: tuple[Any, ...] = (str, "GPU: a name of swizzle://targets", {}, options.DEFAULT_TARGET)
_GRID = (list[Annotated[int, Field(ge=1)]], "programs along the axes of the launch",
         {"min_length": 1, "max_length": 3})  # fmt: skip
TOOLS: Mapping[str, tuple[str, Mapping[str, tuple[Any, ...]]]] = {
    "prove": (
        "Is a swizzle a permutation of the tiles of a grid? If not: who collides, what is dropped.",
        {"swizzle": _SWIZZLE, "grid": _GRID, "target": _TARGET,
         "constants": (dict[str, int], "integer arguments of the kernel, by name", {}, {})},
    ),
    "prove_source": (
        "Does a kernel, with the remap that its source already has, compute each tile exactly once?"
        " Runs the application without a GPU and looks at the launches of the file's kernels.",
        {"command": _COMMAND, "source": (str, "file with the kernel, or with its remap", {}),
         "target": _TARGET},
    ),
    "explain": (
        "What matters for the order of a kernel's workgroups: launch, sharing of data, GPU, L2.",
        {"command": _COMMAND},
    ),
    "score": (
        "Prove one swizzle on an application's kernel; L2 hit rate and time before and after.",
        {"swizzle": _SWIZZLE, "command": _COMMAND,
         "parameters": (dict[str, int], "of the pattern", {}, {})},
    ),
    "optimize": (
        "Find a swizzle: search, prove, model or measure, validate. Takes minutes. The sources stay"
        " unchanged; `diff` is a patch for `git apply` in `apply_in`.",
        {"command": _COMMAND},
    ),
    "report": (
        "An earlier run again, as Markdown; runs nothing.",
        {"result_file": (str, "result.json of an earlier run", {})},
    ),
}  # fmt: skip
"""Verb -> what it does, and name -> type, meaning, limits and default of its parameters.
The options of the verb's command line come on top."""
_LEAST: Mapping[Any, int] = {readers.positive: 1, readers.natural: 0}
"""What such an option is at least."""
_PATHS = ("source", "project_directory", "report_dir", "history", "result_file")
"""Arguments that a worker, which is started elsewhere, takes from here."""


def make_server() -> MCPServer:
    """The server; `run("stdio")` serves."""
    server = MCPServer(
        "intelliperf-swizzle", version=__version__, tools=[_tool(verb) for verb in TOOLS],
        instructions="Finds, proves and scores workgroup swizzles for chiplet GPUs; no GPU is "
        "needed. Numbers of the profiler `model` are modelled, not measured.",
        log_level="WARNING",
    )  # fmt: skip
    server.resource("swizzle://patterns", mime_type="application/yaml")(list_patterns)
    server.resource("swizzle://targets", mime_type="application/yaml")(list_targets)
    server.resource("swizzle://language", mime_type="text/markdown")(describe_language)
    return server


def list_patterns() -> str:
    """The catalogue of swizzles: name, text, parameters, condition, what each does."""
    return yaml.safe_dump([encode(pattern) for pattern in formulas.patterns()], sort_keys=False)


def list_targets() -> str:
    """The GPUs, as the cache model knows them."""
    return yaml.safe_dump([encode(load_target(name)) for name in targets()], sort_keys=False)


def describe_language() -> str:
    """The language of swizzles: inputs, outputs, operators."""
    from intelliperf_swizzle import language

    return f"{language.__doc__}\n\nInputs: {', '.join(sorted(INPUTS))}, and the kernel's integers."


def _tool(verb: str) -> Tool:
    """The tool of a verb: typed by its parameters, and with no others."""
    does, own = TOOLS[verb]
    given = [
        _parameter(name, kind, *(default or [inspect.Parameter.empty]), description=means, **limits)
        for name, (kind, means, limits, *default) in own.items()
    ]
    kinds = get_type_hints(options.Options)
    declared = ((option, options.declaration(option)) for option in options.options_of(verb))
    given += [
        _parameter(option.name, kinds[option.name], option.default,
                   description=declaration.help, ge=_LEAST.get(declaration.read))
        for option, declaration in declared if declaration.tool
    ]  # fmt: skip

    async def call(ctx: Context[Any, Any], **arguments: Any) -> dict[str, Any]:
        return await _work(verb, arguments, ctx)

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context[Any, Any])
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*given, context], return_annotation=dict[str, Any]
    )
    reads = ToolAnnotations(
        read_only_hint=verb in ("prove", "report"), destructive_hint=False, open_world_hint=False
    )
    tool = Tool.from_function(call, verb, description=does, context_kwarg="ctx", annotations=reads)
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters["additionalProperties"] = False
    return tool


def _parameter(name: str, kind: Any, default: Any, **described: Any) -> inspect.Parameter:
    annotation, only = Annotated[kind, Field(**described)], inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, only, default=default, annotation=annotation)


async def _work(verb: str, arguments: dict[str, Any], context: Context[Any, Any]) -> dict[str, Any]:
    """What a worker answers; raises ToolError with what it says if it cannot."""
    if verb == "optimize":
        arguments["report_dir"] = arguments["report_dir"] or "swizzle-out"
    for name in _PATHS:
        if arguments.get(name) is not None:
            arguments[name] = str(Path(arguments[name]).resolve())
    process = await anyio.open_process(
        [sys.executable, "-m", "intelliperf_swizzle.mcp.worker"],
        cwd="/",  # Python looks there for modules first, and must not find the user's
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        return await _answer(process, {"verb": verb, "arguments": arguments}, context)
    finally:  # the end of its input ends it, and all that it started
        with anyio.CancelScope(shield=True), anyio.move_on_after(GRACE_SECONDS):
            await process.aclose()


async def _answer(
    process: anyio.abc.Process, call: dict[str, Any], context: Context[Any, Any]
) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdin.send(dumps(call).encode() + b"\n")
    lines = BufferedByteReceiveStream(process.stdout)
    steps = 0
    while True:
        try:
            line = (await lines.receive_until(b"\n", _LONGEST_LINE)).decode()
        except (anyio.EndOfStream, anyio.IncompleteRead):
            code = await process.wait()
            raise ToolError(f"the worker ended with exit code {code}") from None
        if line.startswith(ANSWER):
            answer: dict[str, Any] = loads(line[1:])
            if "error" in answer:
                raise ToolError(answer["error"])
            return dict(answer["answer"])
        steps += 1
        await context.report_progress(steps, None, line.strip())
