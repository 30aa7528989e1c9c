# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Groups SMs: by GPC (clusters never cross one) and by side of the L2 (latency of atomics).

    ./probe map > map.csv && python cluster_map.py map.csv > partitions.csv

Reads what `probe map` prints; writes `sm,gpc,side`, as `probe phases` wants it.
"""

import sys
from pathlib import Path

import numpy as np

SMS = 132


def main(path: str) -> None:
    """Print a line per SM."""
    group = list(range(SMS))
    rows = [line.split(",") for line in Path(path).read_text().splitlines()]
    clocks = np.array([row[2:] for row in rows if row[0] == "L"], float)
    for row in rows:
        if row[0] == "C":
            together = {group[int(sm)] for sm in row[2:]}
            group = [min(together) if cluster in together else cluster for cluster in group]
    unlike = clocks - clocks.mean(1, keepdims=True)
    unlike -= unlike.mean(0, keepdims=True)
    side = np.linalg.svd(unlike, full_matrices=False)[0][:, 0] > 0
    names = {cluster: number for number, cluster in enumerate(dict.fromkeys(group))}
    for sm in range(SMS):
        print(f"{sm},{names[group[sm]]},{int(side[sm])}")


if __name__ == "__main__":
    main(sys.argv[1])
