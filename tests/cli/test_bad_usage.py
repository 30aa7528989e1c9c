# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Bad input: one clear error (fact, value, hint), the right exit code."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from intelliperf_swizzle.cli import main


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no application is given"),
        (["--"], "no application is given"),
        (["--target", "mi300x"], "no application is given"),
        (["python", "app.py"], "unrecognized arguments"),
        (["--frobnicate", "--", "true"], "unrecognized arguments: --frobnicate"),
        (["--num_attempts", "0", "--", "true"], "0 is not positive"),
        (["--num_attempts", "many", "--", "true"], "`many` is not a whole number"),
        (["-p", "/nowhere/at/all", "--", "true"], "there is no directory /nowhere/at/all"),
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
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
    text: str, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    body = "\n".join(f"  {line}" for line in text.splitlines())
    monkeypatch.setattr("sys.stdin", io.StringIO(f"text: |\n{body}\n"))
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
def test_lists_fit_80_columns(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 9
    assert max(map(len, lines)) <= 80
