# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In a process of its own: one profile by the host, `python -m ... REPLY < REQUEST`.

REQUEST is a JSON object; REPLY will hold the readings as JSON. The host may leave the process
whenever something fails, and says why on its output.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from intelliperf_swizzle.codec import dumps, encode
from intelliperf_swizzle.host.cards import readings
from intelliperf_swizzle.host.probe import probe


def main() -> None:
    """Builds and profiles the application of the request."""
    request = json.load(sys.stdin)
    top_n = request.pop("top_n")
    application = probe().application(instrument_command=None, unittest_command=None, **request)
    built = application.build()
    if built is not None and not built[0]:
        sys.exit(f"the build command failed:\n{built[1]}")
    profile = readings(application.profile(top_n=top_n))
    Path(sys.argv[1]).write_text(dumps([encode(reading) for reading in profile]))


if __name__ == "__main__":
    main()
