# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs that search nothing, each a function of its arguments that returns the exit code.

What is heavy is imported when its verb is run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from importlib import import_module, util
from pathlib import Path

from intelliperf_swizzle import hook
from intelliperf_swizzle.cli import (
    PROGRAM,
    SWIZZLE,
    Parser,
    condition_hint,
    parse_with_application,
    progress_display,
    swizzle_of,
)
from intelliperf_swizzle.errors import LanguageError, UsageError
from intelliperf_swizzle.options import DEFAULT_TARGET, add_options, read_options
from intelliperf_swizzle.readers import bindings, grid, seconds


def apply(arguments: Sequence[str]) -> int:  # noqa: RET503 (the process becomes another program)
    """Becomes the application, in which each Python applies the swizzles once it imports Triton."""
    from intelliperf_swizzle.frontends.ports import Overlay, frontends

    parser = Parser(
        prog=f"{PROGRAM} apply",
        description="Run an application with the swizzles of a file: kernels change when they are"
        " compiled, sources stay.",
    )
    parser.add_argument("swizzles", metavar="SWIZZLES.JSON", help="a run writes it")
    parser.add_argument(
        "--vendor",
        action="store_true",
        help="write the module that applies swizzles to this file instead, for your own project",
    )
    [able, *_] = [one for one in frontends() if isinstance(one, Overlay)]
    if "--vendor" in arguments:
        file = Path(parser.parse_args(arguments).swizzles)
        shutil.copyfile(able.overlay_module, file)
        print(f"{file}: `with applied('swizzles.json'):` applies a file of swizzles")
        return 0
    options, command = parse_with_application(parser, arguments)
    file = Path(options.swizzles)
    if not file.is_file():
        raise UsageError(f"there is no file {file}", hint="a run writes swizzles.json")
    if shutil.which(command[0]) is None:
        raise UsageError(f"there is no program `{command[0]}`")
    sys.stdout.flush()
    os.execvpe(command[0], command, able.applying(file, os.environ))


def report(arguments: Sequence[str]) -> int:
    """Renders a result file; nothing is run."""
    parser = Parser(
        prog=f"{PROGRAM} report", description="Show the result of an earlier run; runs nothing."
    )
    parser.add_argument("result", help="the result file, result.json")
    parser.add_argument("-o", "--output_file", help="write it here (default: standard output)")
    parser.add_argument(
        "--format", choices=("text", "html", "md"), help="(default: by -o's ending, else text)"
    )
    options = parser.parse_args(arguments)

    from intelliperf_swizzle.report.files import REPORT_FORMATS, format_name, read_run, write
    from intelliperf_swizzle.report.terminal import show, summary

    face = format_name(options.format, options.output_file)
    finished = read_run(Path(options.result))
    if face == "text" and not options.output_file:
        show(summary(finished), sys.stdout)
        return 0
    text = REPORT_FORMATS[face](finished)
    if options.output_file:
        write(Path(options.output_file), text)
    else:
        sys.stdout.write(text)
    return 0


def _take_none(verb: str, does: str, arguments: Sequence[str]) -> None:
    Parser(prog=f"{PROGRAM} {verb}", description=does).parse_args(arguments)


def mcp(arguments: Sequence[str]) -> int:
    """Serves on standard input and output until the client leaves."""
    _take_none("mcp", "Serve the verbs to a coding agent by the Model Context Protocol.", arguments)
    if util.find_spec("mcp") is None:
        raise UsageError(
            "the MCP server needs the package `mcp`", hint="pip install 'intelliperf-swizzle[mcp]'"
        )

    from intelliperf_swizzle.mcp.server import make_server

    make_server().run("stdio")
    return 0


def patterns(arguments: Sequence[str]) -> int:
    """Prints the catalogue."""
    _take_none("patterns", "List the catalogue.", arguments)
    from intelliperf_swizzle.formulas import patterns
    from intelliperf_swizzle.report.terminal import catalogue, show

    show(catalogue(patterns()), sys.stdout)
    return 0


def targets(arguments: Sequence[str]) -> int:
    """Prints the GPUs."""
    _take_none("targets", "List the GPUs.", arguments)
    from intelliperf_swizzle.hardware import load_target, targets
    from intelliperf_swizzle.report.terminal import gpus, show

    show(gpus([load_target(name) for name in targets()]), sys.stdout)
    return 0


