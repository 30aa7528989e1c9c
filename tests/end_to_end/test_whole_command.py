# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The whole command as a user starts it: real applications, real processes, no GPU."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
SMALL_GEMM = [
    *("--m", "512", "--n", "512", "--k", "64"),
    *("--block-m", "32", "--block-n", "32", "--block-k", "32", "--group-m", "1"),
    *("--num-warps", "8"),
]
"""256 tiles, small enough to be executed whole."""

SMALL_CACHE = """\
base: mi300x
name: mi300x-small
launch_us: 0
l2_bytes_per_xcd: 65536
l2_channels_per_xcd: 1
l2_channel_bits: hashed
l2_set_bits: hashed
cus_per_xcd: 4
llc_gb_s: 500.0
"""
"""An MI300X on which a small GEMM is large: its L2s hold 512 lines, and misses cost time."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def make_project(place: Path) -> Path:
    """A user's project with a GEMM in it, and a target on which it can be improved."""
    folder = place / "project"
    folder.mkdir()
    shutil.copy(KERNELS / "gemm.py", folder)
    (place / "small.yaml").write_text(SMALL_CACHE)
    return folder


@dataclass(frozen=True)
class Found:
    """A project in which the command has been run, with what it printed and wrote."""

    project: Path
    before: Mapping[str, bytes]
    out: str
    err: str
    result: bytes


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    project = make_project(tmp_path_factory.mktemp("found"))
    before = contents(project)
    code, out, err = run(*gemm(*HISTORY, "-o", "../result.json"), cwd=project)
    assert code == 0, err
    return Found(project, before, out, err, (project.parent / "result.json").read_bytes())


