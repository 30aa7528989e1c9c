# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Bad input: one clear error (fact, value, hint), the right exit code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from intelliperf_swizzle.cli import main
from intelliperf_swizzle.formulas import patterns
from intelliperf_swizzle.options import PREFIX, options_of
from intelliperf_swizzle.report import terminal


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no application is given"),
        (["--"], "no application is given"),
        (["--target", "mi300x"], "no application is given"),
        (["true", "-m", "3"], "hint: intelliperf-swizzle -- true -m 3"),
        (["--target", "mi300x", "true", "--m", "8"], "swizzle --target mi300x -- true --m 8"),
        (["score", "snake", "true", "x"], "hint: intelliperf-swizzle score snake -- true x"),
        (["prove", "--source", "k.py", "true"], "no `--` before the application `true`"),
        (["nonsense", "app.py"], "unrecognized arguments: nonsense app.py"),
        (["proove", "snake"], "hint: did you mean `prove`?"),
        (["--", "./none.sh"], "there is no program `./none.sh`"),
        (["--", "pyhton", "app.py"], "hint: did you mean `python`?"),
        (["--", "true x"], "hint: without quotation marks: -- true x"),
        (["--frobnicate", "--", "true"], "unrecognized arguments: --frobnicate"),
        (["--num_attempts", "0", "--", "true"], "0 is not positive"),
        (["--num_attempts", "many", "--", "true"], "`many` is not a whole number"),
        (["-p", "/nowhere/at/all", "--", "true"], "there is no directory /nowhere/at/all"),
        (["--", "/nowhere/app"], "there is no program `/nowhere/app`"),
        (["-f", "bankConflict", "--", "true"], "no formula is called `bankConflict`"),
        (["-o", "result.xml", "--", "true"], "cannot write a result as `result.xml`"),
        (["--target", "mi300z", "--", "true"], "there is no target `mi300z`"),
        (["--profiler", "gut", "--", "true"], "there is no profiler `gut`"),
        (["--proposer", "oracle", "--", "true"], "there is no proposer `oracle`"),
        (["prove"], "required: swizzle, --grid"),
        (["prove", "xcd-contigous", "--grid", "64"], "no pattern is called `xcd-contigous`"),
        (["prove", "snake", "--grid", "0"], "cannot be checked"),
        (["prove", "snake", "--grid", "8", "8", "8", "8"], "is not a grid"),
        (["prove", "snake", "--grid", "-4"], "is not a grid"),
        (["prove", "snake", "--grid", "99999999999"], "is not a grid"),
        (["prove", "snake", "--grid", "64", "--set", "cols"], "not a name and a number"),
        (["prove", "snake", "--grid", "64", "--set", "cols=x"], "not a name and a number"),
        (["prove", "snake", "--grid", "64", "--set", "colls=8"], "does not read `colls`"),
        (["prove", "missing.yaml", "--grid", "64"], "missing.yaml"),
        (["prove", "missing.txt", "--grid", "64"], "missing.txt cannot be read"),
        (["prove", "pid = pidd", "--grid", "64"], "1:7: unknown name `pidd`"),
        (["prove", "pid = " + "pid + " * 9999 + "0", "--grid", "64"], "swizzle: "),
        (["prove", "snake", "--grid", "²"], "`²` is not a grid"),
        (["prove", "snake", "--grid", "9" * 5000], "(5000 characters)` is not a grid"),
        (["prove", "snake", "--grid", "64", "--set", "cols=" + "9" * 5000], "(5005 characters)"),
        (["prove", "snake", "--grid", "64", "--set", "pid=3"], "`pid` cannot be set"),
        (["prove", "snake", "--grid", "64", "--set", "num_xcds=3"], "`num_xcds` cannot be set"),
        (["score", "snake", "--set", "grid_0=3", "--", "true"], "`grid_0` cannot be set"),
        (["score", "snake", "--set", "colls=3", "--", "true"], "`snake` has no parameter `colls`"),
        (["patterns", "extra"], "unrecognized arguments"),
    ],
)
def test_bad_usage_is_one_error_and_exit_code_2(
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert says in shown.err
    assert shown.err.count("error:") == 1
    assert "Traceback" not in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("name", ["target", "grid", "swizzle", "sizes"])
def test_an_argument_of_the_kernel_may_have_the_name_of_an_emitted_variable(name: str) -> None:
    assert (
        main(["prove", f"pid = (pid + {name}) % num_pids", "--grid", "8", "--set", f"{name}=3"])
        == 0
    )


SECONDS = ("limit_seconds", "validation_seconds")
COUNTS = (
    "samples", "max_tokens", "max_seconds", "candidates", "measure", "top_n", "num_attempts",
)  # fmt: skip
NUMBERS = [
    *((name, text) for name in (*SECONDS, "accordo_absolute_tolerance")
      for text in ("nan", "inf", "-inf", "-1", "1e400", "²", "")),
    *((name, text) for name in (*COUNTS, "device", "seed")
      for text in ("nan", "1e3", "²", "", "9" * 30, "9" * 5000)),
    *((name, "-1") for name in (*COUNTS, "device")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), NUMBERS, ids=lambda text: text[:20])
def test_a_number_that_is_none_is_refused_as_option_and_as_variable(
    name: str, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"--{name}={text}", "--", "true"]) == 2
    message = capsys.readouterr().err
    assert message.count("error:") == 1
    assert name in message
    assert len(message) < 300
    if name in {option.name for option in options_of("optimize", host=False)}:
        monkeypatch.setenv(PREFIX + name.upper(), text)
        assert main(["--", "true"]) == 2
        message = capsys.readouterr().err
        assert message.count("error:") == 1
        assert PREFIX + name.upper() in message
        assert len(message) < 300


