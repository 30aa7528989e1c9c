# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a formula of the host builds on; it cannot be imported without ROCm."""

import ctypes
import json
import logging
import sys
from pathlib import Path

from intelliperf.core.application import Application
from intelliperf.core.logger import Logger

ctypes.CDLL("libamdhip64.so")


class Result:
    def __init__(self, success, error_report="", asset=None):
        if not success and not error_report:
            logging.error("a failure needs a report")
            sys.exit(1)
        self.success = success
        self.error_report = error_report
        self.asset = asset

    def __bool__(self):
        return self.success

    def report_out(self):
        pass


class Formula_Base:  # noqa: N801
    def __init__(
        self,
        name,
        build_command,
        instrument_command,
        project_directory,
        app_cmd,
        top_n,
        model="gpt-4o",
        provider="openai",
        in_place=False,
        unittest_command=None,
        num_attempts=10,
    ):
        self._logger = Logger(run_name=name)
        self._reference_app = Application(
            name, build_command, instrument_command, project_directory, app_cmd, unittest_command
        )
        self._application = self._reference_app.clone()
        self.model, self.provider, self.in_place = model, provider, in_place
        self.unittest_command, self.num_attempts = unittest_command, num_attempts

    def build(self, validate_build_result=True):
        return Result(success=True)

    def get_logger(self):
        return self._logger


def write_results(json_results, output_file=None):
    Path(output_file).write_text(json.dumps(json_results))
