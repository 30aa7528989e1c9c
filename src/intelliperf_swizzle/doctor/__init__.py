# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is here, what is missing, what would be used, and the command that closes each gap."""

from __future__ import annotations

from intelliperf_swizzle.doctor.diagnosis import Diagnosis, Finding
from intelliperf_swizzle.doctor.examine import diagnose
from intelliperf_swizzle.doctor.show import as_json, as_text

__all__ = ["Diagnosis", "Finding", "as_json", "as_text", "diagnose"]
