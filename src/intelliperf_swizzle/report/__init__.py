# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One Run, many formats: result file, terminal, Markdown, HTML. No format computes anything."""
