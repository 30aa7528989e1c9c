# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Real child processes: how they end, and that nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from intelliperf_swizzle.children import CallError, Child, Ended, call, call_each, run
from intelliperf_swizzle.errors import TraceError

ESCAPES = """\
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    with open(sys.argv[1], "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)
while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read():
    time.sleep(0.01)
if sys.argv[2] == "wait":
    time.sleep(600)
"""
"""Starts a process that leaves the session and loses its parent, and writes down its number."""

CALLER = f"""\
import os, sys
from intelliperf_swizzle.children import run
run([sys.executable, "-c", {ESCAPES!r}, *sys.argv[1:]], cwd=".", environment=os.environ,
    limit_seconds=600)
"""


def python(text: str, *arguments: str, seconds: float = 60) -> Ended:
    command = [sys.executable, "-IS", "-c", text, *arguments]
    return run(command, cwd=Path.cwd(), environment=os.environ, limit_seconds=seconds)


def written(path: Path) -> int:
    """The number of the process that the file tells, once it does."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.02)
    raise AssertionError(f"nothing was written to {path}")


def is_running(pid: int) -> bool:
    """Whether there is such a process, zombies aside."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ends(pid: int, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(pid)


@pytest.mark.parametrize(
    ("text", "exit_code"),
    [
        ("print('said')", 0),
        ("print('said'); raise SystemExit(3)", 3),
        ("import os; os.write(2, b'said'); os.abort()", -signal.SIGABRT),
        ("import os; os.write(1, b'said'); os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import os; os.write(1, b'said'); os.kill(os.getpid(), 15)", -signal.SIGTERM),
    ],
)
def test_a_command_ends_as_it_would_by_itself(text: str, exit_code: int) -> None:
    ended = python(text)
    assert ended.exit_code == exit_code
    assert ended.output.strip() == "said"


def test_a_command_that_ends_at_once_keeps_its_exit_code() -> None:
    """A race: of ten commands that fail at once, about five once counted as passed."""
    assert {run(["sh", "-c", "exit 3"]).exit_code for _ in range(10)} == {3}


def test_what_cannot_be_started_is_the_usual_error(tmp_path: Path) -> None:
    environment = dict(os.environ)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        run(["/nowhere/app"], cwd=tmp_path, environment=environment, limit_seconds=9)
    (tmp_path / "text").write_text("no program")
    with pytest.raises(PermissionError):
        run([str(tmp_path / "text")], cwd=tmp_path, environment=environment, limit_seconds=9)
    with pytest.raises(FileNotFoundError):
        run(["true"], cwd=tmp_path / "none", environment=environment, limit_seconds=9)


def test_what_takes_too_long_is_ended() -> None:
    assert python("import time; time.sleep(600)", seconds=0.2).exit_code is None


def test_a_command_is_asked_before_it_is_killed(tmp_path: Path) -> None:
    text = "import signal, sys, time\nsignal.signal(15, lambda *_: sys.exit('asked'))\n"
    text += "print('ready', flush=True)\ntime.sleep(600)"
    log = tmp_path / "log"
    with log.open("wb") as output:
        child = Child(
            [sys.executable, "-IS", "-c", text], cwd=tmp_path, environment=os.environ, output=output
        )
    while "ready" not in log.read_text():
        time.sleep(0.02)
    child.end(patience_seconds=60)
    assert child.exit_code == 1
    assert log.read_text().split() == ["ready", "asked"]


@pytest.mark.parametrize("then", ["wait", "end"])
def test_what_escapes_its_session_ends_with_the_command(tmp_path: Path, then: str) -> None:
    where = tmp_path / "pid"
    ended = python(ESCAPES, str(where), then, seconds=2 if then == "wait" else 60)
    assert ended.exit_code == (None if then == "wait" else 0)
    assert ends(written(where))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_its_caller(tmp_path: Path, number: int) -> None:
    where = tmp_path / "pid"
    caller = subprocess.Popen([sys.executable, "-c", CALLER, str(where), "wait"])
    escaped = written(where)
    assert is_running(escaped)
    caller.send_signal(number)
    caller.wait(60)
    assert ends(escaped)


# --- calls ----------------------------------------------------------------------------------------


def add(request: Sequence[int], folder: Path) -> int:
    assert Path(os.environ["TMPDIR"]) == folder
    return sum(request)


def refuse(request: str, folder: Path) -> None:
    raise TraceError(request, hint="another", details=("a line",))


def crash(request: str, folder: Path) -> None:
    from intelliperf_swizzle.children.warm import begin

    begin(folder, request)
    os.abort()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions of this file can be imported in a child process."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


