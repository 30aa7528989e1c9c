# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Our own options, one list for `intelliperf-swizzle` and for `intelliperf --formula swizzle`.

Each has an environment variable, `INTELLIPERF_SWIZZLE_` and the option's name in capitals, which
stands in where the option is not given; a flag takes `1`, `0`, `true`, `false`, `yes` or `no`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.readers import integer, natural, positive, seconds, shown, utf8

DEFAULT_TARGET = "mi300x"
FORMULAS = ("swizzle", "swizzle-unaware", "swizzle-overload")
"""The formulas that come with the package; `-f` also takes the path of a formula's YAML."""

PROPOSERS = ("auto", "offline", "llm", "both")

PREFIX = "INTELLIPERF_SWIZZLE_"
_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}


@dataclass(frozen=True)
class Option:
    """One of our options.

    Attributes:
        name: as in `options.<name>`; the option is `--<name>`.
        help: for people.
        default: where neither the option nor its variable is given.
        read: turns a text into the value; None for a flag.
        choices: the only values there are, or None.
    """

    name: str
    help: str
    default: Any = None
    read: Callable[[str], Any] | None = str
    choices: tuple[str, ...] | None = None

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return PREFIX + self.name.upper()

    def preset(self, environment: Mapping[str, str]) -> Any:
        """The value where the option is not given; raises UsageError for a bad variable."""
        text = environment.get(self.variable)
        if text is None:
            return self.default
        utf8(text, self.variable)
        if self.read is None:
            if text.lower() not in _FLAGS:
                raise UsageError(f"{self.variable} is `{text}`", hint="1 or 0")
            return _FLAGS[text.lower()]
        if self.choices and text not in self.choices:
            raise UsageError(
                f"{self.variable} is `{text}`", hint=f"one of: {', '.join(self.choices)}"
            )
        try:
            return self.read(text)
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{self.variable} is {shown(text)}", hint=str(error)) from error


OWN_OPTIONS = (
    Option(
        "target", f"GPU: a name or a YAML file (default: the one present, else {DEFAULT_TARGET})"
    ),
    Option(
        "profiler",
        "auto, ncu, rocprofv3, metrix, model; intelliperf within IntelliPerf",
        "auto",
    ),
    Option("proposer", "auto, offline, llm, both (auto: both if a model is configured)", "auto"),
    Option(
        "samples", "answers of the language model a call; the best is measured (1)", 1, positive
    ),
    Option("max_tokens", "of the language model, in all (default: the formula's)", None, positive),
    Option("max_seconds", "of the language model, in all (default: the formula's)", None, positive),
    Option("candidates", "to try at most (400)", 400, positive),
    Option("measure", "candidates to try out on the GPU present, at most (16)", 16, positive),
    Option("device", "number of the GPU, of those that are visible (0)", None, natural),
    Option("seed", "of every random choice (0)", 0, integer),
    Option("quiet", "say what came of the run and no more", False, None),
    Option("report_dir", "where files go (default: ./swizzle-out/<kernel>)"),
    Option("history", "the history file (default: in the report directory)"),
    Option("resume", "go on with the history's attempts", False, None),
    Option(
        "compute",
        "execute recorded launches on the CPU (auto: what is cheap or needed)",
        "auto",
        choices=("auto", "always", "never"),
    ),
    Option(
        "quiet_seconds", "end the application so long after its last new launch (10)", 10.0, seconds
    ),
    Option("limit_seconds", "end the application at the latest (300)", 300.0, seconds),
    Option(
        "validation_seconds",
        "execute every tile if it takes no longer, else a sample (10)",
        10.0,
        seconds,
    ),
)


def add_own_options(
    parser: argparse.ArgumentParser, environment: Mapping[str, str] = os.environ
) -> list[argparse.Action]:
    """Adds our options to a parser; one whose name the parser owns already stays the parser's.

    Returns:
        What was added.

    Raises:
        UsageError: an environment variable holds no value of its option.
    """
    taken = {string for action in parser._actions for string in action.option_strings}
    group = parser.add_argument_group("options of the swizzle formula")
    return [
        _add(group, option, option.preset(environment))
        for option in OWN_OPTIONS
        if f"--{option.name}" not in taken
    ]


def _add(group: Any, option: Option, preset: Any) -> argparse.Action:
    name = f"--{option.name}"
    added: argparse.Action
    if option.read is None:
        added = group.add_argument(name, action="store_true", default=preset, help=option.help)
    else:
        added = group.add_argument(
            name, type=option.read, default=preset, choices=option.choices, help=option.help
        )
    return added
