# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`intelliperf --formula swizzle` is found whatever is installed, upgraded or removed when."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

from intelliperf_swizzle.host.formula import parse_as_host

CHECKOUT = Path(__file__).parents[2]
DOUBLE = Path(__file__).parent / "double"
INSTALLERS = ("pip", "uv")
OURS = ("swizzle", "swizzle-unaware", "swizzle-overload")


OTHERS = [
    ("-f", "diagnoseOnly", "-vv", "--", "python", "a.py", "-b", "c d"),
    ("-f", "bankConflict", "-p", ".", "--", "./a"),
    ("--", "python", "a.py", "--formula", "swizzle"),
    ("-f", "swizzling", "--", "./a"),
    ("-f", "memoryAccess", "-p", ".", "--", "./a"),
    ("-f", "diagnoseOnly", "--candidates", "3", "--", "./a"),
    (),
]
"""Command lines that are none of our business."""


def assert_found(host):
    """Both ways to start the host know our formulas, and the others still reach it."""
    assert ", ".join(OURS) in host.run("intelliperf", "--help").stdout
    assert "--candidates" in host.run("python", "-m", "intelliperf", "-f", "swizzle", "-h").stdout
    assert_as_without_us(host, "intelliperf", *OTHERS[1])


def assert_as_without_us(host, *command):
    with_us = host.run(*command)
    without = host.run(*command, INTELLIPERF_SWIZZLE_DISABLE="1")
    assert with_us.returncode == without.returncode
    assert with_us.stdout == without.stdout
    assert with_us.stderr == without.stderr


def assert_host_as_before(host):
    assert "swizzle," not in host.run("intelliperf", "--help").stdout
    refused = host.run("intelliperf", "-f", "swizzle", "--", "./a")
    assert refused.returncode == 2
    assert "invalid choice: 'swizzle'" in refused.stderr


def hook_files(host):
    return list(host.folder.rglob("intelliperf_swizzle_startup.py")) + list(
        host.folder.rglob("zz_intelliperf_swizzle.*")
    )


@pytest.mark.parametrize("installer", INSTALLERS)
def test_host_first(installer, source, environment, wheel):
    host = environment(installer)
    host.install("-e", source)
    host.install(wheel)
    assert_host_as_before(host)
    assert not hook_files(host)
    assert host.hook().count("written: ") == 3
    assert_found(host)
    host.install_again("-e", source)
    assert_found(host)
    host.uninstall("intelliperf-swizzle")
    assert_host_as_before(host)
    assert not hook_files(host)


@pytest.mark.parametrize("installer", INSTALLERS)
def test_formula_first_and_host_removed(installer, source, environment, wheel):
    host = environment(installer)
    host.install(wheel)
    host.hook()
    host.install("-e", source)
    assert_found(host)
    host.uninstall("intelliperf")
    gone = host.run("python", "-m", "intelliperf", "-f", "swizzle")
    assert gone.returncode == 1
    assert "No module named intelliperf" in gone.stderr
    assert "Traceback" not in gone.stderr
    assert host.run("intelliperf-swizzle", "--version").returncode == 0


@pytest.mark.parametrize("installer", INSTALLERS)
@pytest.mark.parametrize("host_first", [True, False])
def test_formula_editable(installer, host_first, source, environment):
    host = environment(installer)
    for what in (source, CHECKOUT) if host_first else (CHECKOUT, source):
        host.install("-e", str(what))
    host.hook()
    assert_found(host)


def test_the_hook_can_be_removed(environment, wheel):
    host = environment("pip")
    host.install(str(DOUBLE), wheel)

    def diagnosed():
        path = str(host.folder / "bin")  # with no compiler, for which something would be built
        ran = host.run("intelliperf-swizzle", "doctor", "--json", PATH=path)
        findings = json.loads(ran.stdout)["findings"]
        return next(finding for finding in findings if finding["part"] == "IntelliPerf")

    (packages,) = host.folder.glob("lib/python*/site-packages")
    before = sorted(packages.iterdir())
    assert diagnosed()["command"] == "intelliperf-swizzle install-hook"
    for _ in range(2):
        host.hook()
    assert diagnosed()["gap"] is None
    assert_found(host)
    assert host.hook("remove-hook").count("removed: ") == 3
    assert host.hook("remove-hook") == ""
    assert_host_as_before(host)
    assert [path for path in sorted(packages.iterdir()) if path.name != "__pycache__"] == [
        path for path in before if path.name != "__pycache__"
    ]
    host.uninstall("intelliperf-swizzle")
    assert_host_as_before(host)


@pytest.mark.parametrize("start", [("intelliperf",), ("python", "-m", "intelliperf")])
@pytest.mark.parametrize("arguments", OTHERS)
def test_other_formulas_as_before(start, arguments, any_host):
    """To the byte, tracebacks too."""
    assert_as_without_us(any_host, *start, *arguments)


def test_nothing_is_loaded_before_the_host(host):
    """The start-up file costs no import but its own, and none of ours in another program."""
    loaded = host.run(
        "python", "-c", "import sys; print(*(m for m in sys.modules if 'intelliperf' in m))"
    )
    assert loaded.stdout.split() == ["intelliperf_swizzle_startup"]
    assert not loaded.stderr