@pytest.mark.parametrize("where", ["argument", "option", "variable", "directory"])
def test_a_name_that_is_not_utf_8_is_one_clear_error(where: str, tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/caf\xe9"
    Path(os.fsdecode(odd)).mkdir()
    command = [os.fsencode(sys.executable), b"-m", b"intelliperf_swizzle"]
    own = [b"-p", odd] if where == "option" else []
    application = [b"python", odd + b"/app.py"] if where == "argument" else [b"true"]
    variable = {b"INTELLIPERF_SWIZZLE_REPORT_DIR": odd} if where == "variable" else {}
    done = subprocess.run(
        [*command, *own, b"--", *application],
        cwd=odd if where == "directory" else tmp_path,
        env={**os.environb, **variable},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.count(b"error:") == 1
    assert b"is not UTF-8" in done.stderr
    assert b"caf\\udce9" in done.stderr
    assert b"hint:" in done.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pid = pid # \ud800", "lone surrogate"),
        ("pid = pid \0", "null bytes"),
        ("pid = print(pid)", "print"),
        ("pid = pid * 0.5", "float"),
        ("pid = pid.real", "attribute"),
        ("pid = pidd", "pidd"),
        ("pid = pid // 0", "0"),
        ("pid = (pid * 65536) * 65536", "31 bits"),
        ("pid = (pid - 5) % 64", "negative"),
        ("pid = " + "(" * 300 + "pid" + ")" * 300, ""),
        ("pid = " + " + ".join(["pid"] * 20000), ""),
        ("while True: pid = 1", ""),
        ("import os", ""),
        ("", ""),
    ],
)
def test_what_is_no_swizzle_is_refused_with_its_place(
    text: str, says: str, mocker: MockerFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    mocker.patch("sys.stdin", io.StringIO(f"text: {json.dumps(text)}\n"))
    code = main(["prove", "-", "--grid", "64"])
    shown = capsys.readouterr()
    assert code == 2, shown
    assert says in shown.err
    assert "Traceback" not in shown.err


@pytest.mark.parametrize("content", ["", "- a\n- b\n", "text: [1]", "name: x", "text: {", "\x00"])
def test_a_file_that_is_no_swizzle_file_is_exit_code_2(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(content)
    assert main(["prove", str(path), "--grid", "64"]) == 2
    assert "mine.yaml" in capsys.readouterr().err


def test_prove_says_yes_with_a_certificate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "xcd-contiguous", "--grid", "228"]) == 0
    shown = capsys.readouterr().out
    assert "is a permutation of 228 tiles on 8 XCDs" in shown


def test_prove_takes_statements_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a=b.txt").write_text("last = num_pids - SHIFT\npid = last - pid\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("# reversed\npid = num_pids - 1 - pid\n"))
    for swizzle in ("pid = num_pids - 1 - pid", "-", f"{tmp_path}/a=b.txt --set SHIFT=1"):
        words = [swizzle] if " - " in swizzle else swizzle.split()
        assert main(["prove", *words, "--grid", "64"]) == 0
        assert "is a permutation of 64 tiles" in capsys.readouterr().out


def test_prove_says_no_with_the_witness_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "stream-k", "--grid", "228"]) == 1
    shown = capsys.readouterr()
    assert "4 tiles are never computed" in shown.out
    assert "tile 28 is computed by programs 1 and 224" in shown.out
    assert "never computed: 224 225 226 227" in shown.out
    assert "hint:" in shown.out


def test_prove_takes_grids_in_every_usual_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    for grid in (["16", "8"], ["16x8"], ["16,8"], ["16,8,1"]):
        assert main(["prove", "identity", "--grid", *grid]) == 0
        assert "of 128 tiles" in capsys.readouterr().out


def test_the_target_decides_the_number_of_domains(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "stream-k", "--grid", "228", "--target", "mi300a"]) == 0
    assert "on 6 XCDs" in capsys.readouterr().out
    assert main(["prove", "stream-k", "--grid", "228", "--target", "h200"]) == 0
    assert "on 2 L2 partitions" in capsys.readouterr().out
    assert main(["prove", "stream-k", "--grid", "229", "--target", "h200"]) == 1
    assert "on 2 L2 partitions" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["patterns", "targets"])
@pytest.mark.parametrize("columns", [80, None])
def test_lists_fit_a_terminal_and_are_not_wrapped_in_a_pipe(
    verb: str, columns: int | None, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if columns:
        monkeypatch.setattr(terminal, "PIPE_WIDTH", columns)
    assert main([verb]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 9
    if columns:
        assert max(map(len, lines)) <= columns
    elif verb == "patterns":
        assert len(lines) == 2 * len(patterns())
