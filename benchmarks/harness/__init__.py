# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What the scripts of tables and figures share: items of work, their records, and rendering."""
