# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The options of a run, each declared once.

A field of `Options` says what its option is called, what it means, its default, how a text is read
and which verbs use it. The command lines, the environment variables, the Python API and the tools
for coding agents derive from that. IntelliPerf's own options have no environment variable, and its
parser keeps those that it has.
"""

import argparse
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal, cast

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.readers import integer, natural, positive, seconds, shown, tolerance, utf8

DEFAULT_TARGET = "mi300x"
FORMULAS = ("swizzle", "swizzle-unaware", "swizzle-overload")
"""The formulas that come with the package; `-f` also takes the path of a formula's YAML."""

PROPOSERS = ("auto", "offline", "llm", "both")

PREFIX = "INTELLIPERF_SWIZZLE_"
_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}

OPTIMIZE = ("optimize",)
APPLICATION = ("optimize", "score", "explain")
"""The verbs that examine a kernel of an application."""
RECORDING = (*APPLICATION, "prove_source")
"""These, and `prove --source`."""
AND_DOCTOR = (*OPTIMIZE, "doctor")
ALL = (*APPLICATION, "doctor")


@dataclass(frozen=True)
class Declaration:
    """The help of an option beside its name and default.

    Attributes:
        help: for people.
        verbs: that use it.
        read: turns a text into the value; None for a flag.
        choices: the only values there are, or None.
        flags: its short forms.
        host: whether it is IntelliPerf's.
        tool: whether a coding agent's tool has it; as a rule those that are ours.
    """

    help: str
    verbs: tuple[str, ...]
    read: Callable[[str], Any] | None = str
    choices: tuple[str, ...] | None = None
    flags: tuple[str, ...] = ()
    host: bool = False
    tool: bool = True


def _option(
    default: Any, help: str, verbs: tuple[str, ...] = OPTIMIZE, *, host: bool = False, **more: Any
) -> Any:
    more = {"host": host, "tool": not host, **more}
    return field(default=default, metadata={"declaration": Declaration(help, verbs, **more)})


@dataclass(frozen=True)
class Options:
    """What a run is asked to do; every field has an option of its name."""

    # IntelliPerf's, with IntelliPerf's meaning
    verbose: int = _option(0, "list the leading attempts (-vv: all)", flags=("-v",), host=True)
    build_command: str | None = _option(
        None, "build command, run by the shell in the project", APPLICATION, flags=("-b",),
        host=True, tool=True,
    )  # fmt: skip
    instrument_command: str | None = _option(
        None, "not used: a swizzle needs no instrumentation", flags=("-i",), host=True
    )
    project_directory: str = _option(
        ".", "where the application runs (default: here)", RECORDING, flags=("-p",), host=True,
        tool=True,
    )  # fmt: skip
    formula: str = _option(
        "swizzle", "a formula's name or a YAML file", APPLICATION, flags=("-f",), host=True
    )
    top_n: int = _option(
        10, "maximum number of kernels to trace", APPLICATION, read=positive, host=True
    )
    trace_path: str | None = _option(
        None, "also write the kernel of each measured attempt here", host=True
    )
    num_attempts: int = _option(
        10, "LLM iterations; without a GPU also the maximum number of candidates to validate",
        read=positive, host=True,
    )  # fmt: skip
    accordo_absolute_tolerance: float = _option(
        1e-6,
        "relative tolerance for float atomics; everything else is compared bitwise",
        flags=("-t",), read=tolerance, host=True,
    )  # fmt: skip
    unittest_command: str | None = _option(
        None, "test run by the shell; must exit 0 with the swizzled kernel", host=True, tool=True
    )
    model: str = _option("gpt-4o", "language model", AND_DOCTOR, flags=("-m",), host=True)
    provider: str = _option("openai", "its provider or a URL", AND_DOCTOR, flags=("-r",), host=True)
    internal: bool = _option(False, "AMD's internal provider", AND_DOCTOR, read=None, host=True)
    in_place: bool = _option(
        False, "apply the best swizzle to your file", flags=("-l",), read=None, host=True
    )
    output_file: str | None = _option(
        None, "result file: .json, .csv or .txt; - for JSON on stdout", flags=("-o",), host=True
    )
    kernel: str | None = _option(
        None, "only this kernel (default: all that could save time; with --source, all there)",
        RECORDING, flags=("-k",), host=True, tool=True,
    )  # fmt: skip

    # ours
    all: bool = _option(False, "also search where the model sees nothing to gain", read=None)
    renumber: str | None = _option(
        None, "renumber this loop variable, or `program`"
        " (default: the tiles of a loop if there is one)", APPLICATION,
    )  # fmt: skip
    target: str | None = _option(
        None, "GPU: a name or a YAML file"
        f" (default: the GPU present, else {DEFAULT_TARGET}, or h200 for CUDA)", ALL,
    )  # fmt: skip
    profiler: str = _option("auto", "source of hit rates: auto, ncu, rocprofv3 or model", ALL)
    proposer: str = _option(
        "auto", "auto, offline, llm or both (auto: both if a model is configured)", AND_DOCTOR
    )
    samples: int = _option(1, "completions per LLM call", read=positive)
    max_tokens: int | None = _option(
        None, "tokens of all LLM calls together (default: the formula's)", read=positive
    )
    max_seconds: int | None = _option(
        None, "seconds of all LLM calls together (default: the formula's)", read=positive
    )
    call_seconds: int | None = _option(
        None, "seconds that one LLM call may take (default: the formula's)", read=positive
    )
    answer_tokens: int | None = _option(
        None, "tokens that one LLM answer may have (default: the formula's)", read=positive
    )
    candidates: int = _option(400, "maximum candidates per kernel", read=positive)
    budget: int = _option(800, "total candidates, split by potential gain", read=positive)
    measure: int = _option(16, "maximum candidates to validate and time on the GPU", read=positive)
    device: int | None = _option(
        None, "index of the visible GPU to use (default: 0)", ALL, read=natural
    )
    seed: int = _option(0, "random seed", read=integer)
    no_cache: bool = _option(
        False, "ignore traces, builds and proofs of earlier runs", RECORDING, read=None,
        flags=("--no-cache",),
    )  # fmt: skip
    quiet: bool = _option(False, "print only the verdict", APPLICATION, read=None, tool=False)
    report_dir: str | None = _option(None, "folder for results (default: ./swizzle-out/<kernel>)")
    history: str | None = _option(
        None, "history file; other kernels' go beside it (default: in the report directory)"
    )
    resume: bool = _option(False, "continue from the history", read=None)
    compute: Literal["auto", "always", "never"] = _option(
        "auto", "execute recorded launches on the CPU (auto: what is cheap or needed)",
        APPLICATION, choices=("auto", "always", "never"),
    )  # fmt: skip
    limit_seconds: float = _option(
        300.0, "time limit for the application, seconds", RECORDING, read=seconds
    )
    validation_seconds: float = _option(
        10.0, "execute every tile on the CPU if that takes no longer, else a few", read=seconds
    )
    seconds: float | None = _option(
        None, "end the run after this many seconds, with the best so far (default: no limit)",
        read=seconds,
    )  # fmt: skip
    # … comes last, since it hides the reader of its name