def test_another_program_whose_command_names_the_host(host, tmp_path):
    """Its parser is its own, formulas and all."""
    (tmp_path / "intelliperf").mkdir()
    program = tmp_path / "intelliperf" / "chemistry.py"
    program.write_text(
        "import argparse, sys\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--formula', choices=['H2O', 'CO2'])\n"
        "print(parser.parse_args(), *(m for m in sys.modules if m.startswith('intelliperf')))\n"
    )
    formula = host.run("python", str(program), "--formula", "CO2").stdout
    assert formula.split() == ["Namespace(formula='CO2')", "intelliperf_swizzle_startup"]
    refused = host.run("python", str(program), "--formula", "swizzle")
    assert "invalid choice: 'swizzle'" in refused.stderr
    assert "swizzle-unaware" not in refused.stderr


def test_host_whose_options_default_to_a_stream():
    """A stream cannot be copied, and is none of ours."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--formula", choices=["diagnoseOnly"], default="diagnoseOnly")
    parser.add_argument("--output_file", default=sys.stdout)
    read = parse_as_host(parser, ArgumentParser.parse_args, ["--formula", "diagnoseOnly"])
    assert vars(read) == {"formula": "diagnoseOnly", "output_file": sys.stdout}


def test_package_gone_start_up_file_left(environment, wheel):
    host = environment("pip")
    host.install("-e", str(DOUBLE), wheel)
    host.hook()
    (package,) = host.folder.glob("lib/python*/site-packages/intelliperf_swizzle")
    package.rename(package.with_name("elsewhere"))
    assert_host_as_before(host)


@pytest.mark.parametrize("value", ["1", "true", "yes"])
def test_switched_off(value, host):
    refused = host.run(
        "intelliperf", "-f", "swizzle", "--", "./a", INTELLIPERF_SWIZZLE_DISABLE=value
    )
    assert refused.returncode == 2
    assert "invalid choice: 'swizzle'" in refused.stderr


def test_host_source_can_still_be_read(host):
    read = "import inspect, intelliperf.__main__ as m; print(inspect.getsource(m))"
    source = (DOUBLE / "src" / "intelliperf" / "__main__.py").read_text()
    assert host.run("python", "-c", read).stdout.strip() == source.strip()


def test_in_process_the_formula_runs_our_main(any_host):
    start = "from intelliperf.__main__ import main; import sys; sys.argv[1:] = ['--help']; main()"
    assert "swizzle-unaware" in any_host.run("python", "-c", start).stdout


def test_host_that_lists_us_is_left_alone(host):
    """It reads the entry points itself, so its parser is asked and nobody else."""
    helped = host.run("intelliperf", "--help", DOUBLE_PATCHED="1").stdout
    assert [helped.count(f"{name},") + helped.count(f"{name} ") for name in OURS] == [1, 1, 1]
    assert "--candidates" not in helped
    helped = host.run("intelliperf", "-f", "swizzle", "--help", DOUBLE_PATCHED="1").stdout
    assert helped.count("--candidates ") == 1


def test_no_dependency_on_the_names_of_the_host(host):
    ask = "from importlib.metadata import requires; print(*requires('intelliperf-swizzle'))"
    required = host.run("python", "-c", ask).stdout
    assert "numpy" in required
    assert not [name for name in ("intelliperf", "nexus", "accordo", "metrix") if name in required]


@pytest.mark.parametrize(
    "spelled",
    [
        ("-f", "swizzle"),
        ("--form", "swizzle"),
        ("-vf", "swizzle"),
        ("-fswizzle",),
        ("--formula=swizzle",),
        ("-f", "bankConflict", "-f", "swizzle"),
        ("--target", "mi300x", "--formula", "swizzle-overload"),
        ("--help", "-f", "swizzle-unaware"),
        ("-f", "own.yaml"),
    ],
)
def test_every_spelling_of_the_host_is_understood(spelled, any_host, tmp_path):
    (tmp_path / "own.yaml").write_text("")
    assert "--candidates" in any_host.run("intelliperf", *spelled, "--help", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (("-f", "swizzle"), {}, "no application is given"),
        (("-f", "swizzle", "python", "a.py", "--", "b"), {}, "no application is given"),
        (("-f", "swizzle", "--candidates", "0", "--", "./a"), {}, "0 is not positive"),
        (("-f", "swizzle", "--nonsense", "--", "./a"), {}, "--nonsense"),
        (("-f", "swizzel", "--", "./a"), {}, "invalid choice: 'swizzel'"),
        (("-f", "none.yaml", "--", "./a"), {}, "invalid choice: 'none.yaml'"),
        (("-f", "swizzle", "-o", "a.xml", "--", "./a"), {}, "a.xml"),
        (("-f", "swizzle-unaware", "--", "./a"), {}, "needs a language model"),
        (("-f", "swizzle", "--proposer", "llm", "--", "./a"), {}, "needs a language model"),
        (("-f", "swizzle", "-p", "nowhere", "--", "./a"), {}, "nowhere"),
        (("-f", "swizzle", "--", "./a"), {"INTELLIPERF_SWIZZLE_SEED": "x"}, "SEED is `x`"),
        (("-f", "swizzle", "--", "./a"), {"INTELLIPERF_SWIZZLE_TARGET": "x"}, "no target `x`"),
    ],
)
def test_bad_usage_is_exit_code_2(arguments, variables, message, any_host, tmp_path):
    refused = any_host.run("intelliperf", *arguments, cwd=tmp_path, **variables)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
