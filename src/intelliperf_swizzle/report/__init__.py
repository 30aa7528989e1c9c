# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One Run, many faces: result file, terminal, Markdown, HTML. No face computes anything."""
