# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""IntelliPerf as the host of our formulas; the only room that imports intelliperf."""

from intelliperf_swizzle.host.formula import parse_as_host
