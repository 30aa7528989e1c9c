# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The tools as a coding agent sees them: the SDK's own client, over standard input and output."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
GEMM = CHECKOUT / "benchmarks" / "kernels" / "gemm.py"
APPLICATION = [sys.executable, str(GEMM), "--m", "1024", "--n", "1024", "--k", "64"]
STREAM_K = "pid = (pid % num_xcds) * (num_pids // num_xcds) + pid // num_xcds"
SERVER = StdioServerParameters(
    command=sys.executable, args=["-m", "intelliperf_swizzle", "mcp"], env=dict(os.environ)
)


def with_client(use: Callable[[Client], Awaitable[None]]) -> None:
    """Starts a server, and ends it after use."""

    async def main() -> None:
        with anyio.fail_after(240):
            async with Client(SERVER) as client:
                await use(client)

    anyio.run(main)


def output(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if block.type == "text")


def answer(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, output(result)
    assert result.structured_content is not None
    return result.structured_content


def test_tools_are_typed() -> None:
    async def use(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"prove", "prove_source", "explain", "score", "optimize", "report"}
        for tool in tools.values():
            assert tool.description
            assert tool.input_schema["additionalProperties"] is False
            assert "ctx" not in tool.input_schema["properties"]
        command = tools["optimize"].input_schema["properties"]["command"]
        assert (command["type"], command["items"]) == ("array", {"type": "string"})
        assert "swizzle" in (client.instructions or "")

    with_client(use)


def test_prove_gives_proof_and_witness_and_clean_errors() -> None:
    async def use(client: Client) -> None:
        held = answer(await client.call_tool("prove", {"swizzle": STREAM_K, "grid": [304]}))
        assert held["holds"] is True
        assert held["condition"] == "num_pids % 8 == 0"
        refused = answer(await client.call_tool("prove", {"swizzle": STREAM_K, "grid": [228]}))
        assert refused["holds"] is False
        assert "tile 28 is computed by programs 1 and 224" in refused["witness"]
        for arguments, expected in (
            ({"swizzle": "pid = pid +", "grid": [8]}, "1:"),
            ({"swizzle": "no-such", "grid": [8]}, "no pattern is called `no-such`"),
            ({"swizzle": "identity", "grid": []}, "at least 1"),
            ({"swizzle": "identity", "grid": [0]}, "greater than or equal to 1"),
            ({"swizzle": "identity", "grid": [8], "grids": [9]}, "grids"),
        ):
            result = await client.call_tool("prove", arguments)
            assert result.is_error
            assert expected in output(result)
            assert "Traceback" not in output(result)

    with_client(use)


def test_a_run_from_proof_to_report(tmp_path: Path) -> None:
    heard: list[str] = []

    async def listen(done: float, total: float | None, sentence: str | None) -> None:
        heard.append(sentence or "")

    async def use(client: Client) -> None:
        common = {"command": APPLICATION, "target": "mi300x"}
        proved = await client.call_tool(
            "prove_source", {"command": APPLICATION, "source": str(GEMM)}
        )
        assert answer(proved)["holds"] is True
        assert answer(proved)["launches"][0]["kernel"] == "gemm_kernel"
        known = answer(await client.call_tool("explain", common))["sections"]
        assert "mi300x" in known["target"].lower()
        scored = answer(await client.call_tool("score", {**common, "swizzle": "identity"}))
        assert scored["baseline"]["profiler"] == "model"
        after = scored["attempt"]["measurement"]
        assert after["l2_hit_rate"] == scored["baseline"]["l2_hit_rate"]
        assert scored["times"]["after"]["measured_ms"] is None
        assert (
            scored["times"]["after"]["modelled_ms"] == scored["times"]["before"]["modelled_ms"] > 0
        )
        found = answer(
            await client.call_tool(
                "optimize",
                {**common, "candidates": 15, "report_dir": str(tmp_path)},
                progress_callback=listen,
            )
        )
        assert found["time_before_ms"] is None
        assert found["times"]["before"]["modelled_ms"] > 0
        assert found["metric_name"] == "L2 hit rate (modelled, mi300x)"
        assert any(message.startswith("recording") for message in heard)
        assert any("searching" in message for message in heard)
        shown = await client.call_tool("report", {"result_file": found["result_file"]})
        assert "gemm_kernel" in answer(shown)["markdown"]

    with_client(use)


def test_the_patch_is_for_the_project_directory(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    shutil.copy(CHECKOUT / "tests" / "host" / "application.py", project / "app.py")
    shutil.copy(GEMM, project)
    (tmp_path / "small.yaml").write_text(
        "base: mi300x\nname: mi300x-small\nlaunch_us: 0\nl2_bytes_per_xcd: 65536\n"
        "l2_channels_per_xcd: 1\n"
        "l2_channel_bits: hashed\nl2_set_bits: hashed\ncus_per_xcd: 4\nllc_gb_s: 400\n"
        "memory_gb_s: 100\n"
    )

    async def use(client: Client) -> None:
        found = answer(
            await client.call_tool(
                "optimize",
                {"command": [sys.executable, "app.py"], "candidates": 60,
                 "project_directory": str(project), "report_dir": str(tmp_path / "out"),
                 "target": str(tmp_path / "small.yaml")},
            )
        )  # fmt: skip
        assert found["success"], found["report_message"]
        assert found["apply_in"] == str(project)
        apply = ["git", "apply", "-"]
        subprocess.run(apply, cwd=project, input=found["diff"], text=True, check=True)
        assert (project / "gemm.py").read_text() != GEMM.read_text()

    with_client(use)


def test_the_catalogue_the_gpus_and_the_language_are_resources() -> None:
    async def use(client: Client) -> None:
        listed = {str(resource.uri) for resource in (await client.list_resources()).resources}
        assert listed == {"swizzle://patterns", "swizzle://targets", "swizzle://language"}
        for uri, word in (
            ("swizzle://patterns", "xcd-contiguous"),
            ("swizzle://targets", "mi300x"),
            ("swizzle://language", "num_pids"),
        ):
            [content] = (await client.read_resource(uri)).contents
            assert word in content.text

    with_client(use)


def test_report_refuses_at_once_what_is_no_result_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge.json").open("wb") as huge:
        huge.truncate(1 << 40)
    (tmp_path / "deep.json").write_text("[" * 100_000)
    cases = {
        "/dev/zero": "is not a regular file",
        str(tmp_path / "pipe"): "is not a regular file",
        str(tmp_path): "Is a directory",
        str(tmp_path / "huge.json"): "has 1099511627776 bytes",
        str(tmp_path / "deep.json"): "not JSON: maximum recursion depth",
        str(tmp_path / "missing.json"): "No such file",
    }

    async def use(client: Client) -> None:
        for path, expected in cases.items():
            result = await client.call_tool("report", {"result_file": path})
            assert result.is_error
            assert expected in output(result)
            assert "Traceback" not in output(result)
        reserved = {"swizzle": STREAM_K, "grid": [304], "constants": {"pid": 3}}
        refused = await client.call_tool("prove", reserved)
        assert "`pid` cannot be set" in output(refused)
        refused = await client.call_tool("prove", {"swizzle": STREAM_K, "grid": [10**30]})
        assert "is not a grid" in output(refused)

    with_client(use)


def test_an_application_is_no_shell_command(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        touched = tmp_path / "touched"
        command = [sys.executable, "-c", "0", ";", "touch", str(touched)]
        result = await client.call_tool("explain", {"command": command})
        assert result.is_error
        assert "no Triton launch was recorded" in output(result)
        assert not touched.exists()

    with_client(use)


def test_cancelling_ends_the_application(tmp_path: Path) -> None:
    where = tmp_path / "pid"

    async def use(client: Client) -> None:
        command = [sys.executable, str(HERE / "waiting_app.py"), str(where)]
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "explain", {"command": command})
            while not (where.exists() and where.read_text()):
                await anyio.sleep(0.1)
            assert is_running(int(where.read_text()))
            calls.cancel_scope.cancel()
        with anyio.fail_after(20):
            while is_running(int(where.read_text())):
                await anyio.sleep(0.1)
        held = await client.call_tool("prove", {"swizzle": "identity", "grid": [8]})
        assert answer(held)["holds"] is True

    with_client(use)


def test_when_the_client_leaves_nothing_stays(tmp_path: Path) -> None:
    where = tmp_path / "pid"

    async def use(client: Client) -> None:
        command = [sys.executable, str(HERE / "waiting_app.py"), str(where)]
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "explain", {"command": command})
            while not (where.exists() and where.read_text()):
                await anyio.sleep(0.1)
            raise KeyboardInterrupt

    with pytest.raises(BaseException) as error:  # noqa: PT011 - a group, or the interrupt itself
        with_client(use)
    assert error.value.__class__.__name__ in ("BaseExceptionGroup", "KeyboardInterrupt")
    deadline = time.monotonic() + 20
    while is_running(int(where.read_text())) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_running(int(where.read_text()))


def is_running(pid: int) -> bool:
    """Whether there is such a process, zombies aside."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
