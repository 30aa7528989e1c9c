# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs that search nothing, each a function of its arguments that returns the exit code.

What is heavy is imported when its verb is run.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from importlib import import_module, util
from pathlib import Path

from intelliperf_swizzle import hook
from intelliperf_swizzle.cli import PROGRAM, Parser, parse_with_application
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.options import add_options, read_options


def apply(arguments: Sequence[str]) -> int:
    """Becomes the application, in which each Python applies the swizzles once it imports Triton."""
    from intelliperf_swizzle.frontends.ports import Overlay, frontends

    parser = Parser(
        prog=f"{PROGRAM} apply",
        usage=f"{PROGRAM} apply SWIZZLES.json -- python app.py ...",
        description="Run an application whose kernels get swizzles when they are compiled.",
    )
    parser.add_argument("swizzles", metavar="SWIZZLES.JSON", help="a file that a run wrote")
    [able, *_] = [frontend for frontend in frontends() if isinstance(frontend, Overlay)]
    options, command = parse_with_application(parser, arguments)
    file = Path(options.swizzles)
    if not file.is_file():
        raise UsageError(f"there is no file {file}", hint="a run writes swizzles.json")
    if shutil.which(command[0]) is None:
        raise UsageError(f"there is no program `{command[0]}`")
    sys.stdout.flush()
    os.execvpe(command[0], command, able.applying(file, os.environ))


def overlay(arguments: Sequence[str]) -> int:
    """Writes the module that applies swizzles, for a project of the user's."""
    from intelliperf_swizzle.frontends.ports import Overlay, frontends

    parser = Parser(prog=f"{PROGRAM} overlay", description="Apply swizzles without this package.")
    parser.add_argument("--vendor", metavar="FILE.py", required=True, help="the module to write")
    file = Path(parser.parse_args(arguments).vendor)
    [able, *_] = [frontend for frontend in frontends() if isinstance(frontend, Overlay)]
    shutil.copyfile(able.overlay_module, file)
    print(f"{file}: `with applied('swizzles.json'):` applies a file of swizzles")
    return 0


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

    kind = format_name(options.format, options.output_file)
    finished = read_run(Path(options.result))
    if kind == "text" and not options.output_file:
        show(summary(finished), sys.stdout)
        return 0
    text = REPORT_FORMATS[kind](finished)
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
            "validate-model is not part of the installed package",
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
