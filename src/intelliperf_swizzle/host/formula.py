# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Our formulas as classes of the host, for a host that finds and drives formulas itself.

The host calls one pass after another. Ours is one loop, so it runs as a whole where all that it
needs to know has been said, in `correctness_validation_pass`; the passes around it have nothing
to do. The host passes its command line on, with our options in it. Nothing of the host is imported
but its base class, and even that can be missing (it needs ROCm to load).
"""

from __future__ import annotations

import argparse
import importlib
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from intelliperf_swizzle.children import clean_up
from intelliperf_swizzle.errors import SwizzleError, UsageError
from intelliperf_swizzle.host.requirements import DriftError, probe
from intelliperf_swizzle.options import add_options
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
    """Our formulas with the methods that the host's loop calls; the options say which.

    `Formula_Base.__init__` is not called: it would copy the project for good and run the
    application three times.

    Attributes:
        requires_llm: whether the host must have a key for a language model first.
        exit_code: with which the host is to end if there is no result to write.
    """

    requires_llm = False

    def __init__(self, *, options: argparse.Namespace, **arguments: Any):
        """Takes the host's command line as parsed.

        Args:
            options: with those of `add_options`; `remaining` is the application's command.
            arguments: what the host tells every formula; all of it is among the options.

        Raises:
            DriftError: the host lacks something we need.
        """
        self._host = probe(options)
        self._options = argparse.Namespace(
            **{**vars(options), "remaining": ["--", *options.remaining]}
        )
        self._found: Outcome | None = None
        self._failure: SwizzleError | None = None
        self._logger = self._host.logger(run_name=arguments.get("name"))
        self.exit_code = 0

    @staticmethod
    def add_options(parser: argparse.ArgumentParser) -> None:
        """Adds our options to the host's parser; the parser's error if the host lacks something."""
        try:
            probe()
            add_options(parser, host=False)
        except UsageError as error:
            parser.error(str(error))

    def get_logger(self) -> Any:
        """The host's logger."""
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
        """Nothing, unless the run has failed: then it would fail again."""
        if self._failure is not None:
            return Result(success=False, error_report=str(self._failure))
        return Result(success=True)

    def build_pass(self, validate_build_result: bool = False) -> Any:
        """Nothing: the run builds each candidate."""
        return Result(success=True)

    def correctness_validation_pass(self, accordo_absolute_tolerance: float = 1e-6) -> Any:
        """The run; it fails where the application or a tool does, or the input is wrong."""
        from intelliperf_swizzle.host.run import explore

        try:
            with _dying_of_signals():
                self._found = explore(self._options)
        except SwizzleError as error:
            logging.error(error)
            self._failure, self.exit_code = error, error.exit_code
            return Result(success=False, error_report=str(error))
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
        with _dying_of_signals():
            hand_over(self._options, self._found, self._host)


@contextmanager
def _dying_of_signals() -> Iterator[None]:
    """A signal ends the process as it does any other, once our children and files are gone."""
    try:
        with stopped_by_signals():
            yield
    except Interrupted as interrupted:
        logging.error(interrupted)
        clean_up()
        signal.signal(interrupted.number, signal.SIG_DFL)
        signal.raise_signal(interrupted.number)
