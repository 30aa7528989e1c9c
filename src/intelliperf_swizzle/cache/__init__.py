# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The cache model: a quick screen, a full replay, and the bound that no order exceeds."""

from intelliperf_swizzle.cache.model import ReplayedLaunch, Screen, replay
from intelliperf_swizzle.cache.traffic import FULL, Physics, add_division_time, ceiling, requests
