# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
import subprocess


def capture_subprocess_output(subprocess_args, working_directory=None):
    """Runs a command for as long as it takes."""
    try:
        ran = subprocess.run(
            subprocess_args, cwd=working_directory, capture_output=True, text=True, check=False
        )
    except OSError as error:
        return False, str(error)
    return ran.returncode == 0, ran.stdout + ran.stderr