def doctor(arguments: Sequence[str]) -> int:
    """Prints the diagnosis; 1 where what is asked for cannot work."""
    parser = Parser(
        prog=f"{PROGRAM} doctor",
        usage=f"{PROGRAM} doctor [--json] [options of a run] [-- python app.py ...]",
        description="Report what is installed, what a run would use, and how to get the rest.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_options(parser, "doctor")
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    namespace = parser.parse_args(own)

    from intelliperf_swizzle.doctor import as_json, as_text, diagnose

    diagnosis = diagnose(read_options(namespace))
    print(json.dumps(as_json(diagnosis), indent=2) if namespace.json else as_text(diagnosis))
    return 0 if diagnosis.works else 1


def validate_model(arguments: Sequence[str]) -> int:
    """Prints the comparison; the exit code is 1 if something measured could not be compared."""
    benchmarks = Path(__file__).resolve().parents[3] / "benchmarks"
    if not (benchmarks / "accuracy").is_dir():
        raise UsageError(
            "validate-model is no part of an installed package",
            hint="pip install -e . in a checkout of intelliperf-swizzle",
        )
    sys.path.append(str(benchmarks))
    return int(import_module("accuracy.command").main(arguments))


def install_hook(arguments: Sequence[str]) -> int:
    """Installs the hook and prints its files."""
    _take_none("install-hook", "Add our formulas to IntelliPerf; remove-hook undoes it.", arguments)
    for path in hook.install_hook():
        print(f"written: {path}")
    return 0


def remove_hook(arguments: Sequence[str]) -> int:
    """Removes the hook and prints its files."""
    _take_none("remove-hook", "Remove the start-up file of install-hook.", arguments)
    for path in hook.remove_hook():
        print(f"removed: {path}")
    return 0


PROVE = f"""\
{PROGRAM} prove SWIZZLE --grid G [G ...] [--set NAME=VALUE]
       {PROGRAM} prove --source kernel.py [-k KERNEL] [--sweep] -- python app.py ..."""


def prove(arguments: Sequence[str]) -> int:
    """Prints the proof or the witness; 1 where it is no permutation, or where it is not known."""
    if "--" in arguments or any(one.split("=")[0] == "--source" for one in arguments):
        return _run_source(arguments)
    return _run_swizzle(arguments)


def _run_source(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog=f"{PROGRAM} prove",
        usage=PROVE,
        description="Prove the remap that a kernel has already, on the grids it is launched with.",
    )
    parser.add_argument("--source", required=True, help="the file of the kernel, or of its remap")
    parser.add_argument("-k", "--kernel", help="only this kernel of the file")
    parser.add_argument(
        "--sweep", action="store_true", help="also look at each launch at other sizes"
    )
    parser.add_argument("-p", "--project_directory", default=".", help="where the application runs")
    parser.add_argument(
        "--target", default=DEFAULT_TARGET, help="GPU that the application is told of"
    )
    parser.add_argument(
        "--limit_seconds", type=seconds, default=300.0,
        help="end the application if it takes longer (default: 300)",
    )  # fmt: skip
    parser.add_argument(
        "--no_cache", "--no-cache", action="store_true",
        help="look anew at launches that an earlier run has looked at",
    )  # fmt: skip
    options, command = parse_with_application(parser, arguments)

    from intelliperf_swizzle.api import prove_source
    from intelliperf_swizzle.report.words import describe_remap

    with progress_display() as progress:
        verdicts = prove_source(command, progress=progress, **vars(options))
    print("\n".join(describe_remap(verdict) for verdict in verdicts))
    return 0 if all(verdict.kind == "permutation" for verdict in verdicts) else 1


def _run_swizzle(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog=f"{PROGRAM} prove", usage=PROVE, description="Prove that a swizzle is a permutation."
    )
    parser.add_argument("swizzle", help=SWIZZLE)
    parser.add_argument(
        "--grid", nargs="+", required=True, metavar="G", help="programs along the axes: 4096, 64 64"
    )
    parser.add_argument("--target", default=DEFAULT_TARGET, help=f"GPU ({DEFAULT_TARGET})")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="a parameter of the pattern, or an argument of the kernel",
    )  # fmt: skip
    options = parser.parse_args(arguments)

    from intelliperf_swizzle.api import loaded_target, prove_parsed, refuse_unread
    from intelliperf_swizzle.language import INPUTS, parse
    from intelliperf_swizzle.mapping import refusal
    from intelliperf_swizzle.records import Witness
    from intelliperf_swizzle.report.words import proved

    target, extents = loaded_target(options.target), grid(options.grid)
    settings = bindings(options.set, INPUTS)
    pattern = swizzle_of(options.swizzle)
    own = {name: settings[name] for name in settings.keys() - pattern.parameters.keys()}
    text = pattern.bind(**{name: settings[name] for name in settings.keys() - own.keys()})
    refuse_unread(pattern.name, own, parse(text).names, pattern.parameters)
    verdict = prove_parsed(parse(text), extents, own, target)
    if not isinstance(verdict, Witness):
        print(proved(pattern.name, verdict, target.domain_count))
        return 0
    if verdict.failure is not None:
        raise LanguageError(verdict.failure)
    domains, hint = target.domain_count, condition_hint(pattern)
    print(f"Refused: {refusal(verdict, pattern.name, extents, domains=domains, hint=hint)}")
    return 1