@pytest.mark.usefixtures("here")
def test_a_call_returns_what_its_function_returns() -> None:
    assert call("test_children:add", (1, 2, 3), limit_seconds=60) == 6


@pytest.mark.usefixtures("here")
def test_a_call_raises_our_error_that_its_function_raises() -> None:
    with pytest.raises(TraceError) as error:
        call("test_children:refuse", "refused", limit_seconds=60)
    assert str(error.value) == "refused\n  a line\nhint: another"


@pytest.mark.usefixtures("here")
def test_a_call_reports_how_its_child_died_and_what_it_was_doing() -> None:
    with pytest.raises(CallError) as error:
        call("test_children:crash", "adding", limit_seconds=60)
    assert error.value.how == "was ended by SIGABRT"
    assert error.value.stage == "adding"
    with pytest.raises(CallError) as error:
        call("test_children:nothing", None, limit_seconds=60)
    assert "nothing" in error.value.ended.last_lines(1)[0]


def leave(code: int | str | None, folder: Path) -> None:
    sys.exit(code)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("code", "exit_code", "said"), [("too bad", 1, ("too bad",)), (3, 3, ()), (None, 0, ())]
)
def test_a_call_that_leaves_ends_as_python_does(
    code: int | str | None, exit_code: int, said: tuple[str, ...]
) -> None:
    with pytest.raises(CallError) as raised:
        call("test_children:leave", code, limit_seconds=60)
    ended = raised.value.ended
    assert (ended.exit_code, ended.last_lines(9)) == (exit_code, said)


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of the child process that writes down each process which imports it."""
    imports = tmp_path / "imports"
    (tmp_path / "counted.py").write_text(
        f"""\
import os, signal, time
importer = os.getpid()
with open({str(imports)!r}, "a") as file:
    print(os.getpid(), file=file)
if os.environ.get("DIES"):
    os.abort()
changed = []

def look(request, folder):
    changed.append(request)
    return os.getpid(), os.getcwd(), list(changed)

def kill_importer(request, folder):
    os.kill(importer, signal.SIGKILL)

def wait(request, folder):
    time.sleep(600)
"""
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return imports


def test_calls_share_their_imports_and_nothing_else(counted: Path) -> None:
    first, second = (call("counted:look", n, limit_seconds=60) for n in (1, 2))
    (importer,) = counted.read_text().split()
    assert len({first[0], second[0], int(importer)}) == 3
    assert first[1] != second[1]
    assert (first[2], second[2]) == ([1], [2])


def test_calls_in_another_environment_import_anew(counted: Path) -> None:
    call("counted:look", 1, limit_seconds=60)
    call("counted:look", 1, environment={"TRITON_INTERPRET": "1"}, limit_seconds=60)
    assert len(set(counted.read_text().split())) == 2


def test_a_process_that_dies_while_it_imports_is_replaced(counted: Path) -> None:
    for _ in range(2):
        with pytest.raises(CallError) as error:
            call("counted:look", 1, environment={"DIES": "1"}, limit_seconds=60)
        assert error.value.how == "was ended by SIGABRT"
    assert 2 <= len(counted.read_text().split()) <= 3
    assert call("counted:look", 1, limit_seconds=60)


def test_a_call_to_a_process_that_has_just_died_is_repeated_in_a_new_one(counted: Path) -> None:
    for _ in range(8):
        assert call("counted:kill_importer", None, limit_seconds=60) is None
        assert call("counted:look", 1, limit_seconds=60)


def test_a_call_that_takes_too_long_ends_alone(counted: Path) -> None:
    with pytest.raises(CallError) as error:
        call("counted:wait", None, limit_seconds=1)
    assert error.value.too_late
    call("counted:look", 1, limit_seconds=60)
    assert len(counted.read_text().split()) == 1


def test_what_is_imported_ends_with_its_caller(counted: Path) -> None:
    calls = (
        "from intelliperf_swizzle.children import call; call('counted:wait', 0, limit_seconds=9)"
    )
    caller = subprocess.Popen([sys.executable, "-c", calls])
    importer = written(counted)
    caller.kill()
    caller.wait(60)
    assert ends(importer)


def count_and_crash(request: int, folder: Path) -> Iterator[int]:
    yield from range(request)
    os.abort()


@pytest.mark.usefixtures("here")
def test_what_was_yielded_before_a_crash_is_kept() -> None:
    found, error = call_each("test_children:count_and_crash", 3, limit_seconds=60)
    assert found == [0, 1, 2]
    assert error is not None
    assert error.how == "was ended by SIGABRT"
