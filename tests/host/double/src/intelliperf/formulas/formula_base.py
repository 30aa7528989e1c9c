# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Cannot be imported without ROCm."""

import ctypes
import logging
import sys

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

    def get_logger(self):
        return self._logger
