# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""All tables and figures that need neither a GPU nor a key, and the audit.

    python benchmarks/figures.py            # what `make figures` does
    python benchmarks/figures.py --render   # from the records alone

Interrupted, it resumes. With `--model` the language models are asked too.
"""

from __future__ import annotations

import sys

from attention_orders import ATTENTION_ORDERS
from audit import AUDIT
from by_hand import BY_HAND
from causes import CAUSES
from figure_02 import FIGURE_02
from figure_15 import FIGURE_15
from harness.command import main
from table_4 import TABLE_4
from targets import TARGETS_TABLE

TABLES = (
    FIGURE_02,
    FIGURE_15,
    TABLE_4,
    BY_HAND,
    ATTENTION_ORDERS,
    TARGETS_TABLE,
    CAUSES,
    AUDIT,
)

if __name__ == "__main__":
    sys.exit(main(*TABLES, description=__doc__))
