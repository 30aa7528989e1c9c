# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
import logging
import subprocess
import sys


def capture_subprocess_output(subprocess_args, working_directory=None):
    """Runs a command for as long as it takes."""
    try:
        ran = subprocess.run(
            subprocess_args, cwd=working_directory, capture_output=True, text=True, check=False
        )
    except OSError as error:
        return False, str(error)
    return ran.returncode == 0, ran.stdout + ran.stderr


def exit_on_fail(success, message, log=""):
    if not success:
        logging.error("%s\n%s", message, log)
        sys.exit(1)
