# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Our formulas as classes of the host, for a host that finds and drives formulas itself.

The host calls one pass after another. Ours is one loop, so it runs as a whole where all that it
needs to know has been said, in `correctness_validation_pass`; the passes around it have nothing
to do. Nothing of the host is imported but its base class, and even that can be missing (it needs
ROCm to load).
"""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
from typing import TYPE_CHECKING, Any

from intelliperf_swizzle.children import leave
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.host.requirements import DriftError, probe
from intelliperf_swizzle.options import FORMULAS, add_options
from intelliperf_swizzle.stopping import Interrupted, stopped_by_signals

if TYPE_CHECKING:
    from intelliperf_swizzle.search.conclude import Outcome


class _Result:
    """What a pass gives back where the host's own class cannot be loaded."""

    def __init__(self, success: bool, error_report: str = "", asset: object = None):
        self.success = success
        self.error_report = error_report
        self.asset = asset

    def __bool__(self) -> bool:
        return self.success

    def report_out(self) -> None:
        """Says nothing; the run has its own report."""


def _host_classes() -> tuple[Any, Any]:
    """The host's `Formula_Base` and `Result`, or what stands in for them."""
    try:
        base = importlib.import_module("intelliperf.formulas.formula_base")
    except (ImportError, OSError):  # OSError: libamdhip64.so is missing
        return object, _Result
    return base.Formula_Base, base.Result


_Base, Result = _host_classes()


class Swizzle(_Base):  # type: ignore[misc, valid-type]
    """The formula `swizzle` with the methods that the host's loop calls.

    Our own options come from their environment variables. `Formula_Base.__init__` is not called:
    it would copy the project for good and run the application three times.

    Attributes:
        requires_llm: whether the host must have a key for a language model first.
    """

    formula = FORMULAS[0]
    requires_llm = False

    def __init__(self, **arguments: Any):
        self._host = probe()
        self._arguments = arguments
        self._kernel: str | None = None
        self._found: Outcome | None = None
        self._tolerance = 1e-6
        self._logger = self._host.logger(run_name=arguments.get("name"))
        self.in_place = bool(arguments.get("in_place"))

    def get_logger(self) -> Any:
        """The host's logger; its `trace_path` is where trace files go."""
        return self._logger

    def build(self, validate_build_result: bool = True) -> Any:
        """Nothing: the run builds."""
        return Result(success=True)

    def profile_pass(self) -> Any:
        """Nothing: the run profiles."""
        return Result(success=True)

    def source_code_pass(self) -> Any:
        """Nothing: the run finds the source of the kernel."""
        return Result(success=True)

    def instrument_pass(self) -> Any:
        """Nothing: a swizzle needs no instrumentation."""
        return Result(success=True)

    def optimize_pass(self, target_kernel: str | None = None) -> Any:
        """Remembers the kernel that is asked for."""
        self._kernel = target_kernel
        return Result(success=True)

    def build_pass(self, validate_build_result: bool = False) -> Any:
        """Nothing: the run builds each candidate."""
        return Result(success=True)

    def correctness_validation_pass(self, accordo_absolute_tolerance: float = 1e-6) -> Any:
        """The run; leaves the process with the exit code of its error where it has one."""
        self._tolerance = accordo_absolute_tolerance
        from intelliperf_swizzle.host.run import explore

        try:
            with stopped_by_signals():
                self._found = explore(self._options(None))
        except SwizzleError as error:
            logging.error(error)
            sys.exit(error.exit_code)
        except Interrupted as signal:
            logging.error(signal)
            leave(signal.exit_code)
        return Result(success=True)

    def performance_validation_pass(self) -> Any:
        """The run has compared hit rates and times already; success ends the host's loop."""
        return Result(success=True)

    def summarize_previous_passes(self) -> None:
        """Nothing: the history file has every attempt."""

    def write_results(self, output_file: str | None = None) -> None:
        """Writes the result, and the edit into the user's file where that was asked for."""
        from intelliperf_swizzle.host.run import hand_over

        if self._found is None:
            raise DriftError(("it writes results before `correctness_validation_pass`",))
        try:
            hand_over(self._options(output_file), self._found, self._host)
        except Interrupted as signal:
            logging.error(signal)
            leave(signal.exit_code)

    def _options(self, output_file: str | None) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        add_options(parser, host=False)
        given = self._arguments
        return argparse.Namespace(
            **vars(parser.parse_args([])),
            formula=self.formula,
            kernel=self._kernel,
            output_file=output_file,
            accordo_absolute_tolerance=self._tolerance,
            trace_path=getattr(self._logger, "trace_path", None),
            remaining=["--", *given["app_cmd"]],
            build_command=given.get("build_command"),
            instrument_command=given.get("instrument_command"),
            project_directory=given.get("project_directory"),
            top_n=given.get("top_n", 10),
            model=given.get("model", "gpt-4o"),
            provider=given.get("provider", "openai"),
            internal=False,
            in_place=self.in_place,
            unittest_command=given.get("unittest_command"),
            num_attempts=given.get("num_attempts", 10),
        )


class SwizzleUnaware(Swizzle):
    """The formula `swizzle-unaware`."""

    formula = FORMULAS[1]


class SwizzleOverload(Swizzle):
    """The formula `swizzle-overload`."""

    formula = FORMULAS[2]
