# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""An application that launches nothing: it says where it runs, and waits."""

import os
import sys
import time
from pathlib import Path

Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(600)
