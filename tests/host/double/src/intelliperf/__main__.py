# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The command line: parses by itself, knows its formulas by name, and drives one."""

import argparse
import json
import logging
import os
import sys
from importlib.metadata import entry_points

BUILT_IN = ["bankConflict", "memoryAccess", "atomicContention", "diagnoseOnly", "swizzling"]


def external_formulas():
    patched = os.environ.get("DOUBLE_PATCHED")
    points = entry_points(group="intelliperf.formulas") if patched else ()
    return {point.name: point for point in points}


def intelliperf_parser():
    external = external_formulas()
    names = [*BUILT_IN, *external]
    parser = argparse.ArgumentParser(
        prog="intelliperf",
        usage="intelliperf [options] -- <command>",
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("-v", "--verbose", action="count", default=0)
    parser.add_argument("remaining", metavar="-- [ ...]", nargs=argparse.REMAINDER)
    group = parser.add_argument_group("optional arguments")
    group.add_argument("-b", "--build_command", metavar="")
    group.add_argument("-i", "--instrument_command", metavar="")
    group.add_argument("-p", "--project_directory", metavar="")
    group.add_argument(
        "-f",
        "--formula",
        choices=names,
        default="diagnoseOnly",
        metavar="",
        help=f"One of: {', '.join(names)} (default: diagnoseOnly)",
    )
    group.add_argument("--top_n", type=int, default=10, metavar="")
    group.add_argument("--trace_path", default="trace", metavar="PATH")
    group.add_argument("--num_attempts", type=int, default=10, metavar="")
    group.add_argument("-t", "--accordo_absolute_tolerance", type=float, default=1e-6, metavar="")
    group.add_argument("--unittest_command", metavar="")
    group.add_argument("-m", "--model", default="gpt-4o", metavar="")
    group.add_argument("-r", "--provider", default="openai", metavar="")
    group.add_argument("--internal", action="store_true")
    group.add_argument("-l", "--in_place", action="store_true")
    group.add_argument("-o", "--output_file", metavar="")
    group.add_argument("-k", "--kernel", metavar="")
    finder = argparse.ArgumentParser(add_help=False)
    finder.add_argument("-f", "--formula")
    finder.add_argument("-v", action="count")
    asked = finder.parse_known_args(" ".join(sys.argv[1:]).partition(" -- ")[0].split())[0].formula
    if asked in external:
        external[asked].load().add_options(parser)
    args = parser.parse_args()
    if args.formula in BUILT_IN and args.formula != "diagnoseOnly" and not args.project_directory:
        parser.error("--project_directory is required when --formula is not diagnoseOnly")
    if not args.remaining or "--" not in args.remaining:
        parser.error("the application must follow --")
    args.remaining = args.remaining[1:]
    return args


def main():
    args = intelliperf_parser()
    if args.formula == "memoryAccess":
        raise OSError("libamdhip64.so: cannot open shared object file")
    if args.formula in BUILT_IN:
        if args.formula != "diagnoseOnly" and not os.environ.get("LLM_GATEWAY_KEY"):
            logging.error("the key for a language model is missing")
            sys.exit(1)
        print(json.dumps(vars(args)))
        sys.exit(0)
    sys.exit(external_formulas()[args.formula].load().run(args))


if __name__ == "__main__":
    main()