Declared = Field[Any]


def declaration(option: Declared) -> Declaration:
    """The help of an option."""
    return cast(Declaration, option.metadata["declaration"])


def options_of(verb: str, *, host: bool | None = None) -> tuple[Declared, ...]:
    """The options that a verb uses: all, IntelliPerf's alone, or ours alone."""
    declared = ((option, declaration(option)) for option in fields(Options))
    return tuple(o for o, how in declared if verb in how.verbs and host in (None, how.host))


def variable(option: Declared) -> str:
    """The environment variable that stands in for one of our options if it is not given."""
    return PREFIX + option.name.upper()


def preset(option: Declared, environment: Mapping[str, str]) -> Any:
    """The value of an option that is not given.

    A flag's variable holds `1`, `0`, `true`, `false`, `yes` or `no`.

    Raises:
        UsageError: its variable holds no value of the option.
    """
    declared = declaration(option)
    text = None if declared.host else environment.get(variable(option))
    if text is None:
        return option.default
    utf8(text, variable(option))
    if declared.read is None:
        if text.lower() not in _FLAGS:
            raise UsageError(f"{variable(option)} is `{text}`", hint="1 or 0")
        return _FLAGS[text.lower()]
    if declared.choices and text not in declared.choices:
        raise UsageError(
            f"{variable(option)} is `{text}`", hint=f"one of: {', '.join(declared.choices)}"
        )
    try:
        return declared.read(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"{variable(option)} is {shown(text)}", hint=str(error)) from error


def add_options(
    parser: argparse.ArgumentParser,
    verb: str = "optimize",
    *,
    host: bool | None = None,
    environment: Mapping[str, str] = os.environ,
) -> list[argparse.Action]:
    """Adds the options that a verb uses to a parser.

    One that the parser has keeps its spellings and its default, and gets our help and reader.

    Args:
        parser: ours, or IntelliPerf's.
        verb: the verb.
        host: IntelliPerf's options alone, or ours alone; None = both.
        environment: where variables are looked up.

    Returns:
        What was added.

    Raises:
        UsageError: an environment variable holds no value of its option.
    """
    taken = {string: action for action in parser._actions for string in action.option_strings}
    for option in options_of(verb, host=True):
        action, declared = taken.get(f"--{option.name}"), declaration(option)
        if action is not None and option.name != "formula":
            action.help = _with_default(option)
            action.type = declared.read if action.type else None
    titles = {True: "options of IntelliPerf", False: "options of the swizzle formula"}
    chosen = [theirs for theirs in titles if host in (None, theirs)]
    groups = {theirs: parser.add_argument_group(titles[theirs]) for theirs in chosen}
    return [
        _add(groups[declaration(option).host], option, preset(option, environment))
        for option in options_of(verb, host=host)
        if f"--{option.name}" not in taken
    ]


def _add(group: argparse._ArgumentGroup, option: Declared, value: Any) -> argparse.Action:
    declared = declaration(option)
    strings = (*declared.flags, f"--{option.name}")
    if option.name == "verbose":
        return group.add_argument(*strings, action="count", default=value, help=declared.help)
    if declared.read is None:
        return group.add_argument(*strings, action="store_true", default=value, help=declared.help)
    return group.add_argument(
        *strings,
        type=declared.read,
        default=value,
        choices=declared.choices,
        help=_with_default(option),
    )


def _with_default(option: Declared) -> str:
    """The help, with the default unless it says so itself."""
    text = declaration(option).help
    if option.default is None or "default" in text or re.search(r"\bauto\b", text):
        return text
    value = f"{option.default:g}" if isinstance(option.default, float) else option.default
    return f"{text} (default: {value})"


def read_options(namespace: argparse.Namespace) -> Options:
    """The options that a parser has read; what it does not know has its default."""
    given = {option.name: getattr(namespace, option.name, None) for option in fields(Options)}
    return Options(**{name: value for name, value in given.items() if value is not None})
