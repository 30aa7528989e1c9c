# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
import shutil
import tempfile

from intelliperf.utils.process import capture_subprocess_output


class Application:
    def __init__(
        self,
        name,
        build_command,
        instrument_command,
        project_directory,
        app_cmd,
        unittest_command,
    ):
        assert isinstance(app_cmd, list)
        self.name = name
        self.build_command = _split(build_command)
        self.instrument_command = _split(instrument_command)
        self.project_directory = project_directory
        self.app_cmd = app_cmd
        self.unittest_command = unittest_command

    def build(self, instrumented=False):
        if self.build_command is None:
            return None
        return capture_subprocess_output(self.build_command, self.project_directory)

    def clone(self):
        if not self.project_directory:
            return self
        copy = tempfile.mkdtemp()
        shutil.copytree(self.project_directory, copy, dirs_exist_ok=True)
        return Application(
            self.name + "_clone",
            self.build_command,
            self.instrument_command,
            copy,
            self.app_cmd,
            self.unittest_command,
        )


def _split(command):
    """Words between blanks, whatever the quotes say."""
    return command.split() if isinstance(command, str) else command