def start(
    *arguments: str, cwd: Path, before: Sequence[str] = (), **more: Any
) -> subprocess.Popen[str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.Popen(
        [*(before or [str(Path(sys.executable).parent / "intelliperf-swizzle")]), *arguments],
        cwd=cwd,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # CI may ignore it
        **more,
    )


def run(*arguments: str, cwd: Path) -> tuple[int, str, str]:
    process = start(*arguments, cwd=cwd)
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in err, err
    return process.returncode, out, err


HISTORY = ("--history", "../history.jsonl", "--resume")


def gemm(*options: str, candidates: int = 40) -> list[str]:
    return [
        "--target", "../small.yaml", "--candidates", str(candidates), "--compute", "never",
        *options,
        "--", "python", "gemm.py", *SMALL_GEMM,
    ]  # fmt: skip


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def contents(folder: Path) -> Mapping[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "swizzle-out" not in path.parts
    }


def test_one_command_gives_a_proved_validated_swizzle_a_patch_and_a_result(
    found: Found, tmp_path: Path, read_result: Any
) -> None:
    out, result = found.out, read_result(found.result.decode())
    assert "modelled: fewer L2 misses, no claim about time" in " ".join(out.split())
    assert out.splitlines()[0] in result["report_message"]
    best = result["swizzle"]["best"]
    assert result["success"] is True
    assert result["metric_name"] == "L2 hit rate (modelled, mi300x-small)"
    assert result["report_message"].startswith("Modelled: ")
    assert result["time_before_ms"] is None
    assert result["time_after_ms"] is None
    assert result["metric_after"] > result["metric_before"] + 1
    assert result["metric_after"] <= 100 * result["swizzle"]["ceiling"]["l2_hit_rate"]
    assert best["proof"]["holds"] is True
    assert best["validation"]["method"] == "all-tiles"
    assert best["validation"]["tiles_compared"] == best["validation"]["tiles"] == 256
    assert best["validation"]["same_bits"] is True
    assert len(result["swizzle"]["attempts"]) >= 40
    assert contents(found.project) == found.before

    project = make_project(tmp_path)
    patch = found.project / "swizzle-out" / "gemm_kernel" / "best.patch"
    applied = subprocess.run(
        ["git", "apply", "-p1", str(patch)],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert applied.returncode == 0, applied.stderr
    assert (project / "gemm.py").read_text() == result["optimized"]
    checked = subprocess.run(
        [sys.executable, "gemm.py", *SMALL_GEMM, "--device", "cpu", "--check"],
        cwd=project,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr


def test_in_place_edits_the_file_and_keeps_a_backup(project: Path, read_result: Any) -> None:
    before = (project / "gemm.py").read_bytes()
    code, out, err = run(*gemm("-l", "-o", "../results/new/result.json"), cwd=project)
    assert code == 0, err
    result = read_result(project.parent / "results" / "new" / "result.json")
    assert (project / "gemm.py").read_text() == result["optimized"]
    assert (project / "gemm.py.swizzle-backup").read_bytes() == before
    assert "applied" in out


def test_nothing_to_gain_is_reported_before_any_search_and_changes_nothing(
    project: Path, read_result: Any
) -> None:
    (project / "streaming.py").write_text(STREAMING)
    before = contents(project)
    code, out, err = run("-l", "--target", "mi300x", "-o", "../result.json", "--", "python",
                         "streaming.py", cwd=project)  # fmt: skip
    assert code == 0, err
    result = read_result(project.parent / "result.json")
    assert result["success"] is False
    assert result["swizzle"]["best"] is None
    assert result["swizzle"]["attempts"] == []
    assert "nothing to gain" in result["report_message"]
    assert "nothing to gain" in " ".join(out.split())
    assert contents(project) == before


def test_the_same_seed_gives_the_same_result_byte_for_byte(found: Found) -> None:
    (found.project.parent / "history.jsonl").unlink()
    code, _, err = run(*gemm(*HISTORY, "-o", "../result.json"), cwd=found.project)
    assert code == 0, err
    assert (found.project.parent / "result.json").read_bytes() == found.result


def test_a_killed_run_is_resumed_without_repeating_attempts(
    found: Found, project: Path, read_result: Any
) -> None:
    history = project.parent / "history.jsonl"
    process = start(*gemm(*HISTORY[:2]), cwd=project, start_new_session=True)
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and process.poll() is None:
        if history.exists() and history.read_bytes().count(b"\n") > 15:
            break
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = [json.loads(line)["attempt"] for line in history.read_text().splitlines()[1:]]
    assert len(kept) >= 14
    code, _, err = run(*gemm(*HISTORY, "-o", "../resumed.json"), cwd=project)
    assert code == 0, err
    taken_over = len({line["number"] for line in kept})
    assert f"note: resuming ../history.jsonl: {taken_over} attempts reused\n" in err
    lines = [json.loads(line)["attempt"] for line in history.read_text().splitlines()[1:]]
    assert lines[: len(kept)] == kept
    fresh = [line for line in lines[len(kept) :] if line["measurement"] is None]
    numbers = {line["number"] for line in kept}
    assert not [line for line in fresh if line["number"] in numbers]
    fingerprints = [line["fingerprint"] for line in kept + fresh if line["fingerprint"]]
    assert len(set(fingerprints)) == len(fingerprints)
    assert "note: nothing to resume: there is no ../history.jsonl\n" in found.err
    resumed, whole = map(read_result, (project.parent / "resumed.json", found.result.decode()))
    assert resumed["swizzle"]["best"]["fingerprint"] == whole["swizzle"]["best"]["fingerprint"]


def test_where_nothing_can_be_written_files_go_to_a_folder_named_on_stderr(project: Path) -> None:
    (project / "swizzle-out").write_text("a file, not a folder")
    code, _out, err = run(*gemm(candidates=4), cwd=project)
    assert code == 0, err
    [note] = [line for line in err.splitlines() if "files go to" in line]
    elsewhere = Path(note.split("files go to ")[1].strip())
    assert (elsewhere / "gemm_kernel" / "result.json").is_file()
    shutil.rmtree(elsewhere)


@pytest.mark.parametrize("command", [["python", "missing.py"], ["python", "gemm.py", "--help"]])
def test_a_run_that_fails_leaves_no_folder(project: Path, command: list[str]) -> None:
    before = sorted(project.iterdir())
    code, _, err = run("--", *command, cwd=project)
    assert code == 1
    assert "error: no Triton launch was recorded" in err
    assert sorted(project.iterdir()) == before


def test_a_full_disk_is_one_clear_error_and_leaves_the_sources(project: Path) -> None:
    before = contents(project)
    code, _, err = run(*gemm("--history", "/dev/full", candidates=4), cwd=project)
    assert code == 1
    assert "No space left" in err
    assert contents(project) == before


def test_a_disk_that_is_full_at_the_end_still_shows_verdict_and_swizzle(project: Path) -> None:
    script = project / "on_a_small_disk.sh"
    script.write_text('mount -t tmpfs -o size=24k none out && exec intelliperf-swizzle "$@"\n')
    (project / "out").mkdir()
    if subprocess.run(["unshare", "-rm", "true"]).returncode:
        pytest.skip("no file systems of one's own here")
    words = gemm("--report_dir", "out", "--history", "history.jsonl", candidates=4)
    asked = start(*words, cwd=project, before=("unshare", "-rm", "sh", script.name))
    out, err = asked.communicate(timeout=300)
    assert asked.returncode == 1
    assert "modelled: fewer L2 misses" in out
    assert "pid = " in out
    assert "cannot write out/gemm_kernel/report.html: No space left on device" in err
    assert "the verdict and the swizzle are above" in err


def test_score_compares_one_swizzle_with_the_unmodified_kernel(project: Path) -> None:
    command = [
        "--target",
        "../small.yaml",
        "--compute",
        "never",
        "--",
        "python",
        "gemm.py",
        *SMALL_GEMM,
    ]
    code, out, err = run("score", "xcd-contiguous-grouped", "--set", "cols=32", "--set", "group=4",
                         *command, cwd=project)  # fmt: skip
    assert code == 0, err
    assert "L2 hit rate" in out
    assert "Proved: a permutation for every number of programs" in " ".join(out.split())
    assert "The swizzled kernel was not built, not validated" in out
    mine = project / "mine.yaml"
    mine.write_text("name: mine\ntext: |\n  pid = pid ^ 1\n")
    _, out, _ = run("score", str(mine), *command, cwd=project)
    assert "Proved: a permutation if num_pids % 2 == 0 (" in " ".join(out.split())
    mine.write_text("name: mine\ntext: |\n  pid = pid // 2\n")
    code, out, err = run("score", str(mine), *command, cwd=project)
    assert code == 1
    assert "computed by programs 0 and 1" in out
    mine.write_text("name: mine\ntext: |\n  pid = pid % BLOCK_MM\n")
    code, out, err = run("score", str(mine), *command, cwd=project)
    assert code == 2
    assert "BLOCK_MM" in out + err


def test_an_unknown_kernel_is_named_with_those_that_were_launched(project: Path) -> None:
    code, _, err = run("-k", "matmul", *gemm(), cwd=project)
    assert code == 2
    assert "matmul" in err
    assert "gemm_kernel" in err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ([sys.executable, "-c", "print('no GPU work'); raise SystemExit(3)"], "no GPU work"),
        ([sys.executable, "-c", "import os; os.write(1, bytes(range(256)))"], "no Triton launch"),
    ],
)
def test_an_application_without_triton_kernels_is_exit_code_1(
    project: Path, command: list[str], says: str
) -> None:
    code, _, err = run("--", *command, cwd=project)
    assert code == 1
    assert says in err
    assert err.count("error:") == 1


def test_two_kernels_are_distinguished_and_the_one_with_most_to_gain_is_chosen(
    project: Path, read_result: Any
) -> None:
    (project / "both.py").write_text(
        "import streaming\nimport runpy, sys\nsys.argv[0] = 'gemm.py'\n"
        "runpy.run_path('gemm.py', run_name='__main__')\n"
    )
    (project / "streaming.py").write_text(STREAMING)
    own, application = split(gemm("-o", "../result.json"))
    code, out, err = run(*own, "--", application[0], "both.py", *application[2:], cwd=project)
    assert code == 0, err
    result = read_result(project.parent / "result.json")
    assert result["kernel_name"] == "gemm_kernel"
    assert [row["kernel"] for row in result["swizzle"]["kernels"]] == ["gemm_kernel", "copy_kernel"]
    assert "copy_kernel" in out


@pytest.fixture(scope="module", autouse=True)
def quiet_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No key, no endpoint, nothing kept of earlier runs: whoever runs the tests may have them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        for name in [name for name in os.environ if name.startswith("INTELLIPERF_SWIZZLE_")]:
            patch.delenv(name)
        for name in ("LLM_GATEWAY_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor of other tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


STREAMING = """\
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, y, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets))


x = torch.randn(1 << 16, device="cuda")
copy_kernel[(64,)](x, torch.empty_like(x), BLOCK=1024)
"""


NOT_SWIZZLED = f"""\
import runpy, sys
sys.argv = ["gemm.py", *{SMALL_GEMM!r}]
runpy.run_path("gemm.py", run_name="__main__")
sys.exit("swizzle_" in open("gemm.py").read())
"""


@pytest.mark.parametrize(
    ("compute", "test", "success", "says"),
    [
        ("always", f"python gemm.py {' '.join(SMALL_GEMM)} --check", True, "fewer L2 misses"),
        ("auto", "python not_swizzled.py", False, "no improvement found"),
        ("never", "python gemm.py --dtype nonsense", True, "the unit test was not run"),
    ],
)
def test_the_users_own_test_is_a_gate_unless_nothing_may_be_executed(
    project: Path, compute: str, test: str, success: bool, says: str, read_result: Any
) -> None:
    (project / "not_swizzled.py").write_text(NOT_SWIZZLED)
    options = ["--compute", compute, "--unittest_command", test, "--num_attempts", "1"]
    code, out, err = run(*gemm("-o", "../result.json", *options), cwd=project)
    assert code == 0, err
    result = read_result(project.parent / "result.json")
    assert result["success"] is success
    assert says in " ".join(out.split())


def test_a_users_test_that_never_passes_is_an_error(project: Path) -> None:
    failing = "python gemm.py --m 64 --n 64 --k 32 --dtype nonsense"
    options = ["--compute", "always", "--unittest_command", failing]
    code, _, err = run(*gemm(*options), cwd=project)
    assert code == 1
    assert "error: without a swizzle, too, the unit test" in err
