# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`python -m intelliperf_swizzle` is `intelliperf-swizzle`."""

import sys

from intelliperf_swizzle.cli import main

sys.exit(main())
